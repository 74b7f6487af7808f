module Main (main) where

import Control.Concurrent
import Control.Monad
import Data.IORef
import GHC.Conc
import System.Environment (getArgs)
import System.IO

main :: IO ()
main = do
  hSetBuffering stdout LineBuffering
  (threads : each : nested : more) <- getArgs
  putStrLn "ready"
  _ <- getLine
  when (more == ["grow"]) $ getNumCapabilities >>= setNumCapabilities . (+ 2)
  shared <- newTVarIO (0 :: Int)
  ends <- forM [1 .. read threads :: Int] $ \_ -> do
    end <- newEmptyMVar
    began <- newIORef (0 :: Int)
    inside <- newIORef (0 :: Int)
    _ <- forkIO $ do
      replicateM_ (read each) (atomically (step (read nested) shared began inside))
      (,) <$> readIORef began <*> readIORef inside >>= putMVar end
    pure end
  counts <- mapM takeMVar ends
  total <- readTVarIO shared
  putStrLn (unwords (map show [sum (map fst counts), sum (map snd counts), total]))
  _ <- getLine
  putStrLn "over"

step :: Bool -> TVar Int -> IORef Int -> IORef Int -> STM ()
step nested shared began inside = do
  unsafeIOToSTM (modifyIORef' began (+ 1))
  if nested
    then (bump >> retry) `orElse` (bump >> add)
    else add
  where
    bump = unsafeIOToSTM (modifyIORef' inside (+ 1))
    add = readTVar shared >>= \value -> writeTVar shared $! value + 1
