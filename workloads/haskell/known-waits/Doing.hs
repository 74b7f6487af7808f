{-# LANGUAGE ForeignFunctionInterface #-}

-- | What threads do: each function is the place on top of the stack of those that do it.
module Doing where

import Control.Concurrent
import Control.Exception
import Control.Monad
import Data.IORef (IORef, readIORef)
import Foreign (Ptr, allocaArray, peekElemOff)
import Foreign.C.Types
import GHC.Conc (TVar, atomically, readTVar, retry)
import System.IO.Unsafe (unsafePerformIO)
import System.Posix.Types (Fd)

foreign import ccall safe "known_call" c_known_call :: CInt -> IO CInt

foreign import ccall unsafe "pipe" c_pipe :: Ptr CInt -> IO CInt

foreign import ccall unsafe "socketpair" c_socketpair :: CInt -> CInt -> CInt -> Ptr CInt -> IO CInt

-- | An end at which nothing ever comes.
pipe, socket :: IO Fd
pipe = firstOf c_pipe
socket = firstOf (c_socketpair 1 1 0)

firstOf :: (Ptr CInt -> IO CInt) -> IO Fd
firstOf make = allocaArray 2 $ \ends -> do
  done <- make ends
  when (done /= 0) (fail "no pipe")
  fromIntegral <$> peekElemOff ends 0

-- | Longer than any program here runs.
long :: Int
long = 1000000000

inCall :: Int -> IO ()
inCall milliseconds = void (c_known_call (fromIntegral milliseconds))
{-# NOINLINE inCall #-}

inDelay :: Int -> IO ()
inDelay time = threadDelay time >> inDelay time
{-# NOINLINE inDelay #-}

inPipe :: Fd -> IO ()
inPipe fd = threadWaitRead fd >> inPipe fd
{-# NOINLINE inPipe #-}

inSocket :: Fd -> IO ()
inSocket fd = threadWaitRead fd >> inSocket fd
{-# NOINLINE inSocket #-}

inTransaction :: TVar Int -> IO ()
inTransaction variable = atomically (readTVar variable >>= \value -> when (value == 0) retry)
{-# NOINLINE inTransaction #-}

-- | Runs on a capability until it is asked to stop.
running :: IORef Bool -> IO ()
running stop = go 1
  where
    -- Each value follows from the one before, so that none is computed once and for all.
    go value = readIORef stop >>= \over -> unless over (evaluate (steps 20000 value) >>= go)
{-# NOINLINE running #-}

-- | They allocate nothing, so that collections are rare: a look that meets one comes to nothing.
steps :: Int -> Int -> Int
steps 0 value = value
steps left value = steps (left - 1) ((value * 7919 + left) `mod` 1000003)
{-# NOINLINE steps #-}

-- | One value for all threads that demand it; the first of them does something else first.
lazily :: IO () -> IO Int
lazily action = return (slowly action)
{-# NOINLINE lazily #-}

slowly :: IO () -> Int
slowly action = unsafePerformIO (action >> return 1)
{-# NOINLINE slowly #-}

demanding :: Int -> IO ()
demanding value = void (evaluate (value + 1))
{-# NOINLINE demanding #-}

throwing :: ThreadId -> IO ()
throwing thread = throwTo thread ThreadKilled >> throwing thread
{-# NOINLINE throwing #-}

reading :: MVar Int -> IO ()
reading variable = void (readMVar variable)
{-# NOINLINE reading #-}

-- | Fills a variable, much later.
filling :: MVar Int -> IO ()
filling variable = threadDelay long >> putMVar variable 1
{-# NOINLINE filling #-}

-- | Takes no exception while it sleeps, from the moment on at which it does something else.
deaf :: IO () -> IO ()
deaf here = uninterruptibleMask_ (here >> threadDelay long) >> deaf here
{-# NOINLINE deaf #-}
