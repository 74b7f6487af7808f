-- | Rounds of work that two threads do at once. The argument is how many of a hundred pieces
-- the first one gets; a round is over when both are done.
module Main (main) where

import Control.Concurrent
import Control.Exception (evaluate)
import Control.Monad
import GHC.Clock (getMonotonicTime)
import System.Environment (getArgs)

main :: IO ()
main = do
  arguments <- getArgs
  let first = case arguments of
        [text] -> read text
        _ -> 85
  start <- getMonotonicTime
  rounds (start + 2.5) [first, 100 - first] 0 >>= print

rounds :: Double -> [Int] -> Int -> IO Int
rounds deadline shares total = do
  now <- getMonotonicTime
  if now >= deadline
    then return total
    else do
      ends <- forM shares $ \count -> do
        end <- newEmptyMVar
        _ <- forkIO (pieces count 0 >>= putMVar end)
        return end
      sums <- mapM takeMVar ends
      rounds deadline shares (total + sum sums)

pieces :: Int -> Int -> IO Int
pieces count total
  | count == 0 = return total
  | otherwise = do
      one <- evaluate (spin 100000 count)
      pieces (count - 1) (total + one)

-- | So many steps that allocate nothing that stays.
spin :: Int -> Int -> Int
spin steps seed = go steps seed
  where
    go 0 value = value `mod` 7
    go left value = go (left - 1) ((value * 7919 + left) `mod` 10007)
{-# NOINLINE spin #-}
