-- | Sparks of every fate: work that is worth it, work that the main thread gets to
-- first, bursts larger than the pool, values that are there already. A number on
-- the command line is how many rounds.
module Main (main) where

import Control.Exception (evaluate)
import GHC.Conc (par)
import System.Environment (getArgs)

main :: IO ()
main = do
  arguments <- getArgs
  let rounds = case arguments of
        [text] -> read text
        _ -> 150
  totals <- mapM turn [1 .. rounds]
  print (sum totals)

turn :: Int -> IO Int
turn number = do
  let parts = [fib (18 + (number + i) `mod` 5) | i <- [1 .. 40]]
  total <- evaluate (sparkAll parts (sum parts))
  -- No thread demands these: what no lane has run by the next collection is dropped.
  evaluate (sparkAll [fib (i `mod` 3) + number | i <- [1 .. burst]] ())
  known <- evaluate (fib (number `mod` 3))
  evaluate (known `par` ())
  return $! total + known

-- | So many more than a pool holds (4096) that no other lane gets to them in time.
burst :: Int
burst = 30000

sparkAll :: [a] -> b -> b
sparkAll list rest = foldr par rest list
{-# NOINLINE sparkAll #-}

fib :: Int -> Int
fib n = if n < 2 then 1 else fib (n - 1) + fib (n - 2)
