-- | Four workers that do most of their work while they hold a lock. The argument is
-- the number of locks: with as many as workers no worker waits.
module Main (main) where

import Control.Concurrent
import Control.Exception (evaluate)
import Control.Monad
import GHC.Clock (getMonotonicTime)
import System.Environment (getArgs)

main :: IO ()
main = do
  arguments <- getArgs
  let count = case arguments of
        [text] -> read text
        _ -> 1
  locks <- replicateM count (newMVar (0 :: Int))
  start <- getMonotonicTime
  ends <- forM (zip [1 .. workers] (cycle locks)) $ \(number, lock) -> do
    end <- newEmptyMVar
    _ <- forkIO (work lock (start + 2.5) number >> putMVar end ())
    return end
  mapM_ takeMVar ends
  sums <- mapM readMVar locks
  print (sum sums)

workers :: Int
workers = 4

work :: MVar Int -> Double -> Int -> IO ()
work lock deadline number = do
  now <- getMonotonicTime
  when (now < deadline) $ do
    _ <- evaluate (spin 20000 number)
    modifyMVar_ lock $ \total -> evaluate (total + spin 1000000 number)
    work lock deadline number

-- | So many steps that allocate nothing that stays.
spin :: Int -> Int -> Int
spin steps seed = go steps seed
  where
    go 0 value = value `mod` 7
    go left value = go (left - 1) ((value * 7919 + left) `mod` 10007)
{-# NOINLINE spin #-}
