-- | invariants PROGRAM SECONDS [gentle] [steady] [seed=N]: one of the programs under load, without
-- exceptions from outside, with as many capabilities all the time, with other chances; what it
-- found broken, what each worker did, what was counted and how much CPU it took, as one JSON
-- object. Ends with 1 where anything is broken.
module Main (main) where

import Bank
import Control.Concurrent (rtsSupportsBoundThreads)
import Control.Monad
import Data.List (stripPrefix)
import Data.Maybe (listToMaybe, mapMaybe)
import Lazy
import Load
import Nest
import Queue
import RtScope.STM
import Shown
import SortedList
import System.CPUTime (getCPUTime)
import System.Environment (getArgs)
import System.Exit

programs :: [(String, Load -> IO (Outcome, [String]))]
programs = [("bank", bank), ("list", sortedList), ("queue", queue), ("nest", nest), ("lazy", lazy)]

main :: IO ()
main = do
  arguments <- getArgs
  case arguments of
    program : time : more
      | Just run <- lookup program programs -> do
          (outcome, broken) <- run (load (read time) more)
          counted <- counts
          named <- namedCounts
          counting <- state
          let wrong = broken ++ unbalanced counted named
          cpu <- getCPUTime
          putStrLn (json program counting outcome wrong counted named cpu)
          unless (null wrong) (exitWith (ExitFailure 1))
    _ -> die "usage: invariants bank|list|queue|nest|lazy SECONDS [gentle] [steady] [seed=N]"
  where
    load time words' = Load time 12 ("gentle" `elem` words') (if "steady" `elem` words' || not rtsSupportsBoundThreads then [] else [1, 2, 4, 3]) (from words')
    from = maybe 0 read . listToMaybe . mapMaybe (stripPrefix "seed=")

-- | At rest no attempt has had more than one end (commits are what is left of them), and every
-- wait had one.
unbalanced :: Counts -> [(String, NamedCounts)] -> [String]
unbalanced c named =
  ["ends: " ++ show c | sum ends > attempts c]
    ++ ["waits: " ++ show c | waits c /= wakes c + interrupted c]
    ++ ["condemned: " ++ show c | condemned c > conflicts c + exceptions c]
    ++ [text ++ ": " ++ show one | (text, one) <- named, over one]
  where
    ends = map ($ c) [conflicts, waits, waitConflicts, invalid, exceptions, restarts]
    over one = namedCommits one + namedWaits one + namedExceptions one > namedAttempts one

json :: String -> State -> Outcome -> [String] -> Counts -> [(String, NamedCounts)] -> Integer -> String
json program counting outcome wrong c named cpu =
  object
    [ ("program", show program)
    , ("state", show (show counting))
    , ("broken", list (map show wrong))
    , ("steps", list (map show (steps outcome)))
    , ("nudges", show (nudges outcome))
    , ("kills", show (kills outcome))
    , ("cpu_ms", show (cpu `div` 1000000000))
    , ("counts", object (map (fmap (\field -> show (field c))) fields))
    , ("named", object [(text, list (map show (figures one))) | (text, one) <- named])
    ]
  where
    figures one = [namedAttempts one, namedCommits one, namedWaits one, namedExceptions one]
