{-# LANGUAGE ForeignFunctionInterface #-}

-- | What trials are made of: `churn N`, `hold MIB`, `serve PORT STATUS REQUESTS`, which is
-- gone after so many requests, `picky FLAG N`, which churns unless `GHCRTS` has that flag.
module Main (main) where

import Control.Concurrent
import Control.Monad
import qualified Data.Map.Strict as Map
import Foreign.C.Types
import Foreign.Marshal.Alloc
import Foreign.Marshal.Utils
import Foreign.Ptr
import Data.Word
import System.Environment
import System.Exit
import System.IO

foreign import ccall safe "trial_listen" listen :: CInt -> IO CInt
foreign import ccall safe "trial_accept" accept :: CInt -> IO CInt
foreign import ccall safe "trial_request" request :: CInt -> IO CInt
foreign import ccall safe "trial_answer" answer :: CInt -> CInt -> IO CInt

main :: IO ()
main = do
  arguments <- getArgs
  case arguments of
    ["churn", n] -> print (work 7 (read n))
    ["picky", flag, n] -> picky flag (read n)
    ["hold", mib] -> hold (read mib)
    ["serve", port, status, most] -> serve (read port) (read status) (read most)
    other -> hPutStrLn stderr ("what is " ++ show other) >> exitWith (ExitFailure 9)

work :: Int -> Int -> Int
work seed n = Map.foldl' (+) 0 (go Map.empty 0)
  where
    go m i
      | i >= n = m
      | otherwise = go (Map.insert ((i * 7919 + seed) `mod` 20011) i m) (i + 1)

picky :: String -> Int -> IO ()
picky flag n = do
  given <- lookupEnv "GHCRTS"
  when (flag `elem` words (maybe "" id given)) (hPutStrLn stderr ("not with " ++ flag) >> exitWith (ExitFailure 3))
  print (work 7 n)

hold :: Int -> IO ()
hold mib = do
  let bytes = mib * 1024 * 1024
  memory <- mallocBytes (max 1 bytes) :: IO (Ptr Word8)
  fillBytes memory 1 bytes
  putStrLn "held"

serve :: CInt -> CInt -> Int -> IO ()
serve port status most = do
  door <- listen port
  when (door < 0) (hPutStrLn stderr "no port" >> exitWith (ExitFailure 8))
  answered <- newMVar (0 :: Int)
  over <- newEmptyMVar
  _ <- forkIO $ forever $ do
    connection <- accept door
    forkIO (answers answered over connection)
  takeMVar over
  hPutStrLn stderr "cannot go on"
  exitWith (ExitFailure 7)
  where
    answers answered over connection = do
      asked <- request connection
      when (asked /= 0) $ do
        count <- modifyMVar answered (\n -> let m = n + 1 in m `seq` return (m, m))
        when (count == most) (putMVar over ())
        when (work count 300 < 0) (putStrLn "impossible")
        fine <- answer connection status
        when (fine /= 0) (answers answered over connection)
