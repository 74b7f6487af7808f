//! `rtscope heap PID|CAPTURE`: where the memory of a Haskell program is, or was. Owns the options, the choice of
//! output and the wording of refusals; `heap` reads the blocks, `host` the process.

use clap::Args;
use rtscope_decode::capture::{Capture, heaps as snapshot};
use rtscope_host::heap::{self, Ask, Failed, Refusal};
use rtscope_host::procfs::Host;
use rtscope_model::heap::Heap;
use rtscope_model::units;
use rtscope_read::heaps::{self, At};
use rtscope_report::heap::{map, svg, text};
use rtscope_terminal::style::{Style, clean};
use rtscope_terminal::user_error::{UserError, document, write_to};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

const STATUS: &str = "\
Exit status:
  0  done
  1  failed: no such process, no permission, no GHC program, a version that is not known
  2  wrong usage
  3  done, but the heap changed while it was read";

/// Options of `rtscope heap`.
#[derive(Args, Debug)]
#[command(after_help = STATUS)]
pub struct HeapArgs {
    /// A process, or a capture with snapshots (NAME.rtscope, or heap/N.json in one)
    #[arg(value_name = "PID|CAPTURE", required_unless_present = "core")]
    pub of: Option<PathBuf>,
    /// Which snapshot of a capture: last, peak (the largest resident memory), or N of heap/N.json
    #[arg(long, value_name = "N", value_parser = heaps::at, conflicts_with = "core")]
    pub at: Option<At>,
    /// A core file instead of a process
    #[arg(long, value_name = "FILE", conflicts_with_all = ["of", "stop"])]
    pub core: Option<PathBuf>,
    /// With --core: the program that it is of, where that is not where it was
    #[arg(long, value_name = "FILE", requires = "core")]
    pub program: Option<PathBuf>,
    /// Read blocks only: not which pinned objects are alive, who holds them, and the census
    #[arg(long)]
    pub blocks: bool,
    /// Stop the process while its blocks are read, and its objects too if --max-stop is long enough for that (a
    /// second for each GiB): else they are read while the program runs, as without --stop. A system call that does
    /// not restart (`epoll_wait`) then returns early with EINTR
    #[arg(long)]
    pub stop: bool,
    /// With --stop: let it go after so long, whatever was read
    #[arg(long, value_name = "TIME", default_value = "250ms", value_parser = rtscope_terminal::values::duration, requires = "stop")]
    pub max_stop: Duration,
    /// Draw its blocks by address, as large as a page; `--map=full`: each block
    #[arg(long, value_name = "SIZE", num_args = 0..=1, require_equals = true, default_missing_value = "fit", conflicts_with = "json")]
    pub map: Option<map::Size>,
    /// Write the map as a picture
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

/// Runs `rtscope heap`.
///
/// # Errors
/// The process cannot be read, or the output cannot be written.
pub fn run(args: &HeapArgs) -> Result<ExitCode, UserError> {
    let (heap, which) = look(&Host::default(), args)?;
    // Names come from the program, for a process as for a capture.
    let heap = heaps::cleaned(heap);
    if let Some(file) = &args.svg {
        write_to(file, &svg::svg(&heap), "--svg")?;
    }
    if let Some(which) = which.filter(|_| !args.json) {
        println!("{}", clean(&which));
    }
    let style = Style::of_stdout();
    let text = match args.map {
        _ if args.json => document(&heap, true)?,
        Some(size) => map::text(&heap, size, &style),
        None => text::text(&heap, &style),
    };
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|error| UserError::new("cannot write").because(error))?;
    Ok(ExitCode::from(if is_sure(&heap) { 0 } else { 3 }))
}

/// Whether the heap stayed the same while it was read.
fn is_sure(heap: &Heap) -> bool {
    // One doubt says only that collections cannot be counted; it is no sign of one.
    heap.doubts.len() == usize::from(heap.collections_meanwhile.is_none())
}

/// The heap, and which one it is if there are several.
fn look(host: &Host, args: &HeapArgs) -> Result<(Heap, Option<String>), UserError> {
    let Some(of) = &args.of else {
        let core = args.core.as_deref().unwrap_or(Path::new("core"));
        let heap = heap::of_core(core, args.program.as_deref(), objects(args)).map_err(failed)?;
        return Ok((heap, None));
    };
    match process(of)? {
        Some(_) if args.at.is_some() => {
            Err(UserError::new("--at says which snapshot of a capture, and a process has none").next("leave it out"))
        }
        Some(pid) => Ok((of_process(host, pid, args)?, None)),
        None if args.stop => Err(UserError::new(format!("{} is no process that could be stopped", of.display()))
            .next("leave --stop out, or give a process id")),
        None => kept_in(of, args.at),
    }
}

/// The process id, if `of` is written like one.
pub(crate) fn process(of: &Path) -> Result<Option<u32>, UserError> {
    let text = of.to_string_lossy();
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(None);
    }
    let next = "`pgrep -a NAME` shows what runs";
    text.parse().map(Some).map_err(|_| UserError::new(format!("{text} is too large for a process id")).next(next))
}

/// A snapshot of a capture, or one in a file of its own.
fn kept_in(of: &Path, at: Option<At>) -> Result<(Heap, Option<String>), UserError> {
    let cannot = |error| UserError::unreadable(of, error);
    let next = "give a process id (`pgrep -a NAME`), a capture or a heap/N.json in one";
    let kind = std::fs::metadata(of).map_err(|error| cannot(error).next(next))?;
    if rtscope_read::input::is_capture(of, &kind) {
        let capture = Capture::open(of).map_err(|error| UserError::unreadable(of, error))?;
        return heaps::choose(&capture, at.unwrap_or_default()).map(|(heap, which)| (heap, Some(which)));
    }
    if at.is_some() {
        return Err(UserError::new("--at says which snapshot of a capture, and a file is one").next("leave it out"));
    }
    let mut bytes = Vec::new();
    let read = File::open(of).and_then(|file| file.take(snapshot::BYTES_MAX + 1).read_to_end(&mut bytes));
    read.map_err(cannot)?;
    let heap = snapshot::parse(&of.display().to_string(), &bytes).map_err(|loss| UserError::new(loss.note))?;
    Ok((heap, None))
}

/// Number of threads that read the objects, if these are wanted.
fn objects(args: &HeapArgs) -> Option<usize> {
    (!args.blocks).then(|| std::thread::available_parallelism().map_or(1, usize::from))
}

fn of_process(host: &Host, pid: u32, args: &HeapArgs) -> Result<Heap, UserError> {
    let ask = Ask { stop: args.stop.then_some(args.max_stop), objects: objects(args) };
    let (heap, _) = heap::take(host, pid, &ask).map_err(failed)?;
    if args.stop {
        eprintln!(
            "rtscope: process {pid} was stopped for {}; a call like epoll_wait that it was blocked in has returned EINTR",
            units::duration(heap.stop_ns)
        );
    }
    Ok(heap)
}

fn failed(failed: Failed) -> UserError {
    let refusal = match failed {
        Failed::Refused(refusal) => refusal,
        Failed::NotStopped(pid, source) => {
            let error = match source.kind() {
                io::ErrorKind::PermissionDenied => UserError::new(format!("process {pid} may not be stopped"))
                    .because("it belongs to another user, or a tracer is attached to it"),
                _ => UserError::new(format!("process {pid} cannot be stopped")).because(source),
            };
            return error.next(format!("`rtscope heap {pid}` reads it without stopping it"));
        }
    };
    let error = UserError::new(refusal.to_string());
    match refusal {
        Refusal::Gone(_) => error.next("`pgrep -a NAME` shows what runs"),
        Refusal::NotPermitted(pid) => error.next(format!(
            "run `sudo rtscope heap {pid}`, or as the program's own user with `sysctl kernel.yama.ptrace_scope=0`"
        )),
        Refusal::NotGhc(..) => error.next("give the process id of a program that GHC built"),
        Refusal::UnknownVersion(..) => error.next("use an rtscope that is newer than the compiler"),
        Refusal::Profiled(_) => error.next("use the profiler's own heap profile: +RTS -hT"),
        Refusal::NoHeap(_) => error
            .because("it has not started yet, or its runtime was built or started without the large address space")
            .next("try again when it runs"),
        Refusal::Core(..) => error.next("give a core file of a 64-bit GHC program, whole"),
        _ => error.next("look whether the process still runs"),
    }
}
