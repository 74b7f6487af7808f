-- | What is true of the threads of a program, one JSON object a line.
module Truth (Known (..), known, write, writeTimes) where

import Control.Concurrent (ThreadId)
import Data.List (intercalate)
import Data.Word (Word64)

-- | What one thread waits for.
data Known = Known
  { thread :: ThreadId,
    -- | What it is a case of.
    name :: String,
    -- | A word of rtscope's.
    kind :: String,
    -- | The function on top of its stack.
    place :: String,
    -- | The thing: those that wait for the same have the same text.
    object :: Maybe String,
    -- | The thread that holds it, and what that thread does, in rtscope's terms, any of which is right.
    holder :: Maybe (ThreadId, [String]),
    -- | The function that it called, where it is in foreign code.
    callee :: Maybe String
  }

-- | One that waits for nothing of others.
known :: String -> String -> String -> ThreadId -> Known
known ofCase what at who = Known who ofCase what at Nothing Nothing Nothing

write :: Int -> Known -> IO ()
write phase it =
  line
    [ ("phase", show phase),
      ("thread", number (thread it)),
      ("case", show (name it)),
      ("kind", show (kind it)),
      ("place", show (place it)),
      ("object", maybe "null" show (object it)),
      ("holder", maybe "null" (number . fst) (holder it)),
      ("doing", maybe "[]" (show . snd) (holder it)),
      ("callee", maybe "null" show (callee it))
    ]

-- | From when to when all that was written for a phase holds.
writeTimes :: Int -> Word64 -> Word64 -> IO ()
writeTimes phase from to = line [("phase", show phase), ("from", show from), ("to", show to)]

line :: [(String, String)] -> IO ()
line pairs = putStrLn ("{" ++ intercalate "," [show key ++ ":" ++ value | (key, value) <- pairs] ++ "}")

-- | Of @ThreadId 7@, 7.
number :: ThreadId -> String
number = last . words . show
