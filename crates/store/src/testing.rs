//! Small studies for tests.

use rtscope_tune::study::{Ask, Description, Design, Outcome, Row, Stage, StudyKind, Taken};

/// A study of three configurations.
pub fn description() -> Description {
    Description {
        version: "0.1.0".to_owned(),
        program: "churn".to_owned(),
        argv: vec!["1000".to_owned(), "it's".to_owned()],
        names: ["-A1m", "-A4m", "-A64m -n4m"].map(str::to_owned).into(),
        default: 0,
        plan: Some(2),
        design: Design::new(30, 7),
        objective: "wall_seconds".to_owned(),
        limits: vec!["rss=512M".to_owned()],
        proposer: "believed".to_owned(),
        machine: "2 CPUs".to_owned(),
        kind: StudyKind::Search,
    }
}

/// A trial.
pub fn row(number: usize) -> Row {
    let ask = Ask { number, stage: Stage::Fresh, block: number / 3, configuration: number % 3, again: false };
    let mut row = Row::new(Taken { ask, outcome: Outcome::Measured(1.0 / (number as f64 + 3.0)) });
    row.figures.insert("rss_bytes".to_owned(), 1e6 * (number as f64 + 1.0));
    row.started_unix_ns = 1_790_000_000_000_000_001 + number as u64;
    row
}
