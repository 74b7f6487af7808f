-- | Two workers build tables, one after the other, and throw them away: what is alive when the allocation area
-- is full is most of the table so far, and dead a moment later. The arguments are the entries of a table and
-- seconds.
module Main (main) where

import Control.Concurrent (forkIO, newEmptyMVar, putMVar, takeMVar)
import Control.Exception (evaluate)
import Control.Monad (forM, forM_)
import Data.List (foldl')
import qualified Data.Map.Strict as Map
import GHC.Clock (getMonotonicTime)
import System.Environment (getArgs)

main :: IO ()
main = do
  [entries, seconds] <- map read <$> getArgs
  start <- getMonotonicTime
  dones <- forM [1, 2] $ \seed -> do
    done <- newEmptyMVar
    _ <- forkIO (tables entries (start + fromIntegral seconds) seed 0 >>= putMVar done)
    pure done
  forM_ dones $ \done -> takeMVar done >>= print

-- | How many were built until the deadline.
tables :: Int -> Double -> Int -> Int -> IO Int
tables entries deadline seed count = do
  now <- getMonotonicTime
  if now >= deadline
    then pure count
    else do
      let insert table i = Map.insertWith (+) ((i * 7919 + seed) `mod` entries) i table
      _ <- evaluate (Map.size (foldl' insert Map.empty [count .. count + entries]))
      tables entries deadline (seed + 1) (count + 1)
