{-# LANGUAGE OverloadedStrings #-}

-- | A service that signs what it is asked: each request derives a key, waits in a queue
-- of limited length for one of the workers, which derives another and writes it down, and
-- answers with both. A thread that waits to get in is woken at each step of the queue, so that a
-- crowd makes the queue slower: while there are CPUs for all capabilities no crowd gathers.
-- Options: --port, --rounds (of key derivation, twice for a request), --workers, --queue.
module Main (main) where

import Control.Concurrent (forkIO)
import Control.Concurrent.STM
import Control.Monad
import Crypto.Hash.Algorithms (SHA256 (..))
import Crypto.KDF.PBKDF2 (Parameters (..), generate, prfHMAC)
import Data.ByteString (ByteString)
import Data.ByteString.Builder (byteStringHex)
import qualified Data.ByteString.Char8 as Char8
import Data.ByteString.Short (ShortByteString, toShort)
import Data.IORef
import qualified Data.Map.Strict as Map
import Network.Wai (Application)
import Service

-- | What is to be signed, and where the signature is awaited.
data Job = Job ByteString (TMVar ByteString)

main :: IO ()
main = do
  option <- options [("port", 0), ("rounds", 60), ("workers", 8), ("queue", 32)]
  queue <- newTBQueueIO (fromIntegral (option "queue"))
  kept <- newTVarIO Map.empty
  replicateM_ (option "workers") (forkIO (forever (work (option "rounds") queue kept)))
  asked <- newIORef 0
  serve (option "port") (answer (option "rounds") queue asked)

-- | Answers alike at every path.
answer :: Int -> TBQueue Job -> IORef Int -> Application
answer rounds queue asked _ respond = do
  turn <- atomicModifyIORef' asked (\n -> (n + 1, n + 1))
  let key = derive rounds (Char8.pack (show turn))
  reply <- newEmptyTMVarIO
  key `seq` atomically (writeTBQueue queue (Job key reply))
  signature <- atomically (takeTMVar reply)
  respond (json ("{\"key\":\"" <> byteStringHex key <> "\",\"signature\":\"" <> byteStringHex signature <> "\"}\n"))

-- | Does one job and remembers it; ten thousand are remembered.
work :: Int -> TBQueue Job -> TVar (Map.Map ShortByteString ShortByteString) -> IO ()
work rounds queue kept = do
  Job key reply <- atomically (readTBQueue queue)
  let signature = derive rounds key
  signature `seq` atomically $ do
    modifyTVar' kept (Map.insert (toShort key) (toShort signature) . bounded)
    putTMVar reply signature
  where
    bounded there = if Map.size there >= 10000 then Map.deleteMin there else there

-- | PBKDF2 with HMAC-SHA-256.
derive :: Int -> ByteString -> ByteString
derive rounds secret = generate (prfHMAC SHA256) (Parameters rounds 32) secret ("salt" :: ByteString)
