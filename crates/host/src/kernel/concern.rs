//! Filters the kernel's records to those that concern the program. On a busy machine most records say which of the
//! other programs' threads wakes which, or repeat a switch. Owns which threads are known to be foreign; keeps
//! whatever is uncertain, and every switch: the thread that had a CPU explains why the program did not.

use super::records::{EXIT, FORK, SAMPLE, header, split, word};
use super::tracefs::Description;
use rtscope_decode::sched::{Integer, ThreadName, TracepointFormat};
use std::collections::{HashMap, HashSet};

const RECORD_SWITCH_CPU_WIDE: u32 = 15;
const SWITCH_OUT: u16 = 1 << 13;
/// Offsets of the process and of the tracepoint's own record in a sample of `TID | TIME | CPU | RAW`.
const SAMPLE_PID: usize = 8;
const SAMPLE_RAW: usize = 36;
/// A fork on another CPU may be read a round later: until then a new thread's process is not known.
const ROUNDS: u64 = 2;
/// Threads remembered: more than most machines have.
const THREADS_MAX: usize = 1 << 17;

/// What is known about other programs' threads.
#[derive(Debug)]
pub struct Concern {
    /// Offset of the thread's number in tracepoints about one thread, by their id.
    about: HashMap<u16, Integer>,
    has_switch: bool,
    /// Process of each thread.
    threads: HashMap<u32, u32>,
    /// New threads, with the round in which they began.
    coming: Vec<(u64, u32, u32)>,
    round: u64,
}

impl Concern {
    /// For streams of these tracepoints.
    pub fn new(tracepoints: &[Description]) -> Concern {
        let of_one = |point: &&Description| matches!(&*point.name, "sched_waking" | "sched_migrate_task");
        let place = |point: &Description| {
            Some((u16::try_from(point.id).ok()?, TracepointFormat::parse(&point.format).integer("pid")?))
        };
        Concern {
            about: tracepoints.iter().filter(of_one).filter_map(place).collect(),
            has_switch: tracepoints.iter().any(|point| point.name == "sched_switch"),
            threads: HashMap::new(),
            coming: Vec::new(),
            round: 0,
        }
    }

    /// Takes in existing threads, of any process.
    pub fn know(&mut self, threads: &[ThreadName]) {
        self.threads.extend(threads.iter().take(THREADS_MAX).map(|thread| (thread.tid, thread.pid)));
    }

    /// All rings were read once more.
    pub fn end_round(&mut self) {
        self.round += 1;
        let known = self.coming.iter().take_while(|(round, ..)| round + ROUNDS <= self.round).count();
        for (_, tid, pid) in self.coming.drain(..known) {
            if self.threads.len() < THREADS_MAX {
                self.threads.insert(tid, pid);
            }
        }
    }

    /// Appends those records in `bytes` that concern the processes of `family` to `kept`; all, if the family is empty.
    pub fn keep(&mut self, bytes: &[u8], family: &HashSet<u32>, kept: &mut Vec<u8>) {
        let (mut rest, mut from) = (bytes, 0);
        while let Some((record, after)) = split(rest) {
            let begin = bytes.len() - rest.len();
            if !self.concerns(record, family) {
                kept.extend_from_slice(bytes.get(from..begin).unwrap_or_default());
                from = begin + record.len();
            }
            rest = after;
        }
        // The rest, including a partial record.
        kept.extend_from_slice(bytes.get(from..).unwrap_or_default());
    }

    fn concerns(&mut self, record: &[u8], family: &HashSet<u32>) -> bool {
        let Some((kind, _)) = header(record) else { return true };
        match kind {
            SAMPLE => !self.is_of_others(record, family).unwrap_or(false),
            // The tracepoint says this and more.
            RECORD_SWITCH_CPU_WIDE => !(self.has_switch && misc(record) & SWITCH_OUT != 0),
            FORK => {
                if let (Some(pid), Some(tid)) = (word(record, 8), word(record, 16)) {
                    self.threads.remove(&tid);
                    self.coming.push((self.round, tid, pid));
                }
                true
            }
            EXIT => {
                word(record, 16).map(|tid| self.threads.remove(&tid));
                true
            }
            _ => true,
        }
    }

    /// Whether a thread of another program acts on a thread of another program.
    fn is_of_others(&self, record: &[u8], family: &HashSet<u32>) -> Option<bool> {
        let raw = record.get(SAMPLE_RAW..)?;
        let id = u16::from_ne_bytes(*raw.first_chunk()?);
        let target = self.about.get(&id)?.read_u32(raw)?;
        let of_family = |pid: &u32| family.contains(pid);
        let known = self.threads.get(&target)?;
        Some(!family.is_empty() && !of_family(known) && !of_family(&word(record, SAMPLE_PID)?))
    }
}

/// The flags of a record's header.
fn misc(record: &[u8]) -> u16 {
    record.get(4..).and_then(|bytes| bytes.first_chunk()).map_or(0, |bytes| u16::from_ne_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAKING: u64 = 41;

    fn concern() -> Concern {
        let format = "\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n".to_owned();
        let point = |name: &str, id| Description { name: name.to_owned(), id, format: format.clone() };
        let mut concern = Concern::new(&[point("sched_switch", 40), point("sched_waking", WAKING)]);
        concern.know(&[(1, 1), (2, 1), (7, 7), (8, 7)].map(|(tid, pid)| ThreadName { tid, pid, comm: String::new() }));
        concern
    }

    fn record(kind: u32, misc: u16, words: &[u32]) -> Vec<u8> {
        let size = 8 + 4 * words.len() as u16;
        let body = words.iter().flat_map(|word| word.to_ne_bytes());
        [&kind.to_ne_bytes()[..], &misc.to_ne_bytes(), &size.to_ne_bytes()].concat().into_iter().chain(body).collect()
    }

    /// A thread of process `by` wakes `target`.
    fn waking(by: u32, target: u32) -> Vec<u8> {
        let mut words = [0; 16];
        (words[0], words[6], words[7]) = (by, 32, WAKING as u32);
        words[7 + 6] = target;
        record(SAMPLE, 0, &words)
    }

    fn kept(concern: &mut Concern, records: &[Vec<u8>]) -> Vec<bool> {
        let family = HashSet::from([7]);
        records
            .iter()
            .map(|record| {
                let mut kept = Vec::new();
                concern.keep(record, &family, &mut kept);
                assert!(kept.is_empty() || kept == *record);
                !kept.is_empty()
            })
            .collect()
    }

    #[test]
    fn what_others_do_to_others_is_left_out() {
        let records = [waking(1, 2), waking(1, 8), waking(7, 2), waking(1, 99), record(SAMPLE, 0, &[1; 16])];
        assert_eq!(kept(&mut concern(), &records), [false, true, true, true, true]);
        let mut all = Vec::new();
        concern().keep(&records.concat(), &HashSet::from([7]), &mut all);
        assert_eq!(all, records[1..].concat());
        let mut without_family = Vec::new();
        concern().keep(&records.concat(), &HashSet::new(), &mut without_family);
        assert_eq!(without_family, records.concat());
    }

    #[test]
    fn a_switch_is_reported_once() {
        let wide = |misc| record(RECORD_SWITCH_CPU_WIDE, misc, &[1; 6]);
        assert_eq!(kept(&mut concern(), &[wide(SWITCH_OUT), wide(0)]), [false, true]);
        assert_eq!(kept(&mut Concern::new(&[]), &[wide(SWITCH_OUT), wide(0)]), [true, true]);
    }

    #[test]
    fn a_new_thread_is_anyones_for_two_rounds() {
        let mut concern = concern();
        let fork = record(FORK, 0, &[1, 1, 99, 1]);
        assert_eq!(kept(&mut concern, &[fork, waking(1, 99)]), [true, true]);
        concern.end_round();
        assert_eq!(kept(&mut concern, &[waking(1, 99)]), [true]);
        concern.end_round();
        let exit = record(EXIT, 0, &[1, 1, 99, 1]);
        assert_eq!(kept(&mut concern, &[waking(1, 99), exit, waking(1, 99)]), [false, true, true]);
    }

    #[test]
    fn damaged_records_are_kept() {
        let whole = waking(1, 2);
        for end in 0..whole.len() {
            let mut kept = Vec::new();
            concern().keep(&whole[..end], &HashSet::from([7]), &mut kept);
            assert_eq!(kept, whole[..end]);
        }
    }
}
