//! Finds the counts of a process: by symbols of its files, and if those are gone, the package's
//! block by its first bytes. Owns the messages about what is missing.

use super::code;
use super::counts::{RuntimeCounter, StmCounters, StmLook};
use crate::binary::{Inspected, RuntimeSymbols};
use crate::runtimes::ghc::heap::{Refusal, refusal};
use crate::runtimes::ghc::unflushed::Modules;
use crate::system::procfs::Host;
use crate::target::Process;
use crate::target::memory::{LiveProcess, Memory};
use rtscope_decode::stm::{HEADER_BYTES, Header, candidates};
use std::io;
use std::ops::Range;

/// Most bytes of writable file data searched for a block.
const SEARCH_MAX: u64 = 512 << 20;
/// Bytes searched at once; a block may begin in one part and continue in the next.
const PART: u64 = 1 << 20;
/// Bytes read of `stmStartTransaction`: it is shorter with every known compiler.
const CODE_BYTES: usize = 512;

/// Finds the transaction counters of process `pid`.
pub fn find(host: &Host, pid: u32) -> Result<StmCounters<LiveProcess>, Refusal> {
    let process = Process::open(host, pid).map_err(|source| refusal(pid, source))?;
    let exe = process.link("exe").map_err(|source| refusal(pid, source))?;
    let modules = Modules::of(&process).ok_or(Refusal::Gone(pid))?;
    let files: Vec<(Inspected, Option<RuntimeSymbols>)> = modules.symbols().collect();
    let inspected = files.first().map(|first| first.0.clone()).unwrap_or_default();
    let symbols: Vec<RuntimeSymbols> = files.iter().filter_map(|file| file.1).collect();
    let named = symbols.iter().find_map(|symbols| symbols.stm.block);
    let runtime_file = symbols.iter().any(|symbols| symbols.stm.start.is_some());
    if !inspected.is_ghc() && !runtime_file && named.is_none() && inspected.binary.symbols {
        return Err(Refusal::NotGhc(format!("process {pid}"), exe.to_string_lossy().into_owned()));
    }
    let memory = LiveProcess::from(process);
    let runtime = runtime(&memory, &inspected, &symbols);
    let block = match named {
        Some(at) => whole(&memory, at).map(|_| at),
        // A file with symbols but none of this name is not linked with the package.
        None if inspected.binary.symbols => Err(NOT_LINKED.to_owned()),
        None => search(&memory, &data(&memory.process, &exe.to_string_lossy())),
    };
    if let (Err(no_block), Err(no_runtime)) = (&block, &runtime) {
        // A process that is just ending, or another user's, says nothing about the program.
        if let Err(source) = memory_is_readable(&memory) {
            return Err(refusal(pid, source));
        }
        if !inspected.is_ghc() && !runtime_file {
            return Err(Refusal::NotGhc(format!("process {pid}"), exe.to_string_lossy().into_owned()));
        }
        return Err(Refusal::NoCounts(format!("process {pid}"), format!("{no_block}; {no_runtime}")));
    }
    let n_capabilities = symbols.iter().filter(|symbols| symbols.stm.start.is_some());
    let n_capabilities = n_capabilities.filter_map(|symbols| symbols.n_capabilities).next();
    let (no_block, no_runtime) = (block.as_ref().err().cloned(), runtime.as_ref().err().cloned());
    Ok(StmCounters { memory, block: block.ok(), runtime: runtime.ok(), n_capabilities, no_block, no_runtime })
}

/// Reads all available counts, at `symbols` and in `data`.
pub fn look<M: Memory>(memory: M, symbols: &RuntimeSymbols, data: &[Range<u64>]) -> io::Result<StmLook> {
    let runtime = runtime(&memory, &Inspected::default(), std::slice::from_ref(symbols)).ok();
    let block = symbols.stm.block.or_else(|| search(&memory, data).ok());
    let n_capabilities = symbols.n_capabilities;
    StmCounters { memory, block, runtime, n_capabilities, no_block: None, no_runtime: None }.look()
}

const NOT_LINKED: &str = "the package rtscope-stm is not linked in";

/// The runtime's own count, or why it cannot be read.
fn runtime(memory: &impl Memory, inspected: &Inspected, symbols: &[RuntimeSymbols]) -> Result<RuntimeCounter, String> {
    let way = inspected.binary.way.as_deref();
    if way.is_some_and(|way| !way.split('_').any(|part| part == "thr")) {
        return Err("the non-threaded runtime does not count attempts".to_owned());
    }
    let Some(found) = symbols.iter().find(|symbols| symbols.stm.start.is_some() && symbols.stm.max_commits.is_some())
    else {
        let stripped = "its symbols are gone (do not `strip` it), so where the runtime counts attempts is not known";
        let none = "the runtime's own count of attempts was not found among its symbols";
        return Err(if inspected.binary.symbols { none } else { stripped }.to_owned());
    };
    let (stm, heap) = (found.stm, found.heap);
    let (Some(start), Some(max_commits), Some(token_locked)) = (stm.start, stm.max_commits, stm.token_locked) else {
        // Without it no capability is given tokens.
        return Err("the non-threaded runtime does not count attempts".to_owned());
    };
    let (Some(capabilities), Some(n_capabilities), Some(bytes)) =
        (heap.capabilities, found.n_capabilities, stm.capabilities_bytes.filter(|bytes| *bytes >= 8))
    else {
        return Err("the runtime's list of capabilities was not found among its symbols".to_owned());
    };
    let code = function(memory, start).map_err(|error| format!("the code of the runtime cannot be read ({error})"))?;
    let tokens = code::tokens_at(&code, start, max_commits, token_locked).ok_or_else(|| {
        let version = inspected.compiler.map_or(String::new(), |(major, minor, _)| format!(" of GHC {major}.{minor}"));
        format!("the code{version} that begins a transaction is not as known, so where it counts them is not, either")
    })?;
    Ok(RuntimeCounter { max_commits, token_locked, n_capabilities, capabilities, pointed: bytes == 8, tokens })
}

/// The first bytes of a function; fewer if the code ends before that.
fn function(memory: &impl Memory, start: u64) -> io::Result<Vec<u8>> {
    let mut code = vec![0; CODE_BYTES];
    let mut length = CODE_BYTES;
    loop {
        match memory.read(start, code.get_mut(..length).unwrap_or_default()) {
            Ok(()) => break,
            Err(error) if length <= 64 => return Err(error),
            Err(_) => length /= 2,
        }
    }
    code.truncate(length);
    Ok(code)
}

/// The header of a block, or what is wrong with it.
fn whole(memory: &impl Memory, at: u64) -> Result<Header, String> {
    let mut head = [0; HEADER_BYTES];
    memory.read(at, &mut head).map_err(|error| format!("its block of counters cannot be read ({error})"))?;
    Header::parse(&head).map_err(|error| error.to_string())
}

/// Finds the one block in data of the program's files.
fn search(memory: &impl Memory, data: &[Range<u64>]) -> Result<u64, String> {
    let mut found = Vec::new();
    let mut room = SEARCH_MAX;
    let mut part = Vec::new();
    for range in data {
        let mut from = range.start;
        while from < range.end && room > 0 {
            let to = from.saturating_add(PART).min(range.end);
            // The next part begins a little before this one's end.
            let end = to.saturating_add(HEADER_BYTES as u64).min(range.end);
            part.resize(usize::try_from(end - from).unwrap_or(0), 0);
            if memory.read(from, &mut part).is_ok() {
                found.extend(candidates(&part, from).filter(|at| *at < to));
            }
            room = room.saturating_sub(to - from);
            from = to;
        }
    }
    let blocks: Vec<Result<Header, String>> = found.iter().map(|at| whole(memory, *at)).collect();
    let whole = found.iter().zip(&blocks).filter(|(_, block)| block.is_ok()).map(|(at, _)| *at);
    match whole.collect::<Vec<_>>()[..] {
        [only] => Ok(only),
        [] => Err(blocks.into_iter().find_map(Result::err).unwrap_or_else(|| NOT_LINKED.to_owned())),
        [..] => Err("it holds the package rtscope-stm more than once, so which one counts is not known".to_owned()),
    }
}

/// Data that the program's own files, or the package as a library, can write to; zero-initialised
/// data lies directly after the rest.
fn data(process: &Process, exe: &str) -> Vec<Range<u64>> {
    let mut ranges: Vec<Range<u64>> = Vec::new();
    let mut previous_end = None;
    for mapping in process.mappings().unwrap_or_default() {
        let own = mapping.name == exe || mapping.name.contains("/libHSrtscope");
        let goes_on = mapping.is_anonymous() && previous_end == Some(mapping.range.start);
        if (own || goes_on) && mapping.writable {
            ranges.push(mapping.range.clone());
        }
        previous_end = (own || goes_on).then_some(mapping.range.end);
    }
    ranges
}

/// Checks that the process's memory can be read at all.
fn memory_is_readable(memory: &LiveProcess) -> io::Result<()> {
    let first = memory.process.mappings()?.into_iter().find(|mapping| mapping.writable);
    // While a process ends, its files in /proc exist and are empty.
    let first = first.ok_or(io::ErrorKind::NotFound)?;
    memory.read_u64(first.range.start).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtscope_decode::stm::MAGIC;
    use rtscope_decode::stm::builder::block;
    use rtscope_model::StmCounts;

    /// Bytes from an address on.
    struct Image(u64, Vec<u8>);

    impl Memory for Image {
        fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<()> {
            let at = address.checked_sub(self.0).and_then(|at| usize::try_from(at).ok());
            let found = at.and_then(|at| self.1.get(at..at.checked_add(buffer.len())?));
            buffer.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
            Ok(())
        }
    }

    fn image(at: &[usize]) -> Image {
        let mut bytes = vec![0x11; 3 << 20];
        let block = block(&[StmCounts::default()], &[], 0, 1);
        at.iter().for_each(|at| bytes[*at..*at + block.len()].copy_from_slice(&block));
        Image(0x4000, bytes)
    }

    fn searched(image: &Image) -> Result<u64, String> {
        let all = 0x4000..0x4000 + image.1.len() as u64;
        search(image, std::slice::from_ref(&all))
    }

    #[test]
    fn the_one_block_is_found_wherever_it_lies() {
        for at in [0, 8, (1 << 20) - 8, (1 << 20) - 4096, (1 << 20), (3 << 20) - 4096] {
            assert_eq!(searched(&image(&[at])), Ok(0x4000 + at as u64), "{at}");
        }
    }

    #[test]
    fn none_several_and_others_have_their_words() {
        assert_eq!(searched(&image(&[])), Err(NOT_LINKED.to_owned()));
        assert!(searched(&image(&[64, 1 << 20])).unwrap_err().contains("more than once"));
        let mut other = image(&[]);
        other.1[640..648].copy_from_slice(MAGIC);
        other.1[647] = 7;
        assert_eq!(searched(&other), Err(NOT_LINKED.to_owned()), "what begins otherwise is not looked at");
        other.1[647] = 1;
        assert!(searched(&other).unwrap_err().contains("damaged"));
        // Similar text next to the block itself does not matter.
        let mut neighbouring = image(&[2 << 20]);
        neighbouring.1[640..648].copy_from_slice(MAGIC);
        assert_eq!(searched(&neighbouring), Ok(0x4000 + (2 << 20)));
    }

    #[test]
    fn what_the_runtime_lacks_has_its_words() {
        let memory = Image(0, Vec::new());
        let mut inspected = Inspected::default();
        let why = |inspected: &Inspected, symbols: RuntimeSymbols| runtime(&memory, inspected, &[symbols]).unwrap_err();
        assert!(why(&inspected, RuntimeSymbols::default()).contains("strip"));
        inspected.binary.symbols = true;
        assert!(why(&inspected, RuntimeSymbols::default()).contains("not found among its symbols"));
        let mut symbols = RuntimeSymbols::default();
        (symbols.stm.start, symbols.stm.max_commits) = (Some(8), Some(16));
        assert!(why(&inspected, symbols).contains("non-threaded"));
        symbols.stm.token_locked = Some(24);
        assert!(why(&inspected, symbols).contains("list of capabilities"));
        (symbols.heap.capabilities, symbols.n_capabilities) = (Some(32), Some(40));
        symbols.stm.capabilities_bytes = Some(8);
        assert!(why(&inspected, symbols).contains("cannot be read"));
        inspected.compiler = Some((9, 99, 1));
        let why = runtime(&Image(0, vec![0x90; 1024]), &inspected, &[symbols]).unwrap_err();
        assert!(why.contains("GHC 9.99") && why.contains("not as known"), "{why}");
        inspected.binary.way = Some("l".to_owned());
        assert!(runtime(&memory, &inspected, &[symbols]).unwrap_err().contains("non-threaded"));
    }

    #[test]
    fn processes_without_transactions_are_refused() {
        let host = Host::default();
        let own = find(&host, std::process::id()).map(drop).unwrap_err();
        assert!(matches!(own, Refusal::NotGhc(..)), "{own}");
        assert!(matches!(find(&host, 1 << 30).map(drop), Err(Refusal::Gone(_))));
    }
}
