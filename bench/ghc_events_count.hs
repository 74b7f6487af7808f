-- | Counts the events of a log by type with the ghc-events library, decoding as a
-- stream. Prints @type count@ lines. A yardstick for @make bench@. The library
-- hides its numbering, so the types that a GHC program logs are numbered here.
module Main (main) where

import Control.Monad
import qualified Data.ByteString.Lazy as Lazy
import qualified Data.IntMap.Strict as IntMap
import Data.List (foldl')
import GHC.RTS.Events
import GHC.RTS.Events.Incremental (readEvents, readHeader)
import System.Environment (getArgs)
import System.Exit (die)

main :: IO ()
main = do
  [path] <- getArgs
  bytes <- Lazy.readFile path
  (header, rest) <- either die return (readHeader bytes)
  let (events, failure) = readEvents header rest
      add counts event = IntMap.insertWith (+) (number (evSpec event)) (1 :: Int) counts
      counts = foldl' add IntMap.empty events
  forM_ (IntMap.toList counts) $ \(tag, count) -> putStrLn (show tag ++ " " ++ show count)
  maybe (return ()) die failure

number :: EventInfo -> Int
number info = case info of
  CreateThread {} -> 0
  RunThread {} -> 1
  StopThread {} -> 2
  MigrateThread {} -> 4
  WakeupThread {} -> 8
  StartGC -> 9
  EndGC -> 10
  RequestSeqGC -> 11
  RequestParGC -> 12
  CreateSparkThread {} -> 15
  Message {} -> 16
  EventBlock {} -> 18
  UserMessage {} -> 19
  GCIdle -> 20
  GCWork -> 21
  GCDone -> 22
  CapsetCreate {} -> 25
  CapsetDelete {} -> 26
  CapsetAssignCap {} -> 27
  CapsetRemoveCap {} -> 28
  RtsIdentifier {} -> 29
  ProgramArgs {} -> 30
  ProgramEnv {} -> 31
  OsProcessPid {} -> 32
  OsProcessParentPid {} -> 33
  SparkCounters {} -> 34
  SparkCreate -> 35
  SparkDud -> 36
  SparkOverflow -> 37
  SparkRun -> 38
  SparkSteal {} -> 39
  SparkFizzle -> 40
  SparkGC -> 41
  WallClockTime {} -> 43
  ThreadLabel {} -> 44
  CapCreate {} -> 45
  CapDelete {} -> 46
  CapDisable {} -> 47
  CapEnable {} -> 48
  HeapAllocated {} -> 49
  HeapSize {} -> 50
  HeapLive {} -> 51
  HeapInfoGHC {} -> 52
  GCStatsGHC {} -> 53
  GlobalSyncGC -> 54
  TaskCreate {} -> 55
  TaskMigrate {} -> 56
  TaskDelete {} -> 57
  UserMarker {} -> 58
  MemReturn {} -> 90
  BlocksSize {} -> 91
  UserBinaryMessage {} -> 181
  ConcMarkBegin -> 200
  ConcMarkEnd {} -> 201
  ConcSyncBegin -> 202
  ConcSyncEnd -> 203
  ConcSweepBegin -> 204
  ConcSweepEnd -> 205
  ConcUpdRemSetFlush {} -> 206
  NonmovingHeapCensus {} -> 207
  UnknownEvent tag -> fromIntegral tag
  other -> error ("a type without a number here: " ++ takeWhile (/= ' ') (show other))
