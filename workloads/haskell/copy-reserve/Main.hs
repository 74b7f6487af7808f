-- | A table of 120 MB of which pieces are replaced all over, so that the old generation
-- is collected now and then. All that is alive of it is copied then.
module Main (main) where

import Control.Concurrent (threadDelay)
import qualified Data.IntMap.Strict as Map
import qualified Data.List as List
import GHC.Clock (getMonotonicTime)
import Tables

main :: IO ()
main = do
  pieces <- table size
  start <- getMonotonicTime
  loop (start + 8) 0 (Map.fromDistinctAscList (zip [0 ..] pieces))

size :: Int
size = 60000

loop :: Double -> Int -> Map.IntMap Numbers -> IO ()
loop deadline turn pieces = do
  now <- getMonotonicTime
  if now >= deadline
    then print (held (Map.elems pieces), turn)
    else do
      let keys = [(turn * 30 + i) * 7919 `mod` size | i <- [0 .. 29]]
          put table' key = let new = piece (turn + key) in new `seq` Map.insert key new table'
          next = List.foldl' put pieces keys
      next `seq` threadDelay 1000
      loop deadline (turn + 1) next
