{-# LANGUAGE BangPatterns #-}

-- | What all benchmarks share: workers that begin together and are timed, transactions that
-- are counted if that is asked for, chance that is the same in each run. Owns these; what a
-- transaction does and what must hold afterwards is each benchmark's.
module Work
  ( Asked (..)
  , Ready (..)
  , Worker
  , number
  , withShare
  , transaction
  , wait
  , foldTimes
  , repeated
  , shareOf
  , Chance
  , below
  , step
  , Faults
  , newFaults
  , fault
  , faults
  , Timed (..)
  , run
  ) where

import Control.Concurrent
import Control.Concurrent.STM
import Control.Exception (SomeException, try)
import Control.Monad
import Data.Bits (shiftR, xor)
import Data.IORef
import Data.Word (Word64)
import Foreign.C.Types (CInt (..))
import Foreign.Marshal.Alloc (callocBytes)
import Foreign.Marshal.Array (allocaArray, peekArray)
import Foreign.Ptr (Ptr, nullPtr, plusPtr)
import Foreign.Storable (peekElemOff, pokeElemOff)
import GHC.Clock (getMonotonicTimeNSec)
import GHC.Conc (unsafeIOToSTM)
import System.Mem (performMajorGC)

-- | What the command line says.
data Asked = Asked
  { threads :: !Int
  , operations :: !Int -- ^ of all threads together
  , keys :: !Int -- ^ how wide the benchmark's data is: keys, accounts, places of a buffer
  , counted :: !Bool
  }

-- | A benchmark that was set up.
data Ready = Ready
  { work :: Worker -> IO () -- ^ what each worker does
  , broken :: IO [String] -- ^ afterwards: what should hold and does not
  , spoil :: IO () -- ^ breaks something, so that it is seen that this is seen
  }

-- | One of the threads.
data Worker = Worker
  { number :: !Int -- ^ from 0
  , share :: !Int -- ^ so many operations are its own
  , cells :: !(Ptr Word64) -- ^ where it counts; 'nullPtr': it does not
  }

-- | Runs a transaction. If counting was asked for, a number of the worker's own is raised
-- each time that the transaction begins, and another one when it is done.
transaction :: Worker -> STM a -> IO a
transaction worker body
  | cells worker == nullPtr = atomically body
  | otherwise = do
      done <- atomically (unsafeIOToSTM (raise worker attemptsCell) >> body)
      raise worker doneCell
      return done
{-# INLINE transaction #-}

-- | Waits until something that was read has changed.
wait :: Worker -> STM a
wait worker = do
  when (cells worker /= nullPtr) (unsafeIOToSTM (raise worker waitsCell))
  retry
{-# INLINE wait #-}

attemptsCell, doneCell, waitsCell :: Int
attemptsCell = 0
doneCell = 1
waitsCell = 2

-- | Words of a worker's cells: no two workers share a cache line, or a pair of them.
cellWords :: Int
cellWords = 32

raise :: Worker -> Int -> IO ()
raise worker cell = do
  before <- peekElemOff (cells worker) cell
  pokeElemOff (cells worker) cell (before + 1)
{-# INLINE raise #-}

-- | The same worker with so many operations of its own.
withShare :: Worker -> Int -> Worker
withShare worker operations' = worker {share = operations'}

-- | Does all operations of the worker one after the other, each with chance of its own, of
-- which four draws can be made.
foldTimes :: Worker -> a -> (a -> Int -> Chance -> IO a) -> IO a
foldTimes worker nothing act = go 0 (seeded (number worker)) nothing
  where
    go !index !chance !found
      | index >= share worker = return found
      | otherwise = act found index chance >>= go (index + 1) (step (step (step (step chance))))
{-# INLINE foldTimes #-}

-- | The same without chance.
repeated :: Worker -> IO () -> IO ()
repeated worker act = go (share worker)
  where
    go :: Int -> IO ()
    go left = when (left > 0) (act >> go (left - 1))
{-# INLINE repeated #-}

-- | How many of so many things are the share of one of some.
shareOf :: Int -> Int -> Int -> Int
shareOf things of' one = things `div` of' + (if one < things `mod` of' then 1 else 0)

-- | A linear congruential generator, modulo 2 to the 64 (Knuth's MMIX).
newtype Chance = Chance Word64

seeded :: Int -> Chance
seeded worker = step (step (Chance (fromIntegral (worker + 1) * 0x9e3779b97f4a7c15 `xor` 0x5bd1e9955bd1e995)))

-- | The next.
step :: Chance -> Chance
step (Chance state) = Chance (state * 6364136223846793005 + 1442695040888963407)
{-# INLINE step #-}

-- | A number from 0, below a limit that is above 0. Low bits have short periods: high ones
-- are taken.
below :: Int -> Chance -> Int
below limit (Chance state) = fromIntegral ((state `shiftR` 33) `rem` fromIntegral limit)
{-# INLINE below #-}

-- | What workers saw that must not be; the first of them are kept.
newtype Faults = Faults (IORef [String])

newFaults :: IO Faults
newFaults = Faults <$> newIORef []

fault :: Faults -> String -> IO ()
fault (Faults seen) text = atomicModifyIORef' seen (\before -> (take 5 (before ++ [text]), ()))

faults :: Faults -> IO [String]
faults (Faults seen) = readIORef seen

-- | How a run went.
data Timed = Timed
  { nanoseconds :: !Word64 -- ^ from when all workers may begin until all are done
  , tallies :: [(String, Word64)] -- ^ what was counted
  , ended :: [String] -- ^ exceptions that workers ended with
  }

-- | Runs the workers to their end.
run :: Asked -> Ready -> IO Timed
run asked ready = do
  let bytes = cellWords * 8
  memory <- if counted asked then callocBytes (threads asked * bytes) else return nullPtr
  let worker index =
        Worker
          { number = index
          , share = shareOf (operations asked) (threads asked) index
          , cells = if counted asked then memory `plusPtr` (index * bytes) else nullPtr
          }
      workers = map worker [0 .. threads asked - 1]
  begin <- newEmptyMVar
  there <- newEmptyMVar
  ends <- forM workers $ \one -> do
    end <- newEmptyMVar
    _ <- forkIO (putMVar there () >> readMVar begin >> try (work ready one) >>= putMVar end)
    return end
  replicateM_ (threads asked) (takeMVar there)
  performMajorGC
  before <- runtimeCounts
  start <- getMonotonicTimeNSec
  putMVar begin ()
  results <- mapM takeMVar ends
  stop <- getMonotonicTimeNSec
  after <- runtimeCounts
  own <- if counted asked then ownCounts workers else return []
  let sums = zipWith (\(name, new) (_, old) -> (name, new - old)) after before
      -- Without a single commit it did not count.
      differences = if all ((== 0) . snd) (take 1 sums) then [] else sums
      failed = [show (problem :: SomeException) | Left problem <- results]
  return Timed {nanoseconds = stop - start, tallies = own ++ differences, ended = failed}

ownCounts :: [Worker] -> IO [(String, Word64)]
ownCounts workers = forM [("attempts", attemptsCell), ("transactions", doneCell), ("waits", waitsCell)] $ \(name, cell) -> do
  numbers <- mapM (\worker -> peekElemOff (cells worker) cell) workers
  return (name, sum numbers)

foreign import ccall unsafe "stm_bench_counts" c_counts :: Ptr Word64 -> IO CInt

-- | What the library rtscope-stm has counted so far; nothing where the program is not linked
-- with it.
runtimeCounts :: IO [(String, Word64)]
runtimeCounts = allocaArray 3 $ \sums -> do
  there <- c_counts sums
  if there == 0 then return [] else zip ["commits", "aborts", "blocks"] <$> peekArray 3 sums
