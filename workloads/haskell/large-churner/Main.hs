-- | Documents with a body of 900 KB and an index of 50 KB: arrays that are too large to be
-- moved. The bodies are dropped, the indices kept. Where the argument is @between@ each index
-- was made next to its body, and keeps the megablock that both lie in; where it is @apart@ all
-- of them were made first, and lie together.
module Main (main) where

import Control.Monad
import Data.IORef
import Plateau
import System.Environment (getArgs)
import Tables

main :: IO ()
main = do
  arguments <- getArgs
  bodies <- newIORef []
  indices <- newIORef []
  let index n = push indices (numbers n (50 * 1024))
      body n = push bodies (numbers n (1024 * (900 + 7 * n `mod` 50)))
  if arguments == ["apart"]
    then mapM_ index [1 .. documents] >> mapM_ body [1 .. documents]
    else forM_ [1 .. documents] (\n -> index n >> body n)
  readIORef bodies >>= print . held
  writeIORef bodies []
  plateau 4 indices
  readIORef indices >>= print . held

documents :: Int
documents = 250

push :: IORef [Numbers] -> Numbers -> IO ()
push list new = new `seq` modifyIORef' list (new :)
