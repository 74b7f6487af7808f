-- | Each small piece of work gets a finalizer of its own: collections of the young find thousands of weak
-- pointers and run what they have to. The arguments are the pieces at a time, seconds, and 1 where pieces have a
-- finalizer, 0 where they have none.
module Main (main) where

import Control.Monad (forM_, replicateM, void, when)
import Data.IORef (IORef, mkWeakIORef, newIORef, readIORef)
import GHC.Clock (getMonotonicTime)
import System.Environment (getArgs)

main :: IO ()
main = do
  [pieces, seconds, finalized] <- map read <$> getArgs
  start <- getMonotonicTime
  rounds (finalized == 1) pieces (start + fromIntegral seconds) 0 >>= print

rounds :: Bool -> Int -> Double -> Int -> IO Int
rounds finalized pieces deadline count = do
  now <- getMonotonicTime
  if now >= deadline
    then pure count
    else do
      references <- replicateM pieces (piece finalized)
      forM_ references readIORef
      rounds finalized pieces deadline (count + 1)

piece :: Bool -> IO (IORef Int)
piece finalized = do
  reference <- newIORef 1
  when finalized $ void $ mkWeakIORef reference (pure ())
  pure reference
