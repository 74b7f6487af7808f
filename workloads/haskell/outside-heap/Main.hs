-- | Gets memory from malloc, in pieces of 64 KB that it writes to. The argument is @leak@, and
-- none of it is freed, or @free@.
module Main (main) where

import Control.Monad
import Data.Word (Word8)
import Foreign
import Plateau
import System.Environment (getArgs)

main :: IO ()
main = do
  arguments <- getArgs
  forM_ [1 .. 100 :: Int] $ \turn -> do
    forM_ [1 .. 32 :: Int] $ \number -> do
      memory <- mallocBytes size :: IO (Ptr Word8)
      fillBytes memory (fromIntegral (turn + number)) size
      when (arguments == ["free"]) (free memory)
    work 0.03
  plateau 2 ()

size :: Int
size = 64 * 1024
