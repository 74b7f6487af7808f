-- | What the service keeps in memory: questions, and what it knows of each student.
-- Owns their shape and how they are made up.
module Store (Question (..), Student (..), Answer (..), Store, open, size, topics, topic, inTopic, student, mix) where

import Control.Concurrent.STM
import Control.Exception (evaluate)
import Data.Bits (shiftR, xor)
import Data.IntMap.Strict (IntMap)
import qualified Data.IntMap.Strict as IntMap
import Data.Text (Text)
import qualified Data.Text as Text

data Question = Question
  { number :: !Int
  , difficulty :: !Double
  , prompt :: !Text
  , choices :: ![Text]
  , right :: !Int -- ^ place of the right choice
  }

data Answer = Answer {question :: !Int, chosen :: !Int, correct :: !Bool}

data Student = Student
  { mastery :: !(IntMap Double) -- ^ by topic, 0 to 1
  , seen :: !(IntMap Int) -- ^ by question: in which of the student's quizzes it was last
  , quizzes :: !Int
  , recent :: ![Answer]
  }

-- | Topics by number; students by number, each of which changes by itself.
data Store = Store {questions :: !(IntMap [Question]), students :: !(IntMap (TVar Student))}

topics, perTopic :: Int
topics = 40
perTopic = 300

-- | A store of so many students, all there before anyone asks.
open :: Int -> IO Store
open count = do
  there <- mapM (\n -> (,) n <$> (newTVarIO $! makeStudent n)) [0 .. count - 1]
  let made t = map makeQuestion [t * perTopic .. (t + 1) * perTopic - 1]
      asked = IntMap.fromList [(t, made t) | t <- [0 .. topics - 1]]
  mapM_ (mapM_ (mapM_ evaluate . choices)) asked
  return $! Store asked (IntMap.fromDistinctAscList there)

makeQuestion :: Int -> Question
makeQuestion n = Question n (share n) (sentence n 14) [sentence (n * 8 + i) 4 | i <- [1 .. 4]] (n `mod` 4)

makeStudent :: Int -> Student
makeStudent n =
  Student
    { mastery = IntMap.fromList [(t, share (n * topics + t)) | t <- [0 .. topics `div` 2]]
    , seen = IntMap.fromList [(mix (n + i * 7919) `mod` (topics * perTopic), i `mod` 5) | i <- [1 .. 20]]
    , quizzes = 5
    , recent = []
    }

-- | A made-up number from 0 to 1.
share :: Int -> Double
share n = fromIntegral (mix n `mod` 1000) / 1000

-- | So many made-up words.
sentence :: Int -> Int -> Text
sentence seed count = Text.unwords [Text.pack (wordOf (mix (seed * 31 + i))) | i <- [1 .. count]]
  where
    wordOf n = take (3 + n `mod` 6) (map (toEnum . (+ 97) . (`mod` 26)) (iterate (`div` 7) n))

-- | Scatters numbers; never negative.
mix :: Int -> Int
mix n = (m `xor` (m `shiftR` 29)) `mod` 0x3fffffffffff
  where
    m = (n + 1) * 0x2545F4914F6CDD1D

size :: Store -> Int
size = IntMap.size . students

topic :: Store -> Int -> [Question]
topic store n = IntMap.findWithDefault [] (n `mod` topics) (questions store)

student :: Store -> Int -> TVar Student
student store n = students store IntMap.! n

-- | The topic that a question belongs to.
inTopic :: Question -> Int
inTopic q = number q `div` perTopic
