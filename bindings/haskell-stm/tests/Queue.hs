-- | Producers and consumers that wait for each other at a short queue: everything arrives
-- once, in the order in which its producer sent it.
module Queue (queue) where

import Broken
import Control.Monad
import GHC.Arr (Array, elems, indices, listArray, (!))
import GHC.Conc
import Load
import RtScope.STM

data Queue = Queue
  { front, back :: TVar [(Int, Int)]
  , size :: TVar Int
  , sent, arrived :: Array Int (TVar Int)
  -- ^ Next number of each producer, on either side.
  }

room :: Int
room = 8

send :: Queue -> Int -> STM ()
send line producer = do
  used <- readTVar (size line)
  when (used >= room) retry
  writeTVar (size line) $! used + 1
  number <- readTVar (sent line ! producer)
  writeTVar (sent line ! producer) $! number + 1
  readTVar (back line) >>= writeTVar (back line) . ((producer, number) :)

-- | Takes the first; whether it is the one that was to come.
receive :: Queue -> STM Bool
receive line = do
  waiting <- readTVar (front line)
  case waiting of
    [] -> do
      others <- readTVar (back line)
      when (null others) retry
      writeTVar (back line) []
      writeTVar (front line) (reverse others)
      receive line
    (producer, number) : others -> do
      writeTVar (front line) others
      used <- readTVar (size line)
      writeTVar (size line) $! used - 1
      expected <- readTVar (arrived line ! producer)
      writeTVar (arrived line ! producer) $! number + 1
      pure (expected == number)

queue :: Load -> IO (Outcome, [String])
queue load = do
  let numbers = replicateM (threads load) (newTVarIO 0)
      table = listArray (0, threads load - 1)
  line <- Queue <$> newTVarIO [] <*> newTVarIO [] <*> newTVarIO 0 <*> (table <$> numbers) <*> (table <$> numbers)
  broken <- newBroken
  names <- (,) <$> name "send" <*> name "receive"
  outcome <- underLoad load (step line broken names)
  let drain = atomically ((Just <$> receive line) `orElse` pure Nothing) >>= maybe (pure ()) (\good -> check' good >> drain)
      check' = expect broken "in order while it is emptied" True
  drain
  forM_ (indices (sent line)) $ \producer -> do
    wanted <- readTVarIO (sent line ! producer)
    found <- readTVarIO (arrived line ! producer)
    expect broken ("all of producer " ++ show producer) wanted found
  left <- readTVarIO (size line)
  expect broken "left in the end" 0 left
  expect broken "producers" (threads load) (length (elems (sent line)))
  (,) outcome <$> allBroken broken

step :: Queue -> Broken -> (Name, Name) -> Int -> Chance -> IO ()
step line broken (sends, receives) worker chance
  | even worker = atomicallyNamed sends (send line worker)
  | below 4 0 chance == 0 = do
      -- Does not wait, but takes what is there.
      good <- atomically (receive line `orElse` pure True)
      expect broken "in order" True good
  | otherwise = atomicallyNamed receives (receive line) >>= expect broken "in order" True
