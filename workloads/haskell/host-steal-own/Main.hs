-- | Two workers with hardly any work: a service that is not pressed even on an emulated CPU.
module Main (main) where

import Workers

main :: IO ()
main = runWorkers plan >>= print
  where
    plan = Plan {workers = 2, seconds = 3, rounds = 0, keys = 200, restMicroseconds = 20000}
