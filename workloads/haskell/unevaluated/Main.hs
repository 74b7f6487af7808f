-- | Two threads take half of the work each and hand over their results, which the main thread adds up. The
-- arguments are how they leave them (`lazy`, `forced`), and how many pieces there are.
module Main (main) where

import Control.Concurrent
import Control.Exception (evaluate)
import Control.Monad
import System.Environment (getArgs)

main :: IO ()
main = do
  [way, count] <- getArgs
  ends <- forM [0, 1] $ \half -> do
    end <- newEmptyMVar
    let results = map (spin 100000) [half, half + 2 .. read count]
    _ <- forkIO $ do
      when (way == "forced") $ mapM_ evaluate results
      putMVar end results
    return end
  results <- mapM takeMVar ends
  print (sum (map sum results))

-- | So many steps that allocate nothing that stays.
spin :: Int -> Int -> Int
spin steps seed = go steps seed
  where
    go 0 value = value `mod` 7
    go left value = go (left - 1) ((value * 7919 + left) `mod` 10007)
{-# NOINLINE spin #-}
