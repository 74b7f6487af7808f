-- | What became of this program's transactions, counted exactly, and names for those of
-- which one wants to know more.
--
-- Nothing has to be called: a program that depends on this package is counted, also where
-- no module of it is imported. A variable of the environment changes what is done:
--
-- [@RTSCOPE_STM@] @count@: transactions are counted; @adaptive@ (the
-- default): they are scheduled, too, where that pays; @backoff@ and @limit=N@: one way of
-- scheduling, always, for experiments
--
-- The package's README says what leads to each count.
module RtScope.STM
  ( -- * Names
    Name
  , name
  , atomicallyNamed

    -- * Counts
  , Counts (..)
  , counts
  , NamedCounts (..)
  , namedCounts

    -- * State
  , State (..)
  , state
  , Way (..)
  , way
  ) where

import Control.Exception (SomeException, catch, throwIO)
import Control.Monad (forM, when)
import Data.IORef (newIORef, readIORef, writeIORef)
import Data.Word (Word32, Word64)
import Foreign.C.String (CString)
import Foreign.Marshal.Array (allocaArray, peekArray)
import Foreign.Ptr (Ptr)
import GHC.Conc (STM, atomically, myThreadId, throwTo, unsafeIOToSTM)
import qualified GHC.Foreign as Foreign
import GHC.IO.Encoding (TextEncoding)
import GHC.IO.Encoding.Failure (CodingFailureMode (..))
import GHC.IO.Encoding.UTF8 (mkUTF8)

-- | A name of transactions: a row in a table of 128.
newtype Name = Name Word32
  deriving (Eq)

foreign import ccall unsafe "rtscope_stm_name"
  c_name :: CString -> IO Word32

foreign import ccall unsafe "rtscope_stm_mark"
  c_mark :: Word32 -> IO ()

foreign import ccall unsafe "rtscope_stm_ready"
  c_ready :: IO ()

foreign import ccall unsafe "rtscope_stm_done"
  c_done :: IO ()

foreign import ccall unsafe "rtscope_stm_thrown"
  c_thrown :: IO Word32

foreign import ccall unsafe "rtscope_stm_sums"
  c_sums :: Ptr Word64 -> IO ()

foreign import ccall unsafe "rtscope_stm_names_used"
  c_namesUsed :: IO Word32

foreign import ccall unsafe "rtscope_stm_name_figures"
  c_nameFigures :: Word32 -> Ptr Word64 -> IO CString

foreign import ccall unsafe "rtscope_stm_state"
  c_state :: IO Word32

foreign import ccall unsafe "rtscope_stm_way"
  c_way :: IO Word32

-- | The name with this text. The same text gives the same name, so that one at top level
-- is safe:
--
-- > transfer :: Name
-- > transfer = unsafePerformIO (name "transfer")
-- > {-# NOINLINE transfer #-}
--
-- Texts are cut at 63 bytes of UTF-8 and at a zero. There is room for 127; all others are
-- the name @other@.
name :: String -> IO Name
name text = Name <$> Foreign.withCString utf8 text c_name

-- | Of any text: what is no character is left out.
utf8 :: TextEncoding
utf8 = mkUTF8 IgnoreCodingFailure

-- | 'atomically', counted under a name as well. It means the same in every other respect.
atomicallyNamed :: Name -> STM a -> IO a
atomicallyNamed (Name number) transaction = do
  result <- newIORef Nothing
  committed <- (Just <$> atomically (named result)) `catch` ended result
  case committed of
    Just value -> c_done >> pure value
    Nothing -> atomicallyNamed (Name number) transaction
  where
    named result = do
      unsafeIOToSTM (c_mark number)
      value <- transaction
      unsafeIOToSTM (writeIORef result (Just value) >> c_ready)
      pure value
    -- An exception that the transaction raised goes on its way. One from another thread
    -- is thrown to this one once more, as it was: were it raised here, a value that is
    -- just being computed (this may run in 'unsafePerformIO') would be that exception
    -- from now on. Who computes such a value later goes on here: with the result where
    -- the transaction had committed, else by beginning again.
    ended result exception = do
      thrown <- c_thrown
      when (thrown == 1) (throwIO (exception :: SomeException))
      myThreadId >>= \thread -> throwTo thread exception
      if thrown == 2 then readIORef result else pure Nothing

-- | What became of all attempts so far. At rest
--
-- > attempts = commits + conflicts + waits + waitConflicts + invalid + exceptions + restarts
data Counts = Counts
  { attempts :: !Word64
  -- ^ Outermost transactions begun: first tries, and every try again.
  , commits :: !Word64
  -- ^ Took effect; while transactions run, those that are under way are among them.
  , conflicts :: !Word64
  -- ^ Refused at their commit, because something they read had changed.
  , waits :: !Word64
  -- ^ Blocked by 'GHC.Conc.retry'.
  , waitConflicts :: !Word64
  -- ^ Would have blocked, but something they read had changed.
  , wakes :: !Word64
  -- ^ Waits that ended by a change.
  , idleWakes :: !Word64
  -- ^ Wakes of one that waits on, because what it read had not changed in the end.
  , invalid :: !Word64
  -- ^ Raised an exception after reading what did not fit together: tried again instead.
  , exceptions :: !Word64
  -- ^ Ended by an exception, of their own or from another thread.
  , nestedConflicts :: !Word64
  -- ^ Parts (of 'GHC.Conc.orElse' and 'GHC.Conc.catchSTM') that were refused.
  , backoffs :: !Word64
  -- ^ Times that the scheduler kept a capability away after a conflict,
  , backoffNs :: !Word64
  -- ^ and nanoseconds of it.
  , limited :: !Word64
  -- ^ Times that an attempt waited because enough others ran,
  , limitedNs :: !Word64
  -- ^ and nanoseconds of it.
  , decisions :: !Word64
  -- ^ Times that the scheduler changed its way.
  , restarts :: !Word64
  -- ^ Tried again because a part of them was refused.
  , condemned :: !Word64
  -- ^ Of the conflicts (or exceptions): found by the runtime before their end.
  , interrupted :: !Word64
  -- ^ Waits that ended by an exception.
  }
  deriving (Eq, Show)

-- | All capabilities together. Each count is exact; while transactions run, they are not of
-- one moment.
counts :: IO Counts
counts = do
  sums <- allocaArray 18 $ \space -> c_sums space >> peekArray 18 space
  let at = (sums !!)
  pure
    Counts
      { attempts = at 0
      , commits = at 1
      , restarts = at 2
      , conflicts = at 3
      , waits = at 4
      , waitConflicts = at 5
      , wakes = at 6
      , idleWakes = at 7
      , invalid = at 8
      , exceptions = at 9
      , nestedConflicts = at 10
      , backoffs = at 11
      , backoffNs = at 12
      , limited = at 13
      , limitedNs = at 14
      , decisions = at 15
      , condemned = at 16
      , interrupted = at 17
      }

-- | What became of the attempts of one name. What is missing to 'namedAttempts' was lost
-- to conflicts, or is still running.
data NamedCounts = NamedCounts
  { namedAttempts :: !Word64
  , namedCommits :: !Word64
  , namedWaits :: !Word64
  , namedExceptions :: !Word64
  }
  deriving (Eq, Show)

-- | All names, in the order in which they were made.
namedCounts :: IO [(String, NamedCounts)]
namedCounts = do
  used <- c_namesUsed
  forM [number | used > 0, number <- [0 .. used - 1]] $ \number ->
    allocaArray 4 $ \space -> do
      text <- c_nameFigures number space >>= Foreign.peekCString utf8
      figures <- peekArray 4 space
      let at = (figures !!)
      pure (text, NamedCounts (at 0) (at 1) (at 2) (at 3))

-- | Whether transactions are counted.
data State
  = -- | They are.
    Counting
  | -- | The linker did not lead the runtime's calls here: the program is linked with
    -- @-dynamic@, or runs in GHCi. It runs as without this package, and all counts are 0.
    NotLinked
  deriving (Eq, Ord, Enum, Bounded, Show, Read)

state :: IO State
state = toEnum . fromIntegral <$> c_state

-- | What the scheduler does.
data Way
  = -- | Nothing: transactions run as without it.
    Plain
  | -- | A capability keeps away for some microseconds after a conflict.
    BackOff
  | -- | So many capabilities run transactions at once.
    Limit Int
  deriving (Eq, Show)

-- | What the scheduler does now.
way :: IO Way
way = toWay . fromIntegral <$> c_way
  where
    toWay 0 = Plain
    toWay 1 = BackOff
    toWay n = Limit (n - 1)
