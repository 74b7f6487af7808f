//! `make demo`: one pass through the main use. Owns choosing the workload that shows most on this
//! machine, and saying what a more capable machine would show.

use crate::cache::cache;
use crate::runner::{Runner, target_folder};
use crate::surroundings::QuotaGroup;
use crate::toolchain::{ALL, Toolchain};
use crate::workload;
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Records a workload and prints its report.
pub fn run(runner: &Runner, print: &mut dyn FnMut(&str)) -> Result<()> {
    let toolchain = compiler()?;
    // A quota requires root; lanes that queue for other lanes' CPUs are visible without it.
    let quota = QuotaGroup::new(0.5).map(drop);
    let name = if quota.is_ok() { "throttled" } else { "oversubscribed" };
    let workload = workload::load(name)?;
    print(&format!("workload {name} on GHC {}: {}", toolchain.version, workload.about));
    let outcome = runner.run(&workload, &toolchain)?;
    let capture = kept(&outcome.capture)?;
    let status = Command::new(&runner.rtscope).arg("report").arg(&capture).status()?;
    ensure!(matches!(status.code(), Some(0 | 3)), "rtscope report ended with {status}");
    print(&format!(
        "{} is a quick build without plan, run, tune, load and bench; `cargo install --path crates/rtscope` installs \
         all of rtscope",
        from_here(&runner.rtscope).display()
    ));
    if let Err(error) = quota {
        print(&format!(
            "not shown: a program throttled by a CPU quota ({error:#}); with root the demo shows that instead"
        ));
    }
    Ok(())
}

/// Moves the capture to where it stays until the next demo: the report ends with commands about it.
fn kept(capture: &Path) -> Result<PathBuf> {
    let place = target_folder().join("demo.rtscope");
    if place.exists() {
        fs::remove_dir_all(&place)?;
    }
    fs::rename(capture, &place)?;
    Ok(from_here(&place).to_owned())
}

/// A path relative to the working directory, if that is shorter.
fn from_here(path: &Path) -> &Path {
    let here = std::env::current_dir().ok();
    here.and_then(|here| path.strip_prefix(here).ok()).unwrap_or(path)
}

/// The machine's newest compiler, else the newest one in the cache.
fn compiler() -> Result<Toolchain> {
    let there = || ALL.iter().rev().filter_map(|spec| spec.installed(&cache()));
    let own = there().find(|toolchain| toolchain.root.is_none());
    own.or_else(|| there().next())
        .or_else(Toolchain::of_this_machine)
        .context("no GHC here: `sudo apt-get install ghc`, or as root `cargo xtask toolchains --only ghc-9.6`")
}
