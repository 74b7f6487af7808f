//! Samples with a copy of the stack, as the kernel lays them out and as they are stored: with the callers in their
//! call chain instead of the copy. Owns both layouts; refuses to find a caller.

use super::walk::Registers;
use crate::kernel::perf::DUMPED_REGISTERS;
use crate::kernel::records::{SAMPLE, long, word};

/// `PERF_CONTEXT_USER`: the addresses that follow in a call chain lie outside the kernel.
const CONTEXT_USER: u64 = -512i64 as u64;
/// `PERF_SAMPLE_REGS_ABI_64`.
const ABI_64: u64 = 2;
/// Header, id, address, thread, time, CPU.
const HEAD: usize = 48;

#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Dumped<'r> {
    /// Everything before the call chain.
    head: &'r [u8],
    chain: &'r [u8],
    pub pid: u32,
    /// Which registers the sample has (`PERF_SAMPLE_REGS_ABI_*`); 0: none.
    abi: u64,
    /// Registers outside the kernel; `None`: there are none, or they have another width.
    pub registers: Option<Registers>,
    ip: Option<u64>,
    /// The copy, from the stack pointer on.
    pub stack: &'r [u8],
}

impl<'r> Dumped<'r> {
    /// Parses the whole record, if it samples an event with one of these ids. `Err`: it does, but contradicts itself.
    pub fn read(record: &'r [u8], ids: &[u64]) -> Option<Result<Dumped<'r>, ()>> {
        let id = long(record, 8)?;
        (word(record, 0) == Some(SAMPLE) && ids.contains(&id)).then(|| Dumped::parse(record).ok_or(()))
    }

    fn parse(record: &'r [u8]) -> Option<Dumped<'r>> {
        let (head, rest) = record.split_at_checked(HEAD)?;
        let frames = usize::try_from(long(rest, 0)?).ok()?;
        let (chain, rest) = rest.get(8..)?.split_at_checked(frames.checked_mul(8)?)?;
        let abi = long(rest, 0)?;
        let words = if abi == 0 { 0 } else { DUMPED_REGISTERS.len() };
        let register = |index: usize| long(rest, 8 + 8 * index);
        let [bp, sp, ip] = [register(0), register(1), register(2)].map(|word| word.filter(|_| words == 3));
        let rest = rest.get(8 + 8 * words..)?;
        let size = usize::try_from(long(rest, 0)?).ok()?;
        let stack = rest.get(8..)?.get(..size)?;
        let filled = if size == 0 { 0 } else { usize::try_from(long(rest, 8 + size)?).ok()? };
        let registers = ip.zip(sp).zip(bp).map(|((ip, sp), bp)| Registers { ip, sp, bp });
        let (pid, registers) = (word(record, 24)?, registers.filter(|_| abi == ABI_64));
        Some(Dumped { head, chain, pid, abi, registers, ip, stack: stack.get(..filled.min(size))? })
    }

    /// Appends the record in its stored form: `callers` are return addresses, innermost first.
    pub fn write(&self, callers: &[u64], into: &mut Vec<u8>) {
        let outside: Vec<u64> = match self.ip {
            Some(ip) if !callers.is_empty() => [CONTEXT_USER, ip].iter().chain(callers).copied().collect(),
            _ => Vec::new(),
        };
        let registers = self.ip.map_or(vec![0], |ip| vec![self.abi, ip]);
        let size = self.head.len() + 8 + self.chain.len() + 8 * (outside.len() + registers.len());
        let Ok(length) = u16::try_from(size) else { return };
        let frames = (self.chain.len() / 8 + outside.len()) as u64;
        into.reserve(size);
        into.extend_from_slice(&self.head[..6]);
        into.extend_from_slice(&length.to_ne_bytes());
        into.extend_from_slice(&self.head[8..]);
        into.extend_from_slice(&frames.to_ne_bytes());
        into.extend_from_slice(self.chain);
        outside.iter().chain(&registers).for_each(|word| into.extend_from_slice(&word.to_ne_bytes()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtscope_decode::ReadAt;
    use rtscope_decode::code::Samples;
    use rtscope_decode::code::builder::{Builder, SAMPLE_TYPE, TIMER};
    use rtscope_model::manifest::{Code, CodeEvent, CodeSource};
    use std::sync::Arc;

    fn longs(longs: &[u64]) -> Vec<u8> {
        longs.iter().flat_map(|long| long.to_ne_bytes()).collect()
    }

    /// A sample as the kernel writes it: user registers, and `size` bytes of the stack, of which `filled` are filled.
    fn record(chain: &[u64], registers: Option<[u64; 3]>, (size, filled): (usize, u64)) -> Vec<u8> {
        let registers = registers.map_or(longs(&[0]), |[bp, sp, ip]| longs(&[ABI_64, bp, sp, ip]));
        let stack =
            if size == 0 { longs(&[0]) } else { [longs(&[size as u64]), vec![7; size], longs(&[filled])].concat() };
        let head = [longs(&[TIMER, 0x1000]), longs(&[5 << 32 | 4, 100, 0])].concat();
        let body = [head, longs(&[chain.len() as u64]), longs(chain), registers, stack].concat();
        let misc: u16 = if chain.is_empty() { 2 } else { 1 };
        let length = (8 + body.len()) as u16;
        [&SAMPLE.to_ne_bytes()[..], &misc.to_ne_bytes(), &length.to_ne_bytes(), &body].concat()
    }

    #[test]
    fn a_sample_is_kept_with_its_callers_as_the_decoder_reads_them() {
        let record = record(&[-128i64 as u64, 0xffff_ffff_8100_0000], Some([1, 2, 0x1000]), (64, 16));
        let dumped = Dumped::read(&record, &[TIMER]).unwrap().unwrap();
        assert_eq!((dumped.pid, dumped.stack.len()), (4, 16));
        assert_eq!(dumped.registers, Some(Registers { ip: 0x1000, sp: 2, bp: 1 }));
        let mut kept = Builder::cpu(0).mmap(1, 4, (0x1000, 0x1000), 0, "/prog").bytes;
        dumped.write(&[0x1101, 0x1201], &mut kept);
        dumped.write(&[], &mut kept);
        let events = vec![CodeEvent { ids: vec![TIMER], what: CodeSource::Timer }];
        let code = Code { streams: vec!["code/cpu0.perf".into()], sample_type: SAMPLE_TYPE, events, ..Code::default() };
        let mut samples = Samples::open(&code, vec![Arc::new(kept) as Arc<dyn ReadAt>]).unwrap();
        let found: Vec<_> = samples.by_ref().map(|sample| (sample.chain.len(), sample.user, sample.callers)).collect();
        assert_eq!(samples.losses(), []);
        let place = |offset| rtscope_decode::code::Place::Module { module: 0, offset, ip: 0x1000 + offset };
        let callers: Box<[_]> = [place(0x100), place(0x200)].into();
        assert_eq!(found, [(1, Some(place(0)), callers), (1, Some(place(0)), [].into())]);
    }

    #[test]
    fn what_has_no_registers_or_contradicts_itself() {
        let bare = record(&[], None, (0, 0));
        let dumped = Dumped::read(&bare, &[TIMER]).unwrap().unwrap();
        assert_eq!((dumped.registers, dumped.stack.len()), (None, 0));
        let mut kept = Vec::new();
        dumped.write(&[0x1101], &mut kept);
        assert_eq!(kept.len(), HEAD + 16, "no place, no callers of it");
        let whole = record(&[], Some([1, 2, 3]), (64, 1 << 40));
        assert_eq!(Dumped::read(&whole, &[TIMER]).unwrap().unwrap().stack.len(), 64);
        assert_eq!(Dumped::read(&whole, &[TIMER + 1]), None);
        for end in 16..whole.len() {
            assert!(Dumped::read(&whole[..end], &[TIMER]).is_none_or(|read| read.is_err()), "{end}");
        }
    }
}
