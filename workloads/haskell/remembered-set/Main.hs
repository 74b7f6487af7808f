-- | Swaps entries of a large old array, and also makes garbage. An array of
-- pointers that was written to has to be looked through in each collection of the
-- young, an array of numbers has not. The argument is "boxed" or "unboxed".
module Main (main) where

import Control.Exception (evaluate)
import Data.Array.IO (IOArray, IOUArray, newListArray, readArray, writeArray)
import qualified Data.List as List
import GHC.Clock (getMonotonicTime)
import System.Environment (getArgs)

main :: IO ()
main = do
  arguments <- getArgs
  start <- getMonotonicTime
  case arguments of
    ["unboxed"] -> do
      array <- newListArray (0, size - 1) [0 ..] :: IO (IOUArray Int Int)
      loop (readArray array) (writeArray array) (start + 2) 1 0
    _ -> do
      array <- newListArray (0, size - 1) [0 ..] :: IO (IOArray Int Int)
      loop (readArray array) (writeArray array) (start + 2) 1 0

size :: Int
size = 500000

loop :: (Int -> IO Int) -> (Int -> Int -> IO ()) -> Double -> Int -> Int -> IO ()
loop get put deadline seed turn = do
  now <- getMonotonicTime
  if now >= deadline
    then print turn
    else do
      next <- swap get put seed (1000 :: Int)
      _ <- evaluate (List.foldl' (+) 0 [x * x `mod` 7 | x <- [next .. next + 20000]])
      loop get put deadline next (turn + 1)

swap :: (Int -> IO Int) -> (Int -> Int -> IO ()) -> Int -> Int -> IO Int
swap _ _ seed 0 = return seed
swap get put seed count = do
  let next = (seed * 1103515245 + 12345) `mod` 2147483648
      (one, other) = (seed `mod` size, next `mod` size)
  x <- get one
  y <- get other
  put one y
  put other x
  swap get put next (count - 1)
