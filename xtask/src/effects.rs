//! How much a workload's fault slows it down: its time with and without its remedy, without a recorder.
//! Owns the table; a workload's claim must hold here before anything that explains it is judged.

use crate::runner::{Runner, TimedRun};
use crate::statistics::{bootstrap, shuffle};
use crate::toolchain::Toolchain;
use crate::workload::{self, Language, Workload};
use anyhow::Result;

/// One column of the table: a workload with or without its remedy, on one compiler.
struct Arm<'a> {
    workload: Workload,
    toolchain: &'a Toolchain,
    runs: Vec<TimedRun>,
}

/// Measures the workloads in `only` (none: those for OCaml) `repeats` times each, all in random order;
/// every line goes to `print`.
pub fn run(
    runner: &Runner,
    toolchains: &[Toolchain],
    only: &[String],
    repeats: usize,
    print: &mut dyn FnMut(&str),
) -> Result<()> {
    let all = match only {
        [] => workload::all()?
            .into_iter()
            .filter(|workload| workload.language == Language::Ocaml && workload.judged)
            .collect(),
        names => names.iter().map(|name| workload::load(name)).collect::<Result<Vec<_>>>()?,
    };
    let mut arms = Vec::new();
    for workload in all.iter().filter(|workload| workload.host.is_none()) {
        for toolchain in toolchains.iter().filter(|toolchain| workload.compiles_on(toolchain)) {
            let remedied = workload.remedy.as_ref().map(|change| workload.with(change));
            for workload in [Some(workload.clone()), remedied].into_iter().flatten() {
                workload.build(toolchain, &runner.builds)?;
                arms.push(Arm { workload, toolchain, runs: Vec::new() });
            }
        }
    }
    for repeat in 0..repeats {
        let mut order: Vec<usize> = (0..arms.len()).collect();
        shuffle(&mut order, repeat as u64 + 1);
        for number in order {
            let arm = &mut arms[number];
            let run = runner.alone(&arm.workload, arm.toolchain)?;
            let on = arm.workload.language.compiler(arm.toolchain).unwrap_or_default();
            print(&format!(
                "{} on {on}: {:.2} s, others {:.0} %",
                arm.workload.name,
                run.seconds,
                run.noise.taken() * 100.0
            ));
            arm.runs.push(run);
        }
    }
    print(&format!("{:<34} {:<12} {:>24} {:>14}", "workload", "compiler", "seconds", "others, at most"));
    arms.iter().for_each(|arm| print(&line(arm)));
    Ok(())
}

fn line(arm: &Arm<'_>) -> String {
    let seconds: Vec<f64> = arm.runs.iter().map(|run| run.seconds).collect();
    let taken = arm.runs.iter().map(|run| run.noise.taken()).fold(0.0, f64::max);
    let time = if seconds.is_empty() { "not run".to_owned() } else { shown(&seconds) };
    let compiler = arm.workload.language.compiler(arm.toolchain).unwrap_or_default();
    format!("{:<34} {compiler:<12} {time:>24} {:>13.0} %", arm.workload.name, taken * 100.0)
}

/// Median, minimum and maximum, as text.
fn shown(seconds: &[f64]) -> String {
    let end = |pick: fn(f64, f64) -> f64| seconds.iter().copied().reduce(pick).unwrap_or_default();
    format!("{:.2} [{:.2}, {:.2}]", bootstrap(seconds).median, end(f64::min), end(f64::max))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Noise;

    #[test]
    fn a_line_has_the_median_and_the_ends() {
        let toolchain = Toolchain { name: "ghc-9.6", version: "9.6.6".into(), root: Some("/tree".into()) };
        let run = |seconds, foreign| TimedRun {
            seconds,
            throttled_periods: None,
            noise: Noise { foreign, ..Noise::default() },
        };
        let arm = Arm {
            workload: workload::load("idle-domain").unwrap(),
            toolchain: &toolchain,
            runs: vec![run(3.0, 0.0), run(1.0, 0.07), run(2.0, 0.01)],
        };
        let words: Vec<String> = line(&arm).split_whitespace().map(str::to_owned).collect();
        assert_eq!(words, ["idle-domain", "ocaml-5.3.0", "2.00", "[1.00,", "3.00]", "7", "%"]);
        let none = Arm { runs: Vec::new(), ..arm };
        assert!(line(&none).contains("not run"));
    }
}
