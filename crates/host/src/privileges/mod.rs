//! The recorder's privileges, and dropping them: as root it needs many at the start, and
//! none once its sources are open. Owns that all threads drop them together. Files of a capture belong to the user
//! that recorded, or to the one that the program was to run as.

pub(crate) mod drop;
pub(crate) mod opener;
pub(crate) mod server;
pub(crate) mod user;

pub use drop::{any, give_up};

use crate::system::procfs::Host;
use crate::target::Process;
use rustix::thread::CapabilitySet;
use std::io;

/// This machine. A process with privileges gets an opener that keeps what opening needs. Call it before anything else
/// is started or opened, so that the opener has nothing else open.
///
/// # Errors
/// No process or socket could be made.
pub fn host() -> Result<Host, NoOpener> {
    if any() { Ok(Host::with(server::start().map_err(NoOpener)?)) } else { Ok(Host::default()) }
}

/// Why there is no opener.
#[derive(Debug, thiserror::Error)]
#[error("cannot start the process that opens files for rtscope ({0})")]
pub struct NoOpener(#[source] pub io::Error);

/// Why privileges were kept.
#[derive(Debug, thiserror::Error)]
#[error("privileges are kept: they could not be given up ({0})")]
pub struct PrivilegesKept(#[source] pub io::Error);

/// Drops this process's privileges after everything that needs them is open: from now on only the opener has what
/// process `pid` and its family may still require.
///
/// # Errors
/// The process has ended; or see [`give_up`].
pub fn leave_to_opener(host: &Host, pid: u32) -> Result<(), PrivilegesKept> {
    if host.opener().is_none() {
        return Ok(());
    }
    let follow = || Process::open(host, pid)?.follow();
    follow().and_then(|()| give_up(CapabilitySet::empty())).map_err(PrivilegesKept)
}
