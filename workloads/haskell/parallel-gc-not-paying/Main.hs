-- | What is alive is one list, or one tree of the same size: a list can only be copied
-- from its head on, by one thread; a tree by several. Each lives for one collection, so
-- that little is promoted. Arguments: "list" or "tree", the number of rounds, and the
-- length of the list or the depth of the tree. Not in the bound main thread, which would
-- hand its capability to and fro.
module Main (main) where

import Control.Concurrent (runInUnboundThread)
import Control.Exception (evaluate)
import Control.Monad (foldM)
import qualified Data.List as List
import System.Environment (getArgs)

main :: IO ()
main = runInUnboundThread $ do
  arguments <- getArgs
  let (shape, rounds, size) = case arguments of
        [name, many, large] -> (name, read many, read large)
        _ -> ("list", 100, 400000)
  total <- case shape of
    "tree" -> turns rounds (grow size) count Leaf
    _ -> turns rounds (\seed -> [seed .. seed + size]) sumUp []
  print total

-- | Makes a structure in each round while the one before is still needed.
turns :: Int -> (Int -> a) -> (a -> Int) -> a -> IO Int
turns rounds make weigh first = fst <$> foldM turn (0, first) [1 .. rounds]
  where
    turn (total, before) seed = do
      let next = make seed
      new <- evaluate (weigh next)
      old <- evaluate (weigh before)
      return (total + new - old, next)

sumUp :: [Int] -> Int
sumUp = List.foldl' (+) 0

data Tree = Leaf | Node Tree Int Tree

grow :: Int -> Int -> Tree
grow 0 _ = Leaf
grow n seed = Node (grow (n - 1) (2 * seed)) seed (grow (n - 1) (2 * seed + 1))

count :: Tree -> Int
count Leaf = 0
count (Node left x right) = count left + x `mod` 2 + count right
