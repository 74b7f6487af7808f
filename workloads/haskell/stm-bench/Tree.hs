{-# LANGUAGE LambdaCase #-}
-- An attempt that has seen links of two different times can go round in a circle. The runtime
-- ends it when its thread stops, so the thread must be able to: by default a loop that only
-- reads has no place where it could.
{-# OPTIONS_GHC -fno-omit-yields #-}

-- | A red-black tree (Guibas and Sedgewick 1978), each link a 'TVar': an operation writes only
-- links that change, so that those in other parts of the tree do not meet. A red node has black
-- children, and every way from the root down passes as many black nodes.
module Tree (tree) where

import Control.Concurrent.STM
import Sets

data Colour = Red | Black
  deriving (Eq)

data Node = Leaf | Node !Colour !Int !Link !Link

type Link = TVar Node

-- | A side of a node; every case below is written once, for the side that it comes from.
data Side = L | R

-- | A node by its children on this side and on the other.
node :: Side -> Colour -> Int -> Link -> Link -> Node
node L colour key near far = Node colour key near far
node R colour key near far = Node colour key far near

-- | The children of a node on this side and on the other.
ways :: Side -> Link -> Link -> (Link, Link)
ways L left right = (left, right)
ways R left right = (right, left)

-- | An empty one.
tree :: Int -> IO Set
tree _ = do
  root <- newTVarIO Leaf
  return
    Set
      { insert = \key -> do
          done <- put key root
          case done of
            Known -> return False
            _ -> blacken root >> return True
      , delete = \key -> takeOut key root
      , member = find root
      , contents = walk root
      , wrong = do
          (_, said) <- inspected root
          top <- readTVar root
          members <- walk root
          return
            ( said
                ++ ["the root is red" | isRed top]
                ++ ["the tree is not in order" | or (zipWith (>=) members (drop 1 members))]
            )
      }

find :: Link -> Int -> STM Bool
find link key =
  readTVar link >>= \case
    Leaf -> return False
    Node _ here left right
      | key < here -> find left key
      | key > here -> find right key
      | otherwise -> return True

-- | What an insertion left at a link.
data Put
  = Known -- ^ nothing: the key was there
  | Fine -- ^ nothing more to do above
  | Reddened -- ^ a red node with black children
  | Broken -- ^ a red node with a red child

put :: Int -> Link -> STM Put
put key link =
  readTVar link >>= \case
    Leaf -> do
      new <- Node Red key <$> newTVar Leaf <*> newTVar Leaf
      writeTVar link new
      return Reddened
    Node colour here left right
      | key < here -> put key left >>= above L link colour here left right
      | key > here -> put key right >>= above R link colour here left right
      | otherwise -> return Known

-- | What an insertion below this side of a node makes of the node.
above :: Side -> Link -> Colour -> Int -> Link -> Link -> Put -> STM Put
above side link colour key left right below = case (below, colour) of
  (Reddened, Red) -> return Broken
  (Reddened, Black) -> return Fine
  (Broken, _) -> do
    let (near, far) = ways side left right
    turn side link key near far
    return Reddened
  (done, _) -> return done

-- | Below a black node, on the near side, a red node has a red child: a red node with two black
-- children takes their place. Links are used again.
turn :: Side -> Link -> Int -> Link -> Link -> STM ()
turn side link key near far =
  readTVar near >>= \case
    Leaf -> return ()
    Node _ middle left right -> do
      let (outer, inner) = ways side left right
      outermost <- readTVar outer
      if isRed outermost
        then do
          writeTVar outer (black outermost)
          writeTVar near (node side Black key inner far)
          writeTVar link (node side Red middle outer near)
        else
          readTVar inner >>= \case
            Leaf -> return ()
            Node _ top lower upper -> do
              let (innerNear, innerFar) = ways side lower upper
              writeTVar near (node side Black middle outer innerNear)
              writeTVar inner (node side Black key innerFar far)
              writeTVar link (node side Red top near inner)

-- | What a deletion left at a link.
data Dropped
  = Level -- ^ as many black nodes as before
  | Short -- ^ one black node less, on every way

takeOut :: Int -> Link -> STM Bool
takeOut key root = fst <$> go root
  where
    go link =
      readTVar link >>= \case
        Leaf -> return (False, Level)
        Node colour here left right
          | key < here -> go left >>= after L link
          | key > here -> go right >>= after R link
          | otherwise -> (,) True <$> remove link colour left right
    after side link (there, dropped) = (,) there <$> levelled side link dropped

-- | Takes the node at a link out.
remove :: Link -> Colour -> Link -> Link -> STM Dropped
remove link colour left right = do
  (under, over) <- (,) <$> readTVar left <*> readTVar right
  case (under, over) of
    (Leaf, _) -> replace link colour over
    (_, Leaf) -> replace link colour under
    _ -> do
      (least, dropped) <- takeLeast right
      writeTVar link (Node colour least left right)
      levelled R link dropped

-- | In the place of a node of that colour, its only child or none.
replace :: Link -> Colour -> Node -> STM Dropped
replace link colour child = do
  writeTVar link (black child)
  return (if colour == Red || isRed child then Level else Short)

-- | Takes the least key out; there is one.
takeLeast :: Link -> STM (Int, Dropped)
takeLeast link =
  readTVar link >>= \case
    Leaf -> return (0, Level)
    Node colour key left right ->
      readTVar left >>= \case
        Leaf -> do
          over <- readTVar right
          (,) key <$> replace link colour over
        _ -> do
          (least, dropped) <- takeLeast left
          (,) least <$> levelled L link dropped

-- | Sets right what a deletion below this side of a node left.
levelled :: Side -> Link -> Dropped -> STM Dropped
levelled _ _ Level = return Level
levelled side link Short =
  readTVar link >>= \case
    Leaf -> return Short
    Node colour key left right -> do
      let (near, far) = ways side left right
      readTVar far >>= \case
        -- What is short of a black node has no sibling only if the tree is wrong.
        Leaf -> return Short
        Node Red sibling lower upper -> do
          let (inner, outer) = ways side lower upper
          writeTVar far (node side Red key near inner)
          writeTVar link (node side Black sibling far outer)
          levelled side far Short
        Node Black sibling lower upper -> do
          let (inner, outer) = ways side lower upper
          nephews side link (colour, key, near, far) (sibling, inner, outer)

-- | The case of a black sibling.
nephews :: Side -> Link -> (Colour, Int, Link, Link) -> (Int, Link, Link) -> STM Dropped
nephews side link (colour, key, near, far) (sibling, inner, outer) = do
  (innermost, outermost) <- (,) <$> readTVar inner <*> readTVar outer
  case (innermost, outermost) of
    (_, Node Red _ _ _) -> do
      writeTVar outer (black outermost)
      writeTVar far (node side Black key near inner)
      writeTVar link (node side colour sibling far outer)
      return Level
    (Node Red top left right, _) -> do
      let (innerNear, innerFar) = ways side left right
      writeTVar inner (node side Black key near innerNear)
      writeTVar far (node side Black sibling innerFar outer)
      writeTVar link (node side colour top inner far)
      return Level
    _ -> do
      writeTVar far (node side Red sibling inner outer)
      if colour == Black
        then return Short
        else writeTVar link (node side Black key near far) >> return Level

isRed :: Node -> Bool
isRed (Node Red _ _ _) = True
isRed _ = False

black :: Node -> Node
black (Node _ key left right) = Node Black key left right
black Leaf = Leaf

blacken :: Link -> STM ()
blacken link = do
  top <- readTVar link
  if isRed top then writeTVar link (black top) else return ()

walk :: Link -> STM [Int]
walk link =
  readTVar link >>= \case
    Leaf -> return []
    Node _ key left right -> do
      under <- walk left
      over <- walk right
      return (under ++ key : over)

-- | Black nodes on the way down, and what is wrong.
inspected :: Link -> STM (Int, [String])
inspected link =
  readTVar link >>= \case
    Leaf -> return (0, [])
    Node colour key left right -> do
      (under, said) <- inspected left
      (over, more) <- inspected right
      children <- mapM readTVar [left, right]
      let faults =
            ["red " ++ show key ++ " has a red child" | colour == Red && any isRed children]
              ++ ["ways below " ++ show key ++ " have " ++ show (under, over) ++ " black nodes" | under /= over]
      return (under + (if colour == Black then 1 else 0), said ++ more ++ faults)
