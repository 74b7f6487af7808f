//! What a FILE argument is: recognised by content, never by name. Owns the messages for what cannot be read;
//! refuses to analyse.

use clap::Args;
use rtscope_decode::capture::{Capture, pack};
use rtscope_decode::formats::{self, Log, Opening};
use rtscope_decode::{ReadAt, Written, spool};
use rtscope_terminal::user_error::{UserError, WRONG, say};
use std::fs::{DirEntry, File, Metadata};
use std::io::{self, Read, Seek};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The recording that a command reads.
#[derive(Args, Clone, Debug, Default)]
pub struct Recording {
    /// A capture (NAME.rtscope, NAME.rtscope.zst), an eventlog, an OCaml ring (PID.events), a Fuchsia trace
    /// (.fxt), or `-` for a log on standard input [default: the newest capture in this folder]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

impl Recording {
    /// The file that was named, else the newest capture in the working directory.
    ///
    /// # Errors
    /// None was named, and there is none.
    pub fn path(&self) -> Result<PathBuf, UserError> {
        self.file.clone().or_else(|| newest(Path::new("."))).ok_or_else(|| {
            UserError::new("no FILE was given, and there is no capture in this folder")
                .next("`rtscope record PROGRAM` makes one")
                .ends_with(WRONG)
        })
    }
}

impl From<PathBuf> for Recording {
    fn from(file: PathBuf) -> Recording {
        Recording { file: Some(file) }
    }
}

/// This user's capture in `folder` that was written to last: others could put one with any date there.
fn newest(folder: &Path) -> Option<PathBuf> {
    let own = rustix::process::geteuid().as_raw();
    let written = |entry: io::Result<DirEntry>| {
        let entry = entry.ok()?;
        let name = PathBuf::from(entry.file_name());
        let ends = |ending: &str| entry.file_name().as_encoded_bytes().ends_with(ending.as_bytes());
        let found = entry.metadata().ok()?;
        let at = match () {
            () if ends(".rtscope") => entry.path().join("manifest.json").symlink_metadata().ok()?.modified(),
            () if ends(pack::ENDING) && found.is_file() => found.modified(),
            () => return None,
        };
        (found.uid() == own).then_some((at.ok()?, name))
    };
    std::fs::read_dir(folder).ok()?.filter_map(written).max().map(|(_, name)| name)
}

/// An opened FILE.
pub enum Input {
    /// A capture folder.
    Capture(Box<Capture>),
    /// A runtime's log on its own.
    Log(Box<dyn Log>),
}

/// Opens `path`: a capture, a log, or `-` (a log on standard input). `version` is what the user says about the
/// version of its runtime.
pub fn open(path: &Path, version: Option<&str>) -> Result<Input, UserError> {
    if path == Path::new("-") {
        return spooled(path, io::stdin().lock(), version);
    }
    let kind = std::fs::metadata(path).map_err(|error| {
        UserError::unreadable(path, error)
            .next("give a capture (NAME.rtscope), an eventlog or a ring file; `rtscope record PROGRAM` makes a capture")
    })?;
    if is_capture(path, &kind) {
        let capture = Capture::open(path).map_err(|error| UserError::unreadable(path, error))?;
        return Ok(Input::Capture(Box::new(capture)));
    }
    let file = File::open(path).map_err(|error| UserError::unreadable(path, error))?;
    if kind.file_type().is_fifo() || kind.file_type().is_char_device() || kind.file_type().is_socket() {
        return spooled(path, file, version);
    }
    log(path, file, version)
}

/// Whether `path` is a capture: a folder, or the file that one was packed into.
pub fn is_capture(path: &Path, found: &Metadata) -> bool {
    let packed = || File::open(path).is_ok_and(|file| pack::is_packed(&formats::head(&file)));
    found.is_dir() || (found.is_file() && packed())
}

/// Copies a stream that cannot be read twice to a file without a name.
fn spooled(path: &Path, from: impl Read, version: Option<&str>) -> Result<Input, UserError> {
    let cannot = |error: &io::Error| {
        UserError::new("cannot keep the stream in a temporary file")
            .because(error)
            .next("set TMPDIR to a folder with room")
    };
    let mut file = tempfile::tempfile().map_err(|error| cannot(&error))?;
    let (copied, end) = spool(from, &file);
    if let Err(error) = end {
        // What arrived by then is a truncated log, and is reported as one.
        say(&format!("{}: the stream broke after {copied} bytes: {error}", path.display()));
    }
    file.rewind().map_err(|error| cannot(&error))?;
    log(path, file, version)
}

fn log(path: &Path, file: File, version: Option<&str>) -> Result<Input, UserError> {
    let head = formats::head(&file);
    let format = match (formats::find(&head), other_format(&head)) {
        (None, Some((what, next))) => return Err(UserError::unreadable(path, what).next(next)),
        (format, _) => format.unwrap_or(formats::first()),
    };
    let source: Arc<dyn ReadAt> = if format.has_holes(&head) { Arc::new(file) } else { Arc::new(Written::new(file)) };
    let name = path.display().to_string();
    let opened = format.open(Opening { version, ..Opening::new(source, &name) });
    opened.map(Input::Log).map_err(|error| UserError::unreadable(path, error))
}

/// Formats that people try, and what to do with them.
fn other_format(head: &[u8]) -> Option<(&'static str, &'static str)> {
    match head {
        [0x7f, b'E', b'L', b'F', ..] => {
            Some(("it is a program, not a recording", "record it first: rtscope record PROGRAM"))
        }
        [b'P', b'E', b'R', b'F', b'I', b'L', b'E', b'2', ..] => {
            Some(("it is a perf.data file, which this version does not read", "record with rtscope record"))
        }
        [0x1f, 0x8b, ..] => Some((
            "it is compressed (gzip)",
            "unpack a capture with `tar xf FILE`, a log with `gzip -dc FILE | rtscope report -`",
        )),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Some((
            "it is compressed (zstd)",
            "unpack a capture with `tar xf FILE`, a log with `zstd -dc FILE | rtscope report -`",
        )),
        [b'{', ..] => Some(("it looks like JSON, not an eventlog", "give the capture folder or the .eventlog itself")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, UNIX_EPOCH};

    fn refused(bytes: &[u8]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        std::fs::write(&path, bytes).unwrap();
        match open(&path, None) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("{bytes:?} was opened"),
        }
    }

    #[test]
    fn what_is_no_recording_is_named_and_the_next_step_given() {
        assert!(refused(b"").contains("empty"));
        assert!(refused(b"\x7fELF\x02\x01").contains("rtscope record PROGRAM"));
        assert!(refused(b"PERFILE2").contains("perf.data"));
        assert!(refused(b"\x1f\x8b\x08\x00").contains("gzip -dc"));
        assert!(refused(b"hello world").contains("not a GHC eventlog"));
        assert!(refused(b"hdrb").contains("inside its header"));
    }

    #[test]
    fn without_a_name_it_is_the_newest_capture() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        assert_eq!(newest(at), None);
        for (name, seconds) in [("old.rtscope", 10), ("new.rtscope", 30), ("middle.rtscope", 20), ("other", 40)] {
            let capture = at.join(name);
            std::fs::create_dir(&capture).unwrap();
            let manifest = File::create(capture.join("manifest.json")).unwrap();
            manifest.set_modified(UNIX_EPOCH + Duration::from_secs(seconds)).unwrap();
        }
        std::fs::create_dir(at.join("empty.rtscope")).unwrap();
        std::os::unix::fs::symlink("new.rtscope", at.join("link.rtscope")).unwrap();
        assert_eq!(newest(at), Some("new.rtscope".into()));
        assert_eq!(Recording::from(PathBuf::from("x")).path().unwrap(), Path::new("x"));
    }

    #[test]
    fn a_missing_file_says_what_to_give() {
        let Err(error) = open(Path::new("/nonexistent/x"), None) else { panic!("opened") };
        assert!(error.to_string().contains("No such file"), "{error}");
    }
}
