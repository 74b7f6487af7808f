//! A study that is interrupted anywhere and resumed from its file ends as if it had not been interrupted.

use rtscope_store::{Store, study};
use rtscope_tune::study::propose::Believed;
use rtscope_tune::study::replay::{Draw, Measurement, Replay, ReplayTable};
use rtscope_tune::study::{Ask, Description, Design, Outcome, Row, Space, Study, StudyKind, Taken, Trials, clean, run};
use std::path::Path;

/// Stores every outcome; stops after some trials.
struct Kept<'a> {
    trials: &'a mut dyn Trials,
    store: Store,
    most: usize,
}

impl Trials for Kept<'_> {
    fn run(&mut self, space: &Space, ask: &Ask) -> Outcome {
        if ask.number >= self.most {
            return Outcome::Stopped("killed".to_owned());
        }
        self.trials.run(space, ask)
    }

    fn keep(&mut self, taken: &Taken) {
        self.store.append(&Row::new(taken.clone())).unwrap();
    }
}

fn table() -> ReplayTable {
    let cell = |number: u64| {
        let (repeat, configuration) = (number / 12, number % 12);
        let noise = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let value = (noise as f64 / 2e8 - 0.08 * configuration as f64 + 0.1 * (repeat % 3) as f64).exp();
        Measurement { configuration: format!("-A{}m", 1 << configuration), repeat, value }
    };
    ReplayTable::new(&(0..96).map(cell).collect::<Vec<_>>()).unwrap()
}

fn answer(replay: &Replay<'_>, path: &Path, most: usize) -> String {
    let space = replay.space().unwrap();
    let design = Design::new(60, 4);
    let description = Description {
        version: "0".to_owned(),
        program: "table".to_owned(),
        argv: Vec::new(),
        names: replay.table.names().to_vec(),
        default: replay.default,
        plan: None,
        design,
        objective: "wall_seconds".to_owned(),
        limits: Vec::new(),
        proposer: "believed".to_owned(),
        machine: "none".to_owned(),
        kind: StudyKind::Search,
    };
    let store = Store::resume(path, &description).unwrap();
    let study = Study::new(space, design, Box::new(Believed)).unwrap();
    let mut study = study.resume(&clean(&store.rows().unwrap())).unwrap();
    let mut trials = replay.trials(4, 0);
    serde_json::to_string(&run(&mut study, &mut Kept { trials: &mut trials, store, most })).unwrap()
}

#[test]
fn a_study_that_is_cut_after_any_trial_ends_the_same() {
    let (table, folder) = (table(), tempfile::tempdir().unwrap());
    for draw in [Draw::Rows, Draw::Rests] {
        let replay = Replay { table: &table, default: 0, draw, same: false };
        let at = |name: &str| folder.path().join(format!("{draw:?}-{name}"));
        let whole = answer(&replay, &at("whole"), usize::MAX);
        assert!(whole.contains("\"better\""), "{whole}");
        let (_, rows) = study::read(&at("whole")).unwrap();
        for cut in (0..rows.len()).step_by(3) {
            let path = at(&cut.to_string());
            answer(&replay, &path, cut);
            assert_eq!(answer(&replay, &path, usize::MAX), whole, "cut after {cut}");
            let again = study::read(&path).unwrap().1;
            let stopped = |row: &&Row| !matches!(row.taken.outcome, Outcome::Stopped(_));
            assert!(again.iter().filter(stopped).eq(&rows));
            // A finished study is only replayed.
            assert_eq!(answer(&replay, &path, usize::MAX), whole);
        }
    }
}
