-- | What a program that depends on this package was started with, and why.
--
-- Nothing has to be called: the plan becomes the runtime's defaults before 'main', also
-- where no module of this package is imported. Variables of the environment change it:
--
-- [@RTSCOPE_GOAL@] @latency@ (the default), @throughput@ or @memory@
-- [@RTSCOPE_PLAN@] @off@: the runtime starts as it would without this package
-- [@RTSCOPE_ROOT@] a folder: files of the machine are read below it, for trials
--
-- Flags that are given, by the link, by @GHCRTS@ or on the command line, always win.
module RtScope.Start
  ( Plan (..)
  , Goal (..)
  , State (..)
  , plan
  ) where

import Data.Word (Word64)
import Foreign.C.Types (CChar, CSize (..))
import Foreign.Marshal.Alloc (allocaBytes)
import Foreign.Marshal.Array (allocaArray, peekArray)
import Foreign.Ptr (Ptr, nullPtr)
import Foreign.C.String (peekCString)

-- | What the program is to be good at.
data Goal = Latency | Throughput | Memory
  deriving (Eq, Ord, Enum, Bounded, Show, Read)

-- | Whether the runtime follows the plan.
data State
  = -- | It was not asked to: the program is linked with @-dynamic@ or has a defaults hook
    -- of its own.
    NotStarted
  | -- | It does, but for flags that were given.
    Started
  | -- | @RTSCOPE_PLAN=off@.
    Off
  deriving (Eq, Ord, Enum, Bounded, Show, Read)

-- | A plan for this process. Shown as its sentences.
data Plan = Plan
  { state :: State
  , goal :: Goal
  , workers :: Int
  -- ^ Capabilities, as @-N@ would set them.
  , collectors :: Int
  -- ^ Threads that collect: as many as there are workers unless @-qn@ or @-qg@ is planned.
  , nurseryBytes :: Int
  -- ^ Nursery of each, as @-A@ would set it.
  , reasons :: String
  -- ^ What it follows from, a sentence for each step, and the flags that were given.
  }
  deriving (Eq)

instance Show Plan where
  show = reasons

foreign import ccall safe "rtscope_start_figures"
  c_figures :: Ptr Word64 -> IO ()

foreign import ccall safe "rtscope_start_text"
  c_text :: Ptr CChar -> CSize -> IO CSize

-- | The plan that this program was started with. Where it was not, one is made now.
plan :: IO Plan
plan = do
  figures <- allocaArray 6 $ \space -> c_figures space >> peekArray 6 space
  size <- (+ 1) <$> c_text nullPtr 0
  text <- allocaBytes (fromIntegral size) $ \space -> c_text space size >> peekCString space
  let figure i = fromIntegral (figures !! i)
  pure
    Plan
      { state = toEnum (figure 0)
      , goal = toEnum (figure 1)
      , workers = figure 2
      , collectors = figure 3
      , nurseryBytes = figure 4
      , reasons = text
      }
