-- | Two green threads on the runtime that has one kernel thread, not pressed: more work is
-- enough collections for the small allocation area to be a fault of its own.
module Main (main) where

import Workers

main :: IO ()
main = runWorkers plan >>= print
  where
    plan = Plan {workers = 2, seconds = 2, rounds = 0, keys = 2000, restMicroseconds = 4000}
