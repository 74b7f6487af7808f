-- | A service with much live data and little to do: a heartbeat, and long rests. The
-- argument is the number of entries that it keeps.
module Main (main) where

import Control.Concurrent
import Control.Exception (evaluate)
import Control.Monad
import qualified Data.Map.Strict as Map
import System.Environment (getArgs)

main :: IO ()
main = do
  arguments <- getArgs
  let entries = case arguments of
        [text] -> read text
        _ -> 600000
  table <- evaluate (Map.fromList [(i, i * 7919) | i <- [1 .. entries :: Int]])
  answers <- forM [1 .. 5] $ \beat -> do
    threadDelay 600000
    evaluate (sum [Map.findWithDefault 0 (i * beat) table | i <- [1 .. 200]])
  print (sum answers + Map.size table)
