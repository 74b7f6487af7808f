-- | Workers that allocate a little, and a thread that calls performMajorGC by a timer.
-- The argument is its period in milliseconds; 0: it is not started.
module Main (main) where

import Control.Concurrent
import Control.Exception (evaluate)
import Control.Monad
import qualified Data.Map.Strict as Map
import GHC.Clock (getMonotonicTime)
import System.Environment (getArgs)
import System.Mem (performMajorGC)

main :: IO ()
main = do
  arguments <- getArgs
  let period = case arguments of
        [text] -> read text
        _ -> 100
  table <- evaluate (Map.fromList [(i, i * 7919) | i <- [1 .. 100000 :: Int]])
  when (period > 0) $ void $ forkIO $ forever (threadDelay (period * 1000) >> performMajorGC)
  start <- getMonotonicTime
  ends <- forM [1 .. 2] $ \number -> do
    end <- newEmptyMVar
    _ <- forkIO (work table (start + 2.5) number 0 >>= putMVar end)
    return end
  totals <- mapM takeMVar ends
  print (sum totals)

-- | Looks things up, and rests as long.
work :: Map.Map Int Int -> Double -> Int -> Int -> IO Int
work table deadline number total = do
  now <- getMonotonicTime
  if now >= deadline
    then return total
    else do
      found <- evaluate (sum [Map.findWithDefault 0 (i * number `mod` 100003) table | i <- [1 .. 2000]])
      threadDelay 1000
      work table deadline number (total + found `mod` 7)
