-- | Threads that wait, each for something that is known and stays as it is: locks whose holders do all that a
-- holder can do, values likewise, and what else there is to wait for. The program says itself what is true.
-- The arguments: a seed, from which numbers of threads and ways to lock follow; seconds.
module Main (main) where

import Control.Concurrent
import Control.Monad
import Data.Bits (shiftR)
import Data.IORef
import Data.Word (Word64)
import Doing
import Foreign.StablePtr (newStablePtr)
import GHC.Clock (getMonotonicTimeNSec)
import GHC.Conc (newTVarIO)
import Lock
import System.Environment (getArgs)
import System.IO
import Truth

-- | What is the same for all cases.
data Around = Around {dice :: IORef Word64, stop :: IORef Bool, told :: IORef [Known]}

-- | What a thread can do while others wait for it.
data Does = Does
  { called :: String,
    -- | The kinds that are right, and the place and callee where it waits.
    kinds :: [String],
    at :: String,
    foreignly :: Maybe String,
    action :: IO (),
    start :: IO () -> IO ThreadId
  }

main :: IO ()
main = do
  [seed, seconds] <- getArgs
  hSetBuffering stdout LineBuffering
  around <- Around <$> newIORef (read seed * 2654435761 + 1) <*> newIORef False <*> newIORef []
  does <- whatOneDoes
  mapM_ (lockHeld around) does
  mapM_ (valueComputed around) does
  chain around
  dead around
  readers around
  throwers around
  alone around
  -- Those that take time from others come last, and a capability has only one of them.
  when rtsSupportsBoundThreads (busy around)
  settle around (read seconds)
  unless rtsSupportsBoundThreads (callAtLast around)

-- | From 1 to a number.
upTo :: Around -> Word64 -> IO Int
upTo around most = atomicModifyIORef' (dice around) $ \state ->
  let next = state * 6364136223846793005 + 1442695040888963407
   in (next, 1 + fromIntegral ((next `shiftR` 33) `mod` most))

someWay :: Around -> IO Way
someWay around = (\number -> ways !! (number - 1)) <$> upTo around (fromIntegral (length ways))

-- | Starts a thread that nothing collects.
begin :: (IO () -> IO ThreadId) -> IO () -> IO ThreadId
begin how what = how what >>= \who -> who <$ newStablePtr who

tell :: Around -> Known -> IO ()
tell around it = modifyIORef (told around) (it :)

waiting :: Does -> ThreadId -> String -> Maybe Known
waiting does who ofCase = case kinds does of
  [one] | one /= "runs" -> Just (known ofCase one (at does) who) {callee = foreignly does}
  _ -> Nothing

whatOneDoes :: IO [Does]
whatOneDoes = do
  variable <- newTVarIO 0
  (ends, sockets) <- (,) <$> pipe <*> socket
  let simply what does place from act = Does what [does] place from act forkIO
      everywhere =
        [ simply "delay" "time" "inDelay" Nothing (inDelay long),
          simply "pipe" "io" "inPipe" Nothing (inPipe ends),
          simply "socket" "io" "inSocket" Nothing (inSocket sockets),
          simply "transaction" "transaction" "inTransaction" Nothing (inTransaction variable)
        ]
      call = simply "call" "call" "inCall" (Just "known_call") (inCall 100000)
  return (everywhere ++ [call | rtsSupportsBoundThreads])

-- | Holders that have a capability, or could have one: it has others to run, and another capability has nothing.
busy :: Around -> IO ()
busy around = do
  let run = Does "running" ["runs"] "" Nothing (running (stop around)) (forkOn 0)
      ready = Does "ready" ["ready", "runs"] "" Nothing (running (stop around)) (forkOn 1)
  which <- upTo around 2
  if which == 1
    then valueComputed around ready >> lockHeld around run
    else lockHeld around ready >> valueComputed around run
  replicateM_ 3 (forkOn 1 (running (stop around)))

-- | A lock held by a thread that does this, and some threads that want it.
lockHeld :: Around -> Does -> IO ()
lockHeld around does = do
  let ofCase = "lock, holder: " ++ called does
  (way, lock, inside) <- (,,) <$> someWay around <*> newLock <*> newEmptyMVar
  holder' <- begin (start does) (withLock way lock (putMVar inside () >> action does))
  takeMVar inside
  mapM_ (tell around) (waiting does holder' ofCase)
  visitors around ofCase lock (Just (holder', kinds does))

visitors :: Around -> String -> Lock -> Maybe (ThreadId, [String]) -> IO ()
visitors around ofCase lock who = do
  count <- upTo around 5
  replicateM_ count $ do
    way <- someWay around
    visitor <- begin forkIO (withLock way lock (return ()))
    tell around (known ofCase "lock" (wayName way) visitor) {object = Just ofCase, holder = who}

-- | A value computed by a thread that does this, and some threads that want it.
valueComputed :: Around -> Does -> IO ()
valueComputed around does = do
  let ofCase = "value, owner: " ++ called does
  inside <- newEmptyMVar
  value <- lazily (putMVar inside () >> action does)
  owner <- begin (start does) (demanding value)
  takeMVar inside
  mapM_ (tell around) (waiting does owner ofCase)
  count <- upTo around 4
  replicateM_ count $ do
    who <- begin forkIO (demanding value)
    tell around (known ofCase "value" "demanding" who) {object = Just ofCase, holder = Just (owner, kinds does)}

-- | A thread that waits for a lock holds another one; the first one's holder sleeps.
chain :: Around -> IO ()
chain around = do
  (first, second, inside) <- (,,) <$> newLock <*> newLock <*> newEmptyMVar
  (way, behind) <- (,) <$> someWay around <*> someWay around
  sleeper <- begin forkIO (withLock way second (putMVar inside () >> inDelay long))
  takeMVar inside
  tell around (known "chain" "time" "inDelay" sleeper)
  middle <- begin forkIO (withLock way first (putMVar inside () >> withLock behind second (return ())))
  takeMVar inside
  let held = Just (sleeper, ["time"])
  tell around (known "chain" "lock" (wayName behind) middle) {object = Just "chain, second", holder = held}
  visitors around "chain" first (Just (middle, ["lock"]))

-- | The thread that took this lock has ended.
dead :: Around -> IO ()
dead around = do
  (lock, taken) <- (,) <$> newLock <*> newEmptyMVar
  _ <- forkIO (loseLock lock >> putMVar taken ())
  takeMVar taken
  visitors around "lock, holder: ended" lock Nothing

-- | A variable that another thread will fill.
readers :: Around -> IO ()
readers around = do
  variable <- newEmptyMVar
  filler <- begin forkIO (filling variable)
  tell around (known "read" "time" "filling" filler)
  count <- upTo around 3
  replicateM_ count $ do
    who <- begin forkIO (reading variable)
    tell around (known "read" "lock" "reading" who) {object = Just "read", holder = Just (filler, ["time"])}

-- | An exception for a thread that receives none.
throwers :: Around -> IO ()
throwers around = do
  inside <- newEmptyMVar
  target <- begin forkIO (deaf (putMVar inside ()))
  takeMVar inside
  tell around (known "throw" "time" "deaf" target)
  count <- upTo around 3
  replicateM_ count $ do
    who <- begin forkIO (throwing target)
    tell around (known "throw" "message" "throwing" who) {object = Just "throw", holder = Just (target, ["time"])}

-- | What one waits for without others.
alone :: Around -> IO ()
alone around = do
  variable <- newTVarIO 0
  (ends, sockets) <- (,) <$> pipe <*> socket
  several (known "delay" "time" "inDelay") (inDelay long)
  several (known "pipe" "io" "inPipe") (inPipe ends)
  several (known "socket" "io" "inSocket") (inSocket sockets)
  several ((\it -> it {object = Just "transaction"}) . known "transaction" "transaction" "inTransaction") (inTransaction variable)
  when rtsSupportsBoundThreads (several ((\it -> it {callee = Just "known_call"}) . known "call" "call" "inCall") (inCall 100000))
  where
    several knows what = do
      count <- upTo around 4
      replicateM_ count (begin forkIO what >>= tell around . knows)

-- | Says what is true, once all is so, and lets it be.
settle :: Around -> Double -> IO ()
settle around seconds = do
  threadDelay 300000
  it <- readIORef (told around)
  mapM_ (write 1) it
  from <- getMonotonicTimeNSec
  threadDelay (round (seconds * 1e6))
  to <- getMonotonicTimeNSec
  writeIORef (stop around) True
  writeTimes 1 from to

-- | Without other threads of the system a call keeps all that others could run on: they wait as before.
callAtLast :: Around -> IO ()
callAtLast around = do
  who <- myThreadId
  from <- getMonotonicTimeNSec
  it <- readIORef (told around)
  mapM_ (write 2) (((known "call that keeps all" "call" "inCall" who) {callee = Just "known_call"}) : it)
  let time = 900
  -- Nothing is true of the moments at which it begins and ends.
  writeTimes 2 (from + 50000000) (from + fromIntegral (time - 100) * 1000000)
  inCall time
