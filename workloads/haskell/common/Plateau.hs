-- | The last seconds of a program of which it is to be seen where its memory is: two
-- major collections, so that what is counted as alive is alive, then a little work with
-- rests. Owns those seconds and that what is held lives to the end.
module Plateau (plateau, work) where

import Control.Concurrent (threadDelay)
import Control.Exception (evaluate)
import Control.Monad (replicateM_)
import qualified Data.List as List
import Foreign.StablePtr (newStablePtr)
import GHC.Clock (getMonotonicTime)
import System.Mem (performMajorGC)

-- | So many seconds with something held, to the end of the program and over the collection
-- that comes there: the last figures are those of these seconds. The first of the two
-- collections frees, the second one finds what that left; more of them would be a fault of
-- their own.
plateau :: Double -> a -> IO ()
plateau seconds held = do
  _ <- newStablePtr held
  replicateM_ 2 performMajorGC
  work seconds

-- | Works a little for so many seconds and is never idle for long; no collection of the old
-- generation is due meanwhile.
work :: Double -> IO ()
work seconds = do
  start <- getMonotonicTime
  let loop turn = do
        now <- getMonotonicTime
        if now >= start + seconds
          then return ()
          else do
            _ <- evaluate (List.foldl' (+) 0 [x * x `mod` 7 | x <- [turn .. turn + 20000 :: Int]])
            threadDelay 10000
            loop (turn + 1)
  loop 0
