//! Builds the suite's programs with each compiler, into a folder that keeps them as long as their cores, and
//! runs them. Owns the place of the builds and how a run's end is classified; refuses to run anything in the
//! source tree.

use super::cores::{RunFolder, explain};
use super::rows::SuiteRow;
use super::{Case, UNLED};
use crate::package::Packages;
use crate::toolchain::Toolchain;
use crate::workload::repository;
use anyhow::{Context, Result};
use serde_json::Value;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Instant;

/// Seconds above a run's own duration until it counts as hanging.
const PATIENCE_SECONDS: u64 = 120;

/// Runtime options: time slices a twentieth of the default.
const TURNS: [&str; 3] = ["+RTS", "-C0.001", "-V0.001"];

/// Programs of one commit, built by all compilers.
#[derive(Debug)]
pub struct Programs<'t> {
    toolchains: &'t [Toolchain],
    folder: PathBuf,
    commit: String,
}

impl<'t> Programs<'t> {
    /// Builds missing programs; those of a tree with changes are built each time.
    ///
    /// # Errors
    /// A build failed; the error has its output.
    pub fn build(toolchains: &'t [Toolchain], keep: &Path, commit: &str, print: &dyn Fn(&str)) -> Result<Programs<'t>> {
        let programs = Programs { toolchains, folder: keep.join(commit), commit: commit.to_owned() };
        if commit.ends_with('+') && programs.folder.exists() {
            fs::remove_dir_all(&programs.folder)?;
        }
        for toolchain in toolchains {
            for (package, flags) in [("led", &[][..]), (UNLED, &["-lead"])] {
                let whole = programs.folder.join(toolchain.name).join(package);
                if !whole.exists() {
                    print(&format!("building the suite by {}, {package}", toolchain.name));
                    programs.build_one(toolchain, package, flags)?;
                }
            }
        }
        Ok(programs)
    }

    /// Builds next to the final place, and moves only complete builds there.
    fn build_one(&self, toolchain: &Toolchain, package: &str, flags: &[&str]) -> Result<()> {
        let place = self.folder.join(toolchain.name);
        let folder = place.join(format!("{package}-building"));
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        let packages = Packages { toolchain, folder: &folder };
        packages.build("haskell-stm", flags)?;
        let tests = repository().join("bindings/haskell-stm/tests");
        let database = packages.database();
        let builds: &[(&str, &[&str])] = if package == UNLED {
            &[(UNLED, &["-threaded"])]
        } else {
            &[("threaded", &["-threaded"]), ("single", &[])]
        };
        for (build, more) in builds {
            let (objects, search) = (folder.join(format!("{build}-objects")), format!("-i{}", tests.display()));
            let (source, output) = (tests.join("Invariants.hs"), folder.join(build));
            let mut words: Vec<&OsStr> = ["-v0", "-O", "-g1", "-rtsopts", "-package-db"].map(OsStr::new).into();
            words.push(database.as_os_str());
            words.extend(["-package", "rtscope-stm", &search, "-outputdir"].map(OsStr::new));
            words.extend([objects.as_os_str(), source.as_os_str(), OsStr::new("-o"), output.as_os_str()]);
            words.extend(more.iter().map(OsStr::new));
            packages.step(&folder, "ghc", &words)?;
        }
        fs::rename(&folder, place.join(package))?;
        Ok(())
    }

    /// Runs a case once. If it does not end well, its folder stays, with all evidence.
    ///
    /// # Errors
    /// The program cannot be started, or its folder cannot be created.
    pub fn run(
        &self,
        turn: u32,
        case: &Case,
        seconds: f64,
        place: &RunFolder<'_>,
        print: &dyn Fn(&str),
    ) -> Result<SuiteRow> {
        let named = |toolchain: &&Toolchain| toolchain.name == case.compiler;
        let toolchain = self.toolchains.iter().find(named).context("a case of no compiler")?;
        let package = if case.build == UNLED { UNLED } else { "led" };
        let program = self.folder.join(case.compiler).join(package).join(case.build);
        let folder = place.keep.join("runs").join(format!("{}-{turn}", self.commit));
        fs::create_dir_all(&folder)?;
        let limit = seconds as u64 + PATIENCE_SECONDS;
        let mut command = toolchain.command(OsStr::new("timeout"), &folder, &[place.keep]);
        // SIGABRT ends a hang, so it leaves a core, too.
        command.args(["-s", "ABRT", "-k", "20", &limit.to_string()]).arg(&program);
        command.args([case.program, &seconds.to_string(), &format!("seed={turn}")]).args(TURNS);
        command.args((case.build != "single").then_some("-N2"));
        command.env_remove("GHCRTS").env("RTSCOPE_STM", case.mode);
        let streams = (File::create(folder.join("stdout"))?, File::create(folder.join("stderr"))?);
        let from = Instant::now();
        let status = command.stdin(Stdio::null()).stdout(streams.0).stderr(streams.1).status()?;
        let elapsed = from.elapsed().as_secs_f64();
        let printed: Value = serde_json::from_slice(&fs::read(folder.join("stdout"))?).unwrap_or_default();
        let steps = printed["steps"].as_array().into_iter().flatten().filter_map(Value::as_u64).sum();
        let state = if case.build == UNLED { "NotLinked" } else { "Counting" };
        let whole = steps > 0 && printed["broken"] == serde_json::json!([]) && printed["state"] == state;
        let mut row = SuiteRow {
            turn,
            commit: self.commit.clone(),
            compiler: case.compiler.into(),
            build: case.build.into(),
            program: case.program.into(),
            mode: case.mode.into(),
            seed: turn,
            seconds: elapsed,
            cpu_seconds: printed["cpu_ms"].as_f64().unwrap_or_default() / 1e3,
            steps,
            status: ended(status, elapsed >= limit as f64, whole),
            signal: status.signal(),
            core: None,
        };
        if row.ended_well() {
            fs::remove_dir_all(&folder)?;
            return Ok(row);
        }
        let core = place.core(&folder);
        let read = explain(toolchain, &program, core.as_deref(), &folder);
        print(&format!("turn {turn}: {case:?}: {}; kept in {}\n{read}", row.status, folder.display()));
        row.core = Some(core.unwrap_or(folder));
        Ok(row)
    }
}

/// Classifies the end: `timeout` ends with the signal that ended the program.
fn ended(status: ExitStatus, over: bool, whole: bool) -> String {
    match (status.code(), status.signal()) {
        (Some(0), _) if whole => "ok".into(),
        _ if over => "hang".into(),
        (Some(0 | 1), _) => "broken".into(),
        (Some(code), _) => format!("exit {code}"),
        (None, _) => "signal".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_called_what_it_is() {
        let exit = |code: i32| ExitStatus::from_raw(code << 8);
        assert_eq!(ended(exit(0), false, true), "ok");
        assert_eq!(ended(exit(0), false, false), "broken");
        assert_eq!(ended(exit(1), false, false), "broken");
        assert_eq!(ended(exit(251), false, false), "exit 251");
        assert_eq!(ended(ExitStatus::from_raw(11), false, false), "signal");
        assert_eq!(ended(ExitStatus::from_raw(6), true, false), "hang");
        // The machine stopped, not the program.
        assert_eq!(ended(exit(0), true, true), "ok");
    }
}
