{-# LANGUAGE OverloadedStrings #-}

-- | A quiz service: a request takes in a student's answers, chooses the next questions and
-- sends them as JSON, which is about 2 ms of work. One request in so many waits 50 ms for
-- something else. Options: --port, --size (students in memory), --work (topics that are
-- searched for a quiz), --slow-every (0: none waits).
module Main (main) where

import Control.Concurrent (threadDelay)
import Control.Concurrent.STM
import Control.Monad (when)
import Data.Aeson (Value, fromEncoding, object, toEncoding, (.=))
import Data.IORef
import qualified Data.IntMap.Strict as IntMap
import Network.Wai (Application)
import Quiz
import Service
import Store

main :: IO ()
main = do
  option <- options [("port", 0), ("size", 40000), ("work", 40), ("slow-every", 250)]
  store <- open (option "size")
  asked <- newIORef 0
  serve (option "port") (answer store (option "work") (option "slow-every") asked)

-- | Answers alike at every path; each request is from the next of all students in a mixed order.
answer :: Store -> Int -> Int -> IORef Int -> Application
answer store searched slowEvery asked _ respond = do
  turn <- atomicModifyIORef' asked (\n -> (n + 1, n + 1))
  when (slowEvery > 0 && turn `mod` slowEvery == 0) (threadDelay 50000)
  let n = mix turn `mod` size store
      who = student store n
  (before, after, quiz) <- atomically $ do
    before <- readTVar who
    let (after, quiz) = next store searched turn before
    writeTVar who $! after
    return (before, after, quiz)
  respond (json (fromEncoding (toEncoding (shown n before after quiz))))

shown :: Int -> Student -> Student -> [Question] -> Value
shown n before after quiz =
  object
    [ "student" .= n
    , "quiz" .= quizzes after
    , "answers" .= [object ["question" .= question a, "chosen" .= chosen a, "correct" .= correct a] | a <- recent after]
    , "score" .= length (filter correct (recent after))
    , "gained" .= (sum (IntMap.elems (mastery after)) - sum (IntMap.elems (mastery before)))
    , "mastery" .= [object ["topic" .= t, "level" .= level] | (t, level) <- IntMap.toList (mastery after)]
    , "questions" .= [object ["number" .= number q, "prompt" .= prompt q, "choices" .= choices q] | q <- quiz]
    ]
