{-# LANGUAGE ForeignFunctionInterface #-}

-- | What the threads do: each function is the place on top of the stack of some.
module Waiting where

import Control.Concurrent
import Control.Exception
import Control.Monad
import Desk
import Foreign (Ptr, allocaArray, peek)
import Foreign.C.Types
import GHC.Conc (TVar, atomically, readTVar, retry)
import System.IO.Unsafe (unsafePerformIO)
import System.Posix.Types (Fd)

foreign import ccall safe "usleep" c_usleep :: CUInt -> IO CInt

foreign import ccall unsafe "pipe" c_pipe :: Ptr CInt -> IO CInt

pipe :: IO Fd
pipe = allocaArray 2 $ \ends -> do
  _ <- c_pipe ends
  fromIntegral <$> peek ends

holdDesk :: Desk -> IO () -> IO () -> IO ()
holdDesk desk here action = withDesk desk (here >> action)
{-# NOINLINE holdDesk #-}

visitDesk :: Desk -> IO ()
visitDesk desk = withDesk desk (return ())
{-# NOINLINE visitDesk #-}

doing :: String -> Int -> Fd -> TVar Int -> IO ()
doing what seconds fd variable = case what of
  "call" -> holdInCall seconds
  "delay" -> threadDelay (seconds * 1000000)
  "read" -> threadWaitRead fd
  "transaction" -> awaitChange variable
  "lock" -> newEmptyMVar >>= takeForEver
  _ -> void (evaluate (spin 2000000000 1))
{-# NOINLINE doing #-}

holdInCall :: Int -> IO ()
holdInCall seconds = void (c_usleep (fromIntegral seconds * 1000000))
{-# NOINLINE holdInCall #-}

takeForEver :: MVar () -> IO ()
takeForEver variable = forkIO (threadDelay 100000000 >> putMVar variable ()) >> takeMVar variable
{-# NOINLINE takeForEver #-}

-- | One value for all threads that demand it.
lazily :: Int -> IO Int
lazily seconds = return (slowValue seconds)
{-# NOINLINE lazily #-}

slowValue :: Int -> Int
slowValue seconds = unsafePerformIO (c_usleep (fromIntegral seconds * 1000000) >> return seconds)
{-# NOINLINE slowValue #-}

demandValue :: Int -> IO ()
demandValue value = void (evaluate (value + 1))
{-# NOINLINE demandValue #-}

awaitChange :: TVar Int -> IO ()
awaitChange variable = atomically (readTVar variable >>= \value -> when (value == 0) retry)
{-# NOINLINE awaitChange #-}

sleepLong :: Int -> IO ()
sleepLong seconds = threadDelay (seconds * 1000000) >> sleepLong seconds
{-# NOINLINE sleepLong #-}

awaitInput :: Fd -> IO ()
awaitInput fd = threadWaitRead fd >> awaitInput fd
{-# NOINLINE awaitInput #-}

callOut :: Int -> IO ()
callOut seconds = void (c_usleep (fromIntegral seconds * 1000000))
{-# NOINLINE callOut #-}

interrupt :: ThreadId -> IO ()
interrupt thread = throwTo thread ThreadKilled
{-# NOINLINE interrupt #-}

childWork :: Int -> IO ()
childWork seconds = void (c_usleep (fromIntegral seconds * 1000000))
{-# NOINLINE childWork #-}

-- | So many steps, each of which allocates.
spin :: Integer -> Integer -> Integer
spin 0 value = value
spin left value = spin (left - 1) ((value * 7919 + left) `mod` (2 ^ (70 :: Int)))
{-# NOINLINE spin #-}
