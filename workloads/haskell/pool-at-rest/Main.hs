-- | Workers that have little to do: a job each 10 ms. They take jobs from one queue or, with an argument, wait for them in
-- turn with a lock in hand, as servers do that accept connections one at a time.
module Main (main) where

import Control.Concurrent
import Control.Exception (evaluate)
import Control.Monad
import GHC.Clock (getMonotonicTime)
import System.Environment (getArgs)

main :: IO ()
main = do
  arguments <- getArgs
  start <- getMonotonicTime
  let end = start + 2.5
  if null arguments then fedByQueue end else inTurn end

workers :: Int
workers = 4

fedByQueue :: Double -> IO ()
fedByQueue end = do
  queue <- newEmptyMVar
  replicateM_ workers (forkIO (forever (takeMVar queue >>= job)))
  let feed number = do
        now <- getMonotonicTime
        when (now < end) $ putMVar queue number >> threadDelay 10000 >> feed (number + 1)
  feed 1

inTurn :: Double -> IO ()
inTurn end = do
  turn <- newMVar ()
  ends <- forM [1 .. workers] $ \number -> do
    done <- newEmptyMVar
    _ <- forkIO (serve turn number >> putMVar done ())
    return done
  mapM_ takeMVar ends
  where
    serve turn number = do
      now <- getMonotonicTime
      when (now < end) $ withMVar turn (\() -> threadDelay 10000) >> job number >> serve turn number

-- | A millisecond or so.
job :: Int -> IO ()
job seed = void (evaluate (go 300000 seed))
  where
    go :: Int -> Int -> Int
    go 0 value = value
    go left value = go (left - 1) ((value * 7919 + left) `mod` 1000003)
