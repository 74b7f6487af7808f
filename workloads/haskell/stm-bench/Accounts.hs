-- | Accounts between which money goes to and fro: transfers alone, and transfers while others
-- read all accounts in one transaction. Owns both benchmarks: no money is made or lost, and
-- no thread ever sees that some is under way.
module Accounts (transfers, audits) where

import Control.Concurrent.STM
import Control.Monad
import GHC.Arr (Array, elems, listArray, (!))
import Work

type Accounts = Array Int (TVar Int)

opened :: Int -> Int -> IO Accounts
opened count each = listArray (0, count - 1) <$> replicateM count (newTVarIO each)

-- | From one account to another one, by chance.
pair :: Int -> Chance -> (Int, Int)
pair count chance = (from, (from + 1 + below (count - 1) (step chance)) `mod` count)
  where
    from = below count chance

move :: Accounts -> Int -> Int -> Int -> STM ()
move accounts from to amount = do
  there <- readTVar (accounts ! from)
  other <- readTVar (accounts ! to)
  writeTVar (accounts ! from) $! there - amount
  writeTVar (accounts ! to) $! other + amount

-- | Transfers of what is there; no account goes below zero.
transfers :: Asked -> IO Ready
transfers asked = do
  accounts <- opened (keys asked) 1000
  return
    Ready
      { work = \worker -> foldTimes worker () $ \_ _ chance -> do
          let (from, to) = pair (keys asked) chance
              amount = 1 + below 200 (step (step chance))
          transaction worker $ do
            there <- readTVar (accounts ! from)
            when (there >= amount) (move accounts from to amount)
      , broken = do
          found <- mapM readTVarIO (elems accounts)
          let expected = 1000 * keys asked
          return
            ( ["there is " ++ show (sum found) ++ ", expected " ++ show expected | sum found /= expected]
                ++ ["an account has " ++ show (minimum found) | minimum found < 0]
            )
      , spoil = atomically (writeTVar (accounts ! 0) 123456789)
      }

-- | One operation in so many reads all accounts.
ofWhichOneReads :: Int
ofWhichOneReads = 500

-- | Long transactions that only read, in parallel with short ones that write. A quarter of the threads
-- reads, one of two or three; one thread alone does both.
audits :: Asked -> IO Ready
audits asked = do
  accounts <- opened (keys asked) 0
  seen <- newFaults
  let long = operations asked `div` ofWhichOneReads
      short = operations asked - long
      readers = max 1 (threads asked `div` 4)
      writers = max 1 (threads asked - readers)
      write worker chance = do
        let (from, to) = pair (keys asked) chance
        transaction worker (move accounts from to 1)
      look worker = do
        total <- transaction worker (foldM (\sofar one -> readTVar one >>= \has -> return $! sofar + has) 0 (elems accounts))
        when (total /= 0) (fault seen ("a reader saw " ++ show total ++ ", expected 0"))
      both worker = foldTimes worker () $ \_ index chance ->
        if index `mod` ofWhichOneReads == ofWhichOneReads - 1 then look worker else write worker chance
  return
    Ready
      { work = \worker ->
          if threads asked == 1
            then both worker
            else
              if number worker < readers
                then repeated (worker `withShare` shareOf long readers (number worker)) (look worker)
                else
                  foldTimes
                    (worker `withShare` shareOf short writers (number worker - readers))
                    ()
                    (\_ _ chance -> write worker chance)
      , broken = do
          total <- sum <$> mapM readTVarIO (elems accounts)
          said <- faults seen
          return (said ++ ["the accounts have " ++ show total ++ ", expected 0" | total /= 0])
      , spoil = atomically (writeTVar (accounts ! 0) 123456789)
      }
