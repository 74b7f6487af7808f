-- | One worker with fixed work, next to threads that sleep. The arguments: its rounds, how many threads sleep.
module Main (main) where

import Control.Concurrent
import Control.Monad
import System.Environment (getArgs, withArgs)
import Workers

main :: IO ()
main = do
  [rounds', sleepers] <- getArgs
  replicateM_ (read sleepers) (forkIO (forever (threadDelay 1000000000)))
  withArgs [rounds'] (runWorkers plan) >>= print
  where
    plan = Plan {workers = 1, seconds = 3, rounds = 0, keys = 1000, restMicroseconds = 0}
