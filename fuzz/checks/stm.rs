//! Any bytes as a block of counters from a program's memory, and as lines of a capture: a block is
//! refused or read within its bounds, and lines that were read are written the same.

use rtscope_decode::capture::StmStream;
use rtscope_decode::capture::stm::write_line;
use rtscope_decode::stm::{Header, candidates, fill_commits, named};
use rtscope_model::StmLine;
use std::ops::Range;

/// # Panics
/// If a check fails.
pub fn check(bytes: &[u8]) {
    block(bytes);
    lines(bytes);
}

fn block(bytes: &[u8]) {
    assert!(candidates(bytes, 8).all(|at| at.is_multiple_of(8) && at - 8 < bytes.len() as u64));
    let Ok(header) = Header::parse(bytes) else { return };
    let ranges = [header.lane_range(u32::MAX), header.lane_range(2), header.name_range(), header.last_lane().1];
    assert!(ranges.iter().all(|range| range.start <= range.end && range.end <= 1 << 24));
    let part = |range: &Range<u64>| {
        let end = (range.end as usize).min(bytes.len());
        bytes.get(range.start as usize..end).unwrap_or_default()
    };
    assert!(header.named_range(u32::MAX).start <= header.named_range(u32::MAX).end);
    assert!(named(bytes).count() <= bytes.len() / 32);
    let mut lanes = header.lanes(part(&ranges[0]));
    assert!(lanes.iter().zip(header.lanes(part(&ranges[1]))).all(|(one, other)| *one == other));
    fill_commits(lanes.iter_mut());
    assert!(lanes.iter().all(|lane| lane.commits <= lane.attempts));
    assert!(header.names(part(&ranges[2])).len() <= header.names as usize);
    assert!(header.lanes(part(&ranges[3])).len() <= 1);
    // Any bytes in place of lanes and names.
    header.lanes(bytes);
    header.names(bytes);
}

fn lines(bytes: &[u8]) {
    let mut stream = StmStream::new(bytes);
    let read: Vec<StmLine> = stream.by_ref().collect();
    let pieces = bytes.split(|byte| *byte == b'\n').count() + bytes.len() / 4096;
    assert!(read.len() <= pieces && stream.losses().iter().all(|loss| loss.count as usize <= pieces));
    let mut written = Vec::new();
    read.iter().for_each(|line| write_line(&mut written, line));
    // A text can become longer when it is written.
    if written.split(|byte| *byte == b'\n').all(|line| line.len() < 4096) {
        assert!(StmStream::new(&written[..]).eq(read));
    }
}
