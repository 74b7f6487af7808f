-- | Builds a map of 80 MB, drops it, and again: what a major collection leaves free
-- is given back to the kernel, or kept, as the runtime's flags say.
module Main (main) where

import Control.Exception (evaluate)
import qualified Data.Map.Strict as Map
import GHC.Clock (getMonotonicTime)

main :: IO ()
main = do
  start <- getMonotonicTime
  rounds (start + 2) 0 >>= print

rounds :: Double -> Int -> IO Int
rounds deadline n = do
  now <- getMonotonicTime
  if now >= deadline
    then return n
    else do
      _ <- evaluate (Map.size (Map.fromDistinctAscList [(i, i + n) | i <- [1 .. 1000000]]))
      rounds deadline (n + 1)
