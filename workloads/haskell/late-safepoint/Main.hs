{-# LANGUAGE BangPatterns #-}

-- | A loop that does not allocate: it has no heap check, so nothing can stop it
-- before its end some 20 ms later.
module Main (main, spin) where

import Beside
import Control.Exception (evaluate)
import Data.Bits (shiftR, xor)

main :: IO ()
main = do
  rest <- restOfArguments
  beside 2 rest (\n -> evaluate (spin 10000000 n)) >>= print

-- | A pseudo-random walk of so many steps.
spin :: Int -> Int -> Int
spin !n !x
  | n == 0 = x
  | otherwise = spin (n - 1) ((x * 6364136223846793005 + 1442695040888963407) `xor` (x `shiftR` 29))
{-# NOINLINE spin #-}
