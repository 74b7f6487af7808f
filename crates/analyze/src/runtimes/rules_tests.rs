//! What holds for the rules of every runtime: each has its own name, place and page.

use super::*;
use std::collections::BTreeSet;

fn docs(name: &str) -> String {
    let path = format!("{}/../../docs/findings/{name}.md", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_default()
}

#[test]
fn ids_and_places_are_unique() {
    for info in [&UNKNOWN].into_iter().chain(ALL) {
        let rules = rules_of(info);
        let ids: BTreeSet<_> = rules.iter().map(|rule| rule.id).collect();
        let places: BTreeSet<_> = rules.iter().map(|rule| rule.order).collect();
        assert_eq!((ids.len(), places.len()), (rules.len(), rules.len()), "{info}");
        for rule in &rules {
            assert!(!rule.id.is_empty() && !rule.why.is_empty(), "{}", rule.id);
        }
    }
}

#[test]
fn a_rule_yields_to_rules_that_exist() {
    let all: Vec<_> = ALL.iter().flat_map(|info| rules_of(info)).collect();
    for rule in &all {
        for better in rule.yields_to {
            assert!(all.iter().any(|other| other.id == *better), "{} yields to {better}", rule.id);
        }
        for part in rule.explains {
            assert!(all.iter().any(|other| other.id == *part && other.rest), "{} explains {part}", rule.id);
        }
    }
}

#[test]
fn every_rule_has_its_page() {
    for rule in ALL.iter().flat_map(|info| rules_of(info)) {
        assert!(docs(rule.id).starts_with(&format!("# `{}`", rule.id)), "{}", rule.id);
    }
}

#[test]
fn the_thresholds_in_the_documentation_are_those_of_the_rules() {
    assert!(docs("README").contains(&thresholds()), "`cargo xtask findings` prints:\n{}", thresholds());
}
