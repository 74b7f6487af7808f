//! What is recorded of a study, so that it can go on after a kill and others can read it. Owns the
//! records of a study and of each trial; refuses to know where they are stored.

use super::course::Taken;
use super::design::Design;
use super::space::{NoSpace, Space};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The parameters of a study: with its rows, everything that its answer depends on.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Description {
    /// Version of the rtscope that began it.
    pub version: String,
    /// The program that is run.
    pub program: String,
    /// Its arguments.
    pub argv: Vec<String>,
    /// The configurations: words separated by spaces.
    pub names: Vec<String>,
    /// Number of the default, which is to be beaten.
    pub default: usize,
    /// Number of the configuration that rules give without a trial; `None`: there is none, or it cannot be tried.
    pub plan: Option<usize>,
    /// Budget, seed and allowed errors.
    pub design: Design,
    /// The figure to minimize: `wall_seconds`, `p99`.
    pub objective: String,
    /// Limits that a configuration must keep, in the user's words.
    pub limits: Vec<String>,
    /// Name of the algorithm that proposes configurations.
    pub proposer: String,
    /// Description of the machine that it ran on.
    pub machine: String,
    /// What its trials belong to.
    pub kind: StudyKind,
}

/// What the trials in a file belong to.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StudyKind {
    /// A whole study, from check to fresh blocks.
    Search,
    /// One block of a distributed job.
    Block {
        /// Index of the block, from 0.
        index: u32,
        /// Number of blocks in the job.
        of: u32,
    },
    /// Merged blocks of a job.
    Merged {
        /// Number of blocks in the job, including missing ones.
        of: u32,
    },
}

impl Description {
    /// The space of its configurations.
    ///
    /// # Errors
    /// There is nothing to compare, or too much.
    pub fn space(&self) -> Result<Space, NoSpace> {
        Space::new(self.names.clone(), self.default)
    }

    /// The first difference in `other` that matters, in words; `None`: its rows continue this study. The
    /// version and the machine may differ: rtscope may be updated and the host renamed.
    pub fn differs(&self, other: &Description) -> Option<&'static str> {
        let same = [
            (self.program == other.program, "program"),
            (self.argv == other.argv, "arguments"),
            (self.names == other.names, "configurations"),
            (self.default == other.default, "default"),
            (self.plan == other.plan, "plan"),
            (self.design == other.design, "budget, seed or intervals"),
            (self.objective == other.objective, "objective"),
            (self.limits == other.limits, "limits"),
            (self.proposer == other.proposer, "proposer"),
            (self.kind == other.kind, "block"),
        ];
        same.into_iter().find(|(same, _)| !same).map(|(_, what)| what)
    }
}

/// A recorded trial.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Row {
    /// The request and the outcome.
    #[serde(flatten)]
    pub taken: Taken,
    /// Every measured figure by name; the name ends with the unit.
    pub figures: BTreeMap<String, f64>,
    /// Whether other load disturbed it: the study ignores it.
    pub dirty: bool,
    /// How often the same trial had been run before.
    pub attempt: u32,
    /// Its start, nanoseconds since 1970.
    pub started_unix_ns: u64,
    /// What disturbed it, or any other remark.
    pub note: Option<String>,
}

impl Row {
    /// A clean first attempt without figures.
    pub fn new(taken: Taken) -> Row {
        Row { taken, figures: BTreeMap::new(), dirty: false, attempt: 0, started_unix_ns: 0, note: None }
    }
}

/// The trials that the study uses: the rows that nothing disturbed, in order.
pub fn clean(rows: &[Row]) -> Vec<Taken> {
    rows.iter().filter(|row| !row.dirty).map(|row| row.taken.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::course::{Ask, Outcome, Stage};
    use super::*;

    fn description() -> Description {
        Description {
            version: "1".to_owned(),
            program: "churn".to_owned(),
            argv: Vec::new(),
            names: vec!["-A1m".to_owned(), "-A2m".to_owned()],
            default: 0,
            plan: None,
            design: Design::new(24, 1),
            objective: "wall_seconds".to_owned(),
            limits: Vec::new(),
            proposer: "believed".to_owned(),
            machine: "here".to_owned(),
            kind: StudyKind::Search,
        }
    }

    #[test]
    fn another_machine_is_the_same_study_and_another_seed_is_not() {
        let one = description();
        let elsewhere = Description { machine: "there".to_owned(), version: "2".to_owned(), ..one.clone() };
        assert_eq!(one.differs(&elsewhere), None);
        let other = Description { design: Design::new(24, 2), ..one.clone() };
        assert_eq!(one.differs(&other), Some("budget, seed or intervals"));
        assert_eq!(one.space().unwrap().len(), 2);
    }

    #[test]
    fn dirty_rows_are_ignored() {
        let ask = Ask { number: 0, stage: Stage::Check, block: 0, configuration: 0, again: false };
        let row = Row::new(Taken { ask, outcome: Outcome::Measured(2.0) });
        let dirty = Row { dirty: true, taken: Taken { ask, outcome: Outcome::Measured(9.0) }, ..row.clone() };
        let rows = [dirty, row.clone()];
        assert_eq!(clean(&rows), [rows[1].taken.clone()]);
        let text = serde_json::to_string(&row).unwrap();
        assert!(text.contains("\"stage\":\"check\"") && text.contains("\"measured\":2.0"), "{text}");
        assert_eq!(serde_json::from_str::<Row>(&text).unwrap(), row);
    }
}
