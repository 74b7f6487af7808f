-- | Gets 64 MB from malloc, which gets them from the kernel each time, and touches
-- every page: each first touch is a page fault. With @keep@ it touches the same
-- memory again and again.
module Main (main) where

import Beside
import Control.Monad
import Data.Word (Word8)
import Foreign
import System.Environment (getArgs)

main :: IO ()
main = do
  arguments <- getArgs
  rest <- restOfArguments
  case arguments of
    "keep" : _ -> do
      memory <- mallocBytes size
      beside 2 rest (touchAll memory) >>= print
    _ -> beside 2 rest fresh >>= print

size, page, chunk :: Int
size = 64 * 1024 * 1024
page = 4096
chunk = 4096 * page

fresh :: Int -> IO Int
fresh n = do
  memory <- mallocBytes size
  done <- touchAll memory n
  free memory
  return done

-- | In chunks, each of which allocates a little and so can be stopped.
touchAll :: Ptr Word8 -> Int -> IO Int
touchAll memory n = do
  forM_ [0, chunk .. size - 1] $ \at -> touch (memory `plusPtr` at) (memory `plusPtr` (at + chunk)) n
  return 1

touch :: Ptr Word8 -> Ptr Word8 -> Int -> IO ()
touch at end n
  | at >= end = return ()
  | otherwise = poke at (fromIntegral n) >> touch (at `plusPtr` page) end n
{-# NOINLINE touch #-}
