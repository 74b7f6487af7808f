//! A writer that is killed: every row that it reported as stored is there, in order, and none is partial.

use rtscope_model::chance::Chance;
use rtscope_store::{Store, study};
use rtscope_tune::study::{Ask, Description, Design, Outcome, Row, Stage, StudyKind, Taken};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Path for the writer; only set for the process that is killed.
const WRITER: &str = "RTSCOPE_TEST_WRITER";

fn description() -> Description {
    Description {
        version: "0".to_owned(),
        program: "churn".to_owned(),
        argv: Vec::new(),
        names: vec!["-A1m".to_owned(), "-A2m".to_owned()],
        default: 0,
        plan: None,
        design: Design::new(30, 1),
        objective: "wall_seconds".to_owned(),
        limits: Vec::new(),
        proposer: "believed".to_owned(),
        machine: "here".to_owned(),
        kind: StudyKind::Search,
    }
}

/// Large enough to take several pages.
fn row(number: usize) -> Row {
    let ask = Ask { number, stage: Stage::Fresh, block: number / 2, configuration: number % 2, again: false };
    let mut row = Row::new(Taken { ask, outcome: Outcome::Measured((number as f64 + 1.0).sqrt()) });
    row.figures = (0..40).map(|figure| (format!("figure_{figure}"), (number * 40 + figure) as f64 / 7.0)).collect();
    row.note = Some("x".repeat(number % 5_000));
    row
}

/// Reports the number of stored rows after each one.
fn write_until_killed(path: &Path) {
    let mut store = Store::resume(path, &description()).unwrap();
    let mut kept = store.rows().unwrap().len();
    loop {
        store.append(&row(kept)).unwrap();
        kept += 1;
        println!("{kept}");
        std::io::stdout().flush().unwrap();
    }
}

#[test]
fn a_killed_writer_leaves_whole_rows() {
    if let Some(path) = std::env::var_os(WRITER) {
        return write_until_killed(Path::new(&path));
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("study.sqlite");
    let mut chance = Chance::new(3);
    let mut before = 0;
    for round in 0..25 {
        let mut writer = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--nocapture", "kills::a_killed_writer_leaves_whole_rows"])
            .env(WRITER, &path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(writer.stdout.take().unwrap()).lines().map_while(Result::ok);
        let mut reported = 0;
        // In the first rounds the writer is killed before any row.
        let wanted = if round < 5 { 0 } else { chance.below(12) };
        for _ in 0..wanted {
            reported = lines.find_map(|line| line.parse::<usize>().ok()).unwrap();
        }
        std::thread::sleep(Duration::from_micros(chance.below(20_000)));
        writer.kill().unwrap();
        writer.wait().unwrap();
        reported = lines.filter_map(|line| line.parse().ok()).last().unwrap_or(reported);
        let rows = match study::read(&path) {
            Ok((found, rows)) => {
                assert_eq!(found, description());
                rows
            }
            Err(error) => {
                // The writer was killed before the study existed.
                assert!(reported == 0 && before == 0, "{error} after {reported}");
                continue;
            }
        };
        assert!(rows.len() >= reported.max(before), "{} rows of {reported}", rows.len());
        assert!(rows.iter().enumerate().all(|(number, found)| *found == row(number)), "round {round}");
        before = rows.len();
    }
    assert!(before >= 60, "{before} rows");
}
