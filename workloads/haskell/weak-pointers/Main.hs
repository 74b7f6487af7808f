-- | Each small piece of work gets a finalizer of its own: collections of the young find thousands of weak
-- pointers and run what they have to. The arguments are the pieces at a time and seconds.
module Main (main) where

import Control.Monad (forM_, replicateM)
import Data.IORef (IORef, mkWeakIORef, newIORef, readIORef)
import GHC.Clock (getMonotonicTime)
import System.Environment (getArgs)

main :: IO ()
main = do
  [pieces, seconds] <- map read <$> getArgs
  start <- getMonotonicTime
  rounds pieces (start + fromIntegral seconds) 0 >>= print

rounds :: Int -> Double -> Int -> IO Int
rounds pieces deadline count = do
  now <- getMonotonicTime
  if now >= deadline
    then pure count
    else do
      references <- replicateM pieces piece
      forM_ references readIORef
      rounds pieces deadline (count + 1)

piece :: IO (IORef Int)
piece = do
  reference <- newIORef 1
  _ <- mkWeakIORef reference (pure ())
  pure reference
