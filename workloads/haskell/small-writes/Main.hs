-- Writes short fields to a file that is removed at the end. The arguments: how, fields.
-- each: every field is a call of its own; buffered: the handle keeps 32 KiB together.
module Main (main) where

import Control.Monad
import System.Directory (getTemporaryDirectory, removeFile)
import System.Environment (getArgs)
import System.IO

field :: Int -> String
field number = show (number * 7919 `mod` 1000003) ++ ";"

main :: IO ()
main = do
  [how, fields] <- getArgs
  folder <- getTemporaryDirectory
  (path, handle) <- openBinaryTempFile folder "small-writes"
  removeFile path
  hSetBuffering handle (if how == "each" then NoBuffering else BlockBuffering (Just 32768))
  forM_ [1 .. read fields] $ \number -> do
    -- Twice over the same 16 MB.
    when (number `mod` 2000000 == 0) $ hSeek handle AbsoluteSeek 0
    hPutStr handle (field number)
  hClose handle
