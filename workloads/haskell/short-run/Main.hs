import Control.Concurrent
import Control.Monad
import Data.IORef
import Debug.Trace
import System.Environment

main :: IO ()
main = do
  arguments <- getArgs
  case arguments of
    ("work" : seconds : _) -> replicateM_ (read seconds * 100) (threadDelay 10000)
    ("fill" : seconds : _) -> do
      over <- newIORef False
      _ <- forkIO (threadDelay (read seconds * 1000000) >> writeIORef over True)
      let loop = do
            replicateM_ 20 (traceEventIO (replicate 1000 'x'))
            -- At most 20 MB a second: the reader of the log may come a quarter of a
            -- second late on a busy machine.
            threadDelay 1000
            stop <- readIORef over
            unless stop loop
      loop
      putStrLn "done"
    _ -> return ()
