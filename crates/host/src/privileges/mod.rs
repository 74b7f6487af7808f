//! What the recorder may do, and giving it up: as root it needs much to begin with, and
//! nothing once its sources are open. Owns that all threads give up together. Refuses to
//! change whose process it is: files of a capture belong to whoever recorded.

pub(crate) mod drop;
pub(crate) mod opener;
pub(crate) mod server;

pub use drop::{any, give_up};

use crate::system::procfs::Host;
use crate::target::Process;
use rustix::thread::CapabilitySet;
use std::io;

/// This machine. Whoever has privileges has an opener that keeps what opening takes. Call it before anything else is
/// started or opened, so that the opener has nothing else open.
///
/// # Errors
/// No process or socket to be had.
pub fn host() -> Result<Host, NoOpener> {
    if any() { Ok(Host::with(server::start().map_err(NoOpener)?)) } else { Ok(Host::default()) }
}

/// Why there is no opener.
#[derive(Debug, thiserror::Error)]
#[error("cannot start the process that opens files for rtscope ({0})")]
pub struct NoOpener(#[source] pub io::Error);

/// Why privileges are kept.
#[derive(Debug, thiserror::Error)]
#[error("privileges are kept: they could not be given up ({0})")]
pub struct Kept(#[source] pub io::Error);

/// All is open that takes privileges: from now on the opener has what may still be needed of process `pid` and its
/// family, and the rest of this process has none.
///
/// # Errors
/// The process has ended; or see [`give_up`].
pub fn leave_to_opener(host: &Host, pid: u32) -> Result<(), Kept> {
    if host.opener().is_none() {
        return Ok(());
    }
    let follow = || Process::open(host, pid)?.follow();
    follow().and_then(|()| give_up(CapabilitySet::empty())).map_err(Kept)
}
