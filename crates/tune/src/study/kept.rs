//! What is kept of a study, so that it goes on after a kill and can be read by others. Owns
//! the words of a study and of each trial; refuses to know where they are kept.

use super::course::Taken;
use super::design::Design;
use super::space::{NoSpace, Space};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a study is about: with its rows, everything that its answer follows from.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Description {
    /// The rtscope that began it.
    pub version: String,
    /// What was to be run, and its arguments.
    pub program: String,
    /// Without the program's name.
    pub argv: Vec<String>,
    /// The configurations, words with spaces between them.
    pub names: Vec<String>,
    /// Number of the one to beat.
    pub default: usize,
    /// Number of what rules say without a trial; `None`: they say nothing, or it cannot be tried.
    pub plan: Option<usize>,
    /// Budget, seed and errors.
    pub design: Design,
    /// The figure that is to be small: `wall_seconds`, `p99`.
    pub objective: String,
    /// What a configuration must not break, in the user's words.
    pub limits: Vec<String>,
    /// What chose configurations.
    pub proposer: String,
    /// Where it ran, in words.
    pub machine: String,
    /// What its trials are.
    pub kind: Kind,
}

/// What the trials of a file are.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A study from check to fresh blocks.
    Search,
    /// One block of a job.
    Block {
        /// Which one, from 0.
        index: u32,
        /// How many there are.
        of: u32,
    },
    /// Blocks of a job.
    Merged {
        /// How many there are, with those that are missing.
        of: u32,
    },
}

impl Description {
    /// The space.
    ///
    /// # Errors
    /// There is nothing to compare, or too much.
    pub fn space(&self) -> Result<Space, NoSpace> {
        Space::new(self.names.clone(), self.default)
    }

    /// The first thing that is not the same in `other`, in words; `None`: its rows go on
    /// with these. The version and the machine may differ: the program was mended, the host
    /// has another name.
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

/// A trial as it is kept.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Row {
    /// What was asked and what came of it.
    #[serde(flatten)]
    pub taken: Taken,
    /// Whatever was measured, by name, in the unit that the name ends with.
    pub figures: BTreeMap<String, f64>,
    /// Others disturbed it: the study was not told of it.
    pub dirty: bool,
    /// How often the same trial had been run before.
    pub attempt: u32,
    /// When it began, nanoseconds since 1970.
    pub started_unix_ns: u64,
    /// What disturbed it, or anything else worth a word.
    pub note: Option<String>,
}

impl Row {
    /// A clean first attempt without figures.
    pub fn new(taken: Taken) -> Row {
        Row { taken, figures: BTreeMap::new(), dirty: false, attempt: 0, started_unix_ns: 0, note: None }
    }
}

/// What a study was told: the rows that nothing disturbed, in their order.
pub fn told(rows: &[Row]) -> Vec<Taken> {
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
            kind: Kind::Search,
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
    fn dirty_rows_are_not_told() {
        let ask = Ask { number: 0, stage: Stage::Check, block: 0, configuration: 0, again: false };
        let row = Row::new(Taken { ask, outcome: Outcome::Measured(2.0) });
        let dirty = Row { dirty: true, taken: Taken { ask, outcome: Outcome::Measured(9.0) }, ..row.clone() };
        let rows = [dirty, row.clone()];
        assert_eq!(told(&rows), [rows[1].taken.clone()]);
        let text = serde_json::to_string(&row).unwrap();
        assert!(text.contains("\"stage\":\"check\"") && text.contains("\"measured\":2.0"), "{text}");
        assert_eq!(serde_json::from_str::<Row>(&text).unwrap(), row);
    }
}
