//! `rtscope stm`: the transactions of a Haskell program that it starts, that runs already, or that was recorded. Owns
//! the options, the document and the exit status; the host finds and reads counts, the fold sums them up.

mod document;
mod live;
mod text;

pub use document::{Document, SCHEMA, StmArgs};

use rtscope_decode::capture::Capture;
use rtscope_host::privileges;
use rtscope_read::{sources, transactions};
use rtscope_terminal::style::Style;
use rtscope_terminal::user_error::{self, UserError, printed, write_to};
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn run(args: &StmArgs) -> Result<ExitCode, UserError> {
    let host = || privileges::host().map_err(|none| UserError::new(none.to_string()));
    let (document, status) = match &args.of {
        None => {
            let (document, status) = live::started(&host()?, args)?;
            // The program has run, whether or not anything of it could be seen.
            let Some(document) = document else { return Ok(ExitCode::from(status)) };
            (document, status)
        }
        Some(of) => match crate::heap::process(of)? {
            Some(pid) => (live::attached(&host()?, pid, args)?, 0),
            None if args.limit.is_some() => {
                return Err(UserError::new("--for says how long a process is looked at, and a capture is over")
                    .next("leave it out")
                    .ends_with(rtscope_terminal::user_error::WRONG));
            }
            None => (of_capture(of)?, 0),
        },
    };
    print(&document, args)?;
    Ok(ExitCode::from(status))
}

fn of_capture(of: &Path) -> Result<Document, UserError> {
    std::fs::metadata(of).map_err(|error| {
        let next = "give a process id (`pgrep -a NAME`), a capture, or a program after `--`";
        UserError::unreadable(of, error).next(next)
    })?;
    let capture = Capture::open(of).map_err(|error| UserError::unreadable(of, error))?;
    let context = sources::of_manifest(capture.manifest());
    let found = transactions::load(&capture, None, context.started, &mut Vec::new());
    let transactions = found.and_then(|stm| stm.values(context.ended)).ok_or_else(|| {
        UserError::new(format!("{} holds no counts of transactions", of.display()))
            .because("nothing that counts them was found in the program (a threaded one of GHC, not stripped, or one with rtscope-stm)")
    })?;
    Ok(Document { schema: SCHEMA, of: of.display().to_string(), transactions })
}

fn print(document: &Document, args: &StmArgs) -> Result<(), UserError> {
    let text = if args.json {
        user_error::document(document, true)?
    } else {
        let style = if args.output.is_some() { Style::plain(100) } else { Style::of_stdout() };
        text::text(document, None, &style)
    };
    let Some(output) = &args.output else {
        return printed(io::stdout().lock().write_all(text.as_bytes()))
            .map_err(|error| UserError::new("cannot print the result").because(error));
    };
    write_to(output, &text, "-o")
}
