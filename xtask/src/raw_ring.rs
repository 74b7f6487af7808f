//! Reads a ring file of OCaml 5 in the simplest correct way: the whole file in memory, one event after the
//! other. It checks rtscope independently, so it must not share code with `decode`. Refuses damaged files.

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The content of a ring file: `NAME.json` next to `NAME.events`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expectation {
    /// Number of events by the version's type and id, `2/11`; user events are `user 1`.
    pub events_by_type: BTreeMap<String, u64>,
    /// Words in the rings, padding included.
    pub words: u64,
    /// Words that each ring has overwritten, if any.
    pub lost_words: BTreeMap<u16, u64>,
    /// Sum of the durations of phases with a begin and an end, by phase number, nested as they must be.
    /// Incomplete phases are left out.
    pub phase_ns: BTreeMap<u16, u64>,
    /// First time stamp.
    pub first: u64,
    /// Last time stamp.
    pub last: u64,
}

struct File<'a>(&'a [u8]);

impl File<'_> {
    fn word(&self, offset: u64) -> Result<u64> {
        let from = usize::try_from(offset)?;
        let bytes = self.0.get(from..from + 8).context("the file ends early")?;
        Ok(u64::from_le_bytes(bytes.try_into()?))
    }
}

impl Expectation {
    /// Computes it from the file.
    pub fn of(bytes: &[u8]) -> Result<Expectation> {
        let file = File(bytes);
        let head: Vec<u64> = (0..8).map(|word| file.word(8 * word)).collect::<Result<_>>()?;
        let [1, rings, head_bytes, ring_bytes, ring_words, heads, data, _] = head[..] else {
            bail!("not a ring file: {head:?}")
        };
        let mut expectation = Expectation { first: u64::MAX, ..Expectation::default() };
        for ring in 0..rings {
            let (oldest, end) = (file.word(heads + ring * head_bytes)?, file.word(heads + ring * head_bytes + 8)?);
            if oldest > 0 {
                expectation.lost_words.insert(u16::try_from(ring)?, oldest);
            }
            expectation.words += end - oldest;
            let mut open: BTreeMap<u16, Vec<u64>> = BTreeMap::new();
            let mut position = oldest;
            while position < end {
                let at = data + ring * ring_bytes + 8 * (position % ring_words);
                let header = file.word(at)?;
                let length = header >> 54;
                ensure!(length > 0, "a length of 0 at word {position} of ring {ring}");
                position += length;
                let (is_user, kind, id) = (header >> 53 & 1 == 1, header >> 49 & 15, (header >> 36 & 0x1fff) as u16);
                if !is_user && kind == 0 {
                    continue;
                }
                let time = file.word(at + 8)?;
                expectation.take(is_user, kind, id, time, &mut open);
            }
        }
        Ok(expectation)
    }

    fn take(&mut self, is_user: bool, kind: u64, id: u16, time: u64, open: &mut BTreeMap<u16, Vec<u64>>) {
        let name = if is_user { format!("user {kind}") } else { format!("{kind}/{id}") };
        *self.events_by_type.entry(name).or_default() += 1;
        self.first = self.first.min(time);
        self.last = self.last.max(time);
        match (is_user, kind) {
            (false, 2) => open.entry(id).or_default().push(time),
            (false, 3) => {
                if let Some(begin) = open.get_mut(&id).and_then(Vec::pop) {
                    *self.phase_ns.entry(id).or_default() += time - begin;
                }
            }
            _ => {}
        }
    }
}
