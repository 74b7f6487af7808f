-- | A sorted linked list, each link a 'TVar': an operation reads all links up to its place.
module List (list) where

import Control.Concurrent.STM
import Sets

data List = End | Node !Int !(TVar List)

-- | An empty one.
list :: Int -> IO Set
list _ = do
  first <- newTVarIO End
  return
    Set
      { insert = \key -> do
          (link, here) <- place key first
          case here of
            Node found _ | found == key -> return False
            rest -> do
              next <- newTVar rest
              writeTVar link (Node key next)
              return True
      , delete = \key -> do
          (link, here) <- place key first
          case here of
            Node found next | found == key -> do
              readTVar next >>= writeTVar link
              return True
            _ -> return False
      , member = \key -> do
          (_, here) <- place key first
          case here of
            Node found _ -> return (found == key)
            End -> return False
      , contents = walk first
      , wrong = do
          members <- walk first
          return ["the list is not in order" | or (zipWith (>=) members (drop 1 members))]
      }

-- | The link before the first key that is not below, and what it says.
place :: Int -> TVar List -> STM (TVar List, List)
place key link = do
  here <- readTVar link
  case here of
    Node found next | found < key -> place key next
    _ -> return (link, here)

walk :: TVar List -> STM [Int]
walk link = do
  here <- readTVar link
  case here of
    End -> return []
    Node key next -> (key :) <$> walk next
