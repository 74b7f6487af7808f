//! What each rule says, and when it is silent.

use super::*;

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
