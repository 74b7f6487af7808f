//! Live: `rtscope top` in parallel with a recording of the same run, on every GHC and every OCaml: what it
//! shows is what the report says of the same seconds. And everything that it may be pointed at.

use testkit::executable;
use testkit::ground;
use testkit::output::{pauses, stderr};
use testkit::rings;

use ground::{logging_pid, reported, scratch, wait_for};
use rings::Ground;
use rtscope_analyze::window::Totals;
use rtscope_analyze::{Analysis, Context};
use rtscope_encode::Tables;
use rtscope_model::manifest::Manifest;
use rtscope_model::{Body, Counter, Event, Runtime, Sample, Time};
use rtscope_read::observer::Observer;
use rtscope_read::{input, pipeline};
use serde_json::Value;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use xtask::cache::cache;
use xtask::missing;
use xtask::runner::Runner;
use xtask::toolchain::{Spec, is_root};
use xtask::workload;

/// Figures are compared: one run at a time.
static MACHINE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    MACHINE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `SECONDS`: every capability fills maps, and holds one for as long as it runs.
const PROGRAM: &str = testkit::source!("haskell/map-filler/Main.hs");

/// The program compiled by one GHC: the words of its command line.
fn haskell(name: &str, folder: &Path, flags: &[&str]) -> Option<Vec<OsString>> {
    let Some(toolchain) = Spec::find(name).unwrap().installed(&cache()) else {
        missing(&format!("{name}: `cargo xtask toolchains --only {name}`"));
        return None;
    };
    let source = folder.join("source");
    fs::create_dir_all(&source).unwrap();
    fs::write(source.join("Main.hs"), PROGRAM).unwrap();
    let program = folder.join("filler");
    toolchain.compile(&[&source], &[&["-O", "-threaded", "-rtsopts"], flags].concat(), &program).unwrap();
    // Commands begin in the folder of the tests.
    let mut words = toolchain.enter(&[folder, Path::new(env!("CARGO_MANIFEST_DIR"))]);
    words.push(program.into());
    Some(words)
}

/// `rtscope top`, not started yet.
fn top(of: impl AsRef<OsStr>, options: &[&str]) -> Command {
    let mut command = Command::new(testkit::rtscope());
    command.arg("top").arg(of).args(options).stdin(Stdio::null());
    command
}

/// Its documents, one per second.
#[track_caller]
fn documents(output: &Output) -> Vec<Value> {
    assert_eq!(output.status.code(), Some(0), "{}", stderr(output));
    let text = String::from_utf8_lossy(&output.stdout);
    let documents: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(!documents.is_empty());
    assert!(documents.iter().all(|document| document["schema"] == "rtscope/top/1"));
    documents
}

/// A program that ends with the test.
struct Started(Child);

impl Started {
    fn new(words: &[OsString], environment: &[(&str, &OsStr)]) -> Started {
        let mut command = rings::clean(&words[0]);
        command.args(&words[1..]).envs(environment.iter().copied()).stdout(Stdio::null());
        Started(command.spawn().unwrap())
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The process below `pid` (or itself) that runs a program called `name`: entering a tree takes
/// some processes.
fn running(pid: u32, name: &str) -> u32 {
    let host = rtscope_host::procfs::Host::default();
    let mut found = 0;
    wait_for(name, || {
        let all = [pid].into_iter().chain(host.descendants(pid));
        let is = |pid: &u32| fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|path| path.ends_with(name));
        found = all.into_iter().find(is).unwrap_or(0);
        found != 0
    });
    found
}

fn ns(value: &Value, key: &str) -> Option<u64> {
    value[key].as_u64()
}

/// A pause is counted once it is blamed, which waits for counters: at most 0.2 s, and a look or two.
const LATE_NS: u64 = 500_000_000;

/// The figures of the last document are those of the same seconds of the capture.
///
/// - Pauses: as many as were released in the window, give or take those of [`LATE_NS`] at
///   both of its ends.
/// - Quantiles of time to stop: top keeps them to two digits over a set that differs by these, so
///   its p99 lies between the p97 and the longest of all that the two can have in common.
/// - Productivity: what the report's fold says of the same seconds. That of the whole run differs: top takes
///   a CPU from a program that wants all of them, and did not run all the time.
fn agrees(document: &Value, capture: &Path) {
    let report = reported(capture);
    let (at, span) = (ns(document, "at_ns").unwrap(), ns(document, "span_ns").unwrap());
    let lines = pauses(capture);
    let within = |from: u64, to: u64| {
        let inside = move |line: &&Value| ns(line, "released_ns").is_some_and(|at| (from..to).contains(&at));
        lines.iter().filter(inside).collect::<Vec<_>>()
    };
    let (least, most) = (within(at - span + LATE_NS, at - LATE_NS), within(at - span - LATE_NS, at + LATE_NS));
    let shown_pauses = &document["pauses"];
    let count = ns(shown_pauses, "count").unwrap() as usize;
    assert!(least.len() > 20, "the run has only {} pauses", least.len());
    assert!((least.len()..=most.len()).contains(&count), "{count} pauses, not {} to {}", least.len(), most.len());
    let stop = |line: &&Value| Some(ns(line, "stopped_ns")? - ns(line, "requested_ns")?);
    let mut stops: Vec<u64> = most.iter().filter_map(stop).collect();
    stops.sort_unstable();
    let quantile = |share: f64| stops[((stops.len() - 1) as f64 * share) as usize];
    let p99 = ns(&shown_pauses["time_to_stop_ns"], "p99").unwrap() as f64;
    let (low, high) = (quantile(0.97) as f64 * 0.98, *stops.last().unwrap() as f64 * 1.02);
    assert!((low..=high).contains(&p99), "p99 of time to stop {p99}, not {low} to {high}");
    let of = |document: &Value, key: &str| document.pointer(key).and_then(Value::as_f64);
    let between = Between::of(capture, Time(at - span), Time(at));
    if of(&report, "/productivity/wall").is_some() {
        let shown = of(document, "/productivity_wall").expect("productivity");
        let wall = between.productivity().expect("productivity of the capture");
        assert!((wall - shown).abs() < 0.03, "productivity {shown}, by the capture {wall}");
    }
    // Two samplers of one process; that of a program whose ring is still filling grows all the time.
    let largest = of(&report, "/memory/rss_bytes/max").unwrap();
    let least = between.resident_least(at) as f64;
    let shown = of(document, "/memory/rss_bytes").unwrap();
    assert!(shown <= largest * 1.01 && shown > least * 0.5, "RSS {shown}, by the capture {least} to {largest}");
    // OCaml seldom reports it for a program that promotes nothing: not in every window.
    let live = ns(&document["memory"], "live_bytes");
    let said = between.live_before(at - LATE_NS);
    assert!(said.is_empty() || said.contains(&live.unwrap_or(0)), "live {live:?}, by the capture {said:?}");
    let lanes = report["lanes"].as_array().unwrap();
    assert_eq!(document["lanes"].as_array().unwrap().len(), lanes.len());
    // GHC writes a buffer out through the C library, which holds back its last bytes.
    assert!(ns(document, "log_gaps").unwrap() <= 8, "{document:#}");
    assert!(ns(shown_pauses, "partial").unwrap() * 20 <= count as u64, "{document:#}");
    assert_eq!(document["over"], Value::Null);
    let (used, wanted) = cpus(document);
    assert!(used > 0.0 && (0.8..=2.5).contains(&wanted), "{used} CPUs of {wanted} wanted");
}

/// The CPUs that it used, and those that it wanted: on a machine that others keep busy only the latter is a
/// property of the program. Of two lanes that work at least one wants a CPU at any time: in a collection the
/// other may sleep until that one got it.
fn cpus(document: &Value) -> (f64, f64) {
    let of = |key: &str| document[key].as_f64().expect("threads were seen");
    (of("cpus_used"), of("cpus_used") + of("cpus_missed"))
}

/// The fold of a report over a complete capture, read at two moments, what the runtime reported of live data
/// between them, and each sample of the resident set.
struct Between {
    moments: [Time; 2],
    analysis: Option<Analysis>,
    standings: Vec<Totals>,
    live: Vec<(u64, u64)>,
    resident: Vec<(u64, u64)>,
}

impl Between {
    fn of(capture: &Path, from: Time, to: Time) -> Between {
        let path = capture.display().to_string();
        let options = pipeline::Options { path, threads: 1, ..pipeline::Options::new(Path::new("")) };
        let mut between = Between {
            moments: [from, to],
            analysis: None,
            standings: Vec::new(),
            live: Vec::new(),
            resident: Vec::new(),
        };
        pipeline::watch(&input::open(capture, None).unwrap(), &options, &mut between).unwrap();
        // After the last event.
        let open = between.moments[between.standings.len()..].to_vec();
        let analysis = between.analysis.as_mut().unwrap();
        between.standings.extend(open.into_iter().map(|moment| analysis.standing(moment)));
        between
    }

    fn productivity(&self) -> Option<f64> {
        let [before, after] = &self.standings[..] else { panic!("two moments") };
        after.spent?.since(before.spent.unwrap_or_default()).productivity()
    }

    /// The smallest resident set of the second before `at`.
    fn resident_least(&self, at: u64) -> u64 {
        let last_second = self.resident.iter().filter(|(time, _)| (at - 1_000_000_000..=at).contains(time));
        last_second.map(|(_, bytes)| *bytes).min().expect("the resident set is sampled ten times a second")
    }

    /// What was reported last before `at`, and since; nothing if nothing was reported before it.
    fn live_before(&self, at: u64) -> Vec<u64> {
        let before = self.live.iter().rposition(|(said, _)| *said < at);
        before.map_or(Vec::new(), |first| self.live[first..].iter().map(|(_, bytes)| *bytes).collect())
    }
}

impl Observer for Between {
    fn start(&mut self, context: &Context, _: Option<&Manifest>) {
        self.analysis = Some(Analysis::new(Context { requests: None, heaps: Vec::new(), ..context.clone() }));
    }

    fn event(&mut self, event: &Event, tables: Tables<'_>) {
        let analysis = self.analysis.as_mut().unwrap();
        if self.moments.get(self.standings.len()).is_some_and(|moment| event.time >= *moment) {
            self.standings.push(analysis.standing(self.moments[self.standings.len()]));
        }
        if let (Body::Runtime(Runtime::Count(Counter::LiveBytes, bytes)), 1) = (event.body, self.standings.len()) {
            self.live.push((event.time.0, bytes));
        }
        if let Body::Sample(Sample::Rss { bytes }) = event.body {
            self.resident.push((event.time.0, bytes));
        }
        analysis.push(event, tables.kernel, &mut |_| {});
    }
}

/// Runs top in parallel with a recorder: it begins when the program has run for a while and ends before it.
fn alongside_recorder(mut recorder: Command, capture: &Path) {
    let recording = recorder.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let mut recording = Started(recording);
    let pid = logging_pid(capture);
    std::thread::sleep(Duration::from_millis(700));
    let output = top(pid.to_string(), &["--json", "--over", "5s", "--for", "7s"]).output().unwrap();
    let documents = documents(&output);
    assert!(recording.0.wait().unwrap().success());
    assert!((6..=8).contains(&documents.len()), "{} documents in 7 s", documents.len());
    // What is not settled yet at the end of a window was not at its start, either.
    let last = documents.last().unwrap();
    let lanes_ns = last["lanes"].as_array().unwrap().len() as f64 * last["span_ns"].as_f64().unwrap();
    assert!((0.7..1.3).contains(&(accounted(last) / lanes_ns)), "{last:#}");
    agrees(documents.last().unwrap(), capture);
}

fn ghc_agrees(name: &str) {
    let _alone = alone();
    let folder = scratch();
    let Some(words) = haskell(name, folder.path(), &[]) else { return };
    let capture = folder.path().join("c.rtscope");
    let words: Vec<&OsStr> = words.iter().map(OsString::as_os_str).collect();
    let more = ["10", "+RTS", "-N2", "-A1m"].map(OsStr::new);
    alongside_recorder(ground::recorder(&capture, &[], &[&words[..], &more].concat()), &capture);
}

#[test]
fn live_9_0_shows_what_the_report_says() {
    ghc_agrees("ghc-9.0");
}

#[test]
fn live_9_6_shows_what_the_report_says() {
    ghc_agrees("ghc-9.6");
}

#[test]
fn live_9_10_shows_what_the_report_says() {
    ghc_agrees("ghc-9.10");
}

fn ocaml_agrees(name: &str) {
    let _alone = alone();
    let Some(ground) = Ground::of(name) else { return };
    alongside_recorder(ground.recorder("c.rtscope", &[], &["domains", "2", "10"]), &ground.path("c.rtscope"));
}

#[test]
fn live_ocaml_5_3_shows_what_the_report_says() {
    ocaml_agrees("ghc-9.6");
}

#[test]
fn live_ocaml_5_4_shows_what_the_report_says() {
    ocaml_agrees("ghc-9.10");
}

/// A recording that is being written is followed, and says so when it ends; afterwards its end
/// is shown.
#[test]
fn live_a_capture_is_followed_and_shown_at_its_end() {
    let _alone = alone();
    let folder = scratch();
    let Some(words) = haskell("ghc-9.6", folder.path(), &[]) else { return };
    let capture = folder.path().join("c.rtscope");
    let words: Vec<&OsStr> = words.iter().map(OsString::as_os_str).collect();
    let more = ["9", "+RTS", "-N2", "-A1m"].map(OsStr::new);
    // The process that was started is not the one that logs.
    let shell = ["sh", "-c", "\"$@\"; true", "sh"].map(OsStr::new);
    let mut recorder = ground::recorder(&capture, &[], &[&shell, &words[..], &more].concat());
    let mut recording = Started(recorder.stdout(Stdio::null()).spawn().unwrap());
    wait_for("the capture", || capture.join("manifest.json").exists());
    let output = top(&capture, &["--json", "--over", "4s"]).output().unwrap();
    let followed = documents(&output);
    assert!(recording.0.wait().unwrap().success());
    let (last, before) = followed.split_last().unwrap();
    assert!(last["over"].as_str().is_some_and(|over| over.contains("ended")), "{last:#}");
    let steady = before.iter().rev().find(|document| document["span_ns"].as_u64() > Some(3_500_000_000));
    agrees(steady.expect("four seconds of it"), &capture);

    let output = top(&capture, &["--json", "--over", "4s"]).output().unwrap();
    let shown = documents(&output);
    let [shown] = &shown[..] else { panic!("{} documents", shown.len()) };
    assert!(shown["over"].as_str().is_some_and(|over| over.contains("recorded")), "{shown:#}");
    let mut shown = shown.clone();
    shown["over"] = Value::Null;
    agrees(&shown, &capture);
    let text = top(&capture, &[]).output().unwrap();
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.contains("these are its last seconds") && text.contains("time to stop"), "{text}");
    assert!(!text.contains('\x1b'), "{text}");
}

#[test]
fn live_an_ocaml_recording_is_followed() {
    let _alone = alone();
    let Some(ground) = Ground::of("ghc-9.10") else { return };
    let capture = ground.path("c.rtscope");
    let mut recorder = ground.recorder("c.rtscope", &[], &["domains", "2", "9"]);
    let mut recording = Started(recorder.stdout(Stdio::null()).spawn().unwrap());
    wait_for("the capture", || capture.join("manifest.json").exists());
    let followed = documents(&top(&capture, &["--json", "--over", "4s"]).output().unwrap());
    assert!(recording.0.wait().unwrap().success());
    let steady = followed
        .iter()
        .rev()
        .find(|document| document["span_ns"].as_u64() > Some(3_500_000_000) && document["over"].is_null());
    agrees(steady.expect("four seconds of it"), &capture);
}

/// A program that is throttled by a quota: the cause has that name.
fn throttled(name: &str, program: &str) {
    let _alone = alone();
    if !is_root() {
        return missing("root, for a control group with a quota");
    }
    let Some(toolchain) = Spec::find(name).unwrap().installed(&cache()) else {
        return missing(&format!("{name}: `cargo xtask toolchains --only {name}`"));
    };
    let runner = Runner::new(Path::new(testkit::rtscope())).unwrap();
    let workload = workload::load(program).unwrap();
    let capture = runner.scratch.join(format!("{program}-{name}.rtscope"));
    let output = std::thread::scope(|scope| {
        let run = scope.spawn(|| runner.run(&workload, &toolchain).unwrap());
        let pid = logging_pid(&capture);
        let output = top(pid.to_string(), &["--json", "--for", "2500ms"]).output().unwrap();
        run.join().unwrap();
        output
    });
    let documents = documents(&output);
    let last = documents.last().unwrap();
    assert!(last["throttled"]["throttled"].as_u64() > Some(3), "{last:#}");
    assert!(last["kept"]["quota"].as_f64() > Some(0.2), "{last:#}");
    assert_eq!(last["worst"]["cause"], "throttled", "{last:#}");
    // The quota keeps one lane off its CPU, and makes the others wait for that lane.
    let waited = in_account(last, "no-cpu") + in_account(last, "standing-still");
    assert!(waited > 0.3 * accounted(last), "{last:#}");
}

/// Lane time of the window in a top-level part of its account.
fn in_account(document: &Value, id: &str) -> f64 {
    let parts = document["account"].as_array().unwrap();
    parts.iter().filter(|part| part["id"] == id).filter_map(|part| part["ns"].as_f64()).sum()
}

fn accounted(document: &Value) -> f64 {
    document["account"].as_array().unwrap().iter().filter_map(|part| part["ns"].as_f64()).sum()
}

#[test]
fn live_a_quota_is_named_with_ghc() {
    throttled("ghc-9.6", "throttled");
}

#[test]
fn live_a_quota_is_named_with_ocaml() {
    throttled("ghc-9.10", "quota-domains");
}

fn notes(document: &Value) -> String {
    document["notes"].as_array().unwrap().iter().map(|note| note.as_str().unwrap()).collect::<Vec<_>>().join("\n")
}

/// Another kind of program, or one that logs nothing, is shown as far as the kernel allows; and when it ends,
/// top ends well.
#[test]
fn live_whatever_cannot_be_seen_is_reported() {
    let folder = scratch();
    let Some(words) = haskell("ghc-9.6", folder.path(), &[]) else { return };
    let line = |more: &[&str]| {
        let more = more.iter().map(OsString::from);
        words.iter().cloned().chain(more).collect::<Vec<_>>()
    };
    let look = |pid: u32, options: &[&str]| {
        let output = top(pid.to_string(), &[&["--json"], options].concat()).output().unwrap();
        documents(&output)
    };
    // Without a log.
    let program = Started::new(&line(&["20", "+RTS", "-N2"]), &[]);
    let pid = running(program.pid(), "filler");
    let seen = look(pid, &["--for", "3200ms"]);
    let last = seen.last().unwrap();
    assert!(notes(last).contains("no eventlog") && notes(last).contains("+RTS -l"), "{last:#}");
    let (used, wanted) = cpus(last);
    assert!(used > 0.0 && wanted > 0.5, "{last:#}");
    assert_eq!((&last["pauses"]["count"], &last["productivity_runtime"]), (&0.into(), &Value::Null));
    let plain = top(pid.to_string(), &["--for", "1200ms"]).output().unwrap();
    let plain = String::from_utf8(plain.stdout).unwrap();
    assert!(plain.contains("CPUs, RSS") && !plain.contains("pauses") && !plain.contains('\x1b'), "{plain}");
    drop(program);

    // Stripped: its log's buffers cannot be found.
    let stripped = folder.path().join("filler-bare");
    executable::copy(folder.path().join("filler"), &stripped);
    if !Command::new("strip").arg(&stripped).status().is_ok_and(|status| status.success()) {
        return missing("strip (package binutils)");
    }
    let mut bare = line(&["20", "+RTS", "-N2", "-l", "-RTS"]);
    bare[words.len() - 1] = stripped.clone().into();
    let log = format!("-ol{}", folder.path().join("own.eventlog").display());
    bare.push("+RTS".into());
    bare.push(log.into());
    let program = Started::new(&bare, &[]);
    let seen = look(running(program.pid(), "filler-bare"), &["--for", "1200ms"]);
    assert!(notes(&seen[0]).contains("not stripped"), "{:#}", seen[0]);
    drop(program);

    // Another kind of program.
    let program = Started::new(&["sleep".into(), "3".into()], &[]);
    let seen = look(program.pid(), &[]);
    assert!(notes(&seen[0]).contains("not a program of GHC or OCaml"), "{:#}", seen[0]);
    let last = seen.last().unwrap();
    assert_eq!(last["over"], format!("process {} has ended", program.pid()), "{last:#}");
    drop(program);

    // A shell that waits for the program: the program is named.
    let log = format!("-ol{}", folder.path().join("shell.eventlog").display());
    let inner: Vec<String> =
        line(&["20", "+RTS", "-l-a", "-N2", &log]).iter().map(|word| format!("'{}'", word.to_string_lossy())).collect();
    let shell = ["sh", "-c", &format!("{}; true", inner.join(" "))].map(OsString::from);
    let program = Started::new(&shell, &[]);
    let inner = running(program.pid(), "filler");
    let seen = look(program.pid(), &["--for", "1200ms"]);
    assert!(notes(&seen[0]).contains(&format!("rtscope top {inner}")), "{:#}", seen[0]);
    ground::kill("KILL", inner);
}

#[test]
fn live_what_does_not_exist_is_an_error_and_nothing_else() {
    let failure = |of: &str, options: &[&str]| {
        let output = top(of, options).output().unwrap();
        (output.status.code(), stderr(&output))
    };
    let (status, text) = failure("4194304", &[]);
    assert!(status == Some(1) && text.contains("no process 4194304"), "{text}");
    let (status, text) = failure("99999999999999999999", &[]);
    assert!(status == Some(1) && text.contains("too large"), "{text}");
    let (status, text) = failure("/nonexistent.rtscope", &[]);
    assert!(status == Some(1) && text.contains("No such file"), "{text}");
    let (status, text) = failure("1", &["--over", "2h"]);
    assert!(status == Some(2) && text.contains("600s"), "{text}");
    let folder = scratch();
    let (status, text) = failure(folder.path().to_str().unwrap(), &[]);
    assert!(status == Some(1) && text.contains("no capture"), "{text}");
}

/// The log of a program whose disk is full is still in its buffers.
#[test]
fn live_a_full_disk_does_not_end_the_view() {
    let _alone = alone();
    if !is_root() {
        return missing("root, for a small disk");
    }
    let folder = scratch();
    let Some(words) = haskell("ghc-9.0", folder.path(), &[]) else { return };
    let disk = folder.path().join("disk");
    fs::create_dir(&disk).unwrap();
    let program: Vec<String> = words.iter().map(|word| format!("'{}'", word.to_string_lossy())).collect();
    let script = format!(
        "mount -t tmpfs -o size=100k tmpfs '{disk}' || exit 99; cd '{disk}'; exec {} 12 +RTS -N2 -A256k -l -RTS",
        program.join(" "),
        disk = disk.display()
    );
    let words = ["unshare", "-m", "sh", "-c", &script].map(OsString::from);
    let program = Started::new(&words, &[]);
    let pid = running(program.pid(), "filler");
    // Longer than a buffer takes to fill up.
    std::thread::sleep(Duration::from_secs(2));
    let seen = documents(&top(pid.to_string(), &["--json", "--for", "6s", "--over", "5s"]).output().unwrap());
    let last = seen.last().unwrap();
    assert!(last["pauses"]["count"].as_u64() > Some(50), "{last:#}");
}

/// A user without permission sees what all users can see.
#[test]
fn root_without_permission_counters_are_shown() {
    let folder = scratch();
    let Some(words) = haskell("ghc-9.6", folder.path(), &[]) else { return };
    if !is_root() {
        return missing("root, to give it up");
    }
    let rtscope = folder.path().join("rtscope");
    executable::copy(testkit::rtscope(), &rtscope);
    let log = format!("-ol{}", folder.path().join("own.eventlog").display());
    let line = words.iter().cloned().chain(["20", "+RTS", "-N2", "-l", &log].map(OsString::from));
    let program = Started::new(&line.collect::<Vec<_>>(), &[]);
    let pid = running(program.pid(), "filler").to_string();
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]).arg(&rtscope);
    let output = command.args(["top", &pid, "--json", "--for", "2200ms"]).stdin(Stdio::null()).output();
    let Ok(output) = output else { return missing("setpriv (package util-linux)") };
    let documents = documents(&output);
    let last = documents.last().unwrap();
    assert!(notes(last).contains("as its own user or as root"), "{last:#}");
    assert!(last["memory"]["rss_bytes"].as_u64() > Some(1 << 20), "{last:#}");
}

/// On a terminal: the screen is restored, by a key and by a signal.
#[test]
fn live_a_terminal_is_given_back() {
    if Command::new("script").arg("--version").output().is_err() {
        return missing("script (package bsdutils)");
    }
    let program = Started::new(&["sleep".into(), "30".into()], &[]);
    // In place of the shell: some end on a Ctrl-C themselves, whatever the program does with it.
    let line = format!("exec {} top {}", testkit::rtscope(), program.pid());
    for (key, colour) in [(&b"q"[..], true), (&b"\x03"[..], true), (&b"q"[..], false)] {
        // A process started in the background by a shell ignores Ctrl-C, and so do its children.
        let mut command = Command::new("env");
        command
            .args(["--default-signal=INT", "script", "-qec", &line, "/dev/null"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .env("TERM", "xterm");
        command.env_remove("NO_COLOR");
        if !colour {
            command.env("NO_COLOR", "1");
        }
        let mut child = command.spawn().unwrap();
        // A key that is pressed before the terminal is taken over is the terminal's: Ctrl-C ends whatever runs.
        let mut seen = Vec::new();
        let out = child.stdout.as_mut().unwrap();
        while !String::from_utf8_lossy(&seen).contains("not a program of GHC or OCaml") {
            let mut more = [0; 4096];
            let count = out.read(&mut more).unwrap();
            assert!(count > 0, "it ended: {:?}", String::from_utf8_lossy(&seen));
            seen.extend_from_slice(&more[..count]);
        }
        let mut input = child.stdin.take().unwrap();
        if let Err(error) = input.write_all(key) {
            panic!("it ended before a key was pressed ({error}): {:?}", child.wait_with_output());
        }
        let done = child.wait_with_output().unwrap();
        drop(input);
        assert_eq!(done.status.code(), Some(0));
        seen.extend(done.stdout);
        let text = String::from_utf8_lossy(&seen).into_owned();
        let (open, close) = (text.find("\x1b[?1049h").expect("opened"), text.rfind("\x1b[?1049l").expect("closed"));
        assert!(open < close && text[..close].contains("\x1b[?25h"), "{text:?}");
        assert!(text[open..close].contains("not a program of GHC or OCaml"), "{text:?}");
        // The last view stays, below what was there before.
        assert!(text[close..].contains(&format!("process {}", program.pid())), "{text:?}");
        assert_eq!(text.contains("\x1b[1m"), colour, "{text:?}");
    }
}
