-- | Programs of the articles on transactional memory, and others like them: each does a fixed
-- amount of work with so many threads, says how long that took, and checks that nothing was
-- lost. What is done follows from the command line alone.
--
-- > stm-bench NAME THREADS [OPERATIONS] [--keys N] [--count] [--spoil]
--
-- The last line of the output is @stm ns=N operations=N@, by CLOCK_MONOTONIC, with what was
-- counted: with @--count@, by the program itself, @attempts@, @transactions@ and @waits@
-- (attempts that ended with @retry@); linked with rtscope-stm, by that, @commits@, @aborts@ and
-- @blocks@ (waits that blocked). With @--spoil@ something is broken at the end, and the program
-- has to fail.
module Main (main) where

import Accounts (audits, transfers)
import Control.Monad
import Data.Maybe (fromMaybe)
import Hash (hash)
import List (list)
import Pots (pots)
import Queues (handed, queued)
import Sets (mixed)
import Shared (shared)
import System.Environment (getArgs)
import System.Exit
import System.IO
import Text.Read (readMaybe)
import Tree (tree)
import Work

-- | A benchmark with its usual operations and keys.
data Benchmark = Benchmark !String !Int !Int (Asked -> IO Ready)

benchmarks :: [Benchmark]
benchmarks =
  [ Benchmark "si" 10000000 1 shared
  , Benchmark "ll" 100000 200 (mixed 0 list)
  , Benchmark "hash" 3000000 4000 (mixed 2 hash)
  , Benchmark "rbtree" 1000000 4000 (mixed 2 tree)
  , Benchmark "queue" 3000000 1 queued
  , Benchmark "bank" 3000000 64 transfers
  , Benchmark "readers" 1500000 256 audits
  , Benchmark "retry" 100000 8 handed
  , Benchmark "orelse" 1000000 16 pots
  ]

-- | The most of anything that is asked for: what fits into any memory.
most :: Int
most = 1000000000

main :: IO ()
main = do
  words' <- getArgs
  (asked, prepare, spoils) <- maybe wrongUsage return (parsed words')
  ready <- prepare asked
  timed <- run asked ready
  when spoils (spoil ready)
  lost <- (ended timed ++) <$> broken ready
  unless (null lost) $ do
    mapM_ (hPutStrLn stderr . ("broken: " ++)) lost
    exitWith (ExitFailure 1)
  let figures = ("ns", nanoseconds timed) : ("operations", fromIntegral (operations asked)) : tallies timed
  putStrLn (unwords ("stm" : [name ++ "=" ++ show figure | (name, figure) <- figures]))

wrongUsage :: IO a
wrongUsage = do
  let names = unwords [name | Benchmark name _ _ _ <- benchmarks]
  hPutStrLn stderr ("usage: stm-bench NAME THREADS [OPERATIONS] [--keys N] [--count] [--spoil]\nnames: " ++ names)
  exitWith (ExitFailure 2)

-- | Numbers from 1; a benchmark with accounts or pots needs two of them.
parsed :: [String] -> Maybe (Asked, Asked -> IO Ready, Bool)
parsed words' = do
  (options, plain) <- split words'
  (name, counts) <- case plain of
    name : rest -> Just (name, rest)
    [] -> Nothing
  numbers <- mapM positive counts
  Benchmark _ usual width prepare <- find' name
  let width' = fromMaybe width (lookup "--keys" options)
      has option = any ((== option) . fst) options
      asked many total =
        (Asked {threads = many, operations = total, keys = width', counted = has "--count"}, prepare, has "--spoil")
  guard (width == 1 || width' >= 2)
  case numbers of
    [many] -> Just (asked many usual)
    [many, total] -> Just (asked many total)
    _ -> Nothing
  where
    find' name = case [one | one@(Benchmark known _ _ _) <- benchmarks, known == name] of
      one : _ -> Just one
      [] -> Nothing
    positive text = readMaybe text >>= \number' -> number' <$ guard (number' >= 1 && number' <= most)
    split (word : rest) | word `elem` ["--count", "--spoil"] = do
      (options, plain) <- split rest
      Just ((word, 1) : options, plain)
    split ("--keys" : text : rest) = do
      width <- positive text
      (options, plain) <- split rest
      Just (("--keys", width) : options, plain)
    split (word : rest)
      | take 2 word == "--" = Nothing
      | otherwise = fmap (word :) <$> split rest
    split [] = Just ([], [])
