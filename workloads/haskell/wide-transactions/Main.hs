-- | Two workers each count what they sell. The arguments: how, and how many sales each.
-- wide: a transaction reads all shelves, and any sale by the other one has it run again; narrow: it reads and writes one.
module Main (main) where

import Control.Concurrent
import Control.Monad
import Data.Array
import GHC.Conc
import System.Environment (getArgs)

main :: IO ()
main = do
  [how, shelves, count] <- getArgs
  let last_ = read shelves - 1 :: Int
  stock <- listArray (0, last_) <$> replicateM (last_ + 1) (newTVarIO 0)
  ends <- forM [0, 1] $ \worker -> do
    end <- newEmptyMVar
    _ <- forkIO $ do
      forM_ [1 .. read count] $ \sale -> sell (how == "wide") stock ((sale * 7 + worker * 3) `mod` (last_ + 1))
      putMVar end ()
    return end
  mapM_ takeMVar ends
  sums <- mapM readTVarIO (elems stock)
  print (sum sums)

sell :: Bool -> Array Int (TVar Int) -> Int -> IO ()
sell wide stock shelf = atomically $ do
  counts <- if wide then mapM readTVar (elems stock) else return [0]
  let variable = stock ! shelf
  now <- readTVar variable
  writeTVar variable $! now + 1 + min 0 (sum counts)
