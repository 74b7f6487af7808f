import Control.Monad
import GHC.Conc
import RtScope.STM
main :: IO ()
main = do
  long <- mapM name [replicate 40 '\228', replicate 31 '\228' ++ "x"]
  names <- mapM (name . ("transaction " ++) . show) [1 .. 130 :: Int]
  again <- name "transaction 7"
  forM_ (long ++ names) (`atomicallyNamed` pure ())
  replicateM_ 10 (atomically (pure ()))
  counted <- counts
  rows <- namedCounts
  counting <- state
  now <- way
  print (counting, now, attempts counted, commits counted, again == names !! 6, length rows, snd (last rows))
  print (map (namedCommits . snd) (take 3 rows), map (length . fst) (take 2 rows), fst (last rows))
