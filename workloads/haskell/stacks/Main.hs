-- | Recursion that is not in tail position, a hundred thousand frames deep, that allocates on its way: each
-- collection finds another part of the stack changed. The arguments are the depth and seconds.
module Main (main) where

import Control.Exception (evaluate)
import GHC.Clock (getMonotonicTime)
import System.Environment (getArgs)

main :: IO ()
main = do
  [depth, seconds] <- map read <$> getArgs
  start <- getMonotonicTime
  rounds depth (start + fromIntegral seconds) 0 >>= print

rounds :: Int -> Double -> Int -> IO Int
rounds depth deadline count = do
  now <- getMonotonicTime
  if now >= deadline
    then pure count
    else do
      _ <- evaluate (digits depth)
      rounds depth deadline (count + 1)

-- | The digits of all numbers up to this one.
digits :: Int -> Int
digits 0 = 0
digits n = length (show n) + digits (n - 1)
{-# NOINLINE digits #-}
