-- | One worker allocates without rest, so that there is always a collection to stop
-- for; in parallel, on the other capability, some code of which a workload claims
-- something. Owns the two threads and their end.
module Beside (beside, restOfArguments) where

import Control.Concurrent
import Control.Exception (evaluate)
import Control.Monad
import qualified Data.Map.Strict as Map
import GHC.Clock (getMonotonicTime)
import System.Environment (getArgs)
import Text.Read (readMaybe)

-- | The last argument, where it is a number: microseconds that the allocator rests.
restOfArguments :: IO Int
restOfArguments = do
  arguments <- getArgs
  return (maybe 0 id (readMaybe (last ("" : arguments))))

-- | Runs @step@ on capability 1 for so many seconds, while capability 0 allocates
-- and rests so many microseconds in turn. Gives the sum of what the steps gave.
beside :: Double -> Int -> (Int -> IO Int) -> IO Int
beside seconds rest step = do
  start <- getMonotonicTime
  ended <- newEmptyMVar
  _ <- forkOn 0 (allocate (start + seconds) 0 >>= putMVar ended)
  _ <- forkOn 1 (repeatedly (start + seconds) 1 0 >>= putMVar ended)
  (+) <$> takeMVar ended <*> takeMVar ended
  where
    allocate deadline n = do
      now <- getMonotonicTime
      if now >= deadline
        then return n
        else do
          sum' <- evaluate (Map.foldl' (+) 0 (Map.fromList [((i * 7919 + n) `mod` 10007, i) | i <- [1 .. 4000 :: Int]]))
          when (rest > 0) (threadDelay rest)
          allocate deadline (n + (sum' `mod` 3))
    repeatedly deadline n total = do
      now <- getMonotonicTime
      if now >= deadline
        then return total
        else do
          one <- step n
          repeatedly deadline (n + 1) $! total + one
