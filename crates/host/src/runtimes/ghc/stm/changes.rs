//! The differences between two samples of transactions. Owns that nothing is reported twice; a first
//! sample is reported whole, except counts that are 0.

use super::counts::StmLook;
use rtscope_model::{StmCounts, StmNamed, StmSeen};
use std::collections::BTreeMap;

/// What was reported about a process.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    outcomes: Option<bool>,
    mode: Option<u32>,
    lanes: BTreeMap<u16, StmCounts>,
    names: Vec<(String, StmNamed)>,
    attempts: Option<u64>,
}

impl Changes {
    /// Passes to `each` what is new in `look`, and remembers it. `whole`: counts cover the program
    /// from its start on; `why` says why outcomes are not counted, if so.
    pub fn since(&mut self, look: &StmLook, whole: bool, why: Option<&str>, mut each: impl FnMut(StmSeen)) {
        let led = look.outcomes.as_ref().is_some_and(|outcomes| outcomes.led);
        if self.outcomes.replace(led) != Some(led) {
            each(StmSeen::Source { whole, outcomes: led, why: why.filter(|_| !led).map(str::to_owned) });
        }
        if let Some(attempts) = look.attempts
            && self.attempts.replace(attempts) != Some(attempts)
        {
            each(StmSeen::Attempts(attempts));
        }
        let Some(outcomes) = look.outcomes.as_ref().filter(|outcomes| outcomes.led) else { return };
        if self.mode.replace(outcomes.mode) != Some(outcomes.mode) {
            each(StmSeen::Mode(outcomes.mode));
        }
        for (number, lane) in &outcomes.lanes {
            if self.lanes.insert(*number, *lane).unwrap_or_default() != *lane {
                each(StmSeen::Lane(*number, *lane));
            }
        }
        for (number, (name, counts)) in (0..).zip(&outcomes.names) {
            let reported = self.names.get(usize::from(number));
            if reported.is_none_or(|(known, reported)| (known, reported) != (name, counts)) {
                each(StmSeen::Name(number, name.clone(), *counts));
            }
        }
        self.names.clone_from(&outcomes.names);
    }
}

#[cfg(test)]
mod tests {
    use super::super::counts::Outcomes;
    use super::*;

    fn changed(changes: &mut Changes, look: &StmLook) -> Vec<StmSeen> {
        let mut seen = Vec::new();
        changes.since(look, true, Some("why"), |one| seen.push(one));
        seen
    }

    fn lane(attempts: u64) -> StmCounts {
        StmCounts { attempts, ..StmCounts::default() }
    }

    #[test]
    fn only_changes_are_reported() {
        let mut changes = Changes::default();
        let named = StmNamed { attempts: 4, ..StmNamed::default() };
        let outcomes = Outcomes {
            led: true,
            mode: 1,
            crowded: false,
            lanes: vec![(0, lane(0)), (1, lane(5))],
            names: vec![("swap".into(), named)],
        };
        let mut look = StmLook { outcomes: Some(outcomes), attempts: Some(9) };
        let source = StmSeen::Source { whole: true, outcomes: true, why: None };
        let name = StmSeen::Name(0, "swap".into(), named);
        let all = [source, StmSeen::Attempts(9), StmSeen::Mode(1), StmSeen::Lane(1, lane(5)), name];
        assert_eq!(changed(&mut changes, &look), all);
        assert_eq!(changed(&mut changes, &look), []);
        look.outcomes.as_mut().unwrap().lanes[0] = (0, lane(7));
        assert_eq!(changed(&mut changes, &look), [StmSeen::Lane(0, lane(7))]);
        look.attempts = None;
        assert_eq!(changed(&mut changes, &look), [], "a count that was not settled says nothing");
    }

    #[test]
    fn an_uncalled_package_counts_nothing() {
        let mut changes = Changes::default();
        let mut look =
            StmLook { outcomes: Some(Outcomes { lanes: vec![(0, lane(0))], ..Outcomes::default() }), attempts: None };
        let source = StmSeen::Source { whole: true, outcomes: false, why: Some("why".into()) };
        assert_eq!(changed(&mut changes, &look), [source]);
        look.outcomes.as_mut().unwrap().led = true;
        let source = StmSeen::Source { whole: true, outcomes: true, why: None };
        assert_eq!(changed(&mut changes, &look), [source, StmSeen::Mode(0)]);
    }
}
