import Control.Concurrent
import Control.Monad
import Data.IORef
import qualified Data.Map.Strict as M
import System.Environment
import System.Exit
import System.IO
import System.Posix.Process
import System.Process

work :: Int -> Int -> Int
work seed n = M.foldl' (+) 0 (go M.empty 0)
  where go m i | i >= n = m
               | otherwise = go (M.insert ((i * 7919 + seed) `mod` 5003) i m) (i + 1)

main :: IO ()
main = do
  arguments <- getArgs
  case arguments of
    ("exit" : code : _) -> exitWith (ExitFailure (read code))
    ("parent" : self : _) -> do
      code <- rawSystem self ["0.3"]
      churn 0.3
      exitWith code
    ("fork" : _) -> do
      child <- forkProcess (churn 0.6)
      _ <- getProcessStatus True False child
      churn 0.3
    ("exec" : self : _) -> do
      churn 0.6
      executeFile self False ["0.3"] Nothing
    (seconds : _) -> churn (read seconds)
    [] -> churn 1

churn :: Double -> IO ()
churn seconds = do
  lanes <- getNumCapabilities
  stop <- newIORef False
  ends <- forM [1 .. lanes] $ \i -> do
    end <- newEmptyMVar
    _ <- forkOn i $ do
      let loop k acc = do
            over <- readIORef stop
            if over then putMVar end acc else let r = work k 20000 in r `seq` loop (k + 1) (acc + r `mod` 7)
      loop i 0
    return end
  threadDelay (round (seconds * 1e6))
  writeIORef stop True
  sums <- mapM takeMVar ends
  putStrLn (if sum sums >= 0 then "done" else "impossible")
  hFlush stdout
