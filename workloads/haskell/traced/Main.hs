-- | Two pairs of threads that hand a number to and fro: each hand-over is a thread
-- switch, which is four events in a log that has them.
module Main (main) where

import Control.Concurrent
import Control.Monad
import GHC.Clock (getMonotonicTime)

main :: IO ()
main = do
  start <- getMonotonicTime
  ended <- newEmptyMVar
  forM_ [0, 1] $ \lane -> do
    there <- newEmptyMVar
    back <- newEmptyMVar
    _ <- forkOn lane (forever (takeMVar there >>= putMVar back . (+ 1)))
    forkOn lane (handOver there back (start + 0.5) 0 >>= putMVar ended)
  counts <- replicateM 2 (takeMVar ended)
  print (sum counts)

handOver :: MVar Int -> MVar Int -> Double -> Int -> IO Int
handOver there back deadline n = do
  now <- if n `mod` 64 == 0 then getMonotonicTime else return 0
  if now >= deadline
    then return n
    else do
      putMVar there n
      next <- takeMVar back
      handOver there back deadline $! next
