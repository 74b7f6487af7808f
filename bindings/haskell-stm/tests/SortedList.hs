-- | A sorted linked list: its order and its length fit what was done to it.
module SortedList (sortedList) where

import Broken
import Control.Monad
import GHC.Arr (Array, elems, listArray, (!))
import GHC.Conc
import Load
import RtScope.STM

data Node = End | Node !Int !(TVar Node)

keys :: Int
keys = 64

-- | The place of the first node whose key is not below @key@, and that node.
place :: Int -> TVar Node -> STM (TVar Node, Node)
place key at = do
  node <- readTVar at
  case node of
    Node here further | here < key -> place key further
    _ -> pure (at, node)

-- | Whether it was new.
insert :: TVar Node -> Int -> STM Bool
insert list key = do
  (at, node) <- place key list
  case node of
    Node here _ | here == key -> pure False
    _ -> newTVar node >>= writeTVar at . Node key >> pure True

-- | Whether it was there.
delete :: TVar Node -> Int -> STM Bool
delete list key = do
  (at, node) <- place key list
  case node of
    Node here further | here == key -> readTVar further >>= writeTVar at >> pure True
    _ -> pure False

contents :: TVar Node -> STM [Int]
contents at = do
  node <- readTVar at
  case node of
    End -> pure []
    Node key further -> (key :) <$> contents further

ascends :: [Int] -> Bool
ascends list = and (zipWith (<) list (drop 1 list))

-- | Beside the list, how much each worker made it grow: of the same transactions.
sortedList :: Load -> IO (Outcome, [String])
sortedList load = do
  list <- newTVarIO End
  grown <- listArray (0, threads load - 1) <$> replicateM (threads load) (newTVarIO 0)
  broken <- newBroken
  names <- (,) <$> name "insert" <*> name "delete"
  outcome <- underLoad load (step list grown broken names)
  found <- atomically (contents list)
  total <- sum <$> mapM readTVarIO (elems grown)
  expect broken "in order at the end" True (ascends found)
  expect broken "length at the end" total (length found)
  (,) outcome <$> allBroken broken

step :: TVar Node -> Array Int (TVar Int) -> Broken -> (Name, Name) -> Int -> Chance -> IO ()
step list grown broken (inserts, deletes) worker chance = case below 16 0 chance of
  0 -> atomically (contents list) >>= expect broken "in order" True . ascends
  n | even n -> atomicallyNamed inserts (insert list key >>= grow 1)
  _ -> atomicallyNamed deletes (delete list key >>= grow (-1))
  where
    key = below keys 1 chance
    grow by changed = when changed (readTVar mine >>= \before -> writeTVar mine $! before + by)
    mine = grown ! worker
