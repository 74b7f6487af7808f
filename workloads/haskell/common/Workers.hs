-- | Workers that allocate: what most of the workloads here are made of. Owns the
-- loop and its two ways to end (a time, a number of rounds); what a workload
-- claims is in its own Main and its workload.toml.
module Workers (Plan (..), runWorkers) where

import Control.Concurrent
import Control.Exception (evaluate)
import Control.Monad
import qualified Data.Map.Strict as Map
import GHC.Clock (getMonotonicTime)
import System.Environment (getArgs)

data Plan = Plan
  { workers :: Int
  , seconds :: Double -- ^ each worker stops after this
  , rounds :: Int -- ^ or after so many rounds; 0: no limit
  , keys :: Int -- ^ entries of the map that one round builds
  , restMicroseconds :: Int -- ^ pause of each worker after a round; 0: none
  }

-- | Runs them all to their end; gives the number of rounds done. A number on the
-- command line replaces the time by so many rounds per worker: for benchmarks.
runWorkers :: Plan -> IO Int
runWorkers timed = do
  arguments <- getArgs
  let plan = case arguments of
        [text] -> timed {rounds = read text, seconds = 1e9}
        _ -> timed
  start <- getMonotonicTime
  ends <- forM [1 .. workers plan] $ \number -> do
    end <- newEmptyMVar
    _ <- forkIO (work plan (start + seconds plan) number 0 >>= putMVar end)
    return end
  sum <$> mapM takeMVar ends

work :: Plan -> Double -> Int -> Int -> IO Int
work plan deadline number done = do
  now <- getMonotonicTime
  if now >= deadline || (rounds plan > 0 && done >= rounds plan)
    then return done
    else do
      _ <- evaluate (buildAndSum (keys plan) (number + done))
      when (restMicroseconds plan > 0) (threadDelay (restMicroseconds plan))
      work plan deadline number (done + 1)

buildAndSum :: Int -> Int -> Int
buildAndSum size seed =
  Map.foldl' (+) 0 (Map.fromList [((i * 7919 + seed) `mod` 10007, i) | i <- [1 .. size]])
