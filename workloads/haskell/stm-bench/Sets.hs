-- | Sets of numbers under random insertions, deletions and looks. Owns the mix, and the
-- checks that hold for any set; how one is kept is 'List', 'Hash' or 'Tree'.
module Sets (Set (..), mixed) where

import Control.Concurrent.STM
import Control.Monad
import Data.IORef
import Data.List (sort)
import Work

-- | A set whose members are below a limit.
data Set = Set
  { insert :: Int -> STM Bool -- ^ whether it was not there
  , delete :: Int -> STM Bool -- ^ whether it was there
  , member :: Int -> STM Bool
  , contents :: STM [Int] -- ^ in the structure's own order
  , wrong :: STM [String] -- ^ what of the structure itself is not as it should be
  }

data Sums = Sums !Int !Int

-- | Half full at first. Of four operations so many only look; the others insert as often as
-- they delete.
mixed :: Int -> (Int -> IO Set) -> Asked -> IO Ready
mixed looks make asked = do
  set <- make (keys asked)
  mapM_ (atomically . insert set) [0, 2 .. keys asked - 1]
  totals <- atomically (contents set) >>= \first -> newIORef (length first, sum first)
  return
    Ready
      { work = \worker -> do
          Sums more sums <- foldTimes worker (Sums 0 0) (operation set worker)
          atomicModifyIORef' totals (\(count, total) -> ((count + more, total + sums), ()))
      , broken = do
          members <- atomically (contents set)
          expected <- readIORef totals
          structure <- atomically (wrong set)
          let found = (length members, sum members)
              twice = [one | (one, next) <- zip <*> drop 1 $ sort members, one == next]
          return
            ( structure
                ++ ["there are " ++ show found ++ " (count, sum), expected " ++ show expected | found /= expected]
                ++ [show one ++ " is there twice" | one <- take 3 twice]
                ++ [show one ++ " is no key" | one <- take 3 members, one < 0 || one >= keys asked]
            )
      , spoil = atomically (delete set 0) >>= \was -> unless was (void (atomically (insert set 0)))
      }
  where
    operation set worker (Sums more sums) _ chance
      | kind < looks = transaction worker (member set key) >> return (Sums more sums)
      | even kind = do
          new <- transaction worker (insert set key)
          return (if new then Sums (more + 1) (sums + key) else Sums more sums)
      | otherwise = do
          old <- transaction worker (delete set key)
          return (if old then Sums (more - 1) (sums - key) else Sums more sums)
      where
        key = below (keys asked) chance
        kind = below 4 (step chance)
