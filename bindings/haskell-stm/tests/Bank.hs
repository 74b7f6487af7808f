-- | Transfers between accounts: their sum stays, whoever looks sees it, what was thrown
-- back or given up left nothing behind.
module Bank (bank) where

import Broken
import Control.Exception (ErrorCall (..), SomeException, try)
import Control.Monad
import GHC.Arr (Array, elems, listArray, (!))
import GHC.Conc
import Load
import RtScope.STM

accounts, each :: Int
accounts = 24
each = 100

type Bank = Array Int (TVar Int)

move :: Bank -> Int -> Int -> Int -> STM ()
move book amount from to = do
  have <- readTVar (book ! from)
  when (have < amount) retry
  writeTVar (book ! from) (have - amount)
  readTVar (book ! to) >>= writeTVar (book ! to) . (+ amount)

-- | Reads every account: long against the others.
audit :: Bank -> STM Int
audit book = sum <$> mapM readTVar (elems book)

bank :: Load -> IO (Outcome, [String])
bank load = do
  book <- listArray (0, accounts - 1) <$> replicateM accounts (newTVarIO each)
  broken <- newBroken
  names <- (,,) <$> name "move" <*> name "move back" <*> name "audit"
  outcome <- underLoad load (step book broken names)
  total <- atomically (audit book)
  expect broken "sum at the end" (accounts * each) total
  (,) outcome <$> allBroken broken

step :: Bank -> Broken -> (Name, Name, Name) -> Int -> Chance -> IO ()
step book broken (moves, backs, audits) _ chance = case below 8 0 chance of
  0 -> atomicallyNamed audits (audit book) >>= expect broken "sum seen by a reader" (accounts * each)
  1 -> thrownBack
  2 -> givenUp
  3 -> atomicallyNamed backs (move book amount to from `orElse` move book 1 from to `orElse` pure ())
  4 -> atomically (move book amount from to) -- waits until there is enough
  _ -> atomicallyNamed moves (move book amount from to `orElse` pure ())
  where
    from = below accounts 1 chance
    to = below accounts 2 chance
    amount = below 40 3 chance
    -- What a handler sees is what was there before.
    thrownBack = do
      (before, after) <- atomically $ do
        before <- audit book
        ((move book amount from to `orElse` pure ()) >> throwSTM (ErrorCall "back")) `catchSTM` ignore
        (,) before <$> audit book
      expect broken "sum in a handler" before after
    ignore :: SomeException -> STM ()
    ignore _ = pure ()
    -- An exception that leaves the transaction undoes it.
    givenUp = do
      result <- try (atomically (writeTVar (book ! from) 1000000 >> throwSTM (ErrorCall "up")))
      case result of
        Left (ErrorCall "up") -> pure ()
        Left (ErrorCall other) -> tell broken ("another exception: " ++ other)
        Right () -> tell broken "an exception was lost"
