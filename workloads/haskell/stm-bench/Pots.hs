-- | Tokens in pots, half of which are empty: a transaction takes one from the first of three
-- pots that has any, which is two 'orElse' in each other, and puts it into a fourth. It writes
-- to a pot before it sees that the pot is empty, so that there is something to undo.
module Pots (pots) where

import Control.Concurrent.STM
import Control.Monad
import GHC.Arr (Array, elems, listArray, (!))
import Work

-- | Tokens that are there, that were taken, that were put in.
data Pot = Pot {tokens :: !(TVar Int), taken :: !(TVar Int), given :: !(TVar Int)}

first :: Int -> Int
first pot = if even pot then 2 else 0

pots :: Asked -> IO Ready
pots asked = do
  let count = keys asked
  made <- forM [0 .. count - 1] $ \pot -> Pot <$> newTVarIO (first pot) <*> newTVarIO 0 <*> newTVarIO 0
  let all' = listArray (0, count - 1) made :: Array Int Pot
  return
    Ready
      { work = \worker -> foldTimes worker () $ \_ index chance -> do
          let pot = (all' !) . below count
              (one, two) = (pot chance, pot (step chance))
              (three, other) = (pot (step (step chance)), pot (step (step (step chance))))
              -- Both ways to nest them.
              token
                | even index = takeFrom one `orElse` (takeFrom two `orElse` takeFrom three)
                | otherwise = (takeFrom one `orElse` takeFrom two) `orElse` takeFrom three
          transaction worker ((token >> giveTo other) `orElse` return ())
      , broken = do
          books <- forM (elems all') $ \pot ->
            (,,) <$> readTVarIO (tokens pot) <*> readTVarIO (taken pot) <*> readTVarIO (given pot)
          let sumOf part = sum (map part books)
              there = sumOf (\(has, _, _) -> has)
              expected = sum (map first [0 .. count - 1])
              wrongPot (pot, (has, out, in')) = has /= first pot + in' - out || has < 0
          return
            ( ["there are " ++ show there ++ " tokens, expected " ++ show expected | there /= expected]
                ++ ["pot (tokens, taken, given) " ++ show pot | pot <- take 3 (filter wrongPot (zip [0 ..] books))]
            )
      , spoil = atomically (raised (tokens (all' ! 0)) 1)
      }

takeFrom :: Pot -> STM ()
takeFrom pot = do
  raised (taken pot) 1
  there <- readTVar (tokens pot)
  if there == 0 then retry else writeTVar (tokens pot) $! there - 1

giveTo :: Pot -> STM ()
giveTo pot = raised (tokens pot) 1 >> raised (given pot) 1

raised :: TVar Int -> Int -> STM ()
raised variable more = do
  before <- readTVar variable
  writeTVar variable $! before + more
