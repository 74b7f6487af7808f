//! Assigns waiting requests to connections. Owns the queue and the number of connections, like a
//! client's pool: a request takes the free connection that was used last; if none is free, another is
//! opened; if the limit is reached, the request waits. Refuses to know when requests are due.

use crate::clock;
use crate::tally::{WorkerSecond, WorkerTally};
use crate::target::Protocol;
use crate::task::Load;
use crate::wire::{ClientLine, Fault, Trunk};
use rtscope_model::Time;
use rtscope_model::request::{Outcome, Request};
use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout, timeout_at};

/// Retries of a request whose connection was closed before it was sent.
const TRIES: u8 = 3;

#[derive(Copy, Clone, Debug)]
pub(crate) struct DueRequest {
    pub(crate) due: Time,
    /// When the schedule released it.
    pub(crate) handed: Time,
    pub(crate) warm_up: bool,
    pub(crate) tries: u8,
}

/// A slot for a line, whether one is open or not.
struct LineSlot {
    number: usize,
    wake: Notify,
    /// When its current request was due.
    serves: Cell<Option<Time>>,
}

/// State that the lines of one thread share.
pub(crate) struct Desk {
    load: Arc<Load>,
    address: SocketAddr,
    trunks: Vec<Trunk>,
    places: Vec<Rc<LineSlot>>,
    /// Numbers of slots without a line, lowest first, so that shared connections fill up.
    vacant: RefCell<BinaryHeap<Reverse<usize>>>,
    /// Idle lines, last used on top.
    idle: RefCell<Vec<Rc<LineSlot>>>,
    queue: RefCell<VecDeque<DueRequest>>,
    /// Lines that were woken or are being opened: each will check the queue.
    coming: Cell<usize>,
    opened: Cell<u64>,
    tally: RefCell<WorkerTally>,
    kept: RefCell<Vec<u8>>,
}

impl Desk {
    /// Creates a desk with room for `connections`.
    pub(crate) fn new(load: Arc<Load>, address: SocketAddr, connections: usize) -> Desk {
        let (trunks, lines) = match load.target.protocol {
            Protocol::Http1 => (0, connections),
            Protocol::Http2 => (connections, connections.saturating_mul(load.streams)),
        };
        let place = |number| Rc::new(LineSlot { number, wake: Notify::new(), serves: Cell::new(None) });
        Desk {
            load,
            address,
            trunks: (0..trunks).map(|_| Trunk::new(address)).collect(),
            places: (0..lines).map(place).collect(),
            vacant: RefCell::new((0..lines).map(Reverse).collect()),
            idle: RefCell::default(),
            queue: RefCell::default(),
            coming: Cell::new(0),
            opened: Cell::new(0),
            tally: RefCell::default(),
            kept: RefCell::default(),
        }
    }

    pub(crate) fn take(&self, job: DueRequest) {
        self.tally.borrow_mut().due(job.warm_up);
        self.queue.borrow_mut().push_back(job);
    }

    /// Makes sure that a line is on its way for each waiting request, as far as the limit allows.
    pub(crate) fn fill(self: &Rc<Desk>) {
        while self.queue.borrow().len() > self.coming.get() {
            if let Some(place) = self.idle.borrow_mut().pop() {
                place.wake.notify_one();
            } else if let Some(place) = self.vacant_place() {
                tokio::task::spawn_local(line(Rc::clone(self), place));
            } else {
                return;
            }
            self.coming.set(self.coming.get() + 1);
        }
    }

    fn vacant_place(&self) -> Option<Rc<LineSlot>> {
        let Reverse(number) = self.vacant.borrow_mut().pop()?;
        self.places.get(number).cloned()
    }

    /// Ends requests that have waited too long.
    pub(crate) fn expire(&self, now: Time) {
        while let Some(job) = self.oldest_waiting().filter(|job| self.deadline(job) <= now) {
            self.queue.borrow_mut().pop_front();
            self.end(&job, None, now, Outcome::Timeout, 0);
        }
    }

    /// When the next waiting request expires.
    pub(crate) fn next_deadline(&self) -> Option<Time> {
        self.oldest_waiting().map(|job| self.deadline(&job))
    }

    fn oldest_waiting(&self) -> Option<DueRequest> {
        self.queue.borrow().front().copied()
    }

    fn deadline(&self, job: &DueRequest) -> Time {
        job.due.plus(clock::ns(self.load.timeout))
    }

    /// Number of requests that have not ended.
    pub(crate) fn open_requests(&self) -> u64 {
        self.queue.borrow().len() as u64 + self.in_flight()
    }

    fn in_flight(&self) -> u64 {
        self.places.iter().filter(|place| place.serves.get().is_some()).count() as u64
    }

    /// What was counted since the last call, and the requests to record.
    pub(crate) fn part(&self, now: Time) -> (WorkerSecond, Vec<u8>) {
        let mut part = self.tally.borrow_mut().part();
        part.waiting = self.queue.borrow().len() as u64;
        part.in_flight = self.in_flight();
        let serving = self.places.iter().filter_map(|place| place.serves.get()).min();
        let oldest = [serving, self.oldest_waiting().map(|job| job.due)].into_iter().flatten().min();
        part.oldest_ns = oldest.map_or(0, |due| now.since(due));
        (part, std::mem::take(&mut *self.kept.borrow_mut()))
    }

    pub(crate) fn totals(&self) -> crate::tally::Totals {
        let mut totals = self.tally.borrow().totals.clone();
        totals.opened = self.opened.get();
        totals.unfinished = self.open_requests();
        totals
    }

    fn end(&self, job: &DueRequest, sent: Option<Time>, done: Time, outcome: Outcome, connection: usize) {
        let connection = u32::try_from(connection).unwrap_or(u32::MAX);
        let request = Request { due: job.due, sent, done, outcome, connection, warm_up: job.warm_up };
        self.tally.borrow_mut().ended(&request, job.handed);
        if self.load.keep > 0 {
            self.kept.borrow_mut().extend_from_slice(&request.to_bytes());
        }
    }

    async fn open(&self, place: &LineSlot) -> Result<ClientLine, Fault> {
        match self.trunks.get(place.number / self.load.streams.max(1)) {
            Some(trunk) => trunk.line(&self.opened).await,
            None => ClientLine::one(self.address, &self.opened).await,
        }
    }

    /// The next request for a line that has just opened or has just served one.
    async fn next(&self, place: &Rc<LineSlot>) -> DueRequest {
        loop {
            if let Some(job) = self.queue.borrow_mut().pop_front() {
                return job;
            }
            self.idle.borrow_mut().push(Rc::clone(place));
            place.wake.notified().await;
            self.arrived();
        }
    }

    fn arrived(&self) {
        self.coming.set(self.coming.get().saturating_sub(1));
    }

    /// Fails the oldest request: no connection can be made for it.
    fn unconnected(&self) {
        let job = self.queue.borrow_mut().pop_front();
        if let Some(job) = job {
            self.end(&job, None, clock::now(), Outcome::Connect, 0);
        }
    }

    /// Serves one request on a line; returns whether the line can serve more.
    async fn serve(&self, job: DueRequest, line: &mut ClientLine, place: &LineSlot) -> bool {
        place.serves.set(Some(job.due));
        let left = Duration::from_nanos(self.deadline(&job).since(clock::now()));
        let sent = Cell::new(None);
        let exchange = async {
            if !line.ready().await {
                return Err(Fault::Unsent);
            }
            sent.set(Some(clock::now()));
            line.exchange(self.load.target.request()).await
        };
        let ended = timeout_at(Instant::now() + left, exchange).await;
        let done = clock::now();
        place.serves.set(None);
        let outcome = match ended {
            Ok(Err(Fault::Unsent)) if job.tries < TRIES => {
                self.queue.borrow_mut().push_front(DueRequest { tries: job.tries + 1, ..job });
                return false;
            }
            Ok(Ok(status)) => Outcome::Answered(status),
            Ok(Err(fault)) => fault.outcome(),
            Err(_) => Outcome::Timeout,
        };
        self.end(&job, sent.get(), done, outcome, place.number);
        matches!(outcome, Outcome::Answered(_)) || !line.is_spent()
    }
}

/// Opens a line and serves requests on it as long as it lasts.
async fn line(desk: Rc<Desk>, place: Rc<LineSlot>) {
    let opened = timeout(desk.load.timeout, desk.open(&place)).await;
    desk.arrived();
    match opened {
        Ok(Ok(mut line)) => loop {
            let job = desk.next(&place).await;
            if !desk.serve(job, &mut line, &place).await {
                break;
            }
        },
        Ok(Err(_)) => desk.unconnected(),
        // Waiting requests end by their own deadlines.
        Err(_) => {}
    }
    desk.vacant.borrow_mut().push(Reverse(place.number));
    desk.fill();
}
