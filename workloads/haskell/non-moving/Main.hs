-- | Keeps a table of some tens of megabytes and replaces parts of it, so that the
-- old generation is collected a few times a second. A number
-- on the command line replaces the time by so many turns.
module Main (main) where

import Control.Concurrent (threadDelay)
import Control.Exception (evaluate)
import Control.Monad (when)
import qualified Data.Map.Strict as Map
import GHC.Clock (getMonotonicTime)
import System.Environment (getArgs)

main :: IO ()
main = do
  arguments <- getArgs
  start <- getMonotonicTime
  let (deadline, turns) = case arguments of
        [text] -> (start + 1e9, read text)
        _ -> (start + 3, maxBound)
  loop deadline turns 0 (Map.fromList [(key, [key, key + 1]) | key <- [0 .. size - 1]])

size :: Int
size = 100000

loop :: Double -> Int -> Int -> Map.Map Int [Int] -> IO ()
loop deadline turns turn table = do
  now <- getMonotonicTime
  if now >= deadline || turn >= turns
    then print (Map.size table, turn)
    else do
      let keys = [(turn * 1000 + i) `mod` size | i <- [0 .. 999]]
      next <- evaluate (foldr (\key -> Map.insert key [key .. key + turn `mod` 8]) table keys)
      when (turn `mod` 4 == 0) (threadDelay 1000)
      loop deadline turns (turn + 1) next
