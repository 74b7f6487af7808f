//! Opens a capture's code samples with their names: those that the recorder wrote, otherwise those that the
//! files still give. Owns that choice; refuses to fail: what cannot be opened is a loss.

use crate::sources::{missing, streams};
use rtscope_decode::capture::Capture;
use rtscope_decode::code::{CodeStream, Names};
use rtscope_decode::formats::Log;
use rtscope_host::procfs::Host;
use rtscope_host::symbols::{self, Files};
use rtscope_model::Loss;
use rtscope_model::manifest::Code;

/// rtscope writes no larger lists of names.
const NAMES_MAX: u64 = 64 << 20;

/// The stream; `None` if nothing was sampled or nothing can be read. `log` may have names of its own for the
/// program's code.
pub fn open(capture: &Capture, log: Option<&dyn Log>, losses: &mut Vec<Loss>) -> Option<CodeStream> {
    let code = capture.manifest().code.as_ref().filter(|code| !code.streams.is_empty())?;
    let names = names(capture, code).unwrap_or_else(|why| {
        losses.push(missing("code/symbols.json", why));
        Names::default()
    });
    let ipe = log.map_or(Vec::new(), |log| log.code_names(&names.ranges()));
    let mut cut = Vec::new();
    let mut open = || -> Result<CodeStream, String> {
        let sources = streams(capture, &code.streams, &mut cut)?;
        CodeStream::open(code, sources, &names, &ipe).map_err(|error| error.to_string())
    };
    let opened = open();
    losses.extend(cut);
    opened.map_err(|error| losses.push(missing("code", error))).ok()
}

/// The recorder's names, or those of the files if it was killed before it wrote them.
fn names(capture: &Capture, code: &Code) -> Result<Names, String> {
    let written = code.symbols.as_ref().map(|name| {
        let bytes = capture.folder().read(name, NAMES_MAX).map_err(|error| format!("{name}: {error}"))?;
        Names::parse(&bytes).map_err(|error| error.to_string())
    });
    match written {
        Some(Ok(names)) => Ok(names),
        damaged => {
            let files = Files::new(Host::default());
            let offset = capture.manifest().realtime_offset_ns;
            let sources = streams(capture, &code.streams, &mut Vec::new());
            let found = sources.and_then(|sources| symbols::names_in(sources, code, &files, offset));
            found.map_err(|why| damaged.and_then(Result::err).unwrap_or(why))
        }
    }
}
