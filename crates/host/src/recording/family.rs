//! The program and all its descendants that still run, whatever their parent is now: perf's records show which
//! processes were forked, lists of children which exist. Owns that list. No process is made the parent of another's
//! for it: `getppid` of a daemon is what it is without a recorder.

use crate::kernel::streams::Streams;
use crate::system::procfs::Host;
use std::collections::HashSet;

/// Processes whose children are looked up.
const PARENTS_MAX: usize = 1000;

/// The program `pid`, even if it has ended, and its running descendants. `known`: those that were found
/// before. `now`: including processes forked up to this moment.
pub(super) fn look(host: &Host, pid: u32, known: &[u32], streams: &[&Streams], now: bool) -> Vec<u32> {
    let mut found = vec![pid];
    let mut seen = HashSet::from([pid]);
    let reported = streams.iter().find_map(|streams| Some((streams, streams.family(now)?)));
    let (orphans, gone): (Vec<u32>, Vec<u32>) = match &reported {
        Some((_, reported)) => {
            reported.iter().copied().filter(|other| *other != pid).partition(|other| host.runs(*other))
        }
        None => (known.iter().copied().filter(|other| *other != pid && host.runs(*other)).collect(), Vec::new()),
    };
    reported.iter().for_each(|(streams, _)| streams.gone(&gone));
    found.extend(orphans.into_iter().filter(|orphan| seen.insert(*orphan)));
    let mut next = 0;
    while let Some(parent) = found.get(next).copied().filter(|_| next < PARENTS_MAX) {
        found.extend(host.children(parent).into_iter().filter(|child| seen.insert(*child)));
        next += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn an_orphan_that_was_known_is_kept_with_its_children_while_it_runs() {
        let root = tempfile::tempdir().unwrap();
        for (pid, state, children) in [(10, 'Z', ""), (11, 'S', "12 "), (12, 'S', ""), (13, 'Z', "")] {
            let folder = root.path().join(format!("proc/{pid}/task/{pid}"));
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("children"), children).unwrap();
            let line = format!("{pid} (x) {state} 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 1");
            fs::write(root.path().join(format!("proc/{pid}/stat")), line).unwrap();
        }
        assert_eq!(look(&Host::at(root.path()), 10, &[10, 11, 13], &[], true), [10, 11, 12]);
    }
}
