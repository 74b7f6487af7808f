//! Each kind of setting for each kind of program. Every finding in the tests of rules passes
//! through [`is_ready_to_paste`].

use super::*;
use crate::recording::start::Start;
use crate::results::{Program, ProgramRuntime};
use rtscope_model::manifest::{Binary, Group};
use rtscope_model::runtimes::{GHC, OCAML};
use rtscope_model::{Claim, Confidence, GroupId, Remedy, Severity};

/// The line has no placeholders: a word in capitals is the name of a variable, or a word of the compiler.
pub(super) fn is_ready_to_paste(remedy: &Remedy) {
    let line = remedy.flag.as_deref().unwrap_or_default();
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let ends = line.char_indices().filter(|(at, c)| !is_name(*c) || at + 1 == line.len());
    for (at, last) in ends {
        let end = if is_name(last) { at + 1 } else { at };
        let word = line[..end].rsplit(|c| !is_name(c)).next().unwrap_or_default();
        let capitals = word.len() > 2 && word.chars().all(|c| c.is_ascii_uppercase() || c == '_');
        assert!(!capitals || last == '=' || ["RTS", "OPTIONS_GHC"].contains(&word), "{word} in {line}");
    }
}

#[test]
#[should_panic(expected = "SIZE in ./x SIZE")]
fn a_placeholder_is_seen() {
    is_ready_to_paste(&Remedy { flag: Some("./x SIZE".into()), ..Remedy::new("") });
}

/// The log of a threaded program.
fn of_ghc() -> Context {
    let runtime = ProgramRuntime { family: Some("ghc".into()), ..ProgramRuntime::default() };
    Context { runtime, threaded: Some(true), ..Context::default() }
}

/// The recording of a threaded GHC 9.6 program with that link.
fn linked(rtsopts: Option<&str>, with: &str) -> Context {
    let binary = Binary {
        family: Some("ghc".into()),
        way: rtsopts.map(|_| "thr".into()),
        rtsopts: rtsopts.map(str::to_owned),
        with_rtsopts: Some(with.to_owned()).filter(|with| !with.is_empty()),
        ..Binary::default()
    };
    let start = Start { binary: Some(binary), ..Start::default() };
    let version = Some("9.6.6".into());
    Context { start, runtime: ProgramRuntime { version, ..of_ghc().runtime }, ..of_ghc() }
}

fn in_environment(name: &str, value: &str, mut context: Context) -> Context {
    context.start.environment = vec![("LANG".into(), "C".into()), (name.into(), value.into())];
    context
}

fn with_args(args: &[&str], mut context: Context) -> Context {
    context.runtime.args = args.iter().map(|arg| (*arg).to_owned()).collect();
    context
}

/// The line for an option, and the sentence after it.
fn option(word: &str, context: &Context) -> (String, String) {
    let runtime = if word.starts_with('-') { &GHC } else { &OCAML };
    let spelled = spelled(&Setting::option(word), runtime, context);
    let note = match spelled.note {
        Some(Note::Own(text) | Note::Relink(text)) => text,
        Some(Note::PerhapsRelink(text)) => text.to_owned(),
        None => String::new(),
    };
    (spelled.line.unwrap_or_default(), note)
}

fn line(word: &str, context: &Context) -> String {
    option(word, context).0
}

#[test]
fn a_program_that_takes_every_option_gets_it_on_its_command_line() {
    let all = linked(Some("all"), "-T");
    for word in ["-A64m", "-N2", "-qg", "--nonmoving-gc"] {
        assert_eq!(option(word, &all), (format!("+RTS {word}"), String::new()));
    }
}

#[test]
fn the_default_link_takes_what_is_harmless_and_gets_the_rest_linked_in() {
    let some = linked(Some("some"), "-N -T -A1m");
    assert_eq!(option("-N2", &some), ("+RTS -N2".into(), String::new()));
    assert_eq!(line("--nonmoving-gc", &some), "+RTS --nonmoving-gc");
    let (line, note) = option("-A64m", &some);
    assert_eq!(line, "ghc-options: \"-with-rtsopts=-N -T -A64m\"");
    assert_eq!(note, "The program is linked with -rtsopts=some: it accepts this only at link time.");
}

#[test]
fn a_program_that_takes_nothing_from_outside_gets_everything_linked_in() {
    for rtsopts in ["none", "ignoreAll"] {
        let closed = linked(Some(rtsopts), "-N");
        assert_eq!(line("-N2", &closed), "ghc-options: \"-with-rtsopts=-N2\"");
        assert!(option("-A64m", &closed).1.contains(&format!("-rtsopts={rtsopts}:")));
    }
    let (line, note) = option("-A64m", &linked(None, ""));
    assert_eq!(line, "ghc-options: \"-with-rtsopts=-A64m\"");
    assert!(note.starts_with("which options this program accepts is not known"), "{note}");
}

#[test]
fn a_program_that_reads_its_environment_alone_keeps_what_that_held() {
    let ignore = linked(Some("ignore"), "-N");
    assert_eq!(line("-A64m", &ignore), "GHCRTS=-A64m");
    let own = in_environment("GHCRTS", "-A1m -T", ignore);
    assert_eq!(line("-A64m", &own), "GHCRTS='-T -A64m'");
}

#[test]
fn the_plain_runtime_has_to_be_replaced_for_what_only_the_other_has() {
    let mut plain = linked(Some("all"), "-T");
    plain.start.binary.as_mut().unwrap().way = Some(String::new());
    plain.threaded = Some(false);
    let (line, note) = option("-qg", &plain);
    assert_eq!(line, "ghc-options: -threaded \"-with-rtsopts=-T -qg\"");
    assert!(note.contains("threaded runtime"), "{note}");
    assert_eq!(self::line("-A64m", &plain), "+RTS -A64m");
}

#[test]
fn what_the_compiler_is_too_old_for_has_no_line() {
    let mut old = linked(Some("all"), "");
    old.runtime.version = Some("8.8.4".into());
    assert_eq!(option("--nonmoving-gc", &old), (String::new(), "It needs GHC 8.10 or later.".into()));
    assert_eq!(line("-A64m", &old), "+RTS -A64m");
}

#[test]
fn collectors_that_do_not_go_together_are_not_put_together() {
    let linked_in = linked(Some("all"), "-c -T");
    let (line, note) = option("--nonmoving-gc", &linked_in);
    assert_eq!(line, "ghc-options: \"-with-rtsopts=-T --nonmoving-gc\"");
    assert!(note.contains("conflicts with -c"), "{note}");
    let given = with_args(&["p", "+RTS", "-c"], linked(Some("all"), ""));
    assert_eq!(option("--nonmoving-gc", &given).1, "Leave -c out: the two conflict.");
}

#[test]
fn a_log_alone_shows_what_the_program_was_started_with() {
    let unknown_note = GHC.spelling.link.unwrap().unknown_note;
    for (args, word, note) in [
        (&["p"][..], "-A64m", unknown_note),
        (&["p", "+RTS", "-l", "-N2"], "-A64m", unknown_note),
        (&["p", "-A1m", "+RTS", "-olx", "-RTS", "-A1m"], "-A64m", unknown_note),
        // Later compilers allow these by default.
        (&["p", "+RTS", "--eventlog-flush-interval=1", "--no-automatic-heap-samples", "-xns"], "-A64m", unknown_note),
        (&["p", "+RTS", "-A1m"], "-A64m", ""),
        (&["p", "+RTS", "-A1m"], "-qg", ""),
        (&["p"], "-N2", ""),
    ] {
        let log = with_args(args, of_ghc());
        assert_eq!(option(word, &log), (format!("+RTS {word}"), note.to_owned()), "{args:?}");
    }
    // A stripped program gives the same lines.
    let stripped = with_args(&["p", "+RTS", "-A1m"], linked(None, ""));
    assert_eq!(option("-A64m", &stripped), ("+RTS -A64m".into(), String::new()));
    let by_environment = in_environment("GHCRTS", "-A1m", linked(None, ""));
    assert_eq!(line("-qg", &by_environment), "GHCRTS='-A1m -qg'");
    let script = Context { start: Start { binary: Some(Binary::default()), ..Start::default() }, ..of_ghc() };
    assert_eq!(option("-A64m", &script).1, unknown_note);
}

#[test]
fn an_option_that_no_package_can_quote_has_no_line() {
    assert_eq!(line("-A64m", &linked(Some("some"), "-ol\"my log\"")), "");
}

#[test]
fn the_parameters_of_ocaml_keep_their_other_letters() {
    assert_eq!(line("s=8M", &Context::default()), "OCAMLRUNPARAM=s=8M");
    let own = in_environment("OCAMLRUNPARAM", "b,s=4k,v=0x400", Context::default());
    assert_eq!(line("s=8M", &own), "OCAMLRUNPARAM=b,v=0x400,s=8M");
    assert_eq!(line("o=200", &in_environment("CAMLRUNPARAM", "s=1M", Context::default())), "OCAMLRUNPARAM=s=1M,o=200");
}

fn started(command: &[&str]) -> Context {
    let command = command.iter().map(|word| (*word).to_owned()).collect();
    Context { program: Some(Program { command, ..Program::default() }), ..Context::default() }
}

#[test]
fn commands_are_whole_or_not_there() {
    let of = |setting: &Setting, context: &Context| spelled(setting, &GHC, context).line;
    let malloc = Setting::variables([("MALLOC_MMAP_MAX_", "0"), ("MALLOC_TRIM_THRESHOLD_", "-1")]);
    let tune = Setting::rtscope(["tune"]);
    let mill = started(&["./mill", "100"]);
    assert_eq!(of(&malloc, &mill).as_deref(), Some("MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=-1 ./mill 100"));
    assert_eq!(of(&tune, &mill).as_deref(), Some("rtscope tune -- ./mill 100"));
    for unknown in [started(&["sh", "-c", "./mill $N"]), started(&[]), Context::default()] {
        assert_eq!(of(&malloc, &unknown).as_deref(), Some("MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=-1"));
        assert_eq!(of(&tune, &unknown), None);
    }
    assert_eq!(of(&Setting::Code("x".to_owned()), &mill).as_deref(), Some("x"));
}

fn finding(remedies: [&str; 3]) -> Finding {
    Finding {
        id: "x".into(),
        severity: Severity::Note,
        confidence: Confidence::High,
        claim: Claim::from("X."),
        cost_ns: 1,
        cost_bytes: None,
        share: 0.1,
        evidence: Vec::new(),
        remedies: remedies.map(|word| Remedy::new("Do.").option(word)).into(),
    }
}

#[test]
fn what_holds_for_several_remedies_is_reported_once() {
    let texts = |context: &Context| {
        let mut findings = [finding(["-N2", "-A64m", "-qg"]), finding(["-A64m", "-qg", "-N1"])];
        spell(&mut findings, &GHC, context);
        findings.map(|finding| finding.remedies.iter().map(|of| of.text.words.len()).collect::<Vec<_>>())
    };
    let note = GHC.spelling.link.unwrap().unknown_note.len();
    assert_eq!(texts(&of_ghc()), [[3, 4 + note, 3], [3, 3, 3]], "of the program, once in a report");
    let [first, second] = texts(&linked(Some("some"), ""));
    assert!(
        first[1] > 3 && second[0] > 3 && [first[0], first[2], second[1], second[2]] == [3; 4],
        "{first:?}, {second:?}"
    );
}

fn group(path: &str, version: u8, file: Option<&str>) -> Group {
    Group {
        path: path.into(),
        version,
        quota_cpus: Some(0.5),
        period_ns: Some(50_000_000),
        quota_path: file.map(str::to_owned),
        memory_limit_bytes: None,
    }
}

fn limit(path: &str, version: u8, file: Option<&str>) -> Option<String> {
    let group = group(path, version, file);
    let context = Context { groups: vec![group], ..Context::default() };
    let setting = Setting::CpuLimit { group: GroupId(0), cpus: 4.0 };
    spelled(&setting, &GHC, &context).line
}

#[test]
fn a_limit_has_the_name_that_its_manager_gives_it() {
    for (path, cpus, expected) in [
        ("/kubepods/burstable/pod7f/0123", 0.5, "The pod's CPU limit of 500m"),
        ("/kubepods/burstable/pod7f/0123", 2.0, "The pod's CPU limit of 2"),
        ("/docker/0123456789abcdef", 0.5, "The CPU limit of the docker container 0123456789ab, 0.5 CPUs,"),
        ("/system.slice/mill.service", 1.0, "The CPUQuota of mill.service, 1 CPU,"),
        ("/bench/mill", 0.5, "The CPU quota of 0.5 CPUs (/sys/x/cpu.max)"),
    ] {
        assert_eq!(super::limit::named(&group(path, 2, Some("/sys/x/cpu.max")), cpus), expected, "{path}");
    }
}

#[test]
fn a_limit_is_raised_by_its_manager() {
    let id = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    let file = Some("/sys/fs/cgroup/x/cpu.max");
    for (path, expected) in [
        ("/kubepods/burstable/pod7f/0123", "resources: {limits: {cpu: \"4\"}}"),
        ("/kubepods.slice/kubepods-burstable.slice/cri-containerd-01.scope", "resources: {limits: {cpu: \"4\"}}"),
        (&format!("/docker/{id}"), "docker update --cpus 4 0123456789ab"),
        (&format!("/system.slice/docker-{id}.scope"), "docker update --cpus 4 0123456789ab"),
        (&format!("/machine.slice/libpod-{id}.scope/container"), "podman update --cpus 4 0123456789ab"),
        ("/system.slice/mill.service", "systemctl set-property mill.service CPUQuota=400%"),
        (r"/system.slice/a\x2db.service", r"systemctl set-property 'a\x2db.service' CPUQuota=400%"),
        (
            "/user.slice/user-7.slice/user@7.service/app.slice/run-u1.scope",
            "systemctl --user set-property run-u1.scope CPUQuota=400%",
        ),
        ("/user.slice/user-7.slice", "systemctl set-property user-7.slice CPUQuota=400%"),
        (&format!("/docker/{id}/mill"), "echo '200000 50000' > /sys/fs/cgroup/x/cpu.max"),
        (&format!("/docker/{id}/docker/fedcba9876543210"), "docker update --cpus 4 fedcba987654"),
        ("/bench/mill", "echo '200000 50000' > /sys/fs/cgroup/x/cpu.max"),
    ] {
        assert_eq!(limit(path, 2, file).as_deref(), Some(expected), "{path}");
    }
    let old = limit("/mill", 1, Some("/sys/fs/cgroup/cpu/mill/cpu.cfs_quota_us"));
    assert_eq!(old.as_deref(), Some("echo 200000 > /sys/fs/cgroup/cpu/mill/cpu.cfs_quota_us"));
    // Seen from inside a container; in a recording for sharing; without a file.
    assert_eq!(limit("/", 2, Some("/sys/fs/cgroup/cpu.max")), None);
    assert_eq!((limit("/4f2a", 2, Some("cpu.max")), limit("/mill", 2, None)), (None, None));
}
