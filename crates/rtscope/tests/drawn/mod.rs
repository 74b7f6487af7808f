//! Draws a recording into memory, for tests to examine.
#![allow(dead_code, reason = "each test binary takes what it needs")]

use rtscope_analyze::results::{BlamedPause, Results};
use rtscope_levels::{Item, Reader, Writer, tile_at};
use rtscope_model::Pause;
use rtscope_read::input;
use rtscope_read::pipeline::{self, Options};
use rtscope_view::tracks::{SessionParts, Tracks};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// A drawn recording.
pub struct Drawn {
    pub results: Results,
    pub blamed: Vec<BlamedPause>,
    pub parts: SessionParts,
    pub reader: Reader,
}

fn options(path: &Path) -> Options {
    Options { threads: 2, ..Options::new(path) }
}

/// Draws a recording, and analyses it once more on its own.
pub fn drawn(path: &Path) -> Drawn {
    let input = input::open(path, None).unwrap();
    let mut tracks = Tracks::new(Writer::new(Vec::new()).unwrap()).unwrap();
    let (results, names) = pipeline::watch(&input, &options(path), &mut tracks).unwrap();
    let (writer, parts) = tracks.finish(&results, &names).unwrap();
    let bytes = writer.finish(b"").unwrap();
    let length = bytes.len() as u64;
    let reader = Reader::open(Arc::new(bytes), length).unwrap();
    let mut blamed = Vec::new();
    pipeline::analyse(&input, &options(path), &mut |pause: &BlamedPause, _, _| blamed.push(pause.clone())).unwrap();
    Drawn { results, blamed, parts, reader }
}

impl Drawn {
    /// Its pauses, as the report has them.
    pub fn pauses(&self) -> impl Iterator<Item = &Pause> {
        self.blamed.iter().map(|blamed| &blamed.pause)
    }

    /// The spans of a track, each once.
    pub fn spans(&self, track: u32) -> Vec<Item> {
        let tiles = 0..=tile_at(0, self.reader.end_ns());
        let items = tiles.flat_map(|tile| {
            let items = self.reader.items(track, 0, tile).unwrap();
            items.into_iter().filter(move |item| tile_at(0, item.from) == tile)
        });
        items.collect()
    }

    /// The number of a track.
    pub fn track(&self, group: &str, track: &str) -> Option<u32> {
        let group = self.parts.groups.iter().find(|known| known.name == group)?;
        group.tracks.iter().find(|known| known.name == track).map(|known| known.id)
    }
}

/// Total length of each kind.
pub fn sums(spans: &[Item]) -> BTreeMap<u16, u64> {
    let mut sums = BTreeMap::new();
    spans.iter().for_each(|span| *sums.entry(span.kind).or_default() += span.covered_ns);
    sums
}
