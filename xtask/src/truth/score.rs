//! Counts hits, misses, false alarms, names and remedies, by workload and by finding, and decides whether the
//! whole is good enough. Owns what counts as what; runs disturbed by other load only count separately.

use super::journal::{Attempt, Cure, Read};
use crate::statistics::median;
use crate::workload::NOTHING;
use std::collections::BTreeMap;

/// A number of successes out of a number of cases.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// Number of successes.
    pub yes: usize,
    /// Number of cases.
    pub of: usize,
}

impl Share {
    fn add(&mut self, yes: bool) {
        self.yes += usize::from(yes);
        self.of += 1;
    }

    /// Whether it reaches this many per cent; with no cases it does.
    pub fn reaches(self, percent: usize) -> bool {
        self.yes * 100 >= self.of * percent
    }
}

/// What is counted for a workload as well as for a finding.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScoreFigures {
    /// Runs on a quiet machine in which the truth came first.
    pub hits: Share,
    /// Hits among the runs that other load disturbed.
    pub dirty: Share,
    /// Runs with two causes in which the larger came first and the other was found.
    pub both: Share,
    /// Hits that named the code, of those that had to.
    pub named: Share,
    /// Hits whose time still had a name with the rule left out.
    pub without: Share,
    /// Remedies that improved the figure they name, of those tried.
    pub cures: Share,
    /// The figure after over that before, for each tried remedy with both.
    pub ratios: Vec<f64>,
    /// How often it was a false first finding (for a workload: how often there was one).
    pub false_first: usize,
    /// How often it was a false later finding.
    pub false_later: usize,
}

impl ScoreFigures {
    fn run(&mut self, run: &Attempt) {
        if run.dirty {
            return self.dirty.add(run.hit());
        }
        self.hits.add(run.hit());
        if let Some(both) = run.both() {
            self.both.add(both);
        }
        if let Some(named) = run.named.filter(|_| run.hit()) {
            self.named.add(named);
        }
        if let Some(named) = run.named_without {
            self.without.add(named);
        }
    }

    fn cure(&mut self, cure: &Cure) {
        if !cure.dirty {
            self.cures.add(cure.improved());
            self.ratios.extend(cure.ratio());
        }
    }

    fn alarm(&mut self, first: bool) {
        *if first { &mut self.false_first } else { &mut self.false_later } += 1;
    }

    /// The median of after over before.
    pub fn ratio(&self) -> Option<f64> {
        (!self.ratios.is_empty()).then(|| median(&self.ratios))
    }
}

/// The figures of one workload.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OfWorkload {
    /// Name of the workload.
    pub name: String,
    /// Its truth; empty before its first run.
    pub expect: String,
    /// The counts.
    pub figures: ScoreFigures,
    /// Hits by toolchain.
    pub on: BTreeMap<String, Share>,
    /// Findings that were not expected, and how often.
    pub wrong: BTreeMap<String, usize>,
    /// The remedy as it was last applied.
    pub applied: String,
}

/// The figures of a whole suite.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Score {
    /// Workloads in the plan's order.
    pub workloads: Vec<OfWorkload>,
    /// Figures by finding id.
    pub findings: BTreeMap<String, ScoreFigures>,
    /// Planned runs of each workload.
    pub planned: usize,
}

/// A requirement on a suite.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Demand {
    /// What is counted.
    pub what: &'static str,
    /// The counted share.
    pub share: Share,
    /// The required per cent.
    pub at_least: usize,
}

impl Demand {
    /// Whether it is met; with no cases it is, as there was nothing to measure.
    pub fn met(&self) -> bool {
        self.share.reaches(self.at_least)
    }
}

impl Score {
    /// The score of a journal.
    pub fn of(read: &Read) -> Score {
        let named = |name: &String| OfWorkload { name: name.clone(), ..OfWorkload::default() };
        let workloads = read.plan.workloads.iter().map(named).collect();
        let mut score = Score { workloads, planned: read.plan.runs, ..Score::default() };
        read.runs.iter().for_each(|run| score.run(run));
        read.cures.iter().for_each(|cure| score.cure(cure));
        score
    }

    fn run(&mut self, run: &Attempt) {
        self.findings.entry(run.expect.clone()).or_default().run(run);
        let Some(workload) = self.workloads.iter_mut().find(|workload| workload.name == run.workload) else { return };
        workload.expect.clone_from(&run.expect);
        workload.figures.run(run);
        if run.dirty {
            return;
        }
        workload.on.entry(run.on.clone()).or_default().add(run.hit());
        if run.error.is_some() {
            *workload.wrong.entry("no report".into()).or_default() += 1;
        } else if run.first() == NOTHING && !run.hit() {
            *workload.wrong.entry(NOTHING.into()).or_default() += 1;
        }
        for alarm in run.false_alarms() {
            let first = alarm == run.first();
            *workload.wrong.entry(alarm.to_owned()).or_default() += 1;
            workload.figures.alarm(first);
            self.findings.entry(alarm.to_owned()).or_default().alarm(first);
        }
    }

    fn cure(&mut self, cure: &Cure) {
        self.findings.entry(cure.finding.clone()).or_default().cure(cure);
        if let Some(workload) = self.workloads.iter_mut().find(|workload| workload.name == cure.workload) {
            workload.figures.cure(cure);
            if !cure.applied.is_empty() {
                workload.applied.clone_from(&cure.applied);
            }
        }
    }

    /// What a suite must reach.
    pub fn demands(&self) -> [Demand; 7] {
        let sum = |each: &dyn Fn(&OfWorkload) -> Share| {
            self.workloads
                .iter()
                .map(each)
                .fold(Share::default(), |sum, share| Share { yes: sum.yes + share.yes, of: sum.of + share.of })
        };
        let ill =
            |workload: &OfWorkload| if workload.expect == NOTHING { Share::default() } else { workload.figures.hits };
        let healthy =
            |workload: &OfWorkload| if workload.expect == NOTHING { workload.figures.hits } else { Share::default() };
        let quiet =
            |workload: &OfWorkload| Share { yes: usize::from(workload.figures.hits.of * 2 >= self.planned), of: 1 };
        [
            Demand { what: "right finding first", share: sum(&ill), at_least: 95 },
            Demand { what: "two causes found, the larger first", share: sum(&|it| it.figures.both), at_least: 90 },
            Demand { what: "healthy runs without an alarm", share: sum(&healthy), at_least: 100 },
            Demand { what: "remedies that improve what they name", share: sum(&|it| it.figures.cures), at_least: 90 },
            Demand { what: "hits that name the code", share: sum(&|it| it.figures.named), at_least: 95 },
            Demand { what: "time named without its rule", share: sum(&|it| it.figures.without), at_least: 100 },
            Demand { what: "workloads with half of their runs on a quiet machine", share: sum(&quiet), at_least: 100 },
        ]
    }

    /// Whether all demands are met.
    pub fn passes(&self) -> bool {
        self.demands().iter().all(Demand::met)
    }
}

#[cfg(test)]
mod tests {
    use super::super::journal::{Promise, SuitePlan};
    use super::*;

    fn read(workloads: &[&str], runs: Vec<Attempt>, cures: Vec<Cure>) -> Read {
        let plan = SuitePlan {
            schema: SuitePlan::schema(),
            seed: 1,
            runs: 20,
            workloads: workloads.iter().map(|name| (*name).to_owned()).collect(),
            toolchains: vec!["ghc-9.0".into(), "ghc-9.6".into()],
            noise_max: 0.05,
            repeats: 1,
            remedies_every: 1,
            ..SuitePlan::default()
        };
        Read { plan, runs, cures, cut: 0 }
    }

    fn run(workload: &str, expect: &str, found: &[&str]) -> Attempt {
        let found = found.iter().map(|id| (*id).to_owned()).collect();
        Attempt { workload: workload.into(), expect: expect.into(), on: "ghc-9.6".into(), found, ..Attempt::default() }
    }

    fn share(yes: usize, of: usize) -> Share {
        Share { yes, of }
    }

    #[test]
    fn one_miss_in_twenty_is_allowed_two_are_not() {
        let mut runs = vec![run("a", "preempted", &["preempted"]); 19];
        runs.push(run("a", "preempted", &[]));
        let score = Score::of(&read(&["a"], runs.clone(), Vec::new()));
        assert!(score.passes(), "{:?}", score.demands());
        assert_eq!(score.workloads[0].wrong, [(NOTHING.to_owned(), 1)].into());
        runs[0] = Attempt { error: Some("no report".into()), ..run("a", "preempted", &[]) };
        let score = Score::of(&read(&["a"], runs, Vec::new()));
        assert_eq!((score.findings["preempted"].hits, score.passes()), (share(18, 20), false));
        assert_eq!(score.workloads[0].on["ghc-9.6"], share(18, 20));
    }

    #[test]
    fn an_alarm_counts_where_it_was_raised_and_for_what_raised_it() {
        let mut runs =
            vec![run("ill", "late", &["late", "preempted", "known"]), run("healthy", NOTHING, &["late", "preempted"])];
        runs[0].also = vec!["known".into()];
        let score = Score::of(&read(&["ill", "healthy"], runs, Vec::new()));
        let alarms = |id: &str| (score.findings[id].false_first, score.findings[id].false_later);
        assert_eq!((alarms("late"), alarms("preempted")), ((1, 0), (0, 2)));
        assert_eq!(score.findings["late"].hits, share(1, 1));
        assert!(!score.findings.contains_key("known"));
        assert_eq!(score.demands()[2].share, share(0, 1));
        assert!(!score.passes());
    }

    #[test]
    fn of_two_causes_both_have_to_be_found_and_the_larger_first() {
        let two = |found: &[&str]| Attempt { second: Some("less".into()), ..run("pair", "more", found) };
        let runs = vec![two(&["more", "less"]), two(&["less", "more"]), two(&["more"]), run("one", "more", &["more"])];
        let score = Score::of(&read(&["pair", "one"], runs, Vec::new()));
        let pair = &score.workloads[0].figures;
        assert_eq!((pair.hits, pair.both), (share(2, 3), share(1, 3)));
        assert_eq!(pair.false_first + pair.false_later, 0, "both are true");
        assert_eq!(score.demands()[1].share, share(1, 3));
    }

    #[test]
    fn a_dirty_run_decides_nothing_but_is_counted() {
        let dirty = |found: &[&str]| Attempt { dirty: true, ..run("healthy", NOTHING, found) };
        let mut runs = vec![run("healthy", NOTHING, &[]); 10];
        runs.extend([dirty(&["preempted"]), dirty(&[])]);
        let score = Score::of(&read(&["healthy"], runs.clone(), Vec::new()));
        assert_eq!((score.workloads[0].figures.dirty, score.workloads[0].figures.hits), (share(1, 2), share(10, 10)));
        assert!(score.passes() && !score.findings.contains_key("preempted"));
        // Fewer than half of 20 runs are clean: nothing was shown.
        let score = Score::of(&read(&["healthy"], runs.split_off(1), Vec::new()));
        assert!(!score.passes());
    }

    #[test]
    fn names_and_remedies_have_bounds_of_their_own() {
        let mut runs = vec![Attempt { named: Some(true), ..run("a", "late", &["late"]) }; 19];
        runs.push(Attempt { named: Some(false), ..run("a", "late", &["late"]) });
        // A miss names nothing, but it is already counted as a miss.
        runs.push(Attempt { named: Some(false), ..run("a", "late", &[]) });
        let promise = Promise { before: Some(10.0), ..Promise::default() };
        let cure = |after| Cure {
            workload: "a".into(),
            finding: "late".into(),
            promise: promise.clone(),
            after,
            ..Cure::default()
        };
        let mut cures = vec![cure(Some(5.0)); 9];
        cures.push(cure(Some(11.0)));
        cures.push(Cure { dirty: true, ..cure(Some(50.0)) });
        let score = Score::of(&read(&["a"], runs.clone(), cures.clone()));
        let figures = &score.findings["late"];
        assert_eq!((figures.named, figures.cures, figures.ratio()), (share(19, 20), share(9, 10), Some(0.5)));
        assert!(score.passes(), "{:?}", score.demands());
        cures.push(cure(None));
        assert!(!Score::of(&read(&["a"], runs.clone(), cures)).passes());
        runs[0].named = Some(false);
        assert!(!Score::of(&read(&["a"], runs, Vec::new())).passes());
    }
}
