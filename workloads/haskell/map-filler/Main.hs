module Main (main) where

import Control.Concurrent
import Control.Monad
import Data.IORef
import qualified Data.Map.Strict as Map
import System.Environment (getArgs)

main :: IO ()
main = do
  (seconds : _) <- getArgs
  lanes <- getNumCapabilities
  stop <- newIORef False
  ends <- forM [1 .. lanes] $ \lane -> do
    end <- newEmptyMVar
    _ <- forkOn lane $ do
      let held = Map.fromList [(i, i + lane) | i <- [1 .. 40000 :: Int]]
          loop n = do
            over <- readIORef stop
            let m = Map.fromList [((i * 7919 + n) `mod` 5003, i) | i <- [1 .. 4000 :: Int]]
            if over || Map.foldl' (+) 0 m < 0
              then putMVar end (Map.foldl' (+) n held)
              else loop (n + 1)
      loop (1 :: Int)
    return end
  threadDelay (round (read seconds * 1e6 :: Double))
  writeIORef stop True
  sums <- mapM takeMVar ends
  putStrLn (if sum sums < 0 then "impossible" else "done")
