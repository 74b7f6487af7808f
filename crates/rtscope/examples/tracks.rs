//! How long a recording's tracks take to be made: `cargo run --release --example tracks -- FILE [OUT]`.

use rtscope::view::tracks::Tracks;
use rtscope::{input, pipeline};
use rtscope_levels::{Reader, Writer};
use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("which recording?")?;
    let out = match arguments.next() {
        Some(path) => File::options().create(true).truncate(true).read(true).write(true).open(path)?,
        None => tempfile::tempfile()?,
    };
    let options = pipeline::Options {
        path: file.clone(),
        log: None,
        threads: std::thread::available_parallelism().map_or(1, usize::from).min(8),
        ocaml_version: None,
        requests: None,
    };
    let begin = Instant::now();
    let input = input::open(Path::new(&file), None).map_err(|trouble| trouble.to_string())?;
    let mut tracks = Tracks::new(Writer::new(BufWriter::with_capacity(1 << 20, out))?)?;
    let (results, names) = pipeline::watch(&input, &options, &mut tracks).map_err(|trouble| trouble.to_string())?;
    let (writer, parts) = tracks.finish(&results, &names)?;
    let (memory, counts) = (writer.memory_bytes(), writer.counts());
    let out = writer.finish(b"{}")?.into_inner().map_err(|error| error.into_error())?;
    let (seconds, length) = (begin.elapsed().as_secs_f64(), out.metadata()?.len());
    println!(
        "{:.3} s, {:.0} MB/s; {} spans, {} values, {} clipped, {} dropped; {length} bytes; {} KiB held",
        seconds,
        results.source.bytes as f64 / seconds / 1e6,
        counts.spans,
        counts.points,
        counts.clipped,
        counts.dropped,
        memory >> 10
    );
    let reader = Reader::open(Arc::new(out), length)?;
    for group in &parts.groups {
        println!("{}", group.name);
        for track in &group.tracks {
            let count = reader.tracks().find(|known| known.id == track.id).map_or(0, |known| known.count);
            println!("  {:3} {} ({count})", track.id, track.name);
        }
    }
    parts.kinds.iter().for_each(|kind| println!("kind {} {} [{}]", kind.id, kind.name, kind.role));
    parts.missing.iter().for_each(|missing| println!("missing: {missing}"));
    Ok(())
}
