{-# LANGUAGE MagicHash, UnboxedTuples #-}
-- | Work of the runtime that is known, with one kind of it and without: all else is the same. The arguments: the kind,
-- with or without, how much of it, how many turns. Prints the CPU time of the process within collections (of kinds
-- that are no collection's: within the loop that has the runtime work; of faults: in the kernel), in nanoseconds.
module Main (main) where

import Control.Concurrent (threadDelay)
import Control.Monad
import Data.Array.IO
import Data.IORef
import Data.Int (Int64)
import Data.Word (Word8)
import Foreign.C.Types (CInt (..))
import Foreign.Marshal.Alloc (allocaBytes, mallocBytes)
import Foreign.Marshal.Utils (fillBytes)
import Foreign.Ptr
import Foreign.Storable (peekElemOff, pokeByteOff)
import GHC.Conc (atomically, newTVarIO, readTVar, readTVarIO, writeTVar)
import GHC.Exts
import GHC.IO (IO (..))
import GHC.IORef (IORef (..))
import GHC.STRef (STRef (..))
import System.CPUTime
import System.Environment (getArgs)
import System.Mem
import System.Posix.Process (forkProcess, getProcessStatus)
import System.Posix.Signals (sigKILL, signalProcess)

main :: IO ()
main = do
  [kind, which, amount, turns] <- getArgs
  cpu <- newIORef 0
  work kind (which == "with") (read amount) (Turns (read turns) cpu)
  readIORef cpu >>= print . (`div` 1000)

-- | How many, and their CPU time so far.
data Turns = Turns Int (IORef Integer)

timed, timedInKernel :: IORef Integer -> IO () -> IO ()
timed = timedBy getCPUTime
timedInKernel = timedBy systemTime

timedBy :: IO Integer -> IORef Integer -> IO () -> IO ()
timedBy clock cpu what = do
  before <- clock
  what
  after <- clock
  modifyIORef' cpu (+ (after - before))

foreign import ccall unsafe "getrusage" getrusage :: CInt -> Ptr Int64 -> IO CInt

-- | CPU time of the process in the kernel, picoseconds.
systemTime :: IO Integer
systemTime = allocaBytes 256 $ \usage -> do
  _ <- getrusage 0 usage
  seconds <- peekElemOff usage 2
  microseconds <- peekElemOff usage 3
  pure (1000000 * (1000000 * toInteger seconds + toInteger microseconds))

-- | In each turn prepares, then times a collection.
collect :: Turns -> IO () -> IO () -> IO ()
collect (Turns turns cpu) collection prepare = replicateM_ turns (prepare >> timed cpu collection)

work :: String -> Bool -> Int -> Turns -> IO ()
work "stacks" with amount turns = do
  cell <- newIORef 1
  deep (if with then amount else 0) cell (collect turns performMajorGC (pure ())) >>= touch
work "arrays" with amount turns@(Turns _ cpu) = do
  boxed <- newArray (0, amount - 1) () :: IO (IOArray Int ())
  bytes <- newArray (0, amount - 1) 0 :: IO (IOUArray Int Int)
  timed cpu (performMajorGC >> performMajorGC)
  collect turns performMinorGC $ forM_ [0, 128 .. amount - 1] $ \i ->
    if with then writeArray boxed i () else writeArray bytes i i
  readArray boxed 0 >> readArray bytes 0 >>= touch
work "remembered" with amount turns@(Turns _ cpu) = do
  cells <- replicateM amount (newIORef 0)
  timed cpu (performMajorGC >> performMajorGC)
  collect turns performMinorGC $ forM_ cells $ \cell ->
    if with then writeIORef cell zero else readIORef cell >>= touch
  mapM readIORef cells >>= touch . sum
work "weak" with amount turns = do
  key <- newIORef 0
  when with $ replicateM_ amount (weakly key)
  bytes cold >>= collect turns performMajorGC . chill
  readIORef key >>= touch
work "finalisers" with amount turns = do
  -- A finaliser that takes as long as the text is, and leaves nothing.
  text <- mallocBytes 100000
  fillBytes text 1 99999
  pokeByteOff text 99999 (0 :: Word8)
  collect turns performMajorGC $ replicateM_ (amount `div` 10) $ do
    weak <- newIORef 0 >>= weakly
    replicateM_ 10 (measuredWith weak (if with then text else text `plusPtr` 99999))
work "large" with amount turns = do
  -- Held by one array, which stays where it is: what is copied varies with where it comes to lie.
  shared <- bytes 3600
  held <- array amount
  forM_ [0 .. amount - 1] $ \i -> (if with then bytes 3600 else pure shared) >>= hold held i
  bytes cold >>= collect turns performMajorGC . chill
  touch (held `holds` amount)
work kind with amount turns
  | kind `elem` ["marking", "compacting"] = do
      let list = [1 .. if with then amount else 1] :: [Int]
      touch (sum list)
      -- It grows old by being copied, once.
      performMinorGC >> performMinorGC
      collect turns (performMajorGC >> settle) (pure ())
      touch (sum list)
work "copy" with amount (Turns turns cpu) = do
  old <- bytes amount
  touchPages old amount
  replicateM_ turns $ do
    child <- if with then forkProcess (threadDelay 60000000) else pure 0
    timedInKernel cpu (touchPages old amount)
    when with (signalProcess sigKILL child >> void (getProcessStatus True False child))
work "touch" with amount (Turns turns cpu) = do
  old <- bytes amount
  touchPages old amount
  kept <- forM [1 .. turns] $ \_ -> do
    new <- if with then bytes amount else pure old
    timedInKernel cpu (touchPages new amount)
    pure new
  touch (length [() | Bytes b <- kept, isTrue# (sizeofMutableByteArray# b ># 0#)])
work "retouch" with amount (Turns turns cpu) = do
  let size = if with then 8 else amount
  old <- bytes size
  touchPages old size
  replicateM_ turns $ do
    new <- if with then bytes amount else pure old
    timedInKernel cpu (touchPages new amount)
    performMajorGC >> performMajorGC
  touchPages old size
work "transactions" with amount (Turns turns cpu) = do
  vars <- replicateM amount (newTVarIO 0)
  cells <- replicateM amount (newIORef 0)
  replicateM_ turns $ timed cpu $
    if with then atomically (forM_ vars (\var -> readTVar var >>= \x -> writeTVar var $! x + 1))
    else forM_ cells (\cell -> readIORef cell >>= \x -> writeIORef cell $! x + 1)
  mapM readTVarIO vars >>= touch . sum
  mapM readIORef cells >>= touch . sum
work kind _ _ _ = error ("no work " ++ kind)

-- | Calls itself so deep before it runs what it is given; each frame holds the cell.
deep :: Int -> IORef Int -> IO () -> IO Int
deep 0 cell what = what >> readIORef cell
deep depth cell what = do
  below <- deep (depth - 1) cell what
  own <- readIORef cell
  pure $! below + own
{-# NOINLINE deep #-}

zero :: Int
zero = 0
{-# NOINLINE zero #-}

touch :: Int -> IO ()
touch value = when (value < 0) (print value)
{-# NOINLINE touch #-}

data Bytes = Bytes (MutableByteArray# RealWorld)

bytes :: Int -> IO Bytes
bytes (I# size) = IO $ \s -> case newByteArray# size s of (# s1, b #) -> (# s1, Bytes b #)
{-# NOINLINE bytes #-}

data Held = Held (MutableArrayArray# RealWorld)

array :: Int -> IO Held
array (I# size) = IO $ \s -> case newArrayArray# size s of (# s1, a #) -> (# s1, Held a #)

hold :: Held -> Int -> Bytes -> IO ()
hold (Held a) (I# at) (Bytes b) = IO $ \s -> (# writeMutableByteArrayArray# a at b s, () #)

holds :: Held -> Int -> Int
holds (Held a) size = I# (sizeofMutableArrayArray# a) - size

-- | More than a processor's own caches hold.
cold :: Int
cold = 2000000

-- | Empties them: work that a collection begins with takes as long whatever the one before it left there.
chill :: Bytes -> IO ()
chill (Bytes b) = go 0 0 >>= touch
  where
    go at@(I# index) sum'
      | at * 8 >= cold = pure sum'
      | otherwise = IO (\s -> case readIntArray# b index s of (# s1, word #) -> (# s1, I# word #)) >>= go (at + 8) . max 0 . min sum'

touchPages :: Bytes -> Int -> IO ()
touchPages (Bytes b) size = forM_ [0, 512 .. size `div` 8 - 1] $ \(I# at) -> IO $ \s ->
  (# writeIntArray# b at 1# s, () #)

data W = W (Weak# ())

-- | A weak pointer that nothing else refers to.
weakly :: IORef Int -> IO W
weakly (IORef (STRef var)) = IO $ \s -> case mkWeakNoFinalizer# var () s of (# s1, w #) -> (# s1, W w #)

foreign import ccall "&strlen" strlen :: FunPtr (Ptr () -> IO ())

-- | Adds a finaliser that looks for the end of a text.
measuredWith :: W -> Ptr () -> IO ()
measuredWith (W w) (Ptr text) = IO $ \s -> case strlen of
  FunPtr finaliser -> case addCFinalizerToWeak# finaliser text 0# nullAddr# w s of (# s1, _ #) -> (# s1, () #)

-- | Until no concurrent collection runs any more.
settle :: IO ()
settle = do
  before <- getCPUTime
  threadDelay 10000
  after <- getCPUTime
  when (after - before > 1000000000) settle
