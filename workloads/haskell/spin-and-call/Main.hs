{-# LANGUAGE BangPatterns, ForeignFunctionInterface #-}
module Main where
import Control.Monad
import Foreign.C.Types

foreign import ccall unsafe "c_busy" cBusy :: CInt -> IO CInt
foreign import ccall unsafe "usleep" cSleep :: CInt -> IO CInt

spin :: Int -> Int -> Int
spin !sum 0 = sum
spin !sum n = spin (sum * 31 + n) (n - 1)
{-# NOINLINE spin #-}

main :: IO ()
main = forM_ [1 .. 30] $ \i -> do
  when (spin i (20000000 + i) == 0) (putStrLn "never")
  _ <- cBusy 20
  _ <- cSleep 3000
  return ()
