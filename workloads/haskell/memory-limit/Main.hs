-- | Keeps a value in each of many variables and replaces them, one after the other all over: what is alive stays as much,
-- and what is replaced fills the old generation. The argument is the number of variables.
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
  variables <- forM [0 .. size - 1] $ \key -> evaluate (fresh key 0) >>= newIORef
  let table = listArray (0, size - 1) variables
  start <- getMonotonicTime
  loop table size (start + 2.5) 0

loop :: Array Int (IORef [Int]) -> Int -> Double -> Int -> IO ()
loop table size deadline turn = do
  now <- getMonotonicTime
  if now >= deadline
    then readIORef (table ! 0) >>= print . (+ turn) . length
    else do
      forM_ [0 .. 999] $ \i -> do
        let key = (turn * 1000 + i) * 7919 `mod` size
        value <- evaluate (fresh key turn)
        _ <- evaluate (sum [value' * turn `mod` 7 | value' <- [1 .. 60]])
        writeIORef (table ! key) value
      loop table size deadline (turn + 1)

-- | A list that is there as a whole.
fresh :: Int -> Int -> [Int]
fresh key turn = foldr (\item rest -> item `seq` rest `seq` (item : rest)) [] [key, key + turn `mod` 5, turn]
