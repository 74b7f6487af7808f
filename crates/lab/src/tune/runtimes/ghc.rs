//! Gets the figures that GHC's runtime has of its own: appends `-tFILE --machine-readable` to what `GHCRTS`
//! says already. Owns that users who asked for statistics themselves do not lose them;
//! `rtscope_decode::ghc_statistics` reads the file.

use super::OwnFigures;
use crate::tune::measure::{Figures, named};
use rtscope_decode::ghc_statistics::{BYTES_MAX, Generation, Statistics};
use rtscope_host::options::runtime_options;
use rtscope_host::trial::Job;
use rtscope_model::runtimes::GHC;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

const NAME: &str = "GHCRTS";

/// GHC's figures.
pub static FIGURES: OwnFigures = OwnFigures { info: &GHC, ask, take, refusal };

/// Adds the request for statistics to a job.
fn ask(job: &Job, file: &Path) -> Result<Job, String> {
    let given = job.set.iter().rev().find(|(name, _)| name == NAME).map(|(_, value)| value.clone());
    let given = given.or_else(|| std::env::var_os(NAME)).unwrap_or_default();
    let given = given.to_str().ok_or("GHCRTS is no text")?.trim();
    let argv: Vec<String> = job.argv.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let on_command_line = || runtime_options(&argv, true).into_iter().filter_map(|place| argv.get(place));
    // After our options, -T means that nothing is to be printed.
    let theirs = given.split_ascii_whitespace().find(|word| prints(word));
    let theirs = theirs.or_else(|| on_command_line().map(String::as_str).find(|word| prints(word) || *word == "-T"));
    if let Some(word) = theirs {
        return Err(format!("{word} is given, so the runtime's statistics go where that says"));
    }
    let path = file.to_str().filter(|path| !path.contains(char::is_whitespace));
    let path = path.ok_or_else(|| format!("GHCRTS cannot name {}: there is a blank in it", file.display()))?;
    let mut asked = job.clone();
    asked.set.retain(|(name, _)| name != NAME);
    asked.set.push((NAME.to_owned(), format!("{given} -t{path} --machine-readable").trim().into()));
    Ok(asked)
}

/// Whether an option asks for statistics.
fn prints(word: &str) -> bool {
    ["-t", "-s", "-S"].iter().any(|option| word.starts_with(option))
}

/// Reads what the runtime wrote, and removes the file.
fn take(file: &Path) -> Result<Figures, String> {
    let mut bytes = Vec::new();
    let read = File::open(file).and_then(|file| file.take(BYTES_MAX as u64 + 1).read_to_end(&mut bytes));
    // A missing file is no further problem.
    let _ = std::fs::remove_file(file);
    match read {
        Ok(_) => Statistics::of_bytes(&bytes).map(|said| figures(&said)).map_err(|error| error.to_string()),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Err("the runtime wrote no statistics: it takes no GHCRTS".to_owned())
        }
        Err(error) => Err(format!("the runtime's statistics cannot be read: {error}")),
    }
}

fn figures(said: &Statistics) -> Figures {
    let (mutator, gc) = (said.mutator_wall_ns as f64, said.gc_wall_ns as f64);
    let per = |part: f64, whole: f64| (whole > 0.0).then(|| part / whole);
    let sum = |of: fn(&Generation) -> u64| said.generations.iter().map(|generation| of(generation) as f64).sum::<f64>();
    let young = said.generations.first().map(|generation| generation.collections as f64);
    let longest = said.generations.iter().map(|generation| generation.max_pause_ns).max();
    named([
        // Without the runtime's start and end, which are on a grid of 10 ms in GHC 9.0 and 9.6.
        ("time_ns", Some(said.mutator_wall_ns.saturating_add(said.gc_wall_ns) as f64)),
        ("mutator_ns", Some(mutator)),
        ("gc_ns", Some(gc)),
        ("productivity", per(mutator, mutator + gc)),
        ("collections", Some(said.collections() as f64)),
        ("gen0_per_second", young.and_then(|young| per(young * 1e9, said.total_wall_ns as f64))),
        ("mean_pause_ns", Some(per(sum(|one| one.wall_ns), sum(|one| one.collections)).unwrap_or(0.0))),
        ("max_pause_ns", Some(longest.unwrap_or(0) as f64)),
        ("allocated_bytes", Some(said.allocated_bytes as f64)),
        ("heap_bytes", said.peak_bytes.map(|bytes| bytes as f64)),
    ])
}

/// The runtime's message about refused flags in a program's last output.
fn refusal(stderr: &str) -> Option<&str> {
    const SIGNS: [&str; 5] = [
        "error in RTS option",
        "RTS options are disabled",
        "unexpected RTS argument",
        "unknown RTS option",
        "cannot be used in conjunction",
    ];
    let line = stderr.lines().find(|line| SIGNS.iter().any(|sign| line.contains(sign)))?;
    // `mill: error in …`
    Some(line.split_once(": ").filter(|(program, _)| !program.contains(' ')).map_or(line, |(_, said)| said).trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(job: &Job) -> Option<&std::ffi::OsStr> {
        job.set.iter().find(|(name, _)| name == NAME).map(|(_, value)| value.as_os_str())
    }

    fn job(words: &[&str], ghcrts: &str) -> Job {
        let argv = words.iter().map(Into::into).collect();
        Job { argv, set: vec![("OTHER".into(), "1".into()), (NAME.into(), ghcrts.into())], ..Job::default() }
    }

    #[test]
    fn ours_comes_last() {
        let asked = ask(&job(&["mill", "+RTS", "-A4m"], "-N2 -T"), Path::new("/tmp/x")).unwrap();
        assert_eq!(value(&asked).unwrap(), "-N2 -T -t/tmp/x --machine-readable");
        assert_eq!(asked.set.len(), 2);
        let asked = ask(&job(&["mill", "-s"], ""), Path::new("/tmp/x")).unwrap();
        assert_eq!(value(&asked).unwrap(), "-t/tmp/x --machine-readable", "the program's own option");
    }

    #[test]
    fn requested_statistics_stay() {
        for (words, ghcrts) in [
            (&["mill"][..], "-N2 -s"),
            (&["mill"], "-S/tmp/y"),
            (&["mill", "+RTS", "-tx"], ""),
            (&["mill", "+RTS", "-T"], ""),
        ] {
            assert!(
                ask(&job(words, ghcrts), Path::new("/tmp/x")).unwrap_err().contains("is given"),
                "{words:?} {ghcrts}"
            );
        }
        assert!(ask(&job(&["mill"], ""), Path::new("/tmp/a b")).unwrap_err().contains("blank"));
    }

    #[test]
    fn a_refusal_is_distinguished_from_other_words() {
        let said =
            "m90: \nm90: Usage: <prog> <args>\nm90: error in RTS option -A0: size outside allowed range (8192 - 9)\n";
        assert_eq!(refusal(said), Some("error in RTS option -A0: size outside allowed range (8192 - 9)"));
        assert_eq!(
            refusal("mill: The non-moving collector\nthe compacting collector cannot be used in conjunction.\n"),
            Some("the compacting collector cannot be used in conjunction.")
        );
        assert_eq!(refusal("mill: Prelude.head: empty list"), None);
    }

    #[test]
    fn a_file_that_is_not_there_has_words() {
        assert!(take(Path::new("/no/such/file")).unwrap_err().contains("no statistics"));
    }

    #[test]
    fn pauses_are_those_of_all_generations() {
        let generation =
            |collections, wall_ns, max_pause_ns| Generation { collections, wall_ns, max_pause_ns, mean_pause_ns: 0 };
        let said = Statistics {
            mutator_wall_ns: 1_500_000_000,
            gc_wall_ns: 500_000_000,
            total_wall_ns: 2_000_000_000,
            mutator_cpu_ns: 1,
            gc_cpu_ns: 1,
            total_cpu_ns: 2,
            allocated_bytes: 7,
            peak_bytes: None,
            generations: vec![generation(90, 300, 20), generation(10, 200, 50)],
        };
        let known = figures(&said);
        assert_eq!((known["productivity"], known["gen0_per_second"]), (0.75, 45.0));
        assert_eq!((known["mean_pause_ns"], known["max_pause_ns"], known["collections"]), (5.0, 50.0, 100.0));
        assert!(!known.contains_key("heap_bytes"));
        let none = figures(&Statistics { generations: Vec::new(), mutator_wall_ns: 0, gc_wall_ns: 0, ..said });
        assert_eq!((none["mean_pause_ns"], none["max_pause_ns"], none.get("productivity")), (0.0, 0.0, None));
    }
}
