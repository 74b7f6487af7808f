//! `rtscope heap PID`: where the memory of a running Haskell program is. Owns the options,
//! what is put together for showing, and the words of refusals; the blocks are `heap`'s, the
//! process is `host`'s.

mod map;
mod text;

use crate::style::Style;
use crate::trouble::Trouble;
use clap::Args;
use rtscope_host::heap::{self, Ask, Failed, Refusal, Target};
use rtscope_host::procfs::Host;
use rtscope_model::heap::Heap;
use std::io::{self, Write};
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
    /// The process
    #[arg(value_name = "PID", required_unless_present = "core")]
    pub pid: Option<u32>,
    /// A core file instead of a process
    #[arg(long, value_name = "FILE", conflicts_with_all = ["pid", "stop"])]
    pub core: Option<PathBuf>,
    /// With --core: the program that it is of, where that is not where it was
    #[arg(long, value_name = "FILE", requires = "core")]
    pub program: Option<PathBuf>,
    /// Read blocks only: not which pinned objects are alive, who holds them, and the census
    #[arg(long)]
    pub blocks: bool,
    /// Stop the process while its blocks are read, and its objects too if --max-stop is long
    /// enough for that (a second for each GiB): else they are read beside the running program,
    /// as without --stop. A system call that does not restart (`epoll_wait`) then returns early
    /// with EINTR
    #[arg(long)]
    pub stop: bool,
    /// With --stop: let it go after so long, whatever was read
    #[arg(long, value_name = "TIME", default_value = "250ms", value_parser = crate::record::duration, requires = "stop")]
    pub max_stop: Duration,
    /// Draw its blocks, megablock by megablock
    #[arg(long, conflicts_with = "json")]
    pub map: bool,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

/// Does it.
///
/// # Errors
/// The process cannot be read, or the output not be written.
pub fn run(args: &HeapArgs) -> Result<ExitCode, Trouble> {
    let heap = look(&Host::default(), args)?;
    let style = Style::of_stdout();
    let text = match () {
        () if args.json => {
            let document = serde_json::to_string_pretty(&heap);
            document.map_err(|error| Trouble::new("cannot write the document").because(error))? + "\n"
        }
        () if args.map => map::text(&heap, &style),
        () => text::text(&heap, &style),
    };
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|error| Trouble::new("cannot write").because(error))?;
    Ok(ExitCode::from(if is_sure(&heap) { 0 } else { 3 }))
}

/// Whether nothing moved under the reader's eyes.
fn is_sure(heap: &Heap) -> bool {
    heap.doubts.is_empty() || heap.collections_meanwhile.is_none() && heap.doubts.len() == 1
}

fn look(host: &Host, args: &HeapArgs) -> Result<Heap, Trouble> {
    let Some(pid) = args.pid else {
        let core = args.core.as_deref().unwrap_or(Path::new("core"));
        let target = Target::in_core(core, args.program.as_deref()).map_err(|refusal| trouble(&refusal))?;
        return heap::of_core(host, target, !args.blocks).map_err(|refusal| trouble(&refusal));
    };
    let ask = Ask { stop: args.stop.then_some(args.max_stop), objects: !args.blocks };
    heap::take(host, pid, &ask).map_err(|failed| match failed {
        Failed::Refused(refusal) => trouble(&refusal),
        Failed::NotStopped { pid, source } => not_stopped(pid, source),
    })
}

fn not_stopped(pid: u32, source: io::Error) -> Trouble {
    match source.kind() {
        io::ErrorKind::PermissionDenied => Trouble::new(format!("process {pid} may not be stopped"))
            .because("it is another user's, or somebody traces it already"),
        _ => Trouble::new(format!("process {pid} cannot be stopped")).because(source),
    }
    .next(format!("`rtscope heap {pid}` reads it without stopping it"))
}

fn trouble(refusal: &Refusal) -> Trouble {
    let trouble = Trouble::new(refusal.to_string());
    match refusal {
        Refusal::Gone(_) => trouble.next("`pgrep -a NAME` shows what runs"),
        Refusal::NotPermitted(pid) => trouble.next(format!(
            "run `sudo rtscope heap {pid}`, or as the program's own user with `sysctl kernel.yama.ptrace_scope=0`"
        )),
        Refusal::NotGhc { .. } => trouble.next("give the process id of a program that GHC built"),
        Refusal::UnknownVersion { .. } => trouble.next("use an rtscope that is newer than the compiler"),
        Refusal::Profiled(_) => trouble.next("use the profiler's own heap profile: +RTS -hT"),
        Refusal::NoHeap(_) => trouble
            .because("it has not started yet, or its runtime was built or started without the large address space")
            .next("try again when it runs"),
        Refusal::Io { .. } => trouble.next("look whether the process still runs"),
    }
}
