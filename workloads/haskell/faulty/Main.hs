{-# LANGUAGE ForeignFunctionInterface #-}
import Control.Concurrent
import Control.Monad
import Data.IORef
import qualified Data.Map.Strict as Map
import Foreign.C.Types
import System.Environment
import System.Exit
import System.IO
import System.Posix.Process
import System.Posix.Types (CPid)

foreign import ccall unsafe "close" closeDescriptor :: CInt -> IO CInt

main :: IO ()
main = do
  arguments <- getArgs
  case arguments of
    ["exit", code] -> exitWith (ExitFailure (read code))
    ["seconds", text] -> collect (read text)
    ["close-all"] -> mapM_ closeDescriptor [3 .. 255] >> rounds 40 >> say "done"
    ["fork"] -> do
      child <- forkProcess (collect 0.5)
      _ <- getProcessStatus True False child
      collect 0.3
    ["exec", self] -> collect 0.5 >> executeFile self False ["seconds", "0.3"] Nothing
    ["daemon", pidFile] -> do
      child <- forkProcess (createSession >> collect 3)
      writeFile pidFile (show (child :: CPid))
      say "left"
    ["hog"] -> hog []
    other -> hPutStrLn stderr (show other) >> exitWith (ExitFailure 9)

say :: String -> IO ()
say text = putStrLn text >> hFlush stdout

work :: Int -> Int -> Int
work seed n = Map.foldl' (+) 0 (go Map.empty 0)
  where
    go m i
      | i >= n = m
      | otherwise = go (Map.insert ((i * 7919 + seed) `mod` 5003) i m) (i + 1)

rounds :: Int -> IO ()
rounds n = forM_ [1 .. n] $ \i -> when (work i 20000 < 0) (say "impossible")

collect :: Double -> IO ()
collect seconds = do
  lanes <- getNumCapabilities
  stop <- newIORef False
  ends <- forM [1 .. lanes] $ \i -> do
    end <- newEmptyMVar
    _ <- forkOn i $ do
      let loop k = do
            over <- readIORef stop
            if over then putMVar end () else when (work k 20000 < 0) (say "impossible") >> loop (k + 1)
      loop i
    return end
  threadDelay (round (seconds * 1e6))
  writeIORef stop True
  mapM_ takeMVar ends
  say "done"

hog :: [Map.Map Int Int] -> IO ()
hog held = do
  let more = Map.fromList [(i, i + length held) | i <- [1 .. 50000]]
  when (Map.foldl' (+) 0 more < 0) (say "impossible")
  threadDelay 20000
  hog (more : held)
