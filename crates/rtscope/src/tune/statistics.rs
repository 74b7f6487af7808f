//! Getting the figures that GHC's runtime has of its own: `-tFILE --machine-readable` behind
//! what `GHCRTS` says already. Owns that nobody who asked for statistics himself loses them;
//! what the file says is read by `rtscope_decode::ghc_statistics`.

use rtscope_decode::ghc_statistics::{BYTES_MAX, Statistics};
use rtscope_host::options::runtime_options;
use rtscope_host::trial::Job;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

const NAME: &str = "GHCRTS";

/// The job with statistics asked for.
///
/// # Errors
/// Why they are not, in words: the job asks for others, or the path cannot be given.
pub(super) fn ask(job: &Job, file: &Path) -> Result<Job, String> {
    let given = job.set.iter().rev().find(|(name, _)| name == NAME).map(|(_, value)| value.clone());
    let given = given.or_else(|| std::env::var_os(NAME)).unwrap_or_default();
    let given = given.to_str().ok_or("GHCRTS is no text")?.trim();
    let argv: Vec<String> = job.argv.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let on_command_line = || runtime_options(&argv, true).into_iter().filter_map(|place| argv.get(place));
    // Behind ours, -T means that nothing is to be printed.
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

/// What the runtime wrote; the file is removed.
///
/// # Errors
/// Why there is nothing, in words.
pub(super) fn take(file: &Path) -> Result<Statistics, String> {
    let mut bytes = Vec::new();
    let read = File::open(file).and_then(|file| file.take(BYTES_MAX as u64 + 1).read_to_end(&mut bytes));
    // One that is not there is no trouble more.
    let _ = std::fs::remove_file(file);
    match read {
        Ok(_) => Statistics::of_bytes(&bytes).map_err(|error| error.to_string()),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Err("the runtime wrote no statistics: it takes no GHCRTS".to_owned())
        }
        Err(error) => Err(format!("the runtime's statistics cannot be read: {error}")),
    }
}

/// What a runtime says that refuses its flags, from what a program said at last.
pub(super) fn refusal(stderr: &str) -> Option<&str> {
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
    fn ours_stands_behind_theirs() {
        let asked = ask(&job(&["mill", "+RTS", "-A4m"], "-N2 -T"), Path::new("/tmp/x")).unwrap();
        assert_eq!(value(&asked).unwrap(), "-N2 -T -t/tmp/x --machine-readable");
        assert_eq!(asked.set.len(), 2);
        let asked = ask(&job(&["mill", "-s"], ""), Path::new("/tmp/x")).unwrap();
        assert_eq!(value(&asked).unwrap(), "-t/tmp/x --machine-readable", "the program's own option");
    }

    #[test]
    fn who_asked_for_statistics_keeps_them() {
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
    fn a_refusal_is_told_from_other_words() {
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
}
