//! A program whose name contains terminal control sequences: neither the output of `record` nor the name of its
//! capture contains any of them.

use std::fs;
use std::process::{Command, Stdio};
use testkit::executable;

/// A title, a colour by one character, and text that runs backwards.
const NAME: &str = "\x1b]0;title\x07 \u{9b}31m\u{202e}prog";

fn acts(text: &str) -> bool {
    text.chars().any(|c| c != '\n' && (c.is_control() || c == '\u{202e}'))
}

#[test]
fn a_programs_name_does_not_reach_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join(NAME);
    executable::write(&program, "#!/bin/sh\nexit 0\n");
    let record = |of: &std::path::Path| {
        let mut command = Command::new(testkit::rtscope());
        command.args(["record", "--no-kernel", "--"]).arg(of).current_dir(folder.path()).stdin(Stdio::null());
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!said.is_empty() && !acts(&said), "{said:?}");
        output.status.code()
    };
    assert_eq!(record(&program), Some(0));
    assert_eq!(record(&folder.path().join(format!("{NAME}-none"))), Some(127));
    let names: Vec<String> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != NAME)
        .collect();
    assert_eq!(names.len(), 1, "{names:?}");
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    assert!(names[0].chars().all(plain) && names[0].contains("prog.rtscope"), "{names:?}");
    let report = Command::new(testkit::rtscope()).args(["report", "-v"]).arg(folder.path().join(&names[0])).output();
    assert!(!acts(&String::from_utf8_lossy(&report.unwrap().stdout)));
}
