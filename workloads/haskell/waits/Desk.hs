-- | One lock, and the thread that holds it.
module Desk (Desk, newDesk, withDesk) where

import Control.Concurrent.MVar

newtype Desk = Desk (MVar Int)

newDesk :: IO Desk
newDesk = Desk <$> newMVar 0

-- | Does something while no other thread does.
withDesk :: Desk -> IO a -> IO a
withDesk (Desk lock) action = withMVar lock (const action)
{-# NOINLINE withDesk #-}
