//! `rtscope top`: a program while it runs, in a few lines that change once a second. Owns how a process or a capture
//! is followed; bytes come from [`source`], figures from `analyze::window`, lines from [`view`].

mod args;
mod capture;
mod growing;
mod live;
mod process;
mod source;
mod transactions;
mod view;

pub use args::TopArgs;
pub use view::{Shown, View, frame, line};

use rtscope_host::{clock, privileges};
use rtscope_terminal::user_error::UserError;
use std::process::ExitCode;

pub(crate) fn run(args: &TopArgs) -> Result<ExitCode, UserError> {
    let seconds = args.seconds()?;
    let now = clock::monotonic();
    match crate::heap::process(&args.of)? {
        Some(pid) => {
            rtscope_host::open_files::raise();
            let tier = (!args.no_kernel).then_some(args.tier);
            let host = privileges::host().map_err(|none| UserError::new(none.to_string()))?;
            let (running, mut live) = process::Running::open(&host, pid, tier, now)?;
            if let Err(kept) = privileges::leave_to_opener(&host, pid) {
                live.notes.push(format!("{kept}."));
            }
            live::follow(Box::new(running), live, (format!("process {pid}"), &host), seconds, args)
        }
        None => capture::show(&args.of, seconds, args),
    }
}
