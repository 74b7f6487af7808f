-- Two bound threads: one makes items, the other uses them, through a place for one batch. The arguments: items in a
-- batch, items in all.
module Main (main) where

import Control.Concurrent
import Control.Monad
import Data.List (foldl')
import System.Environment (getArgs)

work :: Int -> Int
work item = foldl' (\value left -> (value * 7919 + left + item) `mod` 1000003) 1 [1 .. 300 :: Int]

main :: IO ()
main = do
  [batch, items] <- map read <$> getArgs
  place <- newEmptyMVar
  done <- newEmptyMVar
  let rounds = items `div` batch
  _ <- forkOS $ forM_ [1 .. rounds] $ \round' -> do
    let made = map work [round' * batch .. (round' + 1) * batch - 1]
    foldl' (flip seq) () made `seq` putMVar place made
  _ <- forkOS $ foldM (\sum' _ -> do
    made <- takeMVar place
    pure $! foldl' (\all' item -> all' + work item) sum' made) 0 [1 .. rounds] >>= putMVar done
  takeMVar done >>= print
