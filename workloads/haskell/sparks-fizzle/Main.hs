-- | The same sums, offered as sparks in three ways. `fizzle`: each small piece right before it is
-- added up. `lazy`: lists as wholes, of which a spark computes the first cell. Else: large pieces,
-- all of them before the first is asked for, and all of each.
module Main (main) where

import Control.Exception (evaluate)
import GHC.Clock (getMonotonicTime)
import GHC.Conc (par, pseq)
import System.Environment (getArgs)

main :: IO ()
main = do
  arguments <- getArgs
  let turn = case arguments of
        ["fizzle"] -> fizzle
        ["lazy"] -> offered (\list -> list `seq` ())
        _ -> offered (\list -> sum list `seq` ())
  start <- getMonotonicTime
  turns (start + 2.5) turn 0 >>= print

turns :: Double -> (Int -> Int) -> Int -> IO Int
turns deadline turn total = do
  now <- getMonotonicTime
  if now >= deadline
    then return total
    else do
      one <- evaluate (turn total)
      turns deadline turn (total + one `mod` 3 + 1)

-- | The thread that sparks the left part needs it next.
fizzle :: Int -> Int
fizzle seed = go (2000 :: Int) seed
  where
    go 0 sum' = sum' `mod` 10007
    go left sum' = part `par` (part `pseq` go (left - 1) (sum' + part))
      where
        part = spin 1000 (sum' + left)

-- | Eight lists at a time, offered by what evaluates one, then added up from the last one on.
offered :: ([Int] -> ()) -> Int -> Int
offered evaluated seed = sparks `seq` sum (map sum (reverse lists)) `mod` 10007
  where
    lists = [[spin 1000 (seed + list * 2000 + item) | item <- [1 .. 2000]] | list <- [1 .. 8]]
    sparks = foldr (\list rest -> evaluated list `par` rest) () lists

-- | So many steps that allocate nothing that stays.
spin :: Int -> Int -> Int
spin steps seed = go steps seed
  where
    go 0 value = value `mod` 7
    go left value = go (left - 1) ((value * 7919 + left) `mod` 10007)
{-# NOINLINE spin #-}
