{-# LANGUAGE BangPatterns #-}

-- | A list of byte strings, then a tenth of it. Byte strings are pinned: a block of them
-- stays as long as one of them is alive. The argument says which tenth: @strip@, every tenth
-- (about one of each block); @take@, the first ones, which lie together; @copy@, every
-- tenth, but copies of them; @short@, every tenth of byte strings that are not pinned.
module Main (main) where

import qualified Data.ByteString as BS
import qualified Data.ByteString.Short as Short
import Plateau
import System.Environment (getArgs)

main :: IO ()
main = do
  arguments <- getArgs
  case arguments of
    ["take"] -> run bytes (take (count `div` 10)) BS.length
    ["copy"] -> run bytes (map BS.copy . everyTenth) BS.length
    ["short"] -> run (Short.toShort . bytes) everyTenth Short.length
    _ -> run bytes everyTenth BS.length

run :: (Int -> a) -> ([a] -> [a]) -> (a -> Int) -> IO ()
run make tenth size = do
  let !superset = forced (map make [1 .. count])
  print (sum (map size superset))
  let !subset = forced (tenth superset)
  plateau 4 subset
  print (sum (map size subset))

count :: Int
count = 400000

bytes :: Int -> BS.ByteString
bytes n = BS.replicate 384 (fromIntegral n)

everyTenth :: [a] -> [a]
everyTenth list = [x | (x, 1) <- zip list (cycle [1 .. 10 :: Int])]

-- | The list with its elements evaluated.
forced :: [a] -> [a]
forced list = foldr seq list list
