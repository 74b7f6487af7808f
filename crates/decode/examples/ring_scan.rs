//! Reads the rings of an OCaml program and prints what was counted: version, speed,
//! events by type, losses. `ring_scan FILE [VERSION|-] [report|all|none|pauses] [types]`
#![allow(clippy::print_stdout)]

use rtscope_decode::ocaml_ring::{Rings, Version};
use rtscope_model::{Class, Classes};
use std::sync::Arc;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let path = args.get(1).ok_or("a ring, please")?;
    let version = args.get(2).filter(|text| *text != "-").map(|text| Version::parse(text)).transpose()?;
    let pauses = Classes::NONE.with(Class::Collection);
    let classes = match args.get(3).map_or("report", String::as_str) {
        "all" => Classes::ALL,
        "none" => Classes::NONE,
        "pauses" => pauses,
        _ => pauses.with(Class::Heap).with(Class::Lanes),
    };
    let begin = Instant::now();
    let rings = Rings::open(Arc::new(std::fs::File::open(path)?), version)?;
    println!("OCaml {} ({:?}), told in {:?}", rings.version(), rings.version().by, begin.elapsed());
    let begin = Instant::now();
    let mut stream = rings.stream(classes);
    let events = stream.by_ref().count();
    let seconds = begin.elapsed().as_secs_f64();
    let tally = stream.tally();
    let speed = tally.bytes as f64 / seconds / 1e9;
    println!("{events} events of {}, {} bytes, {seconds:.3} s, {speed:.2} GB/s", tally.events(), tally.bytes);
    tally.losses.iter().for_each(|loss| println!("{loss:?}"));
    for kind in tally.by_type.iter().filter(|_| args.get(4).is_some()) {
        println!("{:>10} {}", kind.count, kind.name);
    }
    Ok(())
}
