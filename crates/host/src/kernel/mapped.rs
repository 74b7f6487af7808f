//! The mappings of a process that is already running, as the records that making them
//! would have left. Owns `/proc/PID/maps` and that form; refuses what is not executable.

use crate::system::procfs::Host;
use crate::target::mappings::{self, Mapping};
use rtscope_model::{Pid, Time};
use std::path::Path;

const MMAP2: u32 = 10;
const MISC_USER: u16 = 2;
const PROT_READ_EXEC: u32 = 5;
const MAP_PRIVATE: u32 = 2;
/// Longer paths do not fit in a record.
const PATH_MAX: usize = 4096;

/// A record for each executable mapping, stamped with `time` and `cpu`; none
/// if the process cannot be read.
pub fn records(root: &Path, pid: Pid, time: Time, cpu: u16) -> Vec<u8> {
    records_of(&Host::at(root).process_text(pid.0, "maps").unwrap_or_default(), pid, time, cpu)
}

pub fn records_of(text: &str, pid: Pid, time: Time, cpu: u16) -> Vec<u8> {
    let mapped = mappings::parse(text);
    let code = mapped.iter().filter(|mapping| mapping.executable && mapping.name.len() < PATH_MAX);
    code.filter_map(|mapping| record(mapping, pid, time, cpu)).flatten().collect()
}

fn record(mapping: &Mapping, pid: Pid, time: Time, cpu: u16) -> Option<Vec<u8>> {
    let path = if mapping.name.is_empty() { "//anon" } else { &mapping.name };
    let (range, (major, minor)) = (&mapping.range, mapping.device);
    let mut name = path.as_bytes().to_vec();
    name.resize((name.len() + 1).next_multiple_of(8), 0);
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<u8>>();
    let longs = |longs: &[u64]| longs.iter().flat_map(|long| long.to_ne_bytes()).collect::<Vec<u8>>();
    let body = [
        words(&[pid.0, pid.0]),
        longs(&[range.start, range.end.checked_sub(range.start)?, mapping.offset]),
        words(&[major, minor]),
        longs(&[mapping.inode, 0]),
        words(&[PROT_READ_EXEC, MAP_PRIVATE]),
        name,
        // What `sample_id_all` appends to every record.
        words(&[pid.0, pid.0]),
        longs(&[time.0]),
        words(&[u32::from(cpu), 0]),
        longs(&[0]),
    ]
    .concat();
    let size = u16::try_from(8 + body.len()).ok()?;
    Some([&MMAP2.to_ne_bytes()[..], &MISC_USER.to_ne_bytes(), &size.to_ne_bytes(), &body].concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtscope_decode::ReadAt;
    use rtscope_decode::code::Samples;
    use rtscope_model::manifest::Code;
    use std::fs;
    use std::sync::Arc;

    const MAPS: &str = "\
55d0c0a00000-55d0c0a10000 r--p 00000000 fd:01 1234                       /opt/my prog
55d0c0a10000-55d0c0a20000 r-xp 00010000 fd:01 1234                       /opt/my prog
7f0000000000-7f0000001000 rwxp 00000000 00:00 0 
7ffc0000a000-7ffc0000c000 r-xp 00000000 00:00 0                          [vdso]
nonsense
";

    #[test]
    fn what_is_executable_becomes_a_record_that_the_decoder_reads() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("proc/7")).unwrap();
        fs::write(root.path().join("proc/7/maps"), MAPS).unwrap();
        let bytes = records(root.path(), Pid(7), Time(100), 3);
        let code = Code { streams: vec!["code/cpu3.perf".into()], sample_type: 0x110a7, ..Code::default() };
        let mut samples = Samples::open(&code, vec![Arc::new(bytes) as Arc<dyn ReadAt>]).unwrap();
        assert_eq!(samples.by_ref().count(), 0);
        assert_eq!(samples.losses(), []);
        let paths: Vec<_> = samples.modules().iter().map(|module| (module.path.as_str(), module.inode)).collect();
        assert_eq!(paths, [("/opt/my prog", 1234), ("//anon", 0), ("[vdso]", 0)]);
        assert_eq!(samples.modules()[0].device, (0xfd, 1));
        assert!(records(root.path(), Pid(8), Time(100), 3).is_empty());
    }
}
