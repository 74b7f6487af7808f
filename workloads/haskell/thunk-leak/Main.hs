-- | Counts visits by page in a table that is looked at in the end only. The arguments: how, pages, visits in thousands.
-- lazily: each visit adds an expression to what its page has; strictly: a number takes the place of the one before.
module Main (main) where

import Data.IORef
import qualified Data.IntMap.Lazy as Lazy
import qualified Data.IntMap.Strict as Strict
import System.Environment (getArgs)

main :: IO ()
main = do
  [how, pages, visits] <- getArgs
  table <- newIORef Lazy.empty
  let add = if how == "lazily" then Lazy.insertWith (+) else Strict.insertWith (+)
      visit number page
        | number == (0 :: Int) = pure ()
        | otherwise = do
            modifyIORef' table (add (page `mod` read pages) (page `mod` 7))
            visit (number - 1) ((page * 1103515245 + 12345) `mod` 2147483648)
  visit (1000 * read visits) 1
  readIORef table >>= print . sum . Lazy.elems
