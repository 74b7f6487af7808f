//! As root beside a hostile user: random targets and captures of that user's (a FIFO, socket, device, link,
//! directory or growing file in the place of each name; numbers of processes that are given again; memory
//! that changes) against every command that takes a process or a capture. None hangs, writes outside, shows
//! what only root may read, takes much memory or prints what steers a terminal; statuses are the documented
//! ones. A failure names its seed; `slow_hostile` draws many more.

use testkit::hostile;

#[test]
fn root_no_hostile_process_steers_rtscope() {
    hostile::draw(40, hostile::processes::one);
}

#[test]
fn root_no_hostile_capture_steers_rtscope() {
    hostile::draw(80, hostile::captures::one);
}
