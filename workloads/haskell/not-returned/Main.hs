-- | Arrays of 200 MB that are needed once, then a table of 10 MB for the rest of the time.
module Main (main) where

import Data.IORef
import Plateau
import Tables

main :: IO ()
main = do
  peak <- newIORef (map (`numbers` (1024 * 1024)) [1 .. 200])
  readIORef peak >>= print . held
  writeIORef peak []
  small <- table 5000
  plateau 4 small
  print (held small)
