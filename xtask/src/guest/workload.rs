//! Runs a workload in a guest whose hypervisor has fewer CPUs than it promises, which no test can set up
//! on bare metal. Owns the script; results are judged elsewhere.

use super::images::Images;
use super::tree::Tree;
use super::{Guest, tail};
use crate::cache::cache;
use crate::toolchain::Toolchain;
use crate::workload::SharedHost;
use anyhow::{Result, ensure};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Folder in the guest of the program's own file system.
const PROGRAM_ROOT: &str = "/target";

/// Records `program` with `arguments` in a guest; returns the capture, in `scratch`.
pub fn record(
    host: SharedHost,
    rtscope: (&Path, &[String]),
    toolchain: &Toolchain,
    program: (&Path, &[OsString]),
    scratch: &Path,
) -> Result<PathBuf> {
    let ((rtscope, options), (program, arguments)) = (rtscope, program);
    let images = Images::with_hypervisor(&cache())?;
    let tree = Tree::new(&scratch.join("files"))?;
    tree.program(rtscope, ("", "bin/rtscope"), Path::new("/"), |name| Command::new(name))?;
    let (root, folder) = (toolchain.root.as_deref(), program.parent().unwrap_or(Path::new("/")));
    tree.program(program, (PROGRAM_ROOT, "program"), root.unwrap_or(Path::new("/")), |name| {
        toolchain.command(name.as_ref(), folder, &[folder])
    })?;
    tree.folders(&["/target/proc", "/target/tmp"])?;
    let words = |words: &mut dyn Iterator<Item = String>| words.map(|word| quoted(&word)).collect::<Vec<_>>().join(" ");
    let script = format!(
        "mount -t proc proc {PROGRAM_ROOT}/proc\n\
         rtscope record {} -o /results/run.rtscope -- chroot {PROGRAM_ROOT} /program {} > /results/said 2>&1\n\
         echo $? > /results/status\n",
        words(&mut options.iter().cloned()),
        words(&mut arguments.iter().map(|word| word.to_string_lossy().into_owned())),
    );
    let guest = Guest {
        // Emulation and hypervisor disagree on features of newer processors.
        processor: &["-cpu", "Nehalem", "-smp", &host.cpus.to_string()],
        memory_mib: 1536,
        virtual_cpus: Some(host.virtual_cpus),
        script: &script,
        limit: Duration::from_secs(150),
    };
    let results = guest.run(&images, &tree, &scratch.join("guest"))?;
    let status = fs::read_to_string(results.join("status")).unwrap_or_default();
    ensure!(
        status.trim() == "0",
        "record in a guest ended with {}: {}",
        status.trim(),
        tail(&results.join("said"), 10)
    );
    Ok(results.join("run.rtscope"))
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}
