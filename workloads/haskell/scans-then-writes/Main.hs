-- | Two things that are wrong, one after the other. The arguments: for how many tenths of a second it recurs deeply,
-- so that each collection scans what came onto the stack; for how many it writes short fields without a buffer;
-- whether the fields come first.
module Main (main) where

import Control.Exception (evaluate)
import Control.Monad
import Foreign.C.Types (CInt (..), CSize (..))
import Foreign.Marshal.Alloc (allocaBytes)
import Foreign.Ptr (Ptr)
import Foreign.Storable (poke)
import GHC.Clock (getMonotonicTime)
import System.Directory (getTemporaryDirectory, removeFile)
import System.Environment (getArgs)
import System.IO
import System.Posix.IO (closeFd, fdSeek, handleToFd)
import System.Posix.Types (CSsize (..), Fd (..))

main :: IO ()
main = do
  [scans, writes, order] <- getArgs
  let phases = [for scans (evaluate . digits . (+ 1000000)), unbuffered writes]
  sequence_ (if order == "writes-first" then reverse phases else phases)

-- | Again and again, for so many tenths of a second; each time with the next number.
for :: String -> (Int -> IO a) -> IO ()
for tenths what = do
  start <- getMonotonicTime
  let go number = do
        now <- getMonotonicTime
        when (now < start + read tenths / 10) (what number >> go (number + 1))
  go 1

-- | The last digits of all numbers up to this one, summed up.
digits :: Int -> Int
digits 0 = 0
digits n = n `mod` 10 + digits (n - 1)
{-# NOINLINE digits #-}

unbuffered :: String -> IO ()
unbuffered tenths = do
  folder <- getTemporaryDirectory
  (path, handle) <- openBinaryTempFile folder "two-causes"
  removeFile path
  file <- handleToFd handle
  allocaBytes 8 $ \field -> do
    poke field (1 :: Int)
    for tenths $ \_ -> do
      _ <- fdSeek file AbsoluteSeek 0
      replicateM_ 10000 (write file field 8)
  closeFd file

foreign import ccall unsafe "write" write :: Fd -> Ptr Int -> CSize -> IO CSsize
