//! Slow: what `root_hostile` draws a few of, many times; all commands, names and kinds together among them.

use testkit::hostile;

#[test]
fn slow_no_hostile_process_steers_rtscope_in_many_draws() {
    hostile::draw(840, hostile::processes::one);
}

#[test]
fn slow_no_hostile_capture_steers_rtscope_in_many_draws() {
    hostile::draw(2431, hostile::captures::one);
}
