-- | Makes as many events of as many kinds as it can: pairs of threads that hand a
-- token to and fro, short-lived threads, sparks, allocation. The argument is the
-- number of rounds; a round is about 17 events.
module Main (main) where

import Control.Concurrent
import Control.Monad
import GHC.Conc (par, pseq)
import System.Environment (getArgs)

main :: IO ()
main = do
  arguments <- getArgs
  let rounds = case arguments of
        [text] -> read text
        _ -> 1000
  ends <- forM [0 .. pairs - 1] (pair (rounds `div` pairs))
  totals <- mapM takeMVar ends
  print (sum totals)

pairs :: Int
pairs = 4

-- | Two threads, on different capabilities, that hand a number to and fro.
pair :: Int -> Int -> IO (MVar Int)
pair rounds number = do
  ping <- newEmptyMVar
  pong <- newEmptyMVar
  end <- newEmptyMVar
  _ <- forkOn number (replicateM_ rounds (takeMVar ping >>= putMVar pong . (+ 1)))
  _ <- forkOn (number + number `div` 2) (foldM (turn ping pong) 0 [1 .. rounds] >>= putMVar end)
  return end

turn :: MVar Int -> MVar Int -> Int -> Int -> IO Int
turn ping pong total count = do
  putMVar ping count
  answer <- takeMVar pong
  let sparked = sum [fib (count `mod` 3 + i) | i <- [1 .. 2]]
      other = fib (count `mod` 5)
  done <- newEmptyMVar
  _ <- forkIO (putMVar done $! sparked)
  part <- sparked `par` (other `pseq` takeMVar done)
  return $! total + answer + part + other

fib :: Int -> Int
fib n = if n < 2 then 1 else fib (n - 1) + fib (n - 2)
