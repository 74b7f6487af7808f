//! Streams a log and prints what was counted: speed, memory, records by tag.
//! `eventlog_scan FILE [THREADS] [report|all|none|green] [tags]`
#![allow(clippy::print_stdout)]

use rtscope_decode::ghc_eventlog::{Eventlog, tags};
use rtscope_model::{Class, Classes, ClockMap};
use std::sync::Arc;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let path = args.get(1).ok_or("a log, please")?;
    let threads = args.get(2).map_or(Ok(2), |text| text.parse())?;
    let report = [
        Class::Collection,
        Class::Heap,
        Class::Lanes,
        Class::GreenEdges,
        Class::Tracer,
        Class::Concurrent,
        Class::Sparks,
    ];
    let classes = match args.get(3).map_or("report", String::as_str) {
        "all" => Classes::ALL,
        "none" => Classes::NONE,
        "green" => Classes::NONE.with(Class::Green),
        _ => report.into_iter().fold(Classes::NONE, Classes::with),
    };
    let begin = Instant::now();
    let log = Eventlog::open(Arc::new(std::fs::File::open(path)?), Vec::new())?;
    let opened = begin.elapsed();
    let mut stream = log.stream(classes, ClockMap::LOG_OWN, threads);
    let events = stream.by_ref().count();
    let tally = stream.tally();
    let total = begin.elapsed();
    if args.get(4).is_some() {
        for (tag, count) in &tally.by_tag {
            println!("{tag} {count} {}", tags::info(*tag).map_or("?", |info| info.name));
        }
    }
    let speed = tally.bytes as f64 / total.as_secs_f64() / 1e9;
    println!("{} blocks, {} records, {events} events, {} bytes", log.blocks().len(), tally.events(), tally.bytes);
    println!("open {opened:?}, total {total:?}, {speed:.2} GB/s, complete {}", log.is_complete());
    println!("{:?}", tally.lanes);
    for loss in tally.losses.iter().take(20) {
        println!("{loss:?}");
    }
    let status = std::fs::read_to_string("/proc/self/status")?;
    for line in status.lines().filter(|line| line.starts_with("Rss") || line.starts_with("VmHWM")) {
        println!("{line}");
    }
    Ok(())
}
