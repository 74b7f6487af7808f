-- | Reads large buffers and keeps something of each under its number. The argument says what:
-- @slice@, its first 16 bytes as a slice, which keeps all of it; @copy@, a copy of them;
-- @whole@, the buffer itself.
module Main (main) where

import qualified Data.ByteString as BS
import qualified Data.List as List
import qualified Data.Map.Strict as Map
import Plateau
import System.Environment (getArgs)

main :: IO ()
main = do
  arguments <- getArgs
  let cut = case arguments of
        ["copy"] -> BS.copy . BS.take 16
        ["whole"] -> id
        _ -> BS.take 16
      keep table n = Map.insert n (cut (buffer n)) table
      table = List.foldl' keep Map.empty [1 .. buffers]
  print (Map.size table)
  plateau 4 table
  print (Map.foldl' (\total key -> total + BS.length key) 0 table)

buffers :: Int
buffers = 800

-- | What is read from somewhere: 64 to 448 KiB.
buffer :: Int -> BS.ByteString
buffer n = BS.replicate (64 * 1024 * (1 + n `mod` 7)) (fromIntegral n)
{-# NOINLINE buffer #-}
