//! Builds streams of code samples for tests, record by record. Owns the byte layout; refuses nothing, so that tests
//! can write invalid records.

use super::{ModuleNames, Named, Names};
use rtscope_model::CodeKind;
use rtscope_model::manifest::{Code, CodeEvent, CodeSource};

/// `IDENTIFIER | IP | TID | TIME | CPU | CALLCHAIN | REGS_USER`.
pub const SAMPLE_TYPE: u64 = 0x110a7;
/// Event id of timer hits.
pub const TIMER: u64 = 70;
/// Event id of waits.
pub const WAITS: u64 = 71;

/// Builds the stream of one CPU.
pub struct Builder {
    cpu: u32,
    /// The bytes of the stream.
    pub bytes: Vec<u8>,
}

impl Builder {
    /// An empty stream.
    pub fn cpu(cpu: u32) -> Builder {
        Builder { cpu, bytes: Vec::new() }
    }

    fn record(mut self, kind: u32, misc: u16, body: &[u8]) -> Builder {
        let size = (8 + body.len()) as u16;
        self.bytes.extend([&kind.to_le_bytes()[..], &misc.to_le_bytes(), &size.to_le_bytes(), body].concat());
        self
    }

    fn with_trailer(self, kind: u32, misc: u16, body: &[u8], time: u64) -> Builder {
        let trailer = [&words(&[1, 1])[..], &longs(&[time]), &words(&[self.cpu, 0]), &longs(&[TIMER])].concat();
        self.record(kind, misc, &[body, &trailer].concat())
    }

    /// A sample: time, event id, process and thread, instruction pointer (in the kernel if `chain` is not empty), the
    /// kernel's call chain, and the instruction pointer in user space.
    pub fn sample(
        self,
        time: u64,
        id: u64,
        (pid, tid): (u32, u32),
        ip: u64,
        chain: &[u64],
        user: Option<u64>,
    ) -> Builder {
        let misc = if chain.is_empty() { 2 } else { 1 };
        let mut frames = chain.to_vec();
        if !chain.is_empty() {
            // PERF_CONTEXT_KERNEL
            frames.insert(0, -128i64 as u64);
        }
        let registers = user.map_or(longs(&[0]), |ip| longs(&[2, ip]));
        let stamp = [&words(&[pid, tid])[..], &longs(&[time]), &words(&[self.cpu, 0])].concat();
        let body =
            [&longs(&[id, ip])[..], &stamp, &longs(&[frames.len() as u64]), &longs(&frames), &registers].concat();
        self.record(9, misc, &body)
    }

    /// A timer hit in user space.
    pub fn user(self, time: u64, (pid, tid): (u32, u32), ip: u64) -> Builder {
        self.sample(time, TIMER, (pid, tid), ip, &[], Some(ip))
    }

    /// A mapping of the file `path`.
    pub fn mmap(self, time: u64, pid: u32, (start, length): (u64, u64), offset: u64, path: &str) -> Builder {
        let mut name = path.as_bytes().to_vec();
        name.resize((name.len() + 1).next_multiple_of(8), 0);
        let inode = inode(path);
        let body = [
            &words(&[pid, pid])[..],
            &longs(&[start, length, offset]),
            &words(&[8, 1]),
            &longs(&[inode, 0]),
            &words(&[5, 2]),
            &name,
        ];
        self.with_trailer(10, 2, &body.concat(), time)
    }

    /// A process was created (or a thread, where both processes are the same).
    pub fn fork(self, time: u64, (pid, tid): (u32, u32), parent: u32) -> Builder {
        self.with_trailer(7, 0, &[&words(&[pid, parent, tid, parent])[..], &longs(&[time])].concat(), time)
    }

    /// A process executes another program.
    pub fn exec(self, time: u64, pid: u32) -> Builder {
        self.with_trailer(3, 1 << 13, &[&words(&[pid, pid])[..], b"program\0"].concat(), time)
    }

    /// A thread ended.
    pub fn exit(self, time: u64, pid: u32, tid: u32) -> Builder {
        self.with_trailer(4, 0, &[&words(&[pid, 1, tid, 1])[..], &longs(&[time])].concat(), time)
    }

    /// The ring was full.
    pub fn lost(self, time: u64, count: u64) -> Builder {
        self.with_trailer(2, 0, &longs(&[TIMER, count]), time)
    }
}

/// The inode that [`Builder::mmap`] gives a path.
fn inode(path: &str) -> u64 {
    path.bytes().fold(1, |inode, byte| inode * 31 % 1_000_003 + u64::from(byte))
}

/// The manifest entry of a recording with `cpus` CPUs.
pub fn code(cpus: usize) -> Code {
    Code {
        period_ns: 10_000_000,
        streams: (0..cpus).map(|cpu| format!("code/cpu{cpu}.perf")).collect(),
        sample_type: SAMPLE_TYPE,
        events: vec![
            CodeEvent { ids: vec![TIMER], what: CodeSource::Timer },
            CodeEvent { ids: vec![WAITS], what: CodeSource::Waits },
        ],
        kernel: true,
        ..Code::default()
    }
}

/// Names of a file that [`Builder::mmap`] maps: from offset, to offset, name, kind of code.
pub fn module(path: &str, names: &[(u64, u64, &str, CodeKind)]) -> ModuleNames {
    ModuleNames { path: path.into(), device: (8, 1), inode: inode(path), names: named(names), ..ModuleNames::default() }
}

/// Names of the kernel's functions.
pub fn kernel(names: &[(u64, u64, &str)]) -> Names {
    let names: Vec<_> = names.iter().map(|(from, to, name)| (*from, *to, *name, CodeKind::Kernel)).collect();
    Names { kernel: named(&names), ..Names::default() }
}

fn named(names: &[(u64, u64, &str, CodeKind)]) -> Vec<Named> {
    let one = |(from, to, name, kind): &(u64, u64, &str, CodeKind)| Named {
        from: *from,
        to: *to,
        at: 0x40_0000 + from,
        name: (*name).to_owned(),
        kind: *kind,
        source: None,
        purpose: None,
    };
    names.iter().map(one).collect()
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn longs(longs: &[u64]) -> Vec<u8> {
    longs.iter().flat_map(|long| long.to_le_bytes()).collect()
}
