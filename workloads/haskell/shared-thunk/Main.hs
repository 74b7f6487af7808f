-- | Two workers that walk through a lazy list which both share: each element takes
-- longer to compute than a time slice, so that one of them computes it and the other
-- waits. With an argument each worker has a list of its own.
module Main (main) where

import Control.Concurrent
import Control.Exception (evaluate)
import Control.Monad
import GHC.Clock (getMonotonicTime)
import System.Environment (getArgs)

main :: IO ()
main = do
  arguments <- getArgs
  let shared = elements 1
      list number = if null arguments then shared else elements number
  start <- getMonotonicTime
  ends <- forM [1 .. 2] $ \number -> do
    end <- newEmptyMVar
    _ <- forkIO (walk (start + 2.5) 0 (list number) >>= putMVar end)
    return end
  totals <- mapM takeMVar ends
  print (sum totals)

walk :: Double -> Int -> [Int] -> IO Int
walk _ total [] = return total
walk deadline total (value : rest) = do
  computed <- evaluate value
  now <- getMonotonicTime
  if now >= deadline then return total else walk deadline (total + computed) rest

-- | Each takes about 50 ms. The arithmetic allocates, so that it can be interrupted:
-- only then the runtime marks what is being computed.
elements :: Int -> [Int]
elements seed = map (\number -> fromInteger (go 1500000 (toInteger (number + seed)))) [1 ..]
  where
    go :: Int -> Integer -> Integer
    go 0 value = value
    go left value = go (left - 1) ((value * 7919 + toInteger left) `mod` 1000003)
{-# NOINLINE elements #-}
