//! One run of a program as a trial: on a quiet machine, repeated if others disturb it. Owns the line that a
//! program prints about itself, and how a configuration becomes variables.

use super::experiment::{Ask, End, Programs, Ran};
use crate::tune::live::{Live, Tried};
use crate::tune::measure::Figures;
use rtscope_host::trial::Job;
use std::ffi::OsString;
use std::path::PathBuf;

const LINE: &str = "stm ";
/// Name of the time in that line, and its name in a trial.
const TIME: (&str, &str) = ("ns", "time_ns");

pub struct Real<'a> {
    pub live: Live<'a>,
    /// The program that is linked with the scheduler.
    pub linked: Option<PathBuf>,
    pub ghcrts: Option<OsString>,
    /// Runs that did not count.
    pub disturbed: u64,
    /// What other processes used of the CPUs during each run that counts.
    pub foreign: Vec<f64>,
    /// Prints what there is to say about a run at once.
    pub say: &'a dyn Fn(&str),
}

impl Programs for Real<'_> {
    fn run(&mut self, ask: &Ask<'_>) -> Result<Ran, End> {
        let configuration = ask.configuration;
        let linked = self.linked.as_deref().filter(|_| configuration.linked);
        let variables = configuration.environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).into()));
        let flags = ("GHCRTS".to_owned(), flags(self.ghcrts.as_ref(), &configuration.flags));
        let argv = ask.benchmark.words(ask.threads, linked, ask.counting);
        let job = Job { argv, set: variables.chain([flags]).collect(), ..Job::default() };
        let Real { live, disturbed, say, .. } = self;
        let tried = live.run(&job, &mut |why, _| {
            *disturbed += 1;
            say(&format!("a run is made again: {why}"));
        });
        match tried {
            Tried::Clean(figures) => {
                self.foreign.extend(figures.get("foreign"));
                let ns = figures.get(TIME.1).copied().unwrap_or_default();
                Ok(Ran { ns, aborts: aborts(&figures) })
            }
            Tried::Failed { why, .. } => {
                let words: Vec<_> = job.argv.iter().map(|word| word.to_string_lossy()).collect();
                Err(End::Failed(format!("{}, as {}: {why}", words.join(" "), configuration.name)))
            }
            Tried::Stopped(why) => Err(End::Stopped(why)),
        }
    }
}

/// Appends our flags to existing ones: if both set something, the last one wins.
fn flags(there: Option<&OsString>, ours: &[String]) -> OsString {
    let mut all = there.cloned().unwrap_or_default();
    for flag in ours {
        if !all.is_empty() {
            all.push(" ");
        }
        all.push(flag);
    }
    all
}

/// The figures in the last line `stm KEY=NUMBER …`; `ns` is among them.
///
/// # Errors
/// There is no such line; says what to do.
pub fn says(output: &str) -> Result<Figures, String> {
    let line = output.lines().rev().find_map(|line| line.trim().strip_prefix(LINE));
    let words = line.unwrap_or_default().split_ascii_whitespace();
    let number = |(name, text): (&str, &str)| {
        let number: u64 = text.parse().ok()?;
        let name = if name == TIME.0 { TIME.1 } else { name };
        Some((name.to_owned(), number as f64))
    };
    let figures: Figures = words.filter_map(|word| word.split_once('=')).filter_map(number).collect();
    match figures.get(TIME.1) {
        Some(ns) if *ns > 0.0 => Ok(figures),
        _ => Err("it does not say what its work took: let it print a line `stm ns=NANOSECONDS`".to_owned()),
    }
}

/// Attempts whose work was lost: as the program or its runtime counted them, otherwise all attempts minus the
/// useful ones.
fn aborts(figures: &Figures) -> Option<f64> {
    let figure = |name: &str| figures.get(name).copied();
    let lost = || {
        let waits = figure("waits").unwrap_or(0.0);
        Some((figure("attempts")? - figure("transactions")? - waits).max(0.0))
    };
    figure("aborts").or_else(lost)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_counts() {
        let said = says("stm ns=3\nsi is done\nstm ns=1200 operations=10 attempts=17 transactions=10 waits=2\nend\n");
        let figures = said.unwrap();
        assert_eq!((figures["time_ns"], aborts(&figures)), (1200.0, Some(5.0)));
        assert!(!figures.contains_key("ns"));
        let counted = says("stm ns=5 attempts=9 transactions=3 aborts=4 x y=z").unwrap();
        assert_eq!(aborts(&counted), Some(4.0));
        assert_eq!(aborts(&says("stm ns=5").unwrap()), None);
        assert_eq!(aborts(&says("stm ns=5 attempts=1 transactions=2").unwrap()), Some(0.0));
        for none in ["", "stm", "stm ns=0", "stm ns=-3", "stmns=3", "stm ns=1.5", "it says stm ns=3"] {
            assert!(says(none).unwrap_err().contains("stm ns="), "{none}");
        }
    }

    #[test]
    fn flags_are_appended_to_existing_ones() {
        let ours = ["-N2".to_owned(), "-C0".to_owned()];
        assert_eq!(flags(None, &ours), "-N2 -C0");
        assert_eq!(flags(Some(&"-A64m".into()), &ours), "-A64m -N2 -C0");
    }
}
