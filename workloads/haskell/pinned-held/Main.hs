{-# LANGUAGE BangPatterns #-}
module Main (main) where

import Control.Concurrent (threadDelay)
import Control.Monad (forM_)
import qualified Data.ByteString as BS
import Foreign.StablePtr (newStablePtr)
import System.Environment (getArgs)
import System.Mem (performGC)

main :: IO ()
main = do
  (count : rounds : _) <- map read <$> getArgs
  let !held = forced [BS.replicate 1000 (fromIntegral n) | n <- [1 .. count :: Int]]
  _ <- newStablePtr held -- alive until the process ends, its last collection too
  performGC
  forM_ [1 .. rounds :: Int] $ \n -> do
    let !_ = sum (map fromIntegral [n .. n + 100000] :: [Integer])
    threadDelay 50000
  print (sum (map BS.length held))

forced :: [BS.ByteString] -> [BS.ByteString]
forced list = foldr seq list list
