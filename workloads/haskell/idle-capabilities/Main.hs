-- | Two workers; the other capabilities have nothing to do and sit out collections.
module Main (main) where

import Workers

main :: IO ()
main = runWorkers plan >>= print
  where
    plan = Plan {workers = 2, seconds = 2, rounds = 0, keys = 2000, restMicroseconds = 4000}
