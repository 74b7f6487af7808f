-- | Workers that have little to do: a job each 10 ms. They take jobs from one queue or, with an argument, in turn with a lock
-- in hand: they read them from a pipe (turn), as servers do that accept connections one at a time, or sleep until the next
-- is due (asleep); or they sleep before they take the lock (awake).
module Main (main) where

import Control.Concurrent
import Control.Exception (evaluate)
import Control.Monad
import GHC.Clock (getMonotonicTime)
import System.Environment (getArgs)
import System.IO
import System.Posix.IO (createPipe, fdToHandle)

main :: IO ()
main = do
  arguments <- getArgs
  start <- getMonotonicTime
  let end = start + 2.5
  case arguments of
    [] -> fedByQueue end
    ["turn"] -> fedByPipe end
    ["asleep"] -> inTurn end $ \turn -> withMVar turn (\() -> threadDelay 10000)
    _ -> inTurn end $ \turn -> threadDelay 10000 >> withMVar turn return

workers :: Int
workers = 4

feed :: Double -> (Int -> IO ()) -> IO ()
feed end put = go 1
  where
    go number = do
      now <- getMonotonicTime
      when (now < end) $ put number >> threadDelay 10000 >> go (number + 1)

fedByQueue :: Double -> IO ()
fedByQueue end = do
  queue <- newEmptyMVar
  replicateM_ workers (forkIO (forever (takeMVar queue >>= job)))
  feed end (putMVar queue)

fedByPipe :: Double -> IO ()
fedByPipe end = do
  (reading, writing) <- createPipe
  [source, sink] <- mapM fdToHandle [reading, writing]
  hSetBuffering sink LineBuffering
  _ <- forkIO $ inTurn end $ \turn -> withMVar turn (\() -> void (hGetLine source))
  feed end (hPrint sink)

inTurn :: Double -> (MVar () -> IO ()) -> IO ()
inTurn end next = do
  turn <- newMVar ()
  ends <- forM [1 .. workers] $ \number -> do
    done <- newEmptyMVar
    _ <- forkIO (serve turn number >> putMVar done ())
    return done
  mapM_ takeMVar ends
  where
    serve turn number = do
      now <- getMonotonicTime
      when (now < end) $ next turn >> job number >> serve turn number

-- | A millisecond or so.
job :: Int -> IO ()
job seed = void (evaluate (go 300000 seed))
  where
    go :: Int -> Int -> Int
    go 0 value = value
    go left value = go (left - 1) ((value * 7919 + left) `mod` 1000003)
