-- | Threads that wait, each for something that is known, for so many seconds. The arguments: how many wait for
-- the desk; what its holder does meanwhile (call, delay, read, transaction, lock, spin); how many sleep; seconds.
module Main (main) where

import Control.Concurrent
import Control.Exception
import Control.Monad
import Desk
import GHC.Conc (newTVarIO)
import System.Environment (getArgs)
import Waiting

main :: IO ()
main = do
  [count, what, sleepers, text] <- getArgs
  let seconds = read text :: Int
  desk <- newDesk
  inside <- newEmptyMVar
  fd <- pipe
  variable <- newTVarIO (0 :: Int)
  _ <- forkIO (holdDesk desk (putMVar inside ()) (doing what seconds fd variable))
  takeMVar inside
  replicateM_ (read count) (forkIO (visitDesk desk))
  value <- lazily seconds
  replicateM_ 4 (forkIO (demandValue value))
  replicateM_ 3 (forkIO (awaitChange variable))
  replicateM_ (read sleepers) (forkIO (sleepLong seconds))
  replicateM_ 2 (forkIO (awaitInput fd))
  caller <- forkIO (callOut seconds)
  threadDelay 50000
  _ <- forkIO (interrupt caller)
  end <- newEmptyMVar
  _ <- forkIO (childWork seconds `finally` putMVar end ())
  takeMVar end
