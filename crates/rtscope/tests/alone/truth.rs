//! Live: a workload with known truth, and the remedy that the report itself prints, run as the truth suite
//! does. Owns asserting that the remedy helps.

use std::path::Path;
use xtask::cache::cache;
use xtask::missing;
use xtask::runner::Runner;
use xtask::toolchain::ALL;
use xtask::truth::journal::{Journal, Read, SuitePlan};
use xtask::truth::score::Score;
use xtask::truth::suite::Suite;
use xtask::workload;

#[test]
fn live_the_remedy_that_is_printed_improves_what_it_names() {
    let Some(toolchain) = ALL.iter().find_map(|spec| spec.installed(&cache())) else {
        return missing("a compiler: `cargo xtask toolchains`");
    };
    let runner = Runner::new(Path::new(testkit::rtscope())).unwrap();
    let plan = SuitePlan {
        schema: SuitePlan::schema(),
        seed: 1,
        runs: 2,
        workloads: vec!["oversubscribed".into()],
        toolchains: vec![toolchain.name.into()],
        // Its own threads delay the program more than any neighbour: noise may stay.
        noise_max: 1.0,
        remedies_every: 1,
        ..SuitePlan::default()
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let journal = Journal::begin(&path, &plan).unwrap();
    let seen = Read { plan, runs: Vec::new(), cures: Vec::new(), cut: 0 };
    let say = &mut |line: &str| eprintln!("{line}");
    let workloads = vec![workload::load("oversubscribed").unwrap()];
    let seen = Suite::new(&runner, workloads, vec![toolchain], journal, seen, say).unwrap().run().unwrap();

    let figures = &Score::of(&seen).findings["oversubscribed"];
    // One run may miss, as in the suite; each hit is followed by a remedy.
    assert!(figures.hits.of == 2 && figures.hits.yes > 0, "{:#?}", seen.runs);
    assert!(figures.cures.of == figures.hits.yes && figures.cures.yes > 0, "{:#?}", seen.cures);
}
