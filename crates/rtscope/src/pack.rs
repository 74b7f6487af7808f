//! The command `pack`: puts a capture into one file, to be kept or sent. Owns names and messages;
//! `rtscope_decode::capture::pack` defines the form of the file.

use clap::Args;
use rtscope_decode::capture::Capture;
use rtscope_decode::capture::packing::write;
use rtscope_model::units;
use rtscope_read::input::Recording;
use rtscope_terminal::user_error::{UserError, WRONG};
use std::fs::{File, OpenOptions};
use std::io::BufWriter;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Options of `pack`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Every command that reads a capture reads the file too.")]
pub struct PackArgs {
    /// The capture [default: the newest in this folder]
    capture: Option<PathBuf>,
    /// The file (default: CAPTURE.zst)
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Packs, and gives the message that says so.
///
/// # Errors
/// The capture cannot be read or is still being recorded, or the file cannot be created.
pub fn run(args: &PackArgs) -> Result<String, UserError> {
    let from = args.capture.clone().map_or_else(|| Recording::default().path(), Ok)?;
    let to = args.output.clone().unwrap_or_else(|| default_name(&from));
    let packed = pack(&from, &to)?;
    Ok(format!("packed {} into {} ({})", from.display(), to.display(), units::bytes(packed)))
}

/// Packs the capture `from` into the file `to`, which must not exist; gives its size.
///
/// # Errors
/// As [`run`].
pub(crate) fn pack(from: &Path, to: &Path) -> Result<u64, UserError> {
    let capture = Capture::open(from).map_err(|error| UserError::unreadable(from, error))?;
    if from.is_file() {
        return Err(UserError::new(format!("{} is one file already", from.display())).ends_with(WRONG));
    }
    if capture.is_written() {
        let error = UserError::new(format!("{} is still being recorded", from.display()));
        return Err(error.next("end the recording first").ends_with(WRONG));
    }
    let file = create(to)?;
    let mut file = BufWriter::new(file);
    let written = write(capture.folder(), &mut file).and_then(|bytes| file.get_ref().sync_data().map(|()| bytes));
    written.map_err(|error| {
        // A partial file is no capture.
        let _ = std::fs::remove_file(to);
        UserError::unwritable(to, error)
    })
}

/// Creates a private file of that name, which must not exist.
fn create(path: &Path) -> Result<File, UserError> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    file.map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => UserError::new(format!("{} exists already", path.display()))
            .next("name another file with -o")
            .ends_with(WRONG),
        _ => UserError::unwritable(path, error),
    })
}

/// `a.rtscope.zst` for `a.rtscope`.
fn default_name(capture: &Path) -> PathBuf {
    // A trailing slash is no part of the name.
    let name = capture.components().as_path().as_os_str();
    [name, std::ffi::OsStr::new(".zst")].into_iter().collect::<std::ffi::OsString>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_named_after_the_capture() {
        for name in ["a.rtscope", "a.rtscope/", "./a.rtscope//"] {
            assert!(default_name(Path::new(name)).ends_with("a.rtscope.zst"), "{name}");
        }
    }
}
