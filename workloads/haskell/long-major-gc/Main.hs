-- | Keeps a table and replaces entries all over it, so that the old generation fills up
-- and is collected a few times a second. The argument is the number of entries.
module Main (main) where

import Control.Exception (evaluate)
import qualified Data.Map.Strict as Map
import GHC.Clock (getMonotonicTime)
import System.Environment (getArgs)

main :: IO ()
main = do
  arguments <- getArgs
  let size = case arguments of
        [text] -> read text
        _ -> 400000
  table <- evaluate (Map.fromDistinctAscList [(key, [key, key + 1]) | key <- [0 .. size - 1]])
  start <- getMonotonicTime
  loop size (start + 2) 0 table

loop :: Int -> Double -> Int -> Map.Map Int [Int] -> IO ()
loop size deadline turn table = do
  now <- getMonotonicTime
  if now >= deadline
    then print (Map.size table, turn)
    else do
      let keys = [(turn * 1000 + i) * 7919 `mod` size | i <- [0 .. 999]]
      next <- evaluate (foldr (\key -> Map.insert key [key .. key + turn `mod` 8]) table keys)
      loop size deadline (turn + 1) next
