-- | Transactions in values that are computed when they are needed, by several threads at
-- once: each is computed to the end, whoever is interrupted, and no two get the same
-- ticket.
module Lazy (lazy) where

import Broken
import Control.Exception
import Control.Monad
import Data.IORef
import Data.List (sort)
import GHC.Conc
import Load
import RtScope.STM
import System.IO.Unsafe (unsafePerformIO)

-- | The next ticket, taken when it is needed.
ticket :: TVar Int -> Maybe Name -> Int -> Int
ticket counter named number = unsafePerformIO (maybe atomically atomicallyNamed named taken)
  where
    taken = do
      value <- readTVar counter
      writeTVar counter $! value + 1
      -- Some work, so that it can be interrupted.
      pure $! value + (length (show (product [1 .. toInteger (number `mod` 50)])) `mod` 1)
{-# NOINLINE ticket #-}

batch, batches :: Int
batch = 64
batches = 2000

-- | Values that are computed by whoever needs them first, and which lot of them it is.
data Lot = Lot Int [Int]

lot :: TVar Int -> Name -> Int -> Lot
lot counter named serial =
  Lot serial [ticket counter (if even number then Just named else Nothing) number | number <- [from .. from + batch - 1]]
  where
    from = serial * batch

lazy :: Load -> IO (Outcome, [String])
lazy load = do
  counter <- newTVarIO 0
  broken <- newBroken
  named <- name "ticket"
  made <- newIORef []
  current <- newIORef (lot counter named 0)
  outcome <- underLoad load (step (lot counter named) made current)
  taken <- filterM (whole broken) . concat =<< readIORef made
  let numbers = sort taken
  expect broken "tickets used twice" [] [one | (one, other) <- zip numbers (drop 1 numbers), one == other]
  most <- readTVarIO counter
  expect broken "tickets within what was taken" True (all (< most) numbers)
  (,) outcome <$> allBroken broken
  where
    -- Nobody is interrupted any more: a value that is an exception was broken before.
    whole broken value = do
      result <- try (evaluate value)
      case result of
        Right _ -> pure True
        Left exception -> tell broken ("a value is " ++ show (exception :: SomeException)) >> pure False

-- | Computes all of the current lot, beginning anywhere; then there is another.
step :: (Int -> Lot) -> IORef [[Int]] -> IORef Lot -> Int -> Chance -> IO ()
step another made current _ chance = do
  Lot serial values <- readIORef current
  let (later, first) = splitAt (below batch 0 chance) values
  mapM_ evaluate (first ++ later)
  when (serial < batches) $ do
    replaced <- atomicModifyIORef' current $ \now@(Lot number _) ->
      if number == serial then (another (serial + 1), True) else (now, False)
    when replaced (atomicModifyIORef' made (\all' -> (values : all', ())))
