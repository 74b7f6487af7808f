module Main (main) where
import Control.Monad (forever)
import qualified Data.ByteString as BS
import System.IO
import System.Mem (performMajorGC)
main :: IO ()
main = do
  let strings = [BS.replicate 8 x | x <- concat (replicate 2000 [minBound .. maxBound])]
  print (sum (map BS.length strings))
  hFlush stdout
  forever performMajorGC >> print (length strings)
