-- | A hash table: an array of buckets, each a short list in one 'TVar'.
module Hash (hash) where

import Control.Concurrent.STM
import Control.Monad
import Data.Bits (shiftR)
import qualified Data.List as List
import Data.Word (Word64)
import GHC.Arr (Array, elems, indices, listArray, (!))
import Sets

-- | An empty one with a bucket for each four keys.
hash :: Int -> IO Set
hash limit = do
  let size = max 1 (limit `div` 4)
  variables <- replicateM size (newTVarIO [])
  let table = listArray (0, size - 1) variables :: Array Int (TVar [Int])
      bucket key = table ! place size key
      change key there act = do
        members <- readTVar (bucket key)
        if (key `elem` members) == there
          then (writeTVar (bucket key) $! act members) >> return True
          else return False
  return
    Set
      { insert = \key -> change key False (key :)
      , delete = \key -> change key True (filter (/= key))
      , member = \key -> elem key <$> readTVar (bucket key)
      , contents = concat <$> mapM readTVar (elems table)
      , wrong = fmap concat . forM (indices table) $ \index -> do
          members <- readTVar (table ! index)
          let astray = List.find (\key -> place size key /= index) members
          return [show key ++ " is in the wrong bucket" | Just key <- [astray]]
      }

-- | By multiplication, so that adjacent keys do not share a bucket.
place :: Int -> Int -> Int
place size key = fromIntegral ((fromIntegral key * 0x9e3779b97f4a7c15 :: Word64) `shiftR` 33) `mod` size
