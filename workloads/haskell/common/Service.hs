{-# LANGUAGE OverloadedStrings #-}

-- | A service over HTTP on loopback: numbers as options, the line that says where it
-- listens, the end by SIGINT, the head of an answer. Owns those; what is answered is the
-- program's.
module Service (options, serve, json) where

import Control.Exception (AsyncException (UserInterrupt), throwIO, try)
import Data.ByteString.Builder (Builder, toLazyByteString)
import qualified Data.ByteString.Char8 as Char8
import qualified Data.ByteString.Lazy as Lazy
import Network.HTTP.Types (status200)
import Network.Socket
import Network.Wai (Application, Response, responseLBS)
import Network.Wai.Handler.Warp (defaultSettings, runSettingsSocket)
import System.Environment (getArgs)
import System.IO
import Text.Read (readMaybe)

-- | What @--name NUMBER@ says for each name, else its default in the list. Anything else on
-- the command line is an error.
options :: [(String, Int)] -> IO (String -> Int)
options known = do
  given <- getArgs >>= pairs
  return (\name -> maybe (error ("no option --" ++ name)) id (lookup name (given ++ known)))
  where
    pairs (('-' : '-' : name) : text : rest)
      | Just _ <- lookup name known, Just number <- readMaybe text = ((name, number) :) <$> pairs rest
    pairs [] = return []
    pairs (word : _) = ioError (userError (word ++ ": options are " ++ names ++ ", each with a number"))
    names = unwords (map (("--" ++) . fst) known)

-- | Answers at a port of 127.0.0.1 (0: one that is free) until SIGINT, then returns: the
-- runtime ends as after any program and writes its figures.
serve :: Int -> Application -> IO ()
serve port application = do
  listener <- socket AF_INET Stream defaultProtocol
  setSocketOption listener ReuseAddr 1
  bind listener (SockAddrInet (fromIntegral port) (tupleToHostAddress (127, 0, 0, 1)))
  listen listener 1024
  bound <- socketPort listener
  putStrLn ("listening on http://127.0.0.1:" ++ show bound)
  hFlush stdout
  ended <- try (runSettingsSocket defaultSettings listener application)
  case ended of
    Left UserInterrupt -> return ()
    Left other -> throwIO other
    Right () -> return ()

-- | An answer that is made before it is sent, so that its length is known.
json :: Builder -> Response
json built = responseLBS status200 [("Content-Type", "application/json"), ("Content-Length", size)] body
  where
    size = Char8.pack (show (Lazy.length body))
    body = toLazyByteString built
