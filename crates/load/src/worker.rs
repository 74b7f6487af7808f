//! One thread of a load: follows the schedule, hands over requests when they are due, and reports
//! once per second what ended. Owns the event loop; `desk` chooses the connections.

use crate::clock::{self, Timer};
use crate::desk::{Desk, DueRequest};
use crate::profile::Profile;
use crate::tally::{Totals, WorkerSecond};
use crate::task::{Load, RUNNING, Stop};
use rtscope_model::Time;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;
use std::time::Duration;
use tokio::runtime::Builder;
use tokio::task::LocalSet;

const SECOND: u64 = 1_000_000_000;

/// Longest sleep of a worker before it checks whether the load was given up.
const LOOK_NS: u64 = 100_000_000;

/// Longest sleep at the end, when only answers remain to wait for.
const DRAIN_LOOK_NS: u64 = 2_000_000;

/// The event loop checks for answers and timers after this many tasks. Tokio's default is larger, but
/// an answer that it has not seen yet is measured as the server's time.
const TASKS_PER_LOOK: u32 = 13;

pub(crate) enum Message {
    /// What ended in the second with this number, counted from the start.
    Second { worker: usize, number: u64, part: WorkerSecond, kept: Vec<u8> },
    /// The worker has finished; its totals.
    Done { worker: usize, totals: Box<Totals> },
}

/// A thread's share of a load.
pub(crate) struct Worker {
    pub(crate) number: usize,
    pub(crate) of: usize,
    pub(crate) load: Arc<Load>,
    /// The profile of the whole load, including the warm-up.
    pub(crate) profile: Arc<Profile>,
    pub(crate) address: SocketAddr,
    pub(crate) start: Time,
    pub(crate) stop: Stop,
    pub(crate) messages: Sender<Message>,
}

impl Worker {
    /// Runs until every request has ended or the load is given up.
    pub(crate) fn run(self) -> io::Result<()> {
        let runtime = Builder::new_current_thread().enable_all().event_interval(TASKS_PER_LOOK).build()?;
        let local = LocalSet::new();
        let worker = Rc::new(self);
        let connections = share(worker.load.connections, worker.number, worker.of);
        let desk = Rc::new(Desk::new(Arc::clone(&worker.load), worker.address, connections));
        runtime.block_on(local.run_until(async {
            // One worker receives SIGINT, if any does.
            if worker.stop.takes_sigint && worker.number == 0 {
                tokio::task::spawn_local(obey(worker.stop.clone()));
            }
            tokio::task::spawn_local(report_seconds(Rc::clone(&worker), Rc::clone(&desk)));
            worker.send(&desk).await
        }))?;
        let now = clock::now();
        worker.report(&desk, now.since(worker.start) / SECOND, now);
        // The receiver is gone only if the load has failed elsewhere.
        let _ = worker.messages.send(Message::Done { worker: worker.number, totals: Box::new(desk.totals()) });
        Ok(())
    }

    fn runs(&self) -> bool {
        self.stop.state.load(Ordering::Relaxed) == RUNNING
    }

    /// Hands over requests as they are due, then waits for those that are open.
    async fn send(&self, desk: &Rc<Desk>) -> io::Result<()> {
        let timer = Timer::new()?;
        let measured = self.start.plus(clock::ns(self.load.warm_up));
        let mut moments = self.profile.moments(self.number as u64, self.of as u64).map(|ns| self.start.plus(ns));
        let mut next = moments.next();
        while self.runs() && (next.is_some() || desk.open_requests() > 0) {
            let now = clock::now();
            desk.expire(now);
            while let Some(due) = next.filter(|due| *due <= now) {
                desk.take(DueRequest { due, handed: now, warm_up: due < measured, tries: 0 });
                next = moments.next();
            }
            desk.fill();
            let look = now.plus(if next.is_some() { LOOK_NS } else { DRAIN_LOOK_NS });
            let until = [next, desk.next_deadline()].into_iter().flatten().fold(look, Time::min);
            timer.until(until).await?;
        }
        Ok(())
    }

    fn report(&self, desk: &Desk, number: u64, now: Time) {
        let (part, kept) = desk.part(now);
        let _ = self.messages.send(Message::Second { worker: self.number, number, part, kept });
    }
}

/// Reports at the end of each second what ended in it.
async fn report_seconds(worker: Rc<Worker>, desk: Rc<Desk>) {
    for number in 0.. {
        let end = worker.start.plus((number + 1) * SECOND);
        tokio::time::sleep(Duration::from_nanos(end.since(clock::now()))).await;
        worker.report(&desk, number, clock::now());
    }
}

/// Gives the load up when the user asks for it.
async fn obey(stop: Stop) {
    if tokio::signal::ctrl_c().await.is_ok() {
        stop.now();
    }
}

/// Worker `number`'s share of `all` among `of` workers.
fn share(all: usize, number: usize, of: usize) -> usize {
    all / of + usize::from(number < all % of)
}

#[cfg(test)]
mod tests {
    #[test]
    fn connections_are_shared_out() {
        let shares: Vec<usize> = (0..3).map(|number| super::share(8, number, 3)).collect();
        assert_eq!(shares, [3, 3, 2]);
    }
}
