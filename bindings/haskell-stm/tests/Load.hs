{-# LANGUAGE ForeignFunctionInterface #-}
{-# LANGUAGE RankNTypes #-}

-- | Workers under load: threads that do one transaction after the other while others throw
-- exceptions at them, kill them, and change the number of capabilities. Owns these threads
-- and their end; refuses to know what is done.
module Load
  ( Load (..)
  , Outcome (..)
  , Chance
  , below
  , underLoad
  ) where

import Control.Concurrent
import Control.Exception
import Control.Monad
import Data.Bits (shiftL, shiftR, xor)
import Data.IORef
import Data.Word (Word64)
import Foreign.C.Types (CInt (..), CUInt (..))
import GHC.Clock (getMonotonicTime)
import System.Mem (performMajorGC, performMinorGC)

data Load = Load
  { seconds :: Double
  , threads :: Int
  , gentle :: Bool
  -- ^ No exceptions from outside.
  , capabilities :: [Int]
  -- ^ Numbers to change between, while it runs.
  , seed :: Chance
  -- ^ Another one does other steps in another order.
  }

-- | Steps that each worker finished, and what was thrown at them.
data Outcome = Outcome
  { steps :: [Int]
  , nudges :: Int
  , kills :: Int
  }

data Nudge = Nudge
  deriving (Show)

instance Exception Nudge

-- | State of a generator of numbers, never 0.
type Chance = Word64

next :: Chance -> Chance
next a = c `xor` (c `shiftL` 17)
  where
    b = a `xor` (a `shiftL` 13)
    c = b `xor` (b `shiftR` 7)

-- | A number below @n@, and others of the same chance by further places.
below :: Int -> Int -> Chance -> Int
below n place chance = fromIntegral (((chance * 0x9e3779b97f4a7c15) `shiftR` (7 + 5 * place)) `mod` fromIntegral n)

data Slot = Slot
  { thread :: IORef (Maybe ThreadId)
  , done :: IORef Int
  , alarmed :: IORef Bool
  , ended :: MVar ()
  }

-- | Runs @step worker chance@ in each worker until time is over. What a step throws ends
-- that step only. Exceptions from outside come at any moment of a step.
underLoad :: Load -> (Int -> Chance -> IO ()) -> IO Outcome
underLoad load step = do
  stop <- newIORef False
  gate <- newMVar ()
  slots <- replicateM (threads load) (Slot <$> newIORef Nothing <*> newIORef 0 <*> newIORef False <*> newEmptyMVar)
  forM_ (zip [0 ..] slots) $ \(worker, slot) -> forkIO (supervise stop (\chance -> readMVar gate >> step worker chance) (seed load) worker slot)
  when rtsSupportsBoundThreads (void (forkOS (forever prod)))
  start <- getMonotonicTime
  (nudged, killed) <- torment load gate slots start
  writeIORef stop True
  mapM_ release slots
  finished <- mapM (readIORef . done) slots
  pure (Outcome finished nudged killed)

-- | Keeps one worker alive until time is over. Every fourth is bound to a thread of the
-- operating system.
supervise :: IORef Bool -> (Chance -> IO ()) -> Chance -> Int -> Slot -> IO ()
supervise stop step from worker slot = go (from * 1009 + fromIntegral worker + 1)
  where
    fork :: ((forall a. IO a -> IO a) -> IO ()) -> IO ThreadId
    fork body
      | worker `mod` 4 == 3 && rtsSupportsBoundThreads = forkOSWithUnmask body
      | otherwise = forkIOWithUnmask body
    go generation = do
      over <- readIORef stop
      if over
        then putMVar (ended slot) ()
        else do
          gone <- newEmptyMVar
          made <- mask_ $ fork $ \unmask -> do
            _ <- try (work unmask generation) :: IO (Either SomeException ())
            putMVar gone ()
          writeIORef (thread slot) (Just made)
          takeMVar gone
          go (generation + 1000003)
    -- Between two steps nothing from outside comes through.
    work :: (IO () -> IO ()) -> Chance -> IO ()
    work unmask chance = loop (next (chance * 0x2545f4914f6cdd1d))
      where
        loop now = do
          over <- readIORef stop
          unless over $ do
            result <- try (unmask (attempt now))
            case result of
              Right () -> modifyIORef' (done slot) (+ 1)
              Left exception | Just ThreadKilled <- fromException exception -> throwIO ThreadKilled
              Left _ -> pure ()
            loop (next now)
    -- One that is told so is cut short by an alarm of its own, or a later one is.
    -- System.Timeout would take its alarm back, and in 9.0 that can wait for ever.
    attempt now = do
      told <- readIORef (alarmed slot)
      when told $ do
        writeIORef (alarmed slot) False
        me <- myThreadId
        void (forkIO (threadDelay (below 200 3 now) >> throwTo me Nudge))
      step now

-- | Until time is over: exceptions, kills, other numbers of capabilities, collections.
torment :: Load -> MVar () -> [Slot] -> Double -> IO (Int, Int)
torment load gate slots start = go 1 (next (0x1234567 + seed load)) 0 0
  where
    numbers = capabilities load
    go :: Int -> Chance -> Int -> Int -> IO (Int, Int)
    go turn chance nudged killed = do
      rest (50 + below 500 1 chance)
      now <- getMonotonicTime
      unless (null numbers) $
        when (turn `mod` 64 == 0) (change (numbers !! (turn `div` 64 `mod` length numbers)))
      when (turn `mod` 512 == 0) performMajorGC
      if now >= start + seconds load
        then pure (nudged, killed)
        else
          if gentle load
            then go (turn + 1) (next chance) nudged killed
            else do
              let slot = slots !! below (length slots) 2 chance
                  kill = below 16 4 chance == 0
              when (below 4 5 chance == 0) (writeIORef (alarmed slot) True)
              target <- readIORef (thread slot)
              forM_ target $ \at -> if kill then killThread at else throwTo at Nudge
              go (turn + 1) (next chance) (nudged + fromEnum (not kill)) (killed + fromEnum kill)

    -- The runtime of 9.0 changes capabilities with its timer stopped, and may then wait for
    -- ever for a turn beside threads that never rest: they rest meanwhile.
    change number = withMVar gate (\() -> rest 2000 >> setNumCapabilities number)

-- | Waits for a worker's end; it may wait itself, for what no longer comes.
release :: Slot -> IO ()
release slot = do
  over <- tryTakeMVar (ended slot)
  when (over == Nothing) $ do
    target <- readIORef (thread slot)
    mapM_ (`throwTo` Nudge) target
    rest 1000
    release slot

-- | Sleeps for so many microseconds in a foreign call: who comes back from one makes a
-- capability run that the runtime forgot (see `prod`).
rest :: Int -> IO ()
rest microseconds
  | rtsSupportsBoundThreads = void (usleep (fromIntegral microseconds))
  | otherwise = threadDelay microseconds

-- | Makes the runtime look at all its capabilities. When others are switched off, 9.0 and 9.10
-- can leave the only one free with threads to run, with no word of this package in the program
-- (read from the memory of such a one), and whoever could end that may be one of them. A thread
-- that sleeps in a foreign call is not.
prod :: IO ()
prod = rest 20000 >> performMinorGC

foreign import ccall safe "usleep" usleep :: CUInt -> IO CInt
