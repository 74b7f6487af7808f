-- | Two workers with a little work and a rest after each round: a service that is not pressed.
module Main (main) where

import Workers

main :: IO ()
main = runWorkers plan >>= print
  where
    plan = Plan {workers = 2, seconds = 3, rounds = 0, keys = 2000, restMicroseconds = 4000}
