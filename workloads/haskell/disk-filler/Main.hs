import Control.Monad
import Debug.Trace
main :: IO ()
main = replicateM_ 100000 (traceEventIO (replicate 1000 'x')) >> putStrLn "done"
