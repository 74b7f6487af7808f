//! HTTP load on a schedule: requests are sent when they are due, whatever happened to earlier ones,
//! and their latency counts from when they were due. A server that stalls therefore cannot slow down
//! its own measurement.
//!
//! Owns sending, counting and the resulting document. Refuses to parse a command line, to print, and
//! to know what serves the requests.
#![forbid(unsafe_code)]

mod clock;
mod desk;
pub mod document;
mod gather;
mod keep;
pub mod limit;
pub mod profile;
pub mod spread;
mod tally;
pub mod target;
mod task;
mod wire;
mod worker;

pub use tally::Errors;
pub use task::{Load, Stop};

use document::{Document, KeptRequests, Second, Started};
use gather::Gather;
use keep::Keeper;
use rtscope_model::Time;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use target::TargetError;
use task::{BROKEN, INTERRUPTED, RUNNING};
use thiserror::Error;
use worker::{Message, Worker};

/// Timeout for the first connection to the server.
const FIRST_TRY: Duration = Duration::from_secs(5);

/// Time from the start of the threads until the first request is due.
const LEAD_NS: u64 = 20_000_000;

/// Why there is no result.
#[derive(Debug, Error)]
pub enum LoadError {
    /// No server was found.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// A thread, its event loop or its timer failed.
    #[error("a thread that sends cannot run: {0}")]
    Thread(io::Error),
    /// The file of requests could not be written.
    #[error("requests cannot be written: {0}")]
    Keep(io::Error),
}

/// Runs the load. Requests are written to `keep`, in no order; `each_second` receives every second as
/// soon as it is over. Blocks until the last request has ended or the load is given up, by a limit or
/// by `stop`, which serves one load only. Each sending thread calls `begin` first. No signal is
/// touched except by [`Stop::by_sigint`].
///
/// # Errors
/// No server accepts connections at the start, threads cannot run, or `keep` cannot be written.
pub fn run(
    load: &Load,
    stop: &Stop,
    begin: fn(),
    keep: Option<&mut dyn Write>,
    each_second: &mut dyn FnMut(&Second),
) -> Result<Document, LoadError> {
    let address = load.target.find(load.timeout.min(FIRST_TRY))?;
    let load = Arc::new(Load { keep: if keep.is_some() { load.keep } else { 0 }, ..load.clone() });
    let start = clock::now().plus(LEAD_NS);
    let started = Started { monotonic_ns: start.0, unix_ns: clock::unix_ns().saturating_add(LEAD_NS) };
    let keeper = keep.map(|out| Keeper::new(out, load.keep, &load.target.uri.to_string(), started));
    let mut keeper = keeper.transpose().map_err(LoadError::Keep)?;
    let (sender, receiver) = channel();
    let threads = spawn(&load, address, start, stop, begin, &sender);
    // Only the workers hold senders now: when the last worker ends, the channel closes.
    drop(sender);
    let mut gather = Gather::new(&load, threads.len());
    let listened = listen(&receiver, &mut gather, keeper.as_mut(), &stop.state, each_second);
    if listened.is_err() {
        stop.state.store(BROKEN, Ordering::Relaxed);
    }
    for thread in threads {
        let done = thread.join().unwrap_or_else(|_| Err(io::Error::other("it ended with a bug")));
        done.map_err(LoadError::Thread)?;
    }
    listened.map_err(LoadError::Keep)?;
    let interrupted = stop.state.load(Ordering::Relaxed) == INTERRUPTED;
    let kept = keeper.map(|keeper| KeptRequests { requests: keeper.kept, left_out: keeper.left_out });
    Ok(gather.document(started, interrupted, kept))
}

fn spawn(
    load: &Arc<Load>,
    address: SocketAddr,
    start: Time,
    stop: &Stop,
    begin: fn(),
    messages: &Sender<Message>,
) -> Vec<JoinHandle<io::Result<()>>> {
    let profile = Arc::new(load.profile.after_warm_up(load.warm_up));
    let of = load.threads.clamp(1, load.connections.max(1));
    let worker = |number| Worker {
        number,
        of,
        load: Arc::clone(load),
        profile: Arc::clone(&profile),
        address,
        start,
        stop: stop.clone(),
        messages: messages.clone(),
    };
    let thread = |worker: Worker| {
        thread::spawn(move || {
            begin();
            worker.run()
        })
    };
    (0..of).map(worker).map(thread).collect()
}

/// Processes the workers' messages until all workers have ended.
fn listen(
    receiver: &Receiver<Message>,
    gather: &mut Gather<'_>,
    mut keeper: Option<&mut Keeper<'_>>,
    stop: &AtomicU8,
    each_second: &mut dyn FnMut(&Second),
) -> io::Result<()> {
    for message in receiver {
        let complete = match message {
            Message::Second { worker, number, part, kept } => {
                if let Some(keeper) = &mut keeper {
                    keeper.write(&kept)?;
                }
                gather.second(worker, number, &part)
            }
            Message::Done { worker, totals } => gather.done(worker, &totals),
        };
        complete.iter().for_each(&mut *each_second);
        if gather.broken.is_some() {
            // If the user's interruption came first, it stays.
            let _ = stop.compare_exchange(RUNNING, BROKEN, Ordering::Relaxed, Ordering::Relaxed);
        }
    }
    keeper.map_or(Ok(()), |keeper| keeper.out.flush())
}
