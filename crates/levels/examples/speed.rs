//! How many spans a second are taken, and what they take: `cargo run --release --example speed -- [SPANS] [TRACKS]`.

use rtscope_levels::{Reader, Span, Writer, tile_at};
use rustix::time::{ClockId, clock_gettime};
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Instant;

/// Keeps what is written, or only counts it.
struct Counting(u64);

impl Write for Counting {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Lengths as they are in logs: most around a microsecond, some long.
fn lengths(seed: u64) -> impl Iterator<Item = u64> {
    let mut state = seed | 1;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let bits = match state % 64 {
            0 => 20,
            1..8 => 14,
            _ => 11,
        };
        200 + (state >> 32) % (1 << bits)
    })
}

fn fill<W: Write>(writer: &mut Writer<W>, spans: u64, tracks: u32) -> io::Result<()> {
    let mut at = vec![0u64; tracks as usize];
    for (index, length) in lengths(7).take(spans as usize).enumerate() {
        // Turns of some spans for each track, as merged events come.
        let track = (index / 4) % tracks as usize;
        let Some(at) = at.get_mut(track) else { continue };
        let span = Span { from: *at, to: *at + length, kind: (index % 5) as u16, detail: 0 };
        *at += length;
        writer.spans(track as u32, span)?;
    }
    Ok(())
}

/// What this process had of a CPU: others may be at work beside it.
fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1).filter_map(|argument| argument.parse::<u64>().ok());
    let spans = arguments.next().unwrap_or(20_000_000);
    let tracks = arguments.next().unwrap_or(16) as u32;
    let mut writer = Writer::new(Counting(0))?;
    let begin = cpu_seconds();
    fill(&mut writer, spans, tracks)?;
    let memory = writer.memory_bytes();
    let bytes = writer.finish(b"")?.0;
    let seconds = cpu_seconds() - begin;
    println!(
        "{spans} spans, {tracks} tracks: {:.1} million spans a second of CPU, {:.1} ns each",
        spans as f64 / seconds / 1e6,
        seconds * 1e9 / spans as f64
    );
    println!(
        "{:.2} bytes a span, {:.1} MiB of memory",
        bytes as f64 / spans as f64,
        memory as f64 / f64::from(1 << 20)
    );

    let mut writer = Writer::new(Vec::new())?;
    fill(&mut writer, spans.min(5_000_000), tracks)?;
    let bytes = writer.finish(b"")?;
    let length = bytes.len() as u64;
    let reader = Reader::open(Arc::new(bytes), length).map_err(io::Error::other)?;
    for level in 0..=reader.top() {
        let tile = tile_at(level, reader.end_ns() / 2);
        let begin = Instant::now();
        let items = reader.items(0, level, tile).map_err(io::Error::other)?;
        println!("level {level}: {} items in {} us", items.len(), begin.elapsed().as_micros());
    }
    Ok(())
}
