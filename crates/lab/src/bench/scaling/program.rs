//! One run of a program: how long it took, how much work it reports, and what other processes used of the CPUs
//! meanwhile. Owns starting it and reading its output, of which it keeps a bounded tail.

use super::experiment::{Ran, Runs};
use rtscope_host::procfs::Host;
use rtscope_host::taken::Ticks;
use rtscope_terminal::user_error::UserError;
use std::ffi::OsString;
use std::io::{self, Read};
use std::process::{Command, Stdio};
use std::time::Instant;

/// Bytes at the end of the output in which `solves N` has to appear.
const KEPT: usize = 16 * 1024;

pub struct Programs {
    /// Work of each run; `None`: the program prints it.
    pub work: Option<u64>,
}

impl Runs for Programs {
    fn run(&mut self, command: &[OsString]) -> Result<Ran, UserError> {
        let shown = command.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
        let (program, arguments) = command.split_first().ok_or_else(|| UserError::new("an empty command"))?;
        let before = Ticks::now(&Host::default());
        let start = Instant::now();
        let failed = |error: io::Error| UserError::new(format!("cannot run {shown}")).because(error);
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| failed(error).next("check the command"))?;
        let end = child.stdout.take().map_or_else(|| Ok(Vec::new()), |out| last(out, KEPT));
        let status = child.wait().map_err(failed)?;
        let wall_ns = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX).max(1);
        let taken = before.zip(Ticks::now(&Host::default())).map(|(before, after)| after - before);
        if !status.success() {
            return Err(UserError::new(format!("{shown} did not end well")).because(status).next("run it by itself"));
        }
        let said = solves(&String::from_utf8_lossy(&end.map_err(failed)?));
        let work = self.work.or(said).ok_or_else(|| {
            UserError::new(format!("{shown} does not say how much it did"))
                .next("let it print a line `solves N`, or give --work N")
        })?;
        Ok(Ran { work, wall_ns, taken })
    }
}

/// Reads all of `from` and gives its last `kept` bytes.
fn last(mut from: impl Read, kept: usize) -> io::Result<Vec<u8>> {
    let mut end = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(end),
            Ok(count) => {
                end.extend(buffer.iter().take(count));
                end.drain(..end.len().saturating_sub(kept));
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// The number in the last line that begins with `solves`, followed by anything.
fn solves(said: &str) -> Option<u64> {
    let number = |line: &str| {
        let rest = line.trim_start().strip_prefix("solves ")?.trim_start();
        let digits = rest.find(|c: char| !c.is_ascii_digit()).map_or(rest, |end| rest.split_at(end).0);
        digits.parse().ok().filter(|work| *work > 0)
    };
    said.lines().rev().find_map(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_that_says_it_counts() {
        assert_eq!(solves("solves 3\nother\nsolves 12, calls 4\nthe end\n"), Some(12));
        for none in ["", "solves", "solves x", "it solves 3", "solves 0", "solves 99999999999999999999"] {
            assert_eq!(solves(none), None, "{none}");
        }
    }

    #[test]
    fn only_the_end_of_long_output_is_kept() {
        let long: Vec<u8> = (0..100_000).map(|i| (i % 251) as u8).collect();
        assert_eq!(last(&long[..], 1000).unwrap(), long[99_000..]);
        assert_eq!(last(&long[..10], 1000).unwrap(), long[..10]);
    }

    #[test]
    fn a_program_that_fails_or_is_silent_is_reported() {
        let run = |work, words: &[&str]| {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            Programs { work }.run(&words).map_err(|error| error.to_string())
        };
        assert_eq!(run(None, &["sh", "-c", "echo solves 7"]).unwrap().work, 7);
        assert_eq!(run(Some(9), &["true"]).unwrap().work, 9);
        assert!(run(None, &["true"]).unwrap_err().contains("does not say how much it did"));
        assert!(run(Some(1), &["sh", "-c", "exit 3"]).unwrap_err().contains("exit status: 3"));
        assert!(run(Some(1), &["/nonexistent/program"]).unwrap_err().contains("cannot run /nonexistent/program"));
    }
}
