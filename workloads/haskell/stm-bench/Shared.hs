-- | One number that all threads raise by one: no two transactions can run in parallel.
module Shared (shared) where

import Control.Concurrent.STM
import Work

shared :: Asked -> IO Ready
shared asked = do
  sum' <- newTVarIO 0
  return
    Ready
      { work = \worker -> repeated worker (transaction worker (raised sum'))
      , broken = do
          found <- readTVarIO sum'
          return ["it is " ++ show found ++ ", expected " ++ show (operations asked) | found /= operations asked]
      , spoil = atomically (raised sum')
      }

raised :: TVar Int -> STM ()
raised variable = do
  before <- readTVar variable
  writeTVar variable $! before + 1
