//! Live: real programs of every link start with their plans, get what the plans say, and what their users asked
//! for still wins. Owns assertions about starts; the rules are tested where they are defined.

use testkit::ground;

use ground::{scratch, stderr};
use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use tempfile::TempDir;
use xtask::cache::cache;
use xtask::missing;
use xtask::surroundings::QuotaGroup;
use xtask::toolchain::{Spec, Toolchain, is_root};

/// Prints how many workers it has and on which CPUs it may run, one line each.
const PROGRAM: &str = testkit::source!("haskell/first-word/Main.hs");

const LINKS: [&str; 5] = ["none", "some", "all", "ignore", "ignoreAll"];
const GOALS: [&str; 3] = ["latency", "throughput", "memory"];

/// The program in every link: `thr-some`, `plain-all`, `linked`.
struct Programs(TempDir);

impl Programs {
    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

fn build(toolchain: &Toolchain) -> TempDir {
    let folder = scratch();
    let source = folder.path().join("source");
    fs::create_dir(&source).unwrap();
    fs::write(source.join("Main.hs"), PROGRAM).unwrap();
    let make = |name: &str, flags: &[&str]| toolchain.compile(&[&source], flags, &folder.path().join(name)).unwrap();
    for link in LINKS {
        make(&format!("thr-{link}"), &["-threaded", &format!("-rtsopts={link}")]);
    }
    make("plain-all", &["-rtsopts=all"]);
    make("plain-some", &["-rtsopts=some"]);
    make("linked", &["-threaded", "-rtsopts=all", "-with-rtsopts=-N3 -A8m"]);
    make("automatic", &["-threaded", "-rtsopts=some", "-with-rtsopts=-N"]);
    folder
}

fn programs() -> Option<&'static Programs> {
    static PROGRAMS: OnceLock<Option<Programs>> = OnceLock::new();
    let made = PROGRAMS.get_or_init(|| Toolchain::of_this_machine().map(|toolchain| Programs(build(&toolchain))));
    if made.is_none() {
        missing("ghc");
    }
    made.as_ref()
}

fn clean(mut command: Command) -> Command {
    for name in ["GHCRTS", "OCAMLRUNPARAM", "CAMLRUNPARAM"] {
        command.env_remove(name);
    }
    command.stdin(Stdio::null());
    command
}

fn rtscope() -> Command {
    clean(Command::new(testkit::rtscope()))
}

fn plan(program: &Path, options: &[&str]) -> Value {
    let done = rtscope().args(["plan", "--json"]).args(options).arg(program).output().unwrap();
    serde_json::from_slice(&done.stdout).unwrap_or_else(|error| panic!("{error}: {}", stderr(&done)))
}

/// Standard output and error of a run that succeeded.
fn lines(done: &Output) -> (Vec<String>, String) {
    assert!(done.status.success(), "{:?}: {}", done.status, stderr(done));
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&done.stdout).lines().map(str::to_owned).collect(), text(&done.stderr))
}

fn run(options: &[&str], program: &Path, arguments: &[&str]) -> Command {
    let mut command = rtscope();
    command.arg("run").args(options).arg("--").arg(program).args(arguments);
    command
}

#[test]
fn a_program_of_any_link_starts_with_its_plan_and_is_silent() {
    let Some(programs) = programs() else { return };
    for entry in fs::read_dir(programs.0.path()).unwrap().flatten().filter(|entry| entry.path().is_file()) {
        for goal in GOALS {
            let path = entry.path();
            let plan = plan(&path, &["--goal", goal]);
            let mut command = clean(Command::new(&path));
            for (name, value) in plan["env"].as_object().unwrap() {
                command.env(name, value.as_str().unwrap());
            }
            let (out, error) = lines(&command.output().unwrap());
            assert_eq!(error, "", "{} for {goal}: {}", path.display(), plan["env"]);
            let runs = lines(&run(&["--goal", goal], &path, &[]).output().unwrap());
            assert_eq!((&runs.0[0], runs.1.as_str()), (&out[0], ""), "{} for {goal}", path.display());
            let planned = plan["flags"].as_array().unwrap().iter().find(|flag| flag["flag"] == "-N");
            if let Some(flag) = planned {
                assert_eq!(flag["value"], out[0].as_str(), "{} for {goal}", path.display());
            }
        }
    }
}

#[test]
fn what_the_planner_takes_for_rejected_is_rejected() {
    let Some(programs) = programs() else { return };
    let refuses = |name: &str, flag: &str| {
        let done = clean(Command::new(programs.path(name))).env("GHCRTS", flag).output().unwrap();
        !done.status.success() || !done.stderr.is_empty()
    };
    for (name, flag, refused) in [
        ("thr-none", "-N2", true),
        ("thr-some", "-N1", false),
        ("thr-some", "-A16m", true),
        ("thr-some", "-qg", true),
        ("thr-some", "-M64m", true),
        ("thr-all", "-qn2", false),
        ("thr-ignore", "-A16m", false),
        ("plain-all", "-N2", true),
        ("plain-all", "-A16m", false),
        ("plain-some", "-A16m", true),
    ] {
        assert_eq!(refuses(name, flag), refused, "{name} {flag}");
    }
    // Ignored silently: harmless, and of no use.
    let done = clean(Command::new(programs.path("thr-ignoreAll"))).env("GHCRTS", "-N2").output().unwrap();
    assert_eq!(lines(&done).0[0], "1");
    assert!(plan(&programs.path("thr-ignoreAll"), &[])["env"].as_object().unwrap().is_empty());
}

#[test]
fn a_run_gives_as_many_workers_as_the_mask_feeds() {
    let Some(programs) = programs() else { return };
    let program = programs.path("thr-all");
    let all = plan(&program, &[]);
    let cpus: Vec<u64> = all["machine"]["cpus_allowed"].as_array().unwrap().iter().filter_map(Value::as_u64).collect();
    let (out, _) = lines(&run(&[], &program, &["x y", ""]).output().unwrap());
    assert_eq!(out[0], all["flags"][0]["value"].as_str().unwrap());
    assert_eq!(out[2..], ["x y", ""], "arguments arrive as they are");
    for cpu in [cpus[0], cpus[cpus.len() - 1]] {
        let mut command = clean(Command::new("taskset"));
        command.args(["-c", &cpu.to_string(), testkit::rtscope(), "run", "--"]).arg(&program);
        let (out, _) = lines(&command.output().unwrap());
        assert_eq!(out, ["1", cpu.to_string().as_str()], "the mask is not widened");
    }
}

#[test]
fn what_the_user_asks_for_wins() {
    let Some(programs) = programs() else { return };
    let all = programs.path("thr-all");
    let workers = |mut command: Command| lines(&command.output().unwrap()).0[0].clone();
    assert_eq!(workers(run(&[], &all, &["+RTS", "-N3", "-RTS"])), "3");
    let mut command = run(&[], &all, &[]);
    command.env("GHCRTS", "-N3");
    assert_eq!(workers(command), "3");
    let mut command = run(&[], &all, &["+RTS", "-N4"]);
    command.env("GHCRTS", "-N3");
    assert_eq!(workers(command), "4", "the command line before the environment");
    assert_eq!(workers(run(&[], &programs.path("linked"), &[])), "3", "-with-rtsopts stays");
    assert!(plan(&programs.path("linked"), &[])["kept"].as_array().unwrap().len() == 2);
    let automatic = plan(&programs.path("automatic"), &[]);
    assert_eq!(automatic["flags"][0]["flag"], "-N", "a bare -N of the link gets its number");
    let done = run(&["--print"], &all, &["+RTS", "-N3"]).env("GHCRTS", "-T").output().unwrap();
    let (out, _) = lines(&done);
    let ghcrts = out.iter().find(|line| line.starts_with("GHCRTS=")).unwrap();
    assert!(ghcrts.ends_with(" -T'") && !ghcrts.contains("-N"), "{ghcrts}");
}

#[test]
fn the_programs_own_end_is_the_runs() {
    let Some(programs) = programs() else { return };
    let done = run(&[], &programs.path("thr-all"), &["exit", "42"]).output().unwrap();
    assert_eq!(done.status.code(), Some(42));
}

#[test]
fn a_stripped_program_is_left_alone() {
    let Some(programs) = programs() else { return };
    let folder = scratch();
    let strip = |options: &[&str], to: &Path| {
        Command::new("strip").args(options).arg("-o").arg(to).arg(programs.path("thr-all")).status()
    };
    let (bare, kept) = (folder.path().join("bare"), folder.path().join("kept"));
    if !strip(&[], &bare).is_ok_and(|status| status.success()) {
        missing("strip (package binutils)");
        return;
    }
    let done = rtscope().args(["plan", "--json"]).arg(&bare).output().unwrap();
    assert_eq!(done.status.code(), Some(3));
    let plan: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert!(plan["env"].as_object().unwrap().is_empty());
    assert_eq!(plan["relink"][0]["with"], "strip --keep-section=.debug-ghc-link-info");
    let (out, error) = lines(&run(&[], &bare, &[]).output().unwrap());
    assert_eq!(out[0], "1");
    assert!(error.contains("stripped"), "{error}");
    // The advice works.
    assert!(strip(&["--keep-section=.debug-ghc-link-info"], &kept).unwrap().success());
    assert!(!self::plan(&kept, &[])["env"].as_object().unwrap().is_empty());
}

#[test]
fn a_quota_of_half_a_cpu_gets_one_worker() {
    let Some(programs) = programs() else { return };
    if !is_root() {
        missing("root");
        return;
    }
    let group = QuotaGroup::new(0.5).unwrap();
    let enter = group.enter();
    let mut command = clean(Command::new(&enter[0]));
    command.args(&enter[1..]).args([testkit::rtscope(), "run", "--goal", "throughput", "--"]);
    let (out, _) = lines(&command.arg(programs.path("thr-some")).output().unwrap());
    assert_eq!(out[0], "1");
}

#[test]
fn a_running_process_can_be_planned_for() {
    let Some(ground) = ground::ground() else { return };
    let mut command = clean(Command::new(&ground.program));
    let child = command.args(["seconds", "20", "+RTS", "-N1"]).env("GHCRTS", "-A2m").stdout(Stdio::null()).spawn();
    let mut child = child.unwrap();
    let pid = child.id().to_string();
    // Until it has become the program, it is a fork of this test.
    let exe = format!("/proc/{pid}/exe");
    ground::wait_for("exec", || fs::read_link(&exe).is_ok_and(|path| path == ground.program));
    let done = rtscope().args(["plan", "--json", "--pid", &pid]).output().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let plan: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(plan["runtime"], "ghc");
    let kept: Vec<_> = plan["kept"].as_array().unwrap().iter().map(|kept| (&kept["option"], &kept["from"])).collect();
    assert_eq!(serde_json::json!(kept), serde_json::json!([["-N1", "the command line"], ["-A2m", "GHCRTS"]]));
}

/// `plan` and `run` for GHCs and OCamls that live in trees of their own.
fn in_trees(test: impl Fn(&Toolchain, &Spec)) {
    for name in ["ghc-9.6", "ghc-9.10"] {
        let spec = Spec::find(name).unwrap();
        match spec.installed(&cache()) {
            Some(toolchain) => test(&toolchain, spec),
            None => missing(name),
        }
    }
}

/// `rtscope run OPTIONS -- PROGRAM` inside a toolchain's tree.
fn run_inside(toolchain: &Toolchain, folder: &Path, program: &Path, set: &[(&str, &str)]) -> Output {
    let binary = Path::new(testkit::rtscope());
    let mut command = clean(toolchain.command(OsStr::new(binary), folder, &[folder, binary.parent().unwrap()]));
    command.args(["run", "--"]).arg(program).envs(set.iter().copied());
    command.output().unwrap()
}

#[test]
fn other_compilers_programs_take_their_plans_too() {
    in_trees(|toolchain, spec| {
        let folder = build(toolchain);
        for name in ["thr-none", "thr-some", "thr-all", "thr-ignore", "plain-all", "linked", "automatic"] {
            let path = folder.path().join(name);
            let plan = plan(&path, &[]);
            assert!(plan["about"].as_str().unwrap().starts_with(&format!("GHC {}", spec.ghc)), "{plan}");
            let (out, error) = lines(&run_inside(toolchain, folder.path(), &path, &[]));
            assert_eq!(error, "", "{name} of {}: {}", spec.name, plan["env"]);
            // Linked with -rtsopts=none it has one worker whatever is planned.
            assert!(name == "thr-none" || plan["workers"] == out[0].parse::<u64>().unwrap(), "{name}: {out:?}");
        }
    });
}

const OCAML: &str = testkit::source!("ocaml/first-word/main.ml");

#[test]
fn programs_of_ocaml_get_their_parameters() {
    in_trees(|toolchain, spec| {
        let folder = scratch();
        fs::write(folder.path().join("program.ml"), OCAML).unwrap();
        let folders = [folder.path()];
        let mut compile = toolchain.command(OsStr::new("ocamlfind"), folder.path(), &folders);
        let done = compile.args(["ocamlopt", "-package", "unix", "-linkpkg", "program.ml", "-o", "program"]).output();
        assert!(done.as_ref().unwrap().status.success(), "{}", stderr(&done.unwrap()));
        let program = folder.path().join("program");
        let plan = plan(&program, &[]);
        assert_eq!(
            (&plan["runtime"], &plan["about"]),
            (&"ocaml".into(), &"OCaml 5.3 or later".into()),
            "{}",
            spec.name
        );
        let (out, error) = lines(&run_inside(toolchain, folder.path(), &program, &[]));
        assert_eq!(out, [plan["workers"].to_string().as_str(), "1048576", "120"], "{error}");
        let own = [("OCAMLRUNPARAM", "s=64k,d=1")];
        let (out, _) = lines(&run_inside(toolchain, folder.path(), &program, &own));
        assert_eq!(out, ["1", "65536", "120"], "the user's own wins");
        let fallback = [("CAMLRUNPARAM", "s=64k")];
        let (out, _) = lines(&run_inside(toolchain, folder.path(), &program, &fallback));
        assert_eq!(out[1], "65536", "and so does the older name of it");
    });
}

#[test]
fn systemd_takes_the_drop_in() {
    let Some(programs) = programs() else { return };
    let folder = scratch();
    let program = programs.path("thr-all");
    let dropped = folder.path().join("mill.service.d");
    fs::create_dir(&dropped).unwrap();
    let unit = folder.path().join("mill.service");
    fs::write(&unit, format!("[Service]\nExecStart={}\n", program.display())).unwrap();
    let own = r#"-T it's "$HOME" %h \ x"#;
    let done = rtscope().args(["plan", "--format", "systemd"]).arg(&program).env("GHCRTS", own).output().unwrap();
    let text = lines(&done).0.join("\n") + "\nCPUAffinity=0\n";
    fs::write(dropped.join("rtscope.conf"), &text).unwrap();
    let Ok(done) = Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&unit).output() else {
        missing("systemd-analyze (package systemd)");
        return;
    };
    // Other units of this machine may have faults of their own.
    let faults = String::from_utf8_lossy(&done.stderr).lines().filter(|line| line.contains("rtscope.conf")).count();
    assert_eq!(faults, 0, "{}\n{text}", stderr(&done));
    // A fault would be reported, as this one is.
    fs::write(dropped.join("rtscope.conf"), "[Service]\nCPUAffinity=nonsense\n").unwrap();
    let done = Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&unit).output().unwrap();
    assert!(stderr(&done).contains("rtscope.conf"), "{}", stderr(&done));
}
