-- | Keeps a thousand values in each of many variables and replaces them, one variable after the other: what is alive stays
-- as much, and what is replaced fills the old generation. Few writes: what collections look through for what points to young
-- values is small. The argument is the number of values.
module Main (main) where

import Control.Exception (evaluate)
import Control.Monad (forM, forM_)
import Data.Array
import Data.IORef
import GHC.Clock (getMonotonicTime)
import System.Environment (getArgs)

main :: IO ()
main = do
  [size] <- map read <$> getArgs
  let groups = size `div` 1000
  variables <- forM [0 .. groups - 1] $ \key -> evaluate (group key 0) >>= newIORef
  let table = listArray (0, groups - 1) variables
  start <- getMonotonicTime
  loop table groups (start + 2.5) 0

loop :: Array Int (IORef [[Int]]) -> Int -> Double -> Int -> IO ()
loop table groups deadline turn = do
  now <- getMonotonicTime
  if now >= deadline
    then readIORef (table ! 0) >>= print . (+ turn) . sum . map length
    else do
      forM_ [1 .. 1000] $ \i -> evaluate (sum [value * turn `mod` 7 + i | value <- [1 .. 60]])
      let key = turn `mod` groups
      evaluate (group key turn) >>= writeIORef (table ! key)
      loop table groups deadline (turn + 1)

-- | A list of lists that is there as a whole.
group :: Int -> Int -> [[Int]]
group key turn = strict [fresh (key * 1000 + i) turn | i <- [1 .. 1000]]

fresh :: Int -> Int -> [Int]
fresh key turn = strict [key, key + turn `mod` 5, turn]

strict :: [a] -> [a]
strict = foldr (\item rest -> item `seq` rest `seq` (item : rest)) []
