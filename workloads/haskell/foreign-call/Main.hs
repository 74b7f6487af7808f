{-# LANGUAGE ForeignFunctionInterface #-}

-- | C code that is busy, or asleep, for 20 ms at a time, imported @unsafe@: it keeps
-- its capability. The first argument says which; @safe@ and @safe-sleep@ import the
-- same function so that it does not, and call it now and then.
module Main (main) where

import Beside
import Control.Concurrent (threadDelay)
import Foreign.C.Types
import System.Environment (getArgs)

foreign import ccall unsafe "c_busy" busy :: CLong -> CLong -> IO CLong

foreign import ccall safe "c_busy" safeBusy :: CLong -> CLong -> IO CLong

foreign import ccall unsafe "c_sleep" sleep :: CLong -> IO CLong

foreign import ccall safe "c_sleep" safeSleep :: CLong -> IO CLong

main :: IO ()
main = do
  arguments <- getArgs
  done <- case arguments of
    ["safe"] -> beside 2 2000 (\n -> fromIntegral <$> safeBusy 10000000 (fromIntegral n) <* threadDelay 10000)
    ["sleep"] -> beside 2 0 (\_ -> fromIntegral <$> sleep 20)
    ["safe-sleep"] -> beside 2 0 (\_ -> fromIntegral <$> safeSleep 20)
    _ -> beside 2 0 (\n -> fromIntegral <$> busy 10000000 (fromIntegral n))
  print done
