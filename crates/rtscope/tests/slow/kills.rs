//! Slow: a hundred recorders killed at random moments.

use testkit::ground;

#[test]
fn slow_a_hundred_killed_recorders_harm_neither_program_nor_capture() {
    let Some(ground) = ground::ground() else { return };
    let kills = ground::kills::kill_recorders(ground, 100);
    println!("{kills:?}");
    assert!(kills.in_between >= 20 && kills.with_pauses >= 10, "the kills came at the wrong moments: {kills:?}");
}
