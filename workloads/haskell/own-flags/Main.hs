import Control.Concurrent
import GHC.Conc
import GHC.RTS.Flags

main :: IO ()
main = do
  capabilities <- getNumCapabilities
  processors <- getNumProcessors
  flags <- getRTSFlags
  let gc = gcFlags flags
      par = parFlags flags
      field name value = show name ++ ":" ++ value
      bool value = if value then "true" else "false"
  putStrLn $ "{" ++ foldr1 (\one more -> one ++ "," ++ more)
    [ field "capabilities" (show capabilities), field "processors" (show processors)
    , field "nursery_mib" (show (fromIntegral (minAllocAreaSize gc) * 4096 / 1048576 :: Double))
    , field "chunk_mib" (show (fromIntegral (nurseryChunkSize gc) * 4096 / 1048576 :: Double))
    , field "parallel" (bool (parGcEnabled par)), field "collectors" (show (parGcThreads par))
    , field "balance_from" (show (parGcLoadBalancingGen par)) ] ++ "}"
