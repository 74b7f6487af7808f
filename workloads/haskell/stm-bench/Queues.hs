-- | A queue of two lists, in two 'TVar's; and one of limited length, at which both sides wait
-- for each other. Owns both benchmarks: what was put has to come out once, and that of one
-- thread in its order.
module Queues (queued, handed) where

import Control.Concurrent.STM
import Control.Monad
import Data.IORef
import Foreign.Marshal.Array (mallocArray, pokeArray)
import Foreign.Ptr (Ptr)
import Foreign.Storable (peekElemOff, pokeElemOff)
import Work

-- | The thread that put it, and its number among that thread's items.
data Item = Item !Int !Int

-- | What comes out next, and what was put last.
data Queue = Queue !(TVar [Item]) !(TVar [Item])

newQueue :: IO Queue
newQueue = Queue <$> newTVarIO [] <*> newTVarIO []

put :: Queue -> Item -> STM ()
put (Queue _ back) item = readTVar back >>= writeTVar back . (item :)

take' :: Queue -> STM (Maybe Item)
take' (Queue front back) = do
  next <- readTVar front
  case next of
    item : rest -> writeTVar front rest >> return (Just item)
    [] -> do
      other <- reverse <$> readTVar back
      case other of
        [] -> return Nothing
        item : rest -> do
          writeTVar back []
          writeTVar front rest
          return (Just item)

left :: Queue -> STM [Item]
left queue = take' queue >>= maybe (return []) (\item -> (item :) <$> left queue)

-- | What went in or came out: how many, and the sum of their numbers.
data Sums = Sums !Int !Int

more :: Sums -> Item -> Sums
more (Sums count total) (Item _ number') = Sums (count + 1) (total + number')

-- | What all threads put and took.
data Books = Books {putIn :: IORef (Int, Int), takenOut :: IORef (Int, Int), seen :: Faults}

newBooks :: IO Books
newBooks = Books <$> newIORef (0, 0) <*> newIORef (0, 0) <*> newFaults

enter :: IORef (Int, Int) -> Sums -> IO ()
enter book (Sums count total) = atomicModifyIORef' book (\(counts, totals) -> ((counts + count, totals + total), ()))

-- | The books after a run, with what is left in the queue.
audit :: Books -> [Item] -> IO [String]
audit books rest = do
  putAll <- readIORef (putIn books)
  (count, total) <- readIORef (takenOut books)
  let Sums restCount restTotal = foldl more (Sums 0 0) rest
      found = (count + restCount, total + restTotal)
  said <- faults (seen books)
  return (said ++ ["put in (count, sum): " ++ show putAll ++ ", came out or is left: " ++ show found | putAll /= found])

-- | The last number that a thread has seen of each.
newLast :: Int -> IO (Ptr Int)
newLast size = do
  numbers <- mallocArray size
  pokeArray numbers (replicate size (-1))
  return numbers

-- | Notes an item that came out.
notes :: Books -> Ptr Int -> Item -> IO ()
notes books numbers (Item from number') = do
  before <- peekElemOff numbers from
  when (number' <= before) $
    fault (seen books) ("of thread " ++ show from ++ " came " ++ show number' ++ " after " ++ show before)
  pokeElemOff numbers from number'

-- | Each thread puts one item in and takes one out, in turn: there is always one to take.
queued :: Asked -> IO Ready
queued asked = do
  queue <- newQueue
  books <- newBooks
  return
    Ready
      { work = \worker -> do
          numbers <- newLast (threads asked)
          (in', out) <- foldTimes worker (Sums 0 0, Sums 0 0) $ \(in', out) index _ ->
            if even index
              then do
                let item = Item (number worker) index
                transaction worker (put queue item)
                let in'' = more in' item
                in'' `seq` return (in'', out)
              else do
                taken <- transaction worker (take' queue)
                case taken of
                  Nothing -> fault (seen books) "the queue was empty" >> return (in', out)
                  Just item -> do
                    notes books numbers item
                    let out' = more out item
                    out' `seq` return (in', out')
          enter (putIn books) in'
          enter (takenOut books) out
      , broken = atomically (left queue) >>= audit books
      , spoil = atomically (put queue (Item 0 0))
      }

-- | A queue with the number of its items: so both sides know when to wait.
data Limited = Limited !Int !(TVar Int) !Queue

give :: Worker -> Limited -> Item -> STM ()
give worker (Limited most size queue) item = do
  there <- readTVar size
  if there >= most
    then wait worker
    else do
      writeTVar size $! there + 1
      put queue item

get :: Worker -> Limited -> STM Item
get worker (Limited _ size queue) = do
  there <- readTVar size
  if there == 0
    then wait worker
    else do
      writeTVar size $! there - 1
      taken <- take' queue
      -- Only in a transaction that has read what does not fit together, and will not commit.
      maybe (wait worker) return taken

-- | Half of the threads give, the others take; an operation is an item. One thread alone does
-- both in turn and never waits.
handed :: Asked -> IO Ready
handed asked = do
  queue <- Limited (keys asked) <$> newTVarIO 0 <*> newQueue
  books <- newBooks
  let givers = max 1 (threads asked `div` 2)
      takers = max 1 (threads asked - givers)
      items = operations asked
      loop :: Int -> Sums -> (Int -> IO Item) -> IO Sums
      loop count first act = go 0 first
        where
          go index sofar
            | index >= count = return sofar
            | otherwise = sofar `seq` (act index >>= go (index + 1) . more sofar)
      giving worker index = do
        let item = Item (number worker) index
        transaction worker (give worker queue item)
        return item
      taking worker numbers _ = do
        item <- transaction worker (get worker queue)
        notes books numbers item
        return item
  return
    Ready
      { work = \worker -> do
          numbers <- newLast (threads asked)
          let me = number worker
          if threads asked == 1
            then do
              out <- loop items (Sums 0 0) (\index -> giving worker index >> taking worker numbers index)
              enter (putIn books) out
              enter (takenOut books) out
            else
              if me < givers
                then loop (shareOf items givers me) (Sums 0 0) (giving worker) >>= enter (putIn books)
                else loop (shareOf items takers (me - givers)) (Sums 0 0) (taking worker numbers) >>= enter (takenOut books)
      , broken = do
          let Limited _ size rest = queue
          there <- readTVarIO size
          said <- atomically (left rest) >>= audit books
          return (said ++ ["the queue says that it holds " ++ show there | there /= 0])
      , spoil = let Limited _ _ rest = queue in atomically (put rest (Item 0 0))
      }
