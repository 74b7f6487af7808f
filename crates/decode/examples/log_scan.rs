//! Reads a log of any format and prints what was counted: speed, events by type, losses.
//! `log_scan FILE [THREADS] [report|all|none|green] [types]`
#![allow(clippy::print_stdout)]

use rtscope_decode::formats::{self, Opening};
use rtscope_model::{Class, Classes};
use std::fs::File;
use std::sync::Arc;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let path = args.get(1).ok_or("a log, please")?;
    let threads = args.get(2).map_or(Ok(2), |text| text.parse())?;
    let report = [
        Class::Collection,
        Class::Figures,
        Class::Heap,
        Class::Lanes,
        Class::GreenEdges,
        Class::Tracer,
        Class::Concurrent,
    ];
    let classes = match args.get(3).map_or("report", String::as_str) {
        "all" => Classes::ALL,
        "none" => Classes::NONE,
        "green" => Classes::NONE.with(Class::Green),
        _ => report.into_iter().fold(Classes::NONE, Classes::with),
    };
    let begin = Instant::now();
    let file = Arc::new(File::open(path)?);
    let format = formats::find(&formats::head(file.as_ref())).ok_or("no log of a format that is known")?;
    let log = format.open(Opening::new(file, path)).map_err(|error| error.to_string())?;
    let (opened, facts) = (begin.elapsed(), log.facts());
    let mut stream = log.events(classes, facts.clock, threads);
    let (mut events, mut batch) = (0, Vec::new());
    loop {
        stream.fill(&mut batch);
        if batch.is_empty() {
            break;
        }
        events += batch.len();
        batch.clear();
    }
    let (counted, total) = (stream.counted(), begin.elapsed());
    let speed = counted.bytes as f64 / total.as_secs_f64() / 1e9;
    println!("{} of {:?} {:?}, {} bytes, {events} events", log.kind(), facts.family, facts.version, counted.bytes);
    println!("open {opened:?}, total {total:?}, {speed:.2} GB/s");
    counted.losses.iter().take(20).for_each(|loss| println!("{loss:?}"));
    for kind in counted.by_type.iter().filter(|_| args.get(4).is_some()) {
        println!("{:>10} {}", kind.count, kind.name);
    }
    Ok(())
}
