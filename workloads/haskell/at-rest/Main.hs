-- Workers wait for what signals bring, and none comes but the one that ends it. No thread sleeps or reads.
module Main (main) where

import Control.Concurrent
import Control.Monad
import System.Posix.Signals

main :: IO ()
main = do
  stop <- newEmptyMVar
  queue <- newChan
  _ <- installHandler sigUSR1 (Catch (writeChan queue (1 :: Int))) Nothing
  _ <- installHandler sigALRM (Catch (putMVar stop ())) Nothing
  replicateM_ 3 (forkIO (forever (readChan queue >>= print . (+ 1))))
  _ <- scheduleAlarm 3
  takeMVar stop
