//! What each rule says, and when it is silent.

use super::*;

#[test]
fn durations_read_like_a_person_writes_them() {
    let cases = [
        (999, "999 ns"),
        (16_000, "16.0 us"),
        (347_000_000, "347 ms"),
        (2_010_000_000, "2.01 s"),
        (999_600, "1.00 ms"),
    ];
    for (ns, text) in cases {
        assert_eq!(duration(ns), text);
    }
    assert_eq!((percent(0.6666), percent(0.034)), ("67 %".to_owned(), "3.4 %".to_owned()));
    assert_eq!((cpus(2.0), cpus(0.5)), ("2".to_owned(), "0.5".to_owned()));
}

#[test]
fn severity_follows_the_share() {
    let all = [0.01, 0.05, 0.3].map(severity);
    assert_eq!(all, [Severity::Note, Severity::Warning, Severity::Severe]);
}

#[test]
fn every_rule_has_its_page() {
    for rule in RULES {
        let page = format!("{}/../../docs/findings/{}.md", env!("CARGO_MANIFEST_DIR"), rule.id());
        let text = std::fs::read_to_string(&page).unwrap_or_default();
        assert!(text.starts_with(&format!("# `{}`", rule.id())), "{page}");
    }
}
