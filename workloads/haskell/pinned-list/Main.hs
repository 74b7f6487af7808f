{-# LANGUAGE BangPatterns #-}
module Main (main) where

import qualified Data.ByteString as BS
import System.Environment (getArgs)
import System.IO
import System.Mem (performGC)

main :: IO ()
main = do
  hSetBuffering stdout LineBuffering
  (way : count : _) <- getArgs
  let n = read count :: Int
  settle "start"
  let !superset = forced (take n [BS.replicate 8 x | x <- cycle [minBound .. maxBound]])
  settle "all"
  let !subset = forced (if way == "take" then take (n `div` 10) superset
                        else [x | (x, 1) <- zip superset (cycle [1 .. 10 :: Int])])
  settle "some"
  print (sum (map BS.length subset))

forced :: [BS.ByteString] -> [BS.ByteString]
forced list = foldr seq list list

settle :: String -> IO ()
settle name = do
  mapM_ (const performGC) [1 .. 3 :: Int]
  putStrLn name
  _ <- getLine
  return ()
