//! Slow: many draws of what `root_hostile` draws a few of, including all commands, names and kinds together.

use testkit::hostile;

#[test]
fn slow_no_hostile_process_steers_rtscope_in_many_draws() {
    hostile::draw(840, hostile::processes::one);
}

#[test]
fn slow_no_hostile_capture_steers_rtscope_in_many_draws() {
    hostile::draw(2431, hostile::captures::one);
}
