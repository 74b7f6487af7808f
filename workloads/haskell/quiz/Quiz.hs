-- | A student's next quiz: the work of a request. Owns the choice of questions and the
-- marks; refuses to know of HTTP and of where students are kept.
module Quiz (next) where

import Data.IntMap.Strict (IntMap)
import qualified Data.IntMap.Strict as IntMap
import Data.List (foldl', sortOn)
import Store

-- | The student after its answers to the last quiz, and the next quiz: the questions of
-- so many topics that are nearest to what the student knows.
next :: Store -> Int -> Int -> Student -> (Student, [Question])
next store searched turn before = (marked {seen = foldl' note recently quiz}, quiz)
  where
    now = quizzes before + 1
    places = map (topic store . (turn +)) [1 .. searched]
    answers = map (answered turn) (take 10 (concat places))
    marked = before {mastery = foldl' (mark turn) (mastery before) answers, quizzes = now, recent = answers}
    -- What was asked long ago may be asked again.
    recently = IntMap.filter (> now - 5) (seen before)
    note known q = IntMap.insert (number q) now known
    -- Topic by topic: little is alive at a time.
    quiz = map snd (foldl' better [] places)
    better found questions = forced (take 10 (sortOn fst (found ++ map weighed questions)))
    weighed q = (distance marked recently q, q)

-- | The list with all of its places known, so that nothing it was computed from stays alive.
forced :: [a] -> [a]
forced list = foldr seq list list

-- | What the student said: made up.
answered :: Int -> Question -> Answer
answered turn q = Answer (number q) choice (choice == right q)
  where
    choice = mix (turn + number q) `mod` 4

mark :: Int -> IntMap Double -> Answer -> IntMap Double
mark turn known given = IntMap.insertWith blend ((turn + question given) `mod` topics) got known
  where
    got = if correct given then 1 else 0
    blend new old = old * 0.8 + new * 0.2

-- | How little a question is worth asking.
distance :: Student -> IntMap Int -> Question -> Double
distance of_ recently q = abs (difficulty q - level) + maybe 0 (const 10) (IntMap.lookup (number q) recently)
  where
    level = IntMap.findWithDefault 0.5 (inTopic q) (mastery of_)
