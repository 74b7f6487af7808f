-- | What was found broken, the first few of it.
module Broken (Broken, newBroken, tell, expect, allBroken) where

import Control.Monad (unless)
import Data.IORef

newtype Broken = Broken (IORef [String])

newBroken :: IO Broken
newBroken = Broken <$> newIORef []

tell :: Broken -> String -> IO ()
tell (Broken list) text = atomicModifyIORef' list (\known -> (if length known < 5 then text : known else known, ()))

expect :: (Eq a, Show a) => Broken -> String -> a -> a -> IO ()
expect broken what wanted found =
  unless (wanted == found) (tell broken (what ++ ": " ++ show found ++ " instead of " ++ show wanted))

allBroken :: Broken -> IO [String]
allBroken (Broken list) = reverse <$> readIORef list
