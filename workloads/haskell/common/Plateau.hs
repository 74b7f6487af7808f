-- | The last seconds of a program of which it is to be seen where its memory is: two
-- major collections, so that what is counted as alive is alive, then a little work with
-- rests. Owns those seconds; what is held meanwhile is the workload's own.
module Plateau (plateau, settled) where

import Control.Concurrent (threadDelay)
import Control.Exception (evaluate)
import Control.Monad (replicateM_)
import qualified Data.List as List
import GHC.Clock (getMonotonicTime)
import System.Mem (performMajorGC)

-- | Two major collections: the first one frees, the second one finds what that left.
-- No more of them, or they would be a fault of their own.
settled :: IO ()
settled = replicateM_ 2 performMajorGC

-- | Works a little for so many seconds, 2 ms at a time and never idle for long; no
-- collection of the old generation is due meanwhile.
plateau :: Double -> IO ()
plateau seconds = do
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
