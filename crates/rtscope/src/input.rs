//! What a FILE argument is. Told apart by content, never by name. Owns the
//! words for what cannot be read; refuses to analyse.

use crate::trouble::{Trouble, say};
use rtscope_decode::capture::Capture;
use rtscope_decode::formats::{self, Log, Opening};
use rtscope_decode::{ReadAt, Written, spool};
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::Arc;

/// An opened FILE.
pub enum Input {
    /// A capture folder.
    Capture(Box<Capture>),
    /// A runtime's log on its own.
    Log(Box<dyn Log>),
}

/// Opens `path`: a capture, a log, or `-` (a log on standard input). `version` is the
/// user's word on which version of its runtime wrote it.
pub fn open(path: &Path, version: Option<&str>) -> Result<Input, Trouble> {
    if path == Path::new("-") {
        return spooled(path, io::stdin().lock(), version);
    }
    let kind = std::fs::metadata(path).map_err(|error| {
        Trouble::unreadable(path, error).next(
            "give a capture (NAME.rtscope), an eventlog or a ring file; `rtscope record -- PROGRAM` makes a capture",
        )
    })?;
    if kind.is_dir() {
        let capture = Capture::open(path).map_err(|error| Trouble::unreadable(path, error))?;
        return Ok(Input::Capture(Box::new(capture)));
    }
    let file = File::open(path).map_err(|error| Trouble::unreadable(path, error))?;
    if kind.file_type().is_fifo() || kind.file_type().is_char_device() || kind.file_type().is_socket() {
        return spooled(path, file, version);
    }
    log(path, file, version)
}

/// A stream that cannot be read twice is copied to a file that has no name.
fn spooled(path: &Path, from: impl Read, version: Option<&str>) -> Result<Input, Trouble> {
    let cannot = |error: &io::Error| {
        Trouble::new("cannot keep the stream in a temporary file")
            .because(error)
            .next("set TMPDIR to a folder with room")
    };
    let mut file = tempfile::tempfile().map_err(|error| cannot(&error))?;
    let (copied, end) = spool(from, &file);
    if let Err(error) = end {
        // What came until then is a log that is cut, and is reported as one.
        say(&format!("{}: the stream broke after {copied} bytes: {error}", path.display()));
    }
    file.rewind().map_err(|error| cannot(&error))?;
    log(path, file, version)
}

fn log(path: &Path, file: File, version: Option<&str>) -> Result<Input, Trouble> {
    let head = formats::head(&file);
    let format = match (formats::find(&head), other_format(&head)) {
        (None, Some((what, next))) => return Err(Trouble::unreadable(path, what).next(next)),
        (format, _) => format.unwrap_or(formats::first()),
    };
    let source: Arc<dyn ReadAt> = if format.has_holes(&head) { Arc::new(file) } else { Arc::new(Written::new(file)) };
    let name = path.display().to_string();
    let opened = format.open(Opening { version, ..Opening::new(source, &name) });
    opened.map(Input::Log).map_err(|error| Trouble::unreadable(path, error))
}

/// Formats that people try, and what to do with them.
fn other_format(head: &[u8]) -> Option<(&'static str, &'static str)> {
    match head {
        [0x7f, b'E', b'L', b'F', ..] => {
            Some(("it is a program, not a recording", "record it first: rtscope record -- PROGRAM"))
        }
        [b'P', b'E', b'R', b'F', b'I', b'L', b'E', b'2', ..] => {
            Some(("it is a perf.data file, which this version does not read", "record with rtscope record"))
        }
        [0x1f, 0x8b, ..] => Some(("it is compressed (gzip)", "gzip -dc FILE | rtscope report -")),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(("it is compressed (zstd)", "zstd -dc FILE | rtscope report -")),
        [b'{', ..] => Some(("it looks like JSON, not an eventlog", "give the capture folder or the .eventlog itself")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(bytes: &[u8]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        std::fs::write(&path, bytes).unwrap();
        match open(&path, None) {
            Err(trouble) => trouble.to_string(),
            Ok(_) => panic!("{bytes:?} was opened"),
        }
    }

    #[test]
    fn what_is_no_recording_is_named_and_the_next_step_given() {
        assert!(refused(b"").contains("empty"));
        assert!(refused(b"\x7fELF\x02\x01").contains("rtscope record -- PROGRAM"));
        assert!(refused(b"PERFILE2").contains("perf.data"));
        assert!(refused(b"\x1f\x8b\x08\x00").contains("gzip -dc"));
        assert!(refused(b"hello world").contains("not a GHC eventlog"));
        assert!(refused(b"hdrb").contains("inside its header"));
    }

    #[test]
    fn a_missing_file_says_what_to_give() {
        let Err(trouble) = open(Path::new("/nonexistent/x"), None) else { panic!("opened") };
        assert!(trouble.to_string().contains("No such file"), "{trouble}");
    }
}
