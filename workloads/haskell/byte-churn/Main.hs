{-# LANGUAGE BangPatterns #-}
module Main (main) where

import Control.Concurrent
import Control.Monad
import Data.Array.IO
import qualified Data.ByteString as BS
import Foreign.StablePtr (newStablePtr)
import System.Environment (getArgs)
import System.IO
import System.Mem (performMajorGC)

main :: IO ()
main = do
  hSetBuffering stdout LineBuffering
  [threads, kept, until', every] <- map read <$> getArgs
  ready <- newEmptyMVar
  done <- newEmptyMVar
  forM_ [1 .. threads :: Int] $ \thread -> forkIO $ do
    slots <- newArray (0, kept - 1) BS.empty :: IO (IOArray Int BS.ByteString)
    _ <- newStablePtr slots -- alive until the process ends, the last collection too
    forM_ [0 .. kept - 1] (put thread slots kept)
    putMVar ready ()
    let go !turn | turn >= until' = return ()
                 | otherwise = do
            put thread slots kept turn
            when (turn `mod` every == 0) performMajorGC
            go (turn + 1)
    go kept
    strings <- getElems slots
    putMVar done $! sum (map (fromIntegral . BS.head) strings :: [Int])
  replicateM_ threads (takeMVar ready)
  performMajorGC
  putStrLn "ready"
  sums <- replicateM threads (takeMVar done)
  print (sum sums)

put :: Int -> IOArray Int BS.ByteString -> Int -> Int -> IO ()
put thread slots kept turn = do
  let !string = BS.replicate 8 (fromIntegral (turn + thread))
  writeArray slots (turn `mod` kept) string
{-# NOINLINE put #-}
