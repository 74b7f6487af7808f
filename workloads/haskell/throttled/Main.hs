-- | Two workers that allocate without rest.
module Main (main) where

import Workers

main :: IO ()
main = runWorkers plan >>= print
  where
    plan = Plan {workers = 2, seconds = 3, rounds = 0, keys = 1000, restMicroseconds = 0}
