//! Output of `rtscope doctor`. `RTSCOPE_BLESS=1` rewrites the golden file.

use testkit::blessed;

use rtscope::doctor::{Check, State, exit_code, json, text};
use rtscope_terminal::style::Style;

fn rows() -> Vec<Check> {
    vec![
        Check {
            name: "kernel",
            state: State::Ok,
            found: "Linux 6.1.0, x86_64".into(),
            means: "perf events with CLOCK_MONOTONIC".into(),
            fix: None,
        },
        Check {
            name: "perf-event-paranoid",
            state: State::Degraded,
            found: "/proc/sys/kernel/perf_event_paranoid is 2".into(),
            means: "Switches of the program's own threads can be seen, but not who had the CPU instead: preempted, \
                    oversubscribed and throttled cannot be distinguished."
                .into(),
            fix: Some("sudo rtscope record …".into()),
        },
        Check {
            name: "cgroup",
            state: State::Missing,
            found: "/sys/fs/cgroup is not mounted\x1b[2J".into(),
            means: "A CPU quota cannot be seen.".into(),
            fix: None,
        },
    ]
}

#[test]
fn checks_read_as_agreed() {
    let shown = text(&rows(), true, &Style::plain(80));
    blessed::check("doctor.txt", &shown);
    let short = text(&rows(), false, &Style::plain(80));
    assert!(short.contains("1 of 3 (--all lists them)") && !short.contains("Linux 6.1.0"), "{short}");
    assert!(!shown.contains('\x1b'));
}

#[test]
fn a_command_to_paste_stays_in_one_line() {
    let mut rows = rows();
    let long = format!("sudo sh -c 'echo {} > /proc/sys/kernel/perf_event_paranoid'", "1 ".repeat(60));
    rows[1].fix = Some(long.clone());
    assert!(text(&rows, false, &Style::plain(80)).lines().any(|line| line.strip_prefix("  fix     ") == Some(&long)));
}

#[test]
fn checks_as_json() {
    let text = json(&rows()).expect("writing to memory");
    let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(value["schema"], "rtscope/doctor/1");
    assert_eq!(value["checks"][1]["state"], "degraded");
    assert_eq!(value["checks"][0]["mend"], serde_json::Value::Null);
    let keys: Vec<_> = value["checks"][0].as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!(keys, ["name", "state", "found", "means", "mend"]);
}

#[test]
fn what_is_missing_shows_in_the_exit_code() {
    let rows = rows();
    assert_eq!(exit_code(&rows), 3);
    assert_eq!(exit_code(&rows[..2]), 0, "less to see is not a failure");
    assert_eq!(exit_code(&[]), 0);
    assert!(text(&rows[..1], false, &Style::plain(80)).ends_with("Everything that rtscope can use is there.\n"));
}
