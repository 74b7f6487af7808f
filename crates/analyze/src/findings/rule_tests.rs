//! What each rule reports, and when it is silent.

use super::*;

#[test]
fn severity_follows_the_share() {
    let all = [0.01, 0.05, 0.3].map(severity);
    assert_eq!(all, [Severity::Note, Severity::Warning, Severity::Severe]);
}
