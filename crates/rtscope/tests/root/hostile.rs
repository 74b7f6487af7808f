//! As root, with a hostile user: random targets and captures of that user (a FIFO, socket, device, link,
//! directory or growing file in place of each name; reused process numbers; memory that changes) against every
//! command that takes a process or a capture. None hangs, writes outside, shows what only root may read, uses
//! much memory or prints terminal control sequences; statuses are the documented ones. A failure names its
//! seed; `slow_hostile` draws many more.

use testkit::hostile;

#[test]
fn root_no_hostile_process_steers_rtscope() {
    hostile::draw(40, hostile::processes::one);
}

#[test]
fn root_no_hostile_capture_steers_rtscope() {
    hostile::draw(80, hostile::captures::one);
}
