//! `rtscope export`: writes a recording in the formats of other tools. Owns the options, where the output goes
//! and the messages; `rtscope-encode` defines each format in a module of its own.

mod format;
mod writer;

pub use format::{ExportFormat, To};

use clap::Args;
use format::table_path;
use rtscope_encode::parquet::TABLES;
use rtscope_model::units;
use rtscope_read::input::Recording;
use rtscope_read::log_version::LogVersion;
use rtscope_read::{input, pipeline};
use rtscope_report as report;
use rtscope_terminal::user_error::{UserError, say};
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const STATUS: &str = "\
Exit status:
  0  done
  1  failed: FILE cannot be read, or the output not be written
  2  wrong usage
  3  done, but what was lost changes the answer, or FILE holds no log of a runtime";

/// What is exported, and where to.
#[derive(Args, Debug)]
#[command(after_help = STATUS)]
pub struct ExportArgs {
    #[command(flatten)]
    #[allow(missing_docs, reason = "its own comment is the help")]
    pub recording: Recording,
    /// The format
    #[arg(long, value_name = "FORMAT")]
    pub to: ExportFormat,
    /// Where to; `-` is standard output. Replaces a file; for parquet a folder, new or empty (default: FILE's name
    /// with the format's ending, here, where that does not exist)
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,
    /// Which log, where a capture holds several: the number in eventlog/N.eventlog or rings/N.ring
    #[arg(long, value_name = "N")]
    pub log: Option<usize>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its own comment is the help")]
    pub version: LogVersion,
}

pub(crate) fn run(args: &ExportArgs) -> Result<ExitCode, UserError> {
    let version = args.version.checked()?;
    let file = args.recording.path()?;
    let input = input::open(&file, version.as_deref())?;
    let options = pipeline::Options { log: args.log, version, ..pipeline::Options::new(&file) };
    let (place, (exit, bytes)) = match args.output.as_deref() {
        Some(path) if path == Path::new("-") => ("standard output".to_owned(), to_stdout(&input, &options, args.to)?),
        _ => {
            let path = args.output.clone().unwrap_or_else(|| default_output(&file, args.to));
            refuse_itself(&file, &path)?;
            if args.output.is_none() {
                refuse_existing(&path)?;
            }
            let to = if args.to.is_folder() { to_folder } else { to_file };
            (path.display().to_string(), to(&input, &options, args.to, &path)?)
        }
    };
    let events = units::counted(exit.events, "event", "events");
    let pauses = units::counted(exit.pauses, "pause", "pauses");
    let (_, opens) = args.to.files();
    say(&format!("{place}: {events}, {pauses}, {}; {opens}", units::bytes(bytes)));
    Ok(ExitCode::from(exit.code))
}

/// A finished export, and its size in bytes.
type Done = (Exit, u64);

fn cannot(path: &Path, error: &io::Error) -> UserError {
    UserError::unwritable(path, error).next("give another path with -o")
}

fn to_stdout(input: &input::Input, options: &pipeline::Options, format: ExportFormat) -> Result<Done, UserError> {
    if format.is_folder() {
        return Err(UserError::new("not written: tables are several files").next("name a folder with -o"));
    }
    if !format.is_text() && io::stdout().is_terminal() {
        return Err(UserError::new("not written: standard output is a terminal and the format is binary")
            .next("name a file with -o, or lead it into one"));
    }
    let mut out = CountingWriter { out: BufWriter::new(io::stdout()), bytes: 0 };
    let exit = whole(write(input, options, format, To::Stream(&mut out)), Path::new("-"), || ())?;
    Ok((exit, out.bytes))
}

fn to_file(
    input: &input::Input,
    options: &pipeline::Options,
    format: ExportFormat,
    path: &Path,
) -> Result<Done, UserError> {
    let file = File::create(path).map_err(|error| cannot(path, &error))?;
    let mut out = CountingWriter { out: BufWriter::with_capacity(1 << 20, file), bytes: 0 };
    let exit = whole(write(input, options, format, To::Stream(&mut out)), path, || {
        // Devices and pipes are not removed.
        if path.is_file() {
            let _ = std::fs::remove_file(path);
        }
    })?;
    Ok((exit, out.bytes))
}

/// An export that was written to `path`; a partial one is useless, and is removed.
fn whole(written: Result<io::Result<Exit>, UserError>, path: &Path, remove: impl FnOnce()) -> Result<Exit, UserError> {
    let done = written.and_then(|done| done.map_err(|error| cannot(path, &error)));
    done.inspect_err(|_| remove())
}

/// Exports into a folder that is new or empty, so that nothing is mixed with existing files.
fn to_folder(
    input: &input::Input,
    options: &pipeline::Options,
    format: ExportFormat,
    folder: &Path,
) -> Result<Done, UserError> {
    let made = !folder.exists();
    if made {
        std::fs::create_dir(folder).map_err(|error| cannot(folder, &error))?;
    } else if std::fs::read_dir(folder).map_err(|error| cannot(folder, &error))?.next().is_some() {
        let error = UserError::unwritable(folder, "the folder is not empty");
        return Err(error.next("give another path with -o, or empty it"));
    }
    let files = || TABLES.iter().map(|table| table_path(folder, table));
    let exit = whole(write(input, options, format, To::Folder(folder)), folder, || {
        files().for_each(|file| _ = std::fs::remove_file(file));
        if made {
            let _ = std::fs::remove_dir(folder);
        }
    })?;
    Ok((exit, files().filter_map(|file| std::fs::metadata(file).ok()).map(|file| file.len()).sum()))
}

/// Result of an export.
pub struct Exit {
    /// Events written.
    pub events: u64,
    /// Pauses written.
    pub pauses: u64,
    /// Exit code of the program.
    pub code: u8,
}

/// Writes `input` in `format` to its destination.
///
/// # Errors
/// Outer: `input` cannot be analysed. Inner: it cannot be written there.
pub fn write(
    input: &input::Input,
    options: &pipeline::Options,
    format: ExportFormat,
    to: To<'_>,
) -> Result<io::Result<Exit>, UserError> {
    let (mut hand, taken) = writer::event_channel(format);
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("export".into());
        let writer = match thread.spawn_scoped(scope, move || writer::write(format, to, &taken)) {
            Ok(writer) => writer,
            Err(error) => return Ok(Err(error)),
        };
        let watched = pipeline::watch(input, options, &mut hand);
        let (events, pauses) = (hand.events, hand.pauses);
        // If the export was not finished, this makes the writer return.
        drop(hand);
        let failed = || Err(io::Error::other("the thread that writes the export failed"));
        let written = writer.join().unwrap_or_else(|_| failed());
        let (results, _) = watched?;
        Ok(written.map(|()| Exit { events, pauses, code: report::exit_code(&results) }))
    })
}

/// A file is replaced only where its name was given.
fn refuse_existing(path: &Path) -> Result<(), UserError> {
    if path.is_file() {
        let next = format!("`-o {}` replaces it", path.display());
        return Err(UserError::new(format!("{} exists already", path.display())).next(next));
    }
    Ok(())
}

/// FILE's name with the format's ending, in the current folder.
fn default_output(file: &Path, format: ExportFormat) -> PathBuf {
    // `run` for `run.rtscope.zst`.
    let packed = file.extension().is_some_and(|ending| ending == "zst");
    let file = if packed { file.with_extension("") } else { file.to_owned() };
    let stem = file.file_stem().filter(|_| file != Path::new("-"));
    let (ending, _) = format.files();
    let mut name = stem.unwrap_or("trace".as_ref()).to_owned();
    name.push(format!(".{ending}"));
    name.into()
}

fn refuse_itself(file: &Path, output: &Path) -> Result<(), UserError> {
    match (file.canonicalize(), output.canonicalize()) {
        (Ok(one), Ok(other)) if one == other => {
            let what = format!("{} would be written over itself", file.display());
            Err(UserError::new(what).next("give another path with -o"))
        }
        _ => Ok(()),
    }
}

/// Counts the bytes written to `out`.
struct CountingWriter<W> {
    out: W,
    bytes: u64,
}

impl<W: Write> Write for CountingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.out.write(bytes)?;
        self.bytes += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_is_called_after_its_input() {
        let called = |file: &str| default_output(Path::new(file), ExportFormat::Fxt).display().to_string();
        assert_eq!(called("/data/run.rtscope"), "run.fxt");
        assert_eq!(called("/data/run.rtscope.zst"), "run.fxt");
        assert_eq!(called("a.b.eventlog"), "a.b.fxt");
        assert_eq!(called("-"), "trace.fxt");
        assert_eq!(default_output(Path::new("x/run.rtscope"), ExportFormat::Perfetto), Path::new("run.pftrace"));
    }

    #[test]
    fn nothing_is_written_over_itself() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("x.fxt"), folder.path().join("y.fxt"));
        std::fs::write(&file, b"").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert!(refuse_itself(&file, &link).unwrap_err().to_string().contains("-o"));
        assert_eq!(refuse_itself(&file, &folder.path().join("z.fxt")), Ok(()));
    }
}
