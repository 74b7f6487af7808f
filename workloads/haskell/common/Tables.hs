-- | Tables of arrays of numbers: large ones, which collections leave where they are, and
-- small ones, which they move, and move fast. Owns the making of them.
module Tables (Numbers, numbers, table, piece, held) where

import Data.Array.ST (newArray, runSTUArray)
import Data.Array.Unboxed (UArray, (!))
import Data.Word (Word64)

type Numbers = UArray Int Word64

-- | An array of so many bytes, full of one number.
numbers :: Int -> Int -> Numbers
numbers n bytes = runSTUArray (newArray (0, bytes `div` 8 - 1) (fromIntegral n))

-- | One of 2 KB: small enough to be moved.
piece :: Int -> Numbers
piece n = numbers n 2000

-- | So many pieces, all of them made.
table :: Int -> IO [Numbers]
table pieces = do
  let list = map piece [1 .. pieces]
  foldr seq (return ()) list
  return list
{-# NOINLINE table #-}

-- | Looks at all of them: they have to be there still.
held :: [Numbers] -> Word64
held = sum . map (! 0)
