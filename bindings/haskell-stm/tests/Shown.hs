-- | Counts as JSON, as both programs of the suite print them.
module Shown (fields, list, object) where

import Data.List (intercalate)
import Data.Word (Word64)
import RtScope.STM

list :: [String] -> String
list items = "[" ++ intercalate "," items ++ "]"

object :: [(String, String)] -> String
object items = "{" ++ intercalate "," [show key ++ ":" ++ value | (key, value) <- items] ++ "}"

fields :: [(String, Counts -> Word64)]
fields =
  [ ("attempts", attempts)
  , ("commits", commits)
  , ("conflicts", conflicts)
  , ("waits", waits)
  , ("wait_conflicts", waitConflicts)
  , ("wakes", wakes)
  , ("idle_wakes", idleWakes)
  , ("invalid", invalid)
  , ("exceptions", exceptions)
  , ("nested_conflicts", nestedConflicts)
  , ("restarts", restarts)
  , ("condemned", condemned)
  , ("interrupted", interrupted)
  , ("backoffs", backoffs)
  , ("limited", limited)
  , ("decisions", decisions)
  ]
