//! Why a configuration helps: a capture of what runs today and one of the recommendation, and the findings of
//! both. Owns making them, as trials that do not count.

use super::conduct::Ways;
use super::live::{Live, Tried};
use super::result::pairs::{Pair, pair};
use super::runtimes::NO_LOG;
use rtscope_analyze::results::Results;
use rtscope_host::trial::Job;
use rtscope_read::input;
use rtscope_read::pipeline::{self, Options};
use rtscope_report::words::has_runtime;
use rtscope_terminal::user_error::UserError;
use std::ffi::OsString;
use std::io;
use std::path::Path;

/// Findings of both side by side; the captures are made in `folder`, or exist there already for a study that
/// was `over`.
///
/// # Errors
/// A run or its capture failed, in words.
pub fn compare(
    live: &mut Live<'_>,
    ways: &Ways,
    recommended: &str,
    folder: &Path,
    over: bool,
) -> Result<Vec<Pair>, String> {
    let mut of = |words: &str, name: &str| {
        let capture = folder.join(name);
        if !(over && capture.exists()) {
            record(live, &ways.job(words), &capture)?;
        }
        analysed(&capture).map_err(|error| error.to_string())
    };
    let (default, recommended) = (of("", "default.rtscope")?, of(recommended, "recommended.rtscope")?);
    let logged = has_runtime(&default) && has_runtime(&recommended);
    seen(pair(&default.findings, &recommended.findings), logged)
}

/// Without a log, "nothing found" would be said of what was never observed.
fn seen(pairs: Vec<Pair>, logged: bool) -> Result<Vec<Pair>, String> {
    if pairs.is_empty() && !logged { Err(NO_LOG.to_owned()) } else { Ok(pairs) }
}

/// Runs the program under `rtscope record`, as in a trial. A capture that exists is complete.
fn record(live: &mut Live<'_>, job: &Job, capture: &Path) -> Result<(), String> {
    let failed = |error: io::Error| format!("no capture was made: {error}");
    let part = capture.with_extension("part");
    gone(capture).and_then(|()| gone(&part)).map_err(failed)?;
    let own = std::env::current_exe().map_err(failed)?;
    let mut argv: Vec<OsString> = [own.into_os_string(), "record".into(), "--quiet".into(), "-o".into()].into();
    argv.extend([part.as_os_str().to_owned(), "--".into()]);
    argv.extend(job.argv.iter().cloned());
    // It is made again if others disturbed it.
    match live.run(&Job { argv, ..job.clone() }, &mut |_, _| drop(gone(&part))) {
        Tried::Clean(_) => std::fs::rename(&part, capture).map_err(failed),
        Tried::Failed { why, .. } | Tried::Stopped(why) => Err(format!("no capture was made: {why}")),
    }
}

fn gone(folder: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn analysed(capture: &Path) -> Result<Results, UserError> {
    let input = input::open(capture, None)?;
    let options = Options { threads: 1, ..Options::new(capture) };
    let (results, _) = pipeline::analyse(&input, &options, &mut |_, _, _| ())?;
    Ok(results)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_found_only_where_observed() {
        assert_eq!(seen(Vec::new(), true).map(|pairs| pairs.len()), Ok(0));
        assert!(seen(Vec::new(), false).is_err_and(|why| why.contains("-eventlog")));
    }
}
