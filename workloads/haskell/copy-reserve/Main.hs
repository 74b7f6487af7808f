-- | A table of 120 MB of which pieces are replaced all over, so that the old generation
-- is collected now and then. All that is alive of it is copied then. After some turns the heap
-- has its size, and pieces are replaced a tenth as often: looks fall between two collections.
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
  loop (start + 10) 0 (Map.fromDistinctAscList (zip [0 ..] pieces))

size :: Int
size = 60000

settling :: Int
settling = 3000

loop :: Double -> Int -> Map.IntMap Numbers -> IO ()
loop deadline turn pieces = do
  now <- getMonotonicTime
  if now >= deadline
    then print (held (Map.elems pieces), turn)
    else do
      let keys = [(turn * 30 + i) * 7919 `mod` size | i <- [0 .. 29]]
          put table' key = let new = piece (turn + key) in new `seq` Map.insert key new table'
          next = List.foldl' put pieces keys
      next `seq` threadDelay (if turn < settling then 1000 else 10000)
      loop deadline (turn + 1) next
