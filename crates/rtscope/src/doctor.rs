//! Output of `rtscope doctor`: what this machine permits, what is missing, and the command that gets it. Owns
//! the form; the checks themselves are the host's.

pub use rtscope_host::doctor::{Check, State};
use rtscope_terminal::screen::Screen;
use rtscope_terminal::style::{Style, Tone, clean};
use rtscope_terminal::user_error::{UserError, document};

/// The checks as text: `all`, or only those that found something missing or limited.
pub fn text(checks: &[Check], all: bool, style: &Style) -> String {
    let mut screen = Screen::new(style);
    for check in checks.iter().filter(|check| all || check.state != State::Ok) {
        let (tone, word) = match check.state {
            State::Ok => (Tone::Good, "ok"),
            State::Degraded => (Tone::Warn, "limited"),
            State::Missing => (Tone::Bad, "missing"),
        };
        screen.command(word, tone, &clean(check.name));
        screen.below(Some(Tone::Faint), &check.found);
        if check.state == State::Ok {
            continue;
        }
        screen.below(None, &check.means);
        for (index, line) in check.fix.iter().flat_map(|fix| fix.lines()).enumerate() {
            screen.command(if index == 0 { "  fix" } else { "" }, Tone::Plain, &clean(line));
        }
    }
    let (fine, of) = (count(checks, State::Ok), checks.len());
    if !all && fine > 0 {
        screen.command("ok", Tone::Good, &format!("{fine} of {of} (--all lists them)"));
    }
    screen.blank();
    screen.line(&match (count(checks, State::Missing), count(checks, State::Degraded)) {
        (0, 0) => "Everything that rtscope can use is there.".to_string(),
        (0, 1) => "Recording works; one thing shows less than it could.".to_string(),
        (0, less) => format!("Recording works; {less} of {of} things show less than they could."),
        (1, _) => "One thing is missing: reports will say what they could not see.".to_string(),
        (missing, _) => format!("{missing} of {of} things are missing: reports will say what they could not see."),
    });
    screen.finish()
}

fn count(checks: &[Check], state: State) -> usize {
    checks.iter().filter(|check| check.state == state).count()
}

/// `doctor --json`: `{schema, checks[]}`, each check with the fields of [`Check`].
///
/// # Errors
/// None: its keys are text.
pub fn json(checks: &[Check]) -> Result<String, UserError> {
    document(&serde_json::json!({ "schema": "rtscope/doctor/1", "checks": checks }), false)
}

/// Exit code of `doctor`: 0 if recording works (fully or with less to see), 3 if something is missing and
/// reports will have gaps.
pub fn exit_code(checks: &[Check]) -> u8 {
    if count(checks, State::Missing) > 0 { 3 } else { 0 }
}
