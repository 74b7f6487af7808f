//! Live: the commands of the README, as they stand there, on a program of this machine. `make demo` is a tier of
//! `scripts/test slow`.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use testkit::executable;
use testkit::ground::{ground, scratch};

/// A shell in `folder` that finds `rtscope`, which opens no browser.
fn shell(folder: &Path, line: &str) -> Command {
    let programs = Path::new(testkit::rtscope()).parent().unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("sh");
    command.args(["-c", line]).current_dir(folder).env("PATH", path).env("BROWSER", "true").stdin(Stdio::null());
    command.env("XDG_CACHE_HOME", folder.join("cache")).env_remove("GHCRTS");
    command
}

#[test]
fn live_the_commands_of_the_readme_work_as_they_stand_there() {
    let Some(ground) = ground() else { return };
    let folder = scratch();
    let start = format!("#!/bin/sh\nexec {} seconds 1 +RTS -N2 -A1m\n", ground.program.display());
    executable::write(folder.path().join("my-program"), start);

    let readme = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md")).unwrap();
    let lines: Vec<&str> = readme.lines().filter_map(|line| line.strip_prefix("    rtscope ")).collect();
    assert!(lines.len() >= 3 && lines[0].starts_with("record") && lines.contains(&"view"), "{lines:?}");
    for line in lines {
        let command = format!("exec rtscope {line}");
        if line == "view" {
            let mut view = shell(folder.path(), &command).stdout(Stdio::piped()).spawn().unwrap();
            let mut address = String::new();
            BufReader::new(view.stdout.take().unwrap()).read_line(&mut address).unwrap();
            view.kill().and_then(|()| view.wait()).unwrap();
            assert!(address.starts_with("http://127.0.0.1:"), "{address}");
            continue;
        }
        let done = shell(folder.path(), &command).output().unwrap();
        let [out, error] = [&done.stdout, &done.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        // 3: on a busy machine the kernel may have dropped records, which the report then says.
        assert!(matches!(done.status.code(), Some(0 | 3)), "{line}: {:?}: {error}{out}", done.status);
        let shown = if line == "report" { "Where the time went" } else { "" };
        assert!(out.contains(shown), "{line}: {out}");
    }
    assert!(folder.path().join("my-program.rtscope").is_dir());
}
