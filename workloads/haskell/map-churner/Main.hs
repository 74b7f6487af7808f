-- | A batch: four workers update a map each, all of a size that collections have to copy.
-- Prints a sum that is the same however it is run. Arguments: entries of all maps
-- together, updates of all workers together.
module Main (main) where

import Control.Concurrent
import Control.Exception (evaluate)
import Control.Monad
import Data.List (foldl')
import qualified Data.Map.Strict as Map
import System.Environment (getArgs)

main :: IO ()
main = do
  arguments <- getArgs
  let (entries, updates) = case map read arguments of
        [size, count] -> (size, count)
        _ -> (100000, 600000)
  ends <- forM [1 .. workers] $ \number -> do
    end <- newEmptyMVar
    _ <- forkIO (evaluate (churn number (entries `div` workers) (updates `div` workers)) >>= putMVar end)
    return end
  sums <- mapM takeMVar ends
  print (foldl' (\total part -> (total * 31 + part) `mod` 1000000007) 0 sums)

workers :: Int
workers = 4

-- | The sum of what is in the map after so many updates of keys in a scattered order.
churn :: Int -> Int -> Int -> Int
churn number entries updates = Map.foldl' add 0 (foldl' update start [1 .. updates])
  where
    start = Map.fromDistinctAscList [(key, [key]) | key <- [0 .. entries - 1]]
    add total values = (total * 7 + sum values) `mod` 1000000007
    -- Each entry keeps its last values: what is old dies now and then.
    update there n = Map.insertWith (\new old -> take 4 (new ++ old)) (scattered n `mod` entries) [n] there
    scattered n = (n * 7919 + number) * 7927
