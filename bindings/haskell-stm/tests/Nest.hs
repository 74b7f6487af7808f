-- | Random nests of alternatives and handlers: each does what a pure account of them says,
-- however often it is tried again.
module Nest (nest) where

import Broken
import Control.Exception (ErrorCall (..), SomeException)
import Control.Monad
import Data.Bits (shiftR)
import GHC.Conc
import Load
import RtScope.STM

data Tree
  = Add
  | Retry
  | Throw
  | Then Tree Tree
  | Else Tree Tree
  | Catch Tree Tree

data Result = Done Int | Retried | Thrown
  deriving (Eq, Show)

-- | The tree that a chance stands for.
tree :: Int -> Chance -> Tree
tree depth chance = case chance `mod` (if depth == 0 then 5 else 8) of
  0 -> Retry
  1 -> Throw
  2 -> Add
  3 -> Add
  4 -> Add
  5 -> both Then
  6 -> both Else
  _ -> both Catch
  where
    both make = make (tree (depth - 1) (chance `shiftR` 3)) (tree (depth - 1) ((chance * 0x9e3779b97f4a7c15) `shiftR` 11))

pureResult :: Tree -> Int -> Result
pureResult made before = case made of
  Add -> Done (before + 1)
  Retry -> Retried
  Throw -> Thrown
  Then one two -> case pureResult one before of
    Done between -> pureResult two between
    other -> other
  Else one two -> case pureResult one before of
    Retried -> pureResult two before
    other -> other
  Catch one two -> case pureResult one before of
    Thrown -> pureResult two before
    other -> other

-- | The same for two variables, which are equal before and after.
run :: TVar Int -> TVar Int -> Tree -> STM ()
run one other made = case made of
  Add -> add one >> add other
  Retry -> add one >> retry
  Throw -> add other >> throwSTM (ErrorCall "nest")
  Then first second -> run one other first >> run one other second
  Else first second -> run one other first `orElse` run one other second
  Catch first second -> run one other first `catchSTM` \exception -> const (run one other second) (exception :: SomeException)
  where
    add variable = readTVar variable >>= \value -> writeTVar variable $! value + 1

nest :: Load -> IO (Outcome, [String])
nest load = do
  pairs <- replicateM count ((,) <$> newTVarIO 0 <*> newTVarIO 0)
  broken <- newBroken
  named <- name "nest"
  outcome <- underLoad load $ \_ chance ->
    let (one, other) = pairs !! below count 8 chance in step one other broken named chance
  forM_ pairs $ \(one, other) -> do
    first <- readTVarIO one
    second <- readTVarIO other
    expect broken "equal at the end" first second
  (,) outcome <$> allBroken broken
  where
    -- Pairs of variables: enough that most nests meet no other.
    count = 8

step :: TVar Int -> TVar Int -> Broken -> Name -> Chance -> IO ()
step one other broken named chance = do
  (before, after, found) <- atomicallyNamed named $ do
    before <- readTVar one
    let whole = (run one other made >> Done <$> readTVar one) `orElse` pure Retried
    found <- whole `catchSTM` \exception -> const (pure Thrown) (exception :: SomeException)
    after <- (,) <$> readTVar one <*> readTVar other
    pure (before, after, found)
  let wanted = pureResult made before
      value = case wanted of
        Done changed -> changed
        _ -> before
  expect broken "a nest" wanted found
  expect broken "variables after it" (value, value) after
  where
    made = tree 5 chance
