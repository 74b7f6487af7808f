//! Live: where a program's code was, and what it is called, on real programs that
//! make it hard: stripped, position-independent, made at run time, forked, replaced,
//! recorded without privilege or by a recorder that is killed. Owns assertions about
//! names; what they mean for pauses is tested elsewhere.

use testkit::executable;
use testkit::ground;

use ground::{kill, manifest, record, recorder, scratch, stderr, wait_for};
use rtscope_decode::capture::Capture;
use rtscope_decode::ghc_eventlog::Eventlog;
use rtscope_model::{Body, CodeKind, Found, Symbol, Symbols};
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use xtask::cache::cache;
use xtask::missing;
use xtask::toolchain::{Spec, Toolchain, is_root};

/// Samples are of CPU time, but the machine has few CPUs: one program at a time.
static MACHINE: Mutex<()> = Mutex::new(());

const HASKELL: &str = testkit::source!("haskell/spin-and-call/Main.hs");

const BUSY: &str = testkit::source!("haskell/spin-and-call/busy.c");

/// The OCaml version, plus work for its runtime.
const OCAML: &str = testkit::source!("ocaml/spin-and-call/main.ml");

/// One domain calls C and keeps its lock; meanwhile the other makes short-lived values.
const OCAML_HELD: &str = testkit::source!("ocaml/held-in-call/main.ml");

const OCAML_STUB: &str = testkit::source!("ocaml/spin-and-call/stub.c");

/// Does what its first argument says.
const MODES: &str = r#"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
int c_busy(int);
int main(int count, char **words) {
  if (count < 2) return 9;
  if (!strcmp(words[1], "busy")) c_busy(600);
  if (!strcmp(words[1], "exec")) { c_busy(300); execl("/proc/self/exe", words[0], "busy", NULL); }
  if (!strcmp(words[1], "fork")) { if (!fork()) { c_busy(500); _exit(0); } wait(NULL); }
  if (!strcmp(words[1], "sleep")) for (int i = 0; i < atoi(words[2]); i++) usleep(1);
  if (!strcmp(words[1], "library")) {
    void *library = dlopen(words[2], RTLD_NOW);
    int (*busy)(int) = library ? (int (*)(int))dlsym(library, "c_busy") : 0;
    if (!busy) return 8;
    unlink(words[2]);
    busy(500);
  }
  if (!strcmp(words[1], "made")) {
    /* mov rax, rdi; dec rax; jnz -5; ret */
    unsigned char code[] = {0x48, 0x89, 0xf8, 0x48, 0xff, 0xc8, 0x75, 0xfb, 0xc3};
    void *at = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(at, code, sizeof code);
    ((void (*)(long))at)(1500000000);
  }
  puts("done");
  return 0;
}
"#;

/// Runs a command without `perf_event_open`, as a container's profile does.
const WITHOUT_PERF: &str = r#"
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int count, char **words) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) return 77;
  execv(words[1], words + 1);
  return 78;
}
"#;

/// Compiles C; `None`, after reporting it, if there is no compiler.
fn cc(folder: &Path, name: &str, sources: &[(&str, &str)], flags: &[&str]) -> Option<PathBuf> {
    let output = folder.join(name);
    let mut command = Command::new("cc");
    for (file, text) in sources {
        fs::write(folder.join(file), text).unwrap();
        command.arg(folder.join(file));
    }
    let Ok(done) = command.args(["-O1", "-o"]).arg(&output).args(flags).output() else {
        missing("a C compiler");
        return None;
    };
    assert!(done.status.success(), "{}", stderr(&done));
    Some(output)
}

fn modes(folder: &Path, flags: &[&str]) -> Option<PathBuf> {
    cc(folder, "modes", &[("modes.c", MODES), ("busy.c", BUSY)], &[flags, &["-ldl"]].concat())
}

/// Sums over the samples of one capture.
#[derive(Debug)]
struct Tally {
    /// Running time in milliseconds, by symbol.
    running: HashMap<String, (u64, Symbol)>,
    /// Waits by symbol, with what asked for them.
    waits: Vec<(Symbol, Symbol)>,
    losses: usize,
}

impl Tally {
    fn of(capture: &Path) -> Tally {
        Tally::with(capture, None)
    }

    /// With the names of `log`.
    fn with(capture: &Path, log: Option<&Eventlog>) -> Tally {
        let capture = Capture::open(capture).unwrap();
        let mut losses = Vec::new();
        let mut stream =
            rtscope_read::code::open(&capture, log.map(|log| log as &dyn rtscope_decode::formats::Log), &mut losses)
                .expect("code was sampled");
        let symbols: Symbols = stream.symbols().clone();
        let mut tally = Tally { running: HashMap::new(), waits: Vec::new(), losses: 0 };
        for event in stream.by_ref() {
            let Body::Code(sample) = event.body else { panic!("{event:?}") };
            let leaf = symbols.get(sample.leaf);
            match sample.what {
                Found::Running { ns } => {
                    tally.running.entry(leaf.name.clone()).or_insert((0, leaf.clone())).0 += ns / 1_000_000;
                }
                Found::Waits => {
                    let user = sample.user.map_or(Symbol::default(), |user| symbols.get(user).clone());
                    tally.waits.push((leaf.clone(), user));
                }
            }
        }
        tally.losses = losses.len() + stream.losses().len();
        tally
    }

    fn ms(&self, name: &str) -> u64 {
        self.running.get(name).map_or(0, |(ms, _)| *ms)
    }

    /// Milliseconds of code outside the kernel of this kind.
    fn of_kind(&self, kind: CodeKind) -> u64 {
        self.running.values().filter(|(_, symbol)| symbol.kind == kind).map(|(ms, _)| *ms).sum()
    }

    fn kind(&self, name: &str) -> Option<CodeKind> {
        self.running.get(name).map(|(_, symbol)| symbol.kind)
    }
}

/// What the manifest says is missing from code samples.
fn lacking(capture: &Path) -> String {
    manifest(capture)["code"]["missing"].to_string()
}

fn recorded(folder: &Path, words: &[&OsStr]) -> PathBuf {
    let capture = folder.join("c");
    let output = record(&capture, &["--sample-code", "997", "--no-eventlog"], words);
    assert!(output.status.success(), "{}", stderr(&output));
    capture
}

fn compile(toolchain: &Toolchain, folder: &Path, flags: &[&str]) -> PathBuf {
    fs::write(folder.join("Main.hs"), HASKELL).unwrap();
    fs::write(folder.join("busy.c"), BUSY).unwrap();
    let program = folder.join("program");
    let flags: Vec<&str> = ["-threaded"].iter().chain(flags).copied().collect();
    toolchain.compile(&[folder], &flags, &program).unwrap();
    program
}

/// Compiles and records the Haskell program; `None` if that GHC is not installed.
fn recorded_on(ghc: &str, flags: &[&str], folder: &Path) -> Option<PathBuf> {
    let _alone = MACHINE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let Some(toolchain) = Spec::find(ghc).unwrap().installed(&cache()) else {
        missing(&format!("{ghc}: `cargo xtask toolchains --only {ghc}`"));
        return None;
    };
    let program = compile(&toolchain, folder, flags);
    let capture = folder.join("c");
    let mut words: Vec<OsString> = toolchain.enter(&[folder]);
    words.push(program.into());
    words.extend(["+RTS", "-N2"].map(OsString::from));
    let words: Vec<&OsStr> = words.iter().map(OsString::as_os_str).collect();
    // In another root the working folder of the tests does not exist.
    let output = recorder(&capture, &["--sample-code", "997"], &words).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    Some(capture)
}

/// Spinning, a foreign call and a wait inside one are found by name with this GHC.
fn names_are_found(ghc: &str, flags: &[&str]) {
    let folder = scratch();
    let Some(capture) = recorded_on(ghc, flags, folder.path()) else { return };
    let tally = Tally::of(&capture);
    let spin = tally.ms("Main.$wspin") + tally.ms("Main.spin");
    let program = tally.of_kind(CodeKind::Program);
    assert!(spin > 100 && spin * 100 >= program * 95, "{spin} of {program} ms: {tally:?}");
    assert_eq!(tally.kind("c_busy"), Some(CodeKind::Foreign));
    let busy = tally.ms("c_busy");
    assert!((300..1200).contains(&busy), "c_busy for {busy} ms instead of 600");
    assert_eq!(tally.losses, 0);
    if is_root() {
        let slept = tally.waits.iter().filter(|(leaf, _)| leaf.source.as_deref() == Some("clock_nanosleep"));
        let users: Vec<_> = slept.map(|(leaf, user)| (leaf.name.as_str(), user.kind)).collect();
        assert!(users.len() >= 30, "{:?}", tally.waits);
        assert!(users.iter().all(|(leaf, kind)| leaf.contains("nanosleep") && *kind == CodeKind::Foreign), "{users:?}");
    }
}

#[test]
fn live_code_has_names_on_ghc_9_0() {
    names_are_found("ghc-9.0", &[]);
}

#[test]
fn live_code_has_names_on_ghc_9_6() {
    names_are_found("ghc-9.6", &[]);
}

#[test]
fn live_code_has_names_on_ghc_9_10() {
    names_are_found("ghc-9.10", &[]);
}

/// Compiles and records an OCaml program; `None` if that OCaml is not installed.
fn recorded_ocaml(toolchain: &str, text: &str, options: &[&str], folder: &Path) -> Option<PathBuf> {
    let _alone = MACHINE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let Some(toolchain) = Spec::find(toolchain).unwrap().installed(&cache()).filter(|own| own.ocaml().is_some()) else {
        missing(&format!("OCaml: `cargo xtask toolchains --only {toolchain}`"));
        return None;
    };
    let source = folder.join("source");
    fs::create_dir(&source).unwrap();
    for (name, text) in [("main.ml", text), ("stub.c", OCAML_STUB), ("busy.c", BUSY)] {
        fs::write(source.join(name), text).unwrap();
    }
    let program = folder.join("program");
    xtask::ocaml::compile(&toolchain, &[&source], &program).unwrap();
    let capture = folder.join("c");
    let mut words: Vec<OsString> = toolchain.enter(&[folder]);
    words.push(program.into());
    let words: Vec<&OsStr> = words.iter().map(OsString::as_os_str).collect();
    let output = recorder(&capture, options, &words).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    Some(capture)
}

/// OCaml's code, a C stub's and the runtime's are distinguished by name.
fn names_are_found_in_ocaml(toolchain: &str) {
    let folder = scratch();
    let Some(capture) = recorded_ocaml(toolchain, OCAML, &["--sample-code", "997"], folder.path()) else { return };
    let tally = Tally::of(&capture);
    assert!(tally.ms("Main.spin") > 100 && tally.kind("Main.spin") == Some(CodeKind::Program), "{tally:?}");
    let busy = tally.ms("c_busy");
    assert!((300..1200).contains(&busy), "c_busy for {busy} ms instead of 600");
    assert_eq!(tally.kind("c_busy"), Some(CodeKind::Foreign));
    assert!(tally.of_kind(CodeKind::Runtime) > 100, "{tally:?}");
    // No function of the runtime counts as the program's C, local ones included.
    let own = |(_, symbol): &&(u64, Symbol)| symbol.module == "program" && symbol.kind == CodeKind::Foreign;
    let foreign: Vec<_> = tally.running.values().filter(own).map(|(_, symbol)| &*symbol.name).collect();
    let written = ["c_busy", "milliseconds", "busy_stub", "clock_gettime", "clock_gettime@plt", "_init"];
    let expected = |name: &&str| written.contains(name) || name.starts_with("stub that leads to a library");
    assert!(foreign.iter().all(expected), "{foreign:?}");
}

/// A call that keeps its domain's lock is found, with the right name.
fn a_held_call_is_found_in_ocaml(toolchain: &str) {
    let folder = scratch();
    let Some(capture) = recorded_ocaml(toolchain, OCAML_HELD, &[], folder.path()) else { return };
    let report = ground::reported(&capture);
    let findings = report["findings"].as_array().unwrap();
    let claim = findings.iter().find(|one| one["id"] == "unsafe-foreign-call").map(|one| one["claim"].as_str());
    assert!(claim.flatten().is_some_and(|claim| claim.starts_with("`c_busy`, called from OCaml")), "{findings:?}");
}

#[test]
fn live_code_that_keeps_a_domain_is_found_on_ocaml_5_3() {
    a_held_call_is_found_in_ocaml("ghc-9.6");
}

#[test]
fn live_code_that_keeps_a_domain_is_found_on_ocaml_5_4() {
    a_held_call_is_found_in_ocaml("ghc-9.10");
}

#[test]
fn live_code_has_names_on_ocaml_5_3() {
    names_are_found_in_ocaml("ghc-9.6");
}

#[test]
fn live_code_has_names_on_ocaml_5_4() {
    names_are_found_in_ocaml("ghc-9.10");
}

#[test]
fn live_code_of_a_position_independent_program_has_names() {
    // GHC's own libraries are position-independent only as shared ones.
    names_are_found("ghc-9.0", &["-dynamic", "-fPIC", "-pie"]);
}

#[test]
fn live_code_has_the_place_in_the_source_where_the_log_gives_it() {
    let folder = scratch();
    let Some(capture) = recorded_on("ghc-9.10", &["-finfo-table-map"], folder.path()) else { return };
    let log = Eventlog::open(Arc::new(File::open(capture.join("eventlog/0.eventlog")).unwrap()), Vec::new()).unwrap();
    let tally = Tally::with(&capture, Some(&log));
    let spin = tally.running.values().filter(|(_, symbol)| symbol.name.contains("spin"));
    let (ms, symbol) = spin.max_by_key(|(ms, _)| *ms).expect("it spun");
    assert!(*ms > 100 && symbol.kind == CodeKind::Program, "{tally:?}");
    assert!(symbol.source.as_ref().is_some_and(|source| source.contains("Main.hs:")), "{symbol:?}");
}

#[test]
fn live_code_of_a_stripped_program_is_an_address_and_reported_as_such() {
    let _alone = MACHINE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let folder = scratch();
    let Some(program) = modes(folder.path(), &["-s"]) else { return };
    let capture = recorded(folder.path(), &[program.as_os_str(), "busy".as_ref()]);
    let tally = Tally::of(&capture);
    let unknown = tally.of_kind(CodeKind::Unknown);
    assert!(unknown > 400, "{tally:?}");
    let nameless = |(name, (_, symbol)): (&String, &(u64, Symbol))| {
        symbol.kind != CodeKind::Unknown || (name.starts_with("modes+0x") && symbol.module == "modes")
    };
    assert!(tally.running.iter().all(nameless), "{tally:?}");
    assert!(lacking(&capture).contains("modes has no names: the file is stripped"), "{}", lacking(&capture));
}

#[test]
fn live_code_made_at_run_time_is_called_that() {
    if !cfg!(target_arch = "x86_64") {
        return missing("an x86-64 machine");
    }
    let _alone = MACHINE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let folder = scratch();
    let Some(program) = modes(folder.path(), &[]) else { return };
    let capture = recorded(folder.path(), &[program.as_os_str(), "made".as_ref()]);
    let tally = Tally::of(&capture);
    assert!(tally.ms("code made at run time") > 100, "{tally:?}");
    assert_eq!(tally.kind("code made at run time"), Some(CodeKind::Unknown));
    assert!(lacking(&capture).contains("made at run time"), "{}", lacking(&capture));
}

#[test]
fn live_code_of_a_library_that_is_gone_is_an_address_and_reported_as_such() {
    let _alone = MACHINE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let folder = scratch();
    let Some(library) = cc(folder.path(), "libslow.so", &[("slow.c", BUSY)], &["-shared", "-fPIC"]) else { return };
    let Some(program) = modes(folder.path(), &[]) else { return };
    let capture = recorded(folder.path(), &[program.as_os_str(), "library".as_ref(), library.as_os_str()]);
    let tally = Tally::of(&capture);
    let gone: u64 =
        tally.running.iter().filter(|(name, _)| name.starts_with("libslow.so+0x")).map(|(_, (ms, _))| ms).sum();
    assert!(gone > 300, "{tally:?}");
    let said = lacking(&capture);
    assert!(said.contains("libslow.so has no names: the file is not there any more"), "{said}");
}

#[test]
fn live_code_after_fork_and_exec_has_names() {
    let _alone = MACHINE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    for (mode, at_least) in [("fork", 300), ("exec", 600)] {
        let folder = scratch();
        let Some(program) = modes(folder.path(), &["-pie", "-fPIE"]) else { return };
        let capture = recorded(folder.path(), &[program.as_os_str(), mode.as_ref()]);
        let tally = Tally::of(&capture);
        assert!(tally.ms("c_busy") > at_least, "{mode}: {tally:?}");
        assert_eq!(tally.of_kind(CodeKind::Unknown), 0, "{mode}: {tally:?}");
    }
}

#[test]
fn live_code_of_a_program_that_sleeps_without_end_costs_no_more_than_it_should() {
    if !is_root() {
        return missing("root, to look at the kernel's stacks");
    }
    let _alone = MACHINE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let folder = scratch();
    let Some(program) = modes(folder.path(), &[]) else { return };
    let started = std::time::Instant::now();
    let capture = recorded(folder.path(), &[program.as_os_str(), "sleep".as_ref(), "40000".as_ref()]);
    let waits = Tally::of(&capture).waits.len() as f64;
    let bounded = manifest(&capture)["losses"].to_string().contains("sleep so often");
    let cpus = manifest(&capture)["machine"]["cpus_online"].as_f64().unwrap();
    let sleeps_per_s = 40_000.0 / started.elapsed().as_secs_f64();
    if sleeps_per_s < 2_000.0 * cpus {
        eprintln!("not judged: the machine is too busy, {sleeps_per_s:.0} sleeps a second");
        return;
    }
    assert!(bounded && waits < 35_000.0, "{waits} waits were recorded");
}

#[test]
fn live_code_of_a_program_that_is_attached_to_has_names() {
    let _alone = MACHINE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let folder = scratch();
    let loops = MODES.replace("c_busy(600)", "c_busy(3000)");
    let Some(program) = cc(folder.path(), "modes", &[("modes.c", &loops), ("busy.c", BUSY)], &["-ldl"]) else { return };
    let mut child = Command::new(&program).arg("busy").spawn().unwrap();
    let capture = folder.path().join("c");
    let rate = ["--sample-code", "997", "--for", "700ms", "--pid", &child.id().to_string()].map(OsString::from);
    let mut command = Command::new(testkit::rtscope());
    let output = command.args(["record", "-o"]).arg(&capture).args(rate).output().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let tally = Tally::of(&capture);
    assert!(tally.ms("c_busy") > 200, "{tally:?}");
    assert_eq!(tally.of_kind(CodeKind::Unknown), 0, "{tally:?}");
}

#[test]
fn live_code_is_named_by_the_reader_where_the_recorder_was_killed() {
    let _alone = MACHINE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let folder = scratch();
    let Some(program) = modes(folder.path(), &[]) else { return };
    let capture = folder.path().join("c");
    let words = [program.as_os_str(), OsStr::new("exec")];
    let mut recording = recorder(&capture, &["--sample-code", "997", "--no-eventlog"], &words).spawn().unwrap();
    let streams = ["code/cpu0.perf.zst", "code/cpu1.perf.zst"].map(|name| capture.join(name));
    let written = || streams.iter().filter_map(|path| fs::metadata(path).ok()).map(|file| file.len()).sum::<u64>();
    wait_for("samples on the disk", || written() > 4_000);
    kill("KILL", recording.id());
    recording.wait().unwrap();
    assert!(!capture.join("code/symbols.json").exists());
    let tally = Tally::of(&capture);
    assert!(tally.ms("c_busy") > 50, "{tally:?}");
    // Another program of that name would give it wrong names.
    fs::remove_file(&program).unwrap();
    executable::copy("/bin/true", &program);
    let tally = Tally::of(&capture);
    assert_eq!(tally.ms("c_busy"), 0, "{tally:?}");
    assert!(tally.running.keys().any(|name| name.starts_with("modes+0x")), "{tally:?}");
}

#[test]
fn live_code_that_may_not_be_sampled_is_reported_not_fatal() {
    let _alone = MACHINE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let folder = scratch();
    let Some(program) = modes(folder.path(), &[]) else { return };
    let Some(without) = cc(folder.path(), "without", &[("without.c", WITHOUT_PERF)], &[]) else { return };
    let capture = folder.path().join("c");
    let mut command = Command::new(without);
    command.arg(testkit::rtscope()).args(["record", "-o"]).arg(&capture).arg("--").arg(&program);
    let output = command.arg("busy").output().unwrap();
    if matches!(output.status.code(), Some(77)) {
        return missing("seccomp");
    }
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(0), &b"done\n"[..]), "{}", stderr(&output));
    assert!(stderr(&output).contains("perf_event_paranoid=2"), "{}", stderr(&output));
    assert!(manifest(&capture)["code"].is_null());
    assert!(manifest(&capture)["notes"].to_string().contains("where the program's code was is not recorded"));
}

#[test]
fn root_code_without_privilege_is_the_programs_own() {
    if !is_root() {
        return missing("root, to give it up");
    }
    let _alone = MACHINE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let folder = scratch();
    let Some(program) = modes(folder.path(), &[]) else { return };
    let rtscope = folder.path().join("rtscope");
    executable::copy(testkit::rtscope(), &rtscope);
    let place = folder.path().join("place");
    fs::create_dir(&place).unwrap();
    fs::set_permissions(&place, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]).arg(&rtscope);
    command.args(["record", "--sample-code", "997", "-o"]).arg(place.join("c")).arg("--").arg(&program).arg("busy");
    let Ok(output) = command.current_dir(&place).output() else { return missing("setpriv (package util-linux)") };
    assert!(output.status.success(), "{}", stderr(&output));
    let capture = place.join("c");
    let tally = Tally::of(&capture);
    assert!(tally.ms("c_busy") > 300, "{tally:?}");
    assert!(tally.waits.is_empty());
    let said = lacking(&capture);
    assert!(said.contains("Waits are not named") && said.contains("run rtscope as root"), "{said}");
}
