//! The account of every log of the corpus adds up, and every pause has one answer to what delayed it.

use crate::answers;
use rtscope_read::{input, pipeline};
use xtask::corpus;

#[test]
fn every_log_is_divided_without_rest() {
    for log in corpus::logs(&["eventlog", "events"]).unwrap() {
        let input = input::open(&log, None).unwrap();
        let (results, _) = pipeline::analyse(&input, &pipeline::Options::new(&log), &mut |_, _, _| {}).unwrap();
        let report = answers::are_one(&log);
        let name = log.display();
        testkit::account::sums_up(&report);
        let account = results.account.as_ref().unwrap_or_else(|| panic!("{name}: no account"));
        assert!(account.sums_up() && account.lanes_ns > 0, "{name}");
        // A log says nothing about CPUs.
        assert!(account.part("no-cpu").is_none() && account.part("kept").is_none(), "{name}: {account:#?}");
    }
}
