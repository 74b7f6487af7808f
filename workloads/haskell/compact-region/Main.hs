-- | A table of 150 MB that never changes, in a compact region: collections do not copy it.
module Main (main) where

import Control.Monad
import GHC.Compact
import Plateau

main :: IO ()
main = do
  region <- compact [] :: IO (Compact [Int])
  parts <- forM [1 .. 100 :: Int] $ \part -> compactAdd region [part * 40000 .. part * 40000 + 39999]
  compactSize region >>= print
  plateau 4 parts
  print (sum (map (length . getCompact) parts))
