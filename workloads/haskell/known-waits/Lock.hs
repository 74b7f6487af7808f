-- | One lock and the ways to do something while one has it.
module Lock (Lock, Way, newLock, withLock, loseLock, ways, wayName) where

import Control.Concurrent.MVar
import Control.Exception

newtype Lock = Lock (MVar Int)

-- | How a lock is taken: the function on top of the stack of a waiting thread has that name.
data Way = ByWith | ByModify | ByBracket | Plainly

ways :: [Way]
ways = [ByWith, ByModify, ByBracket, Plainly]

wayName :: Way -> String
wayName way = case way of
  ByWith -> "byWith"
  ByModify -> "byModify"
  ByBracket -> "byBracket"
  Plainly -> "plainly"

newLock :: IO Lock
newLock = Lock <$> newMVar 0

withLock :: Way -> Lock -> IO () -> IO ()
withLock way = case way of
  ByWith -> byWith
  ByModify -> byModify
  ByBracket -> byBracket
  Plainly -> plainly

byWith :: Lock -> IO () -> IO ()
byWith (Lock lock) action = withMVar lock (const action)
{-# NOINLINE byWith #-}

byModify :: Lock -> IO () -> IO ()
byModify (Lock lock) action = modifyMVar_ lock (\count -> action >> return (count + 1))
{-# NOINLINE byModify #-}

byBracket :: Lock -> IO () -> IO ()
byBracket (Lock lock) action = bracket (takeMVar lock) (putMVar lock) (const action) >> return ()
{-# NOINLINE byBracket #-}

-- | Without a thought of exceptions.
plainly :: Lock -> IO () -> IO ()
plainly (Lock lock) action = takeMVar lock >>= \count -> action >> putMVar lock (count + 1)
{-# NOINLINE plainly #-}

-- | Takes it and never gives it back.
loseLock :: Lock -> IO ()
loseLock (Lock lock) = () <$ takeMVar lock
{-# NOINLINE loseLock #-}
