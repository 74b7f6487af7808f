-- | exact OPERATIONS: transactions that conflict, wait, give up and throw, each attempt
-- counted by the program as well; both counts as one JSON object.
module Main (main) where

import Control.Concurrent
import Control.Exception (ErrorCall (..), SomeException, try)
import Control.Monad
import Data.Word (Word64)
import Foreign.Marshal.Array (mallocArray, peekArray, pokeArray)
import Foreign.Ptr (Ptr)
import Foreign.Storable (peekElemOff, pokeElemOff)
import GHC.Conc
import RtScope.STM
import Shown
import System.Environment (getArgs)

workers :: Int
workers = 8

-- | What one worker counts of its own: words of a line that no other writes.
type Tally = Ptr Word64

data Kind = Attempts | Commits | Retries | Thrown | NamedAttempts | NamedCommits
  deriving (Enum, Bounded)

count :: Tally -> Kind -> IO ()
count tally kind = peekElemOff tally (fromEnum kind) >>= pokeElemOff tally (fromEnum kind) . (+ 1)

counted :: Tally -> Kind -> STM ()
counted tally = unsafeIOToSTM . count tally

main :: IO ()
main = do
  [operations] <- map read <$> getArgs
  named <- name "exact"
  shared <- newTVarIO (0 :: Int)
  first <- newTVarIO (0 :: Int)
  others <- (first :) <$> replicateM 3 (newTVarIO 0)
  turns <- replicateM (workers `div` 2) (newTVarIO False)
  before <- counts
  tallies <- forM [0 .. workers - 1] $ \worker -> do
    tally <- mallocArray 16
    pokeArray tally (replicate 16 0)
    ended <- newEmptyMVar
    let turn = turns !! (worker `div` 2)
    _ <- forkIO (forM_ [1 .. operations] (step tally named shared first others turn (even worker)) >> putMVar ended ())
    pure (tally, ended)
  mapM_ (takeMVar . snd) tallies
  after <- counts
  figures <- mapM (peekArray (1 + fromEnum (maxBound :: Kind)) . fst) tallies
  rows <- namedCounts
  total <- readTVarIO shared
  let sums = foldr1 (zipWith (+)) figures
      own = zip ["attempts", "commits", "retries", "thrown", "named_attempts", "named_commits"] sums
      theirs = [(text, field after - field before) | (text, field) <- fields]
      named' = [(text, namedAttempts one, namedCommits one) | (text, one) <- rows]
  putStrLn $
    object
      [ ("program", object [(key, show value) | (key, value) <- own])
      , ("counts", object [(key, show value) | (key, value) <- theirs])
      , ("named", object [(text, list [show tried, show committed]) | (text, tried, committed) <- named'])
      , ("shared", show total)
      ]

-- | One operation, by its number.
step :: Tally -> Name -> TVar Int -> TVar Int -> [TVar Int] -> TVar Bool -> Bool -> Int -> IO ()
step tally named shared other others turn early number = case number `mod` 6 of
  -- Takes turns with a partner; who comes early waits.
  0 | number `mod` 48 == 0 -> plainly $ do
    now <- readTVar turn
    when (now /= early) (counted tally Retries >> retry)
    writeTVar turn (not early)
  1 -> do
    result <- try (atomically (counted tally Attempts >> add shared >> thrown))
    case result of
      Left (ErrorCall _) -> count tally Thrown
      Right () -> pure ()
  2 -> do
    atomicallyNamed named $ do
      counted tally Attempts
      counted tally NamedAttempts
      mapM_ add others
      add shared
    count tally Commits
    count tally NamedCommits
  3 -> plainly $ do
    (add other >> retry) `orElse` mapM_ add (drop 1 others)
    add shared
  4 -> plainly $ do
    (mapM_ add others >> throwSTM (ErrorCall "inside")) `catchSTM` ignore
    add shared
  _ -> plainly (add shared)
  where
    -- Every other one from within two alternatives.
    thrown :: STM ()
    thrown
      | number `mod` 12 == 1 = throwSTM (ErrorCall "exact")
      | otherwise = (throwSTM (ErrorCall "exact") `orElse` retry) `orElse` retry
    plainly transaction = atomically (counted tally Attempts >> transaction) >> count tally Commits
    add variable = readTVar variable >>= \value -> writeTVar variable $! value + 1
    ignore :: SomeException -> STM ()
    ignore _ = pure ()
