//! Records only the kernel side while a program runs: `sched_record DIRECTORY TIER PROGRAM [ARGUMENT…]`,
//! where the tier is one of tracepoints, cpu-wide-switches, own-switches, polling. Used by the live
//! tests (as another user, and to be killed) and to measure the cost of recording.

use rtscope_host::folder::Folder;
use rtscope_host::kernel::{KernelOptions, KernelRecorder, KernelTarget};
use rtscope_model::Pid;
use std::io::Write;
use std::process::{Command, ExitCode, Stdio};

fn main() -> ExitCode {
    match run() {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("sched_record: {error}");
            ExitCode::from(125)
        }
    }
}

fn run() -> Result<u8, Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut next = || arguments.next().ok_or("usage: sched_record DIRECTORY TIER PROGRAM [ARGUMENT…]");
    let directory: std::path::PathBuf = next()?.into();
    let tier = serde_json::from_value(serde_json::Value::String(next()?))?;
    let program = next()?;
    std::fs::create_dir_all(&directory)?;
    // The child waits before exec until the events are open: the shell reads a
    // line, then becomes the program.
    let mut child = Command::new("/bin/sh")
        .args(["-c", "read go; exec \"$@\" </dev/null", "sh", &program])
        .args(arguments)
        .stdin(Stdio::piped())
        .spawn()?;
    let options =
        KernelOptions { target: KernelTarget::Spawned(Pid(child.id())), force_tier: Some(tier), redactor: None };
    let recorder = KernelRecorder::start(&Folder::open(&directory)?, options);
    std::fs::write(directory.join("kernel.json"), serde_json::to_vec(&recorder.status())?)?;
    child.stdin.take().ok_or("no pipe")?.write_all(b"go\n")?;
    let status = child.wait()?;
    let kernel = recorder.finish();
    std::fs::write(directory.join("kernel.json"), serde_json::to_vec(&kernel)?)?;
    Ok(status.code().map_or(255, |code| code as u8))
}
