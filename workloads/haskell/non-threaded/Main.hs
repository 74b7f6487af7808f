-- | Two green threads on the runtime that has one kernel thread.
module Main (main) where

import Workers

main :: IO ()
main = runWorkers plan >>= print
  where
    plan = Plan {workers = 2, seconds = 2, rounds = 0, keys = 4000, restMicroseconds = 1000}
