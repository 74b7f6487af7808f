//! Live: trials of real programs of each compiler, and of servers that misbehave. Owns assertions about what a
//! trial reports; nothing about speed.

use testkit::ground;

use ground::scratch;
use rtscope_host::signals::Signals;
use rtscope_host::trial::{Bounds, Gate, Job};
use rtscope_lab::tune::live::{Live, Tried, Way, outcome};
use rtscope_lab::tune::measure::Figures;
use rtscope_lab::tune::objective::Objective;
use rtscope_lab::tune::runtimes::ghc::FIGURES;
use rtscope_load::Load;
use rtscope_load::limit::{Figure, Limit};
use rtscope_load::profile::{Phase, Profile};
use rtscope_load::target::{Protocol, Target};
use rtscope_tune::study::Outcome;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use xtask::cache::cache;
use xtask::toolchain::{ALL, Toolchain};
use xtask::{missing, ocaml};

const LONG: Duration = Duration::from_secs(120);
const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../workloads/haskell/trial");

/// A compiled program, and how it is entered.
struct Built {
    folder: TempDir,
    toolchain: Toolchain,
}

impl Built {
    fn ghc(toolchain: &Toolchain) -> Built {
        let folder = scratch();
        let sources = folder.path().join("source");
        fs::create_dir(&sources).unwrap();
        for name in ["Main.hs", "sockets.c"] {
            fs::copy(Path::new(SOURCE).join(name), sources.join(name)).unwrap();
        }
        toolchain.compile(&[&sources], &["-threaded", "-rtsopts=all"], &folder.path().join("program")).unwrap();
        Built { folder, toolchain: toolchain.clone() }
    }

    fn job(&self, words: &[&str], set: &[(&str, &str)]) -> Job {
        let folder = self.folder.path();
        // The working directory has to be there in a tree, too.
        let mut argv = vec!["env".into(), "-C".into(), folder.into()];
        argv.extend(self.toolchain.enter(&[folder]));
        argv.push(self.folder.path().join("program").into());
        argv.extend(words.iter().map(OsString::from));
        let set = set.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect();
        Job { argv, set, ..Job::default() }
    }

    /// A new folder below it: trials of one process use the same file names.
    fn scratch(&self) -> PathBuf {
        tempfile::tempdir_in(self.folder.path()).unwrap().keep()
    }
}

/// The program of this machine's own GHC.
fn own() -> Option<&'static Built> {
    static BUILT: OnceLock<Option<Built>> = OnceLock::new();
    let built = BUILT.get_or_init(|| Toolchain::of_this_machine().map(|toolchain| Built::ghc(&toolchain)));
    if built.is_none() {
        missing("ghc");
    }
    built.as_ref()
}

/// Trials that tolerate other load on the machine.
fn live(way: Way, ghc: bool, scratch: PathBuf) -> Live<'static> {
    let gate = Gate { quiet: Duration::ZERO, ..Gate::default() };
    let bounds = Bounds { foreign: 1.0, steal: 1.0 };
    Live {
        gate,
        bounds,
        grace: Duration::from_secs(20),
        tries: 1,
        ..Live::new(way, ghc.then_some(&FIGURES), scratch, None)
    }
}

fn batch() -> Way {
    Way::Batch { timeout: LONG }
}

fn clean(tried: Tried) -> Figures {
    match tried {
        Tried::Clean(figures) => figures,
        other => panic!("{other:?}"),
    }
}

fn failed(tried: Tried) -> (String, Figures) {
    match tried {
        Tried::Failed { why, figures } => (why, figures),
        other => panic!("{other:?}"),
    }
}

fn undisturbed(live: &mut Live<'_>, job: &Job) -> Tried {
    live.run(job, &mut |why, _| panic!("dirty: {why}"))
}

fn objective(minimize: &str, limits: &[&str], server: bool) -> Objective {
    let limits = limits.iter().map(|limit| limit.parse().unwrap()).collect();
    Objective::new(minimize.parse().unwrap(), limits, server).unwrap()
}

#[test]
fn live_a_program_of_each_ghc_says_its_own_figures() {
    for spec in &ALL {
        let Some(toolchain) = spec.installed(&cache()) else {
            missing(spec.name);
            continue;
        };
        let built = Built::ghc(&toolchain);
        let scratch = built.scratch();
        let mut live = live(batch(), true, scratch.clone());
        let figures = clean(undisturbed(&mut live, &built.job(&["churn", "400000"], &[("GHCRTS", "-A1m -N2")])));
        let [time, wall, mutator, gc] = ["time_ns", "wall_ns", "mutator_ns", "gc_ns"].map(|name| figures[name]);
        assert!(time == mutator + gc && time <= wall && gc > 0.0, "{}: {figures:?}", spec.name);
        assert!(figures["productivity"] > 0.0 && figures["productivity"] < 1.0);
        assert!(figures["allocated_bytes"] > 1e8 && figures["gen0_per_second"] > 0.0, "{figures:?}");
        assert!(figures["max_pause_ns"] >= figures["mean_pause_ns"] && figures["mean_pause_ns"] > 0.0);
        assert!(figures["rss_bytes"] > 4e6 && figures["cpu_ns"] > 0.0 && figures["heap_bytes"] > 2e6);
        assert!(live.notes.iter().all(|note| !note.contains("no figures")), "{:?}", live.notes);
        // With eight times the nursery there are fewer collections: the flags arrive.
        let large = clean(undisturbed(&mut live, &built.job(&["churn", "400000"], &[("GHCRTS", "-A8m -N2")])));
        assert!(large["collections"] * 4.0 < figures["collections"], "{large:?} {figures:?}");
        let left = fs::read_dir(&scratch).unwrap().flatten().map(|entry| entry.file_name());
        assert!(left.into_iter().all(|name| !name.to_string_lossy().starts_with("statistics")));
    }
}

#[test]
fn live_requested_statistics_stay() {
    let Some(built) = own() else { return };
    let mut live = live(batch(), true, built.scratch());
    let theirs = built.scratch().join("theirs");
    let flags = format!("-s{}", theirs.display());
    let tried = undisturbed(&mut live, &built.job(&["churn", "1000"], &[("GHCRTS", &flags)]));
    assert!(fs::read_to_string(&theirs).unwrap().contains("Productivity"));
    assert!(live.notes.iter().any(|note| note.contains("is given")), "{:?}", live.notes);
    let Outcome::Stopped(why) = outcome(&tried, &objective("time", &[], false)) else { panic!("{tried:?}") };
    assert!(why.contains("do not say time"), "{why}");
    assert!(matches!(outcome(&tried, &objective("wall", &[], false)), Outcome::Measured(wall) if wall > 1.0));
}

const OCAML: &str = testkit::source!("ocaml/small-batch/main.ml");

#[test]
fn live_a_program_of_each_ocaml_is_timed_by_the_clock() {
    for spec in ALL.iter().filter(|spec| spec.ocaml.is_some()) {
        let Some(toolchain) = spec.installed(&cache()) else {
            missing(spec.name);
            continue;
        };
        let folder = scratch();
        let source = folder.path().join("source");
        fs::create_dir(&source).unwrap();
        fs::write(source.join("program.ml"), OCAML).unwrap();
        ocaml::compile(&toolchain, &[&source], &folder.path().join("program")).unwrap();
        let built = Built { folder, toolchain };
        let mut live = live(batch(), false, built.scratch());
        let figures = clean(undisturbed(&mut live, &built.job(&[], &[("OCAMLRUNPARAM", "s=64k")])));
        assert!(figures["time_ns"] == figures["wall_ns"] && figures["time_ns"] > 0.0, "{figures:?}");
        assert!(!figures.contains_key("productivity") && figures["rss_bytes"] > 1e6);
        let (why, _) = failed(undisturbed(&mut live, &built.job(&["no-luck"], &[])));
        assert!(
            why.contains("it ended with 2") && why.contains("Fatal error: exception Failure(\"no-luck\")"),
            "{why}"
        );
    }
}

#[test]
fn live_programs_that_fail_say_why() {
    let Some(built) = own() else { return };
    let mut live = live(batch(), true, built.scratch());
    let refused = |ghcrts: &str| built.job(&["churn", "1000"], &[("GHCRTS", ghcrts)]);
    let (why, _) = failed(undisturbed(&mut live, &refused("-A1k")));
    assert!(why.starts_with("GHC's runtime refused its flags: error in RTS option -A1k: size outside"), "{why}");
    let (why, _) = failed(undisturbed(&mut live, &refused("-c -xn")));
    assert!(why.contains("refused its flags") && why.contains("cannot be used in conjunction"), "{why}");
    let (why, figures) = failed(undisturbed(&mut live, &built.job(&["churn", "400000"], &[("GHCRTS", "-M2m")])));
    assert!(why.starts_with("it ended with 251; it said last: program: Heap exhausted;"), "{why}");
    assert!(figures["wall_ns"] > 0.0);
    let (why, _) = failed(undisturbed(&mut live, &built.job(&["nonsense"], &[])));
    assert!(why.contains("it ended with 9") && why.contains("nonsense"), "{why}");
    let shell = |script: &str| Job { argv: ["sh", "-c", script].map(OsString::from).into(), ..Job::default() };
    let (why, _) = failed(undisturbed(&mut live, &shell("kill -SEGV $$")));
    assert_eq!(why, "it was killed by SIGSEGV and said nothing");
    let (why, _) = failed(undisturbed(&mut live, &Job { argv: vec!["/no/such".into()], ..Job::default() }));
    assert!(why.contains("not found"), "{why}");
    live.way = Way::Batch { timeout: Duration::from_millis(100) };
    live.grace = Duration::from_millis(50);
    let (why, _) = failed(undisturbed(&mut live, &shell("trap '' INT TERM; echo stubborn; exec sleep 1000")));
    assert!(why.starts_with("it did not end within 100 ms"), "{why}");
}

#[test]
fn root_live_memory_is_what_it_held() {
    let Some(built) = own() else { return };
    let mut live = live(batch(), true, built.scratch());
    let mut peak = |mib: u64| clean(undisturbed(&mut live, &built.job(&["hold", &mib.to_string()], &[])))["rss_bytes"];
    let (none, much) = (peak(0), peak(192));
    let off = (much - none) / f64::from(1 << 20) - 192.0;
    // The kernel charges a group in batches for each CPU.
    assert!(off.abs() < 2.0, "off by {off} MiB");
    let tried = undisturbed(&mut live, &built.job(&["hold", "192"], &[]));
    let Outcome::Failed(why) = outcome(&tried, &objective("time", &["rss=100M"], false)) else { panic!("{tried:?}") };
    assert!(why.starts_with("rss ") && why.ends_with(" MiB is above the limit of 100 MiB"), "{why}");
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn load(port: u16, lasts: Duration) -> Box<Load> {
    Box::new(Load {
        target: Target::new(&format!("http://127.0.0.1:{port}/"), Protocol::Http1).unwrap(),
        profile: Profile::new(vec![Phase::constant(100.0, lasts)]).unwrap(),
        warm_up: Duration::from_millis(200),
        connections: 4,
        streams: 1,
        threads: 1,
        timeout: Duration::from_secs(10),
        limits: Vec::new(),
        keep: 0,
    })
}

fn server(port: u16) -> Way {
    Way::Server { load: load(port, Duration::from_secs(1)), ready: Duration::from_secs(60) }
}

fn served(built: &Built, port: u16, status: &str, most: &str) -> Tried {
    let mut live = live(server(port), true, built.scratch());
    let job = built.job(&["serve", &port.to_string(), status, most], &[("GHCRTS", "-N2")]);
    // A busy machine is late with its requests, which does not matter here.
    let mut late = None;
    let tried = live.run(&job, &mut |_, figures| late = Some(figures.clone()));
    late.map_or(tried, Tried::Clean)
}

#[test]
fn live_a_server_is_loaded_and_says_its_figures_at_its_end() {
    let Some(built) = own() else { return };
    let port = free_port();
    let figures = clean(served(built, port, "200", "0"));
    assert_eq!((figures["requests"], figures["errors"]), (100.0, 0.0), "{figures:?}");
    assert!(
        figures["p50_ns"] > 0.0 && figures["p50_ns"] <= figures["p99_ns"] && figures["p99_ns"] <= figures["max_ns"]
    );
    // It was ended by SIGINT, so the runtime printed its own.
    assert!(figures["productivity"] > 0.0 && figures["cpu_per_request_ns"] > 0.0, "{figures:?}");
    assert!(!figures.contains_key("time_ns"));
    TcpListener::bind(("127.0.0.1", port)).unwrap();
}

#[test]
fn live_answers_that_are_errors_are_counted() {
    let Some(built) = own() else { return };
    let tried = served(built, free_port(), "500", "0");
    let Tried::Clean(figures) = &tried else { panic!("{tried:?}") };
    assert_eq!((figures["errors"], figures["error_share"]), (100.0, 1.0));
    let asked = objective("p99", &["rss=4G", "errors=0"], true);
    assert_eq!(outcome(&tried, &asked), Outcome::Failed("errors 100 is above the limit of 0".to_owned()));
}

#[test]
fn live_servers_that_do_not_serve_say_why() {
    let Some(built) = own() else { return };
    let port = free_port();
    let (why, _) = failed(served(built, port, "200", "50"));
    assert!(why.starts_with("it ended while it was under load: it ended with 7; it said last: cannot go on"), "{why}");
    let mut never = live(server(port), false, built.scratch());
    never.way = Way::Server { load: load(port, Duration::from_secs(1)), ready: Duration::from_millis(200) };
    let shell = |script: &str| Job { argv: ["sh", "-c", script].map(OsString::from).into(), ..Job::default() };
    let (why, _) = failed(undisturbed(&mut never, &shell("echo waiting for a database; exec sleep 1000")));
    assert_eq!(why, "it took no connections within 200 ms; it said last: waiting for a database");
    let (why, _) = failed(undisturbed(&mut never, &shell("echo no configuration >&2; exit 3")));
    assert_eq!(why, "it ended before it took connections: it ended with 3; it said last: no configuration");
    let limit =
        Limit { figure: Figure::Errors, above: 0.5, lasts: Duration::from_secs(1), text: "errors > 50%".to_owned() };
    let limited = Load { limits: vec![limit], ..*load(port, Duration::from_secs(30)) };
    let mut given_up = live(Way::Server { load: Box::new(limited), ready: LONG }, false, built.scratch());
    let job = built.job(&["serve", &port.to_string(), "503", "0"], &[]);
    let (why, figures) = failed(given_up.run(&job, &mut |_, _| ()));
    assert!(why.starts_with("the load was given up: errors > 50%") && figures["errors"] > 0.0, "{why}");
}

#[test]
fn live_a_port_that_is_taken_stops_the_study() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let folder = scratch();
    let mut live = live(server(taken.local_addr().unwrap().port()), false, folder.path().into());
    let job = Job { argv: vec!["true".into()], ..Job::default() };
    let Tried::Stopped(why) = undisturbed(&mut live, &job) else { panic!("it was tried") };
    assert!(why.contains("already"), "{why}");
}

const CHILD: &str = "RTSCOPE_TEST_TRIAL";

/// Runs in a process of its own in the tests below: the trial of a server under a long load.
#[test]
fn live_a_trial_in_a_process_of_its_own() {
    let Some(words) = std::env::var_os(CHILD) else { return };
    let words: Vec<String> = words.to_string_lossy().split(' ').map(str::to_owned).collect();
    let [program, port, scratch] = &words[..] else { panic!("{words:?}") };
    let signals = Signals::install().unwrap();
    let way = Way::Server { load: load(port.parse().unwrap(), LONG), ready: LONG };
    let mut live = live(way, true, scratch.into());
    live.signals = Some(&signals);
    let argv = [program, "serve", port.as_str(), "200", "0"].map(OsString::from).into();
    println!("\ntried {:?}", live.run(&Job { argv, ..Job::default() }, &mut |_, _| ()));
}

/// Starts that process, sends it a signal when its server serves, and gives its output. The server and the
/// control groups have to be gone by then.
fn signalled(signal: &str) -> Option<String> {
    let built = own()?;
    let port = free_port();
    let program = built.folder.path().join("program");
    let words = format!("{} {port} {}", program.display(), built.folder.path().display());
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "trials::live_a_trial_in_a_process_of_its_own", "--nocapture"]).env(CHILD, words);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let serves = || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok();
    ground::wait_for("a server", serves);
    std::thread::sleep(Duration::from_millis(300));
    let pid = child.id().to_string();
    assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let said = lines.filter(|line| line.starts_with("tried ")).collect::<String>();
    child.wait().unwrap();
    ground::wait_for("the server's end", || !serves());
    if signal == "-TERM" {
        assert!(!groups_of(&pid), "its control group is left");
    }
    Some(said)
}

/// Whether a control group of that process is there.
fn groups_of(pid: &str) -> bool {
    let found = Command::new("find").args(["/sys/fs/cgroup", "-name", &format!("rtscope-trial-{pid}-*")]).output();
    found.is_ok_and(|done| !done.stdout.is_empty())
}

#[test]
fn live_an_interrupt_ends_the_study_and_the_server() {
    let from = Instant::now();
    // SIGINT may be ignored where tests run in the background.
    let Some(said) = signalled("-TERM") else { return };
    assert_eq!(said, "tried Stopped(\"interrupted\")");
    assert!(from.elapsed() < LONG);
}

#[test]
fn live_a_server_does_not_outlive_a_killed_rtscope() {
    let Some(said) = signalled("-KILL") else { return };
    assert_eq!(said, "");
    // The next trial of any process removes its empty group.
    let folder = scratch();
    let mut next = live(batch(), false, folder.path().into());
    clean(undisturbed(&mut next, &Job { argv: vec![OsStr::new("true").into()], ..Job::default() }));
}
