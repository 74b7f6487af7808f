-- | Two workers whose rounds allocate much and keep next to nothing.
module Main (main) where

import Workers

main :: IO ()
main = runWorkers plan >>= print
  where
    plan = Plan {workers = 2, seconds = 2, rounds = 0, keys = 50, restMicroseconds = 0}
