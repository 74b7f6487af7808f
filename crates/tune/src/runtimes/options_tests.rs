//! What is offered for handmade programs and machines.

use super::ghc::Ghc;
use crate::options::setup::{Setup, StudyFrame};
use crate::options::{By, Offer, Wish, offer};
use crate::plan::{Goal, plan};
use crate::runtime::{Given, Program};
use crate::study::space::MOST;
use crate::testing::{churn, given, limited, machine, mill, open};
use rtscope_model::resources::Resources;
use rtscope_model::runtimes::OcamlRelease;
use rtscope_model::{Rtsopts, SchedPolicy};
use std::collections::BTreeSet;
use std::ffi::OsString;

fn command(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

fn offered(resources: &Resources, program: &Program, words: &[&str], vary_given: bool) -> (Offer, StudyFrame) {
    let plan = plan(resources, program, Goal::Latency);
    let command = command(words);
    let wish = Wish { resources, program, plan: &plan, command: &command, vary_given };
    (offer(&wish), StudyFrame::new(program, &command, resources, &plan))
}

fn of(resources: &Resources, ghc: Ghc) -> Offer {
    offered(resources, &mill(ghc, Given::default()), &["./mill"], false).0
}

fn of_ocaml(resources: &Resources, release: OcamlRelease, own: Option<&str>, words: &[&str]) -> (Offer, StudyFrame) {
    offered(resources, &churn(Some(release), own), words, false)
}

fn has(offer: &Offer, words: &str) -> bool {
    offer.configurations.iter().any(|own| own.join(" ") == words)
}

fn levels<'o>(offer: &'o Offer, name: &str) -> Vec<&'o str> {
    let setting = offer.settings.iter().find(|setting| setting.name == name);
    setting.map(|setting| setting.levels.iter().map(String::as_str).collect()).unwrap_or_default()
}

fn why<'o>(offer: &'o Offer, words: &[&str]) -> &'o str {
    offer.rejected.iter().find(|rejected| rejected.words == words).map_or("", |rejected| rejected.why.as_str())
}

#[test]
fn two_cpus_have_the_space_that_was_measured() {
    let offer = of(&machine(2, 1, None), open());
    assert_eq!(levels(&offer, "-N"), ["-N2", "-N3", "-N4"]);
    assert_eq!(levels(&offer, "-A").len(), 10, "4 MiB is what 9.6 has anyway");
    assert_eq!(levels(&offer, "-qg, -qn"), ["-qg"]);
    assert!(why(&offer, &["-N4", "-qn2"]).contains("that is the default"));
    assert_eq!((levels(&offer, "-c"), levels(&offer, "--nonmoving-gc")), (vec!["-c"], vec!["--nonmoving-gc"]));
    assert_eq!(levels(&offer, "-I"), ["-I0", "-I5"]);
    assert_eq!((levels(&offer, "cpus"), levels(&offer, "class")), (vec!["cpus=1"], vec!["class=batch"]));
    for words in [
        "",
        "-N2",
        "-N2 -A64m",
        "-N4 -qg -A256m -c",
        "-N2 -A16m --nonmoving-gc -G3",
        "-N2 -A16m -G3",
        "-A256k",
        "-N2 -n1m",
        "-N2 -A8m -n256k",
    ] {
        assert!(has(&offer, words), "{words}");
    }
    assert!((150..400).contains(&offer.configurations.len()), "{}", offer.configurations.len());
    assert_eq!(offer.configurations[offer.default], Vec::<String>::new());
    assert_eq!(offer.configurations[offer.plan.unwrap()], ["-N2", "-A16m"]);
    assert_eq!(offer.settings[0].today.as_deref(), Some("-N1"));
}

#[test]
fn each_configuration_is_there_once_and_goes_together() {
    for machine in [machine(1, 1, None), machine(4, 2, Some(2.5)), machine(64, 2, None), Resources::default()] {
        for rtsopts in [Rtsopts::All, Rtsopts::Some, Rtsopts::None] {
            let offer = of(&machine, Ghc { rtsopts: Some(rtsopts), ..open() });
            let names: BTreeSet<_> = offer.configurations.iter().map(|words| words.join(" ")).collect();
            assert_eq!(names.len(), offer.configurations.len());
            assert!(offer.configurations.len() < MOST / 2, "{}", offer.configurations.len());
            assert!(offer.space().is_ok());
            for rejected in offer.rejected.iter().filter(|rejected| rejected.words.len() > 1) {
                let whole = |words: &Vec<String>| rejected.words.iter().all(|word| words.contains(word));
                let but_the_plan = |(number, _): &(usize, &Vec<String>)| Some(*number) != offer.plan;
                let mut others = offer.configurations.iter().enumerate().filter(but_the_plan);
                assert!(!others.any(|(_, words)| whole(words)), "{rejected:?}");
            }
            assert_eq!(offer, of(&machine, Ghc { rtsopts: Some(rtsopts), ..open() }));
        }
    }
}

#[test]
fn what_does_not_go_together_is_left_out_with_its_reason() {
    let small = limited(machine(2, 1, None), 1 << 30);
    let offer = of(&small, open());
    assert!(why(&offer, &["-c", "-G1"]).contains("drops -c"));
    assert!(why(&offer, &["--nonmoving-gc", "-G1"]).contains("aborts"));
    assert!(why(&offer, &["--nonmoving-gc", "-c"]).contains("either compacted or not moved"));
    assert!(why(&offer, &["-N1", "-qg"]).contains("collects alone"));
    assert!(why(&offer, &["-N2", "-qn2"]).contains("that is the default"));
    assert!(why(&offer, &["-N4", "-A64m"]).contains("a fifth of 1.0 GiB"), "{:?}", offer.rejected);
    assert!(why(&offer, &["-H256m"]).contains("a fifth"));
    assert!(!has(&offer, "-N4 -A64m") && has(&offer, "-N3 -A64m"));
    assert!(offer.rejected.iter().all(|rejected| rejected.by == By::Rule));
    let some = of(&machine(2, 1, None), Ghc { rtsopts: Some(Rtsopts::Some), ..open() });
    assert_eq!((levels(&some, "-N"), levels(&some, "--nonmoving-gc")), (vec!["-N2"], vec!["--nonmoving-gc"]));
    assert!(why(&some, &["-N3"]).contains("more workers than CPUs"));
    assert!(some.refused.iter().any(|refused| refused.flag == "-A" && refused.why.contains("does not let -A through")));
    assert_eq!(some.relink[0].with, "-rtsopts=all");
}

#[test]
fn a_plan_that_breaks_a_rule_stays() {
    // Half a CPU for the two workers that the user asks for: the plan collects with one.
    let offer = offered(&machine(2, 1, Some(0.5)), &mill(open(), given("-N2", &[])), &["./mill"], false);
    assert_eq!(offer.0.configurations[offer.0.plan.unwrap()], ["-qg", "-A16m"]);
    assert_eq!(offer.0.kept[0].option, "-N2");
    assert!(offer.0.configurations.iter().flatten().all(|word| !word.starts_with("-N")));
}

#[test]
fn the_users_own_is_varied_only_when_asked_and_never_from_the_command_line() {
    let given = given("-A8m -F3", &["-N2"]);
    let program = mill(Ghc { with_rtsopts: "-c".into(), ..open() }, given);
    let machine = machine(2, 1, None);
    let (kept, _) = offered(&machine, &program, &["./mill"], false);
    let options: Vec<_> = kept.kept.iter().map(|kept| kept.option.as_str()).collect();
    assert_eq!(options, ["-N2", "-A8m", "-c", "-F3"]);
    assert_eq!((levels(&kept, "-N"), levels(&kept, "-A"), levels(&kept, "-F")), (vec![], vec![], vec![]));
    let (varied, frame) = offered(&machine, &program, &["./mill"], true);
    assert_eq!((levels(&varied, "-N").len(), varied.kept.len()), (0, 1));
    assert!(!levels(&varied, "-A").contains(&"-A8m") && levels(&varied, "-A").contains(&"-A4m"));
    assert!(levels(&varied, "-c").is_empty(), "it is so today");
    assert!(why(&varied, &["--nonmoving-gc", "-c"]).contains("either"), "and goes with nothing else");
    let setup = frame.setup("-A4m --nonmoving-gc");
    assert_eq!(setup.set, [("GHCRTS".to_owned(), "-A8m -F3 -A4m --nonmoving-gc".to_owned())]);
    assert_eq!(setup.link.as_deref(), Some("-with-rtsopts=-A4m --nonmoving-gc"), "with -c it would not start");
}

#[test]
fn a_bare_n_of_the_link_is_what_runs_today() {
    let offer = of(&machine(2, 2, None), Ghc { with_rtsopts: "-N".into(), ..open() });
    assert_eq!(offer.settings[0].today.as_deref(), Some("-N4"));
    assert!(levels(&offer, "-N").contains(&"-N1") && !levels(&offer, "-N").contains(&"-N4"));
    assert_eq!(offer.configurations[offer.plan.unwrap()], ["-N2", "-A16m", "cpus=2"]);
}

#[test]
fn a_program_that_takes_nothing_is_started_in_other_ways() {
    let closed = of(&machine(4, 1, None), Ghc { rtsopts: Some(Rtsopts::None), ..open() });
    assert!(closed.settings.iter().all(|setting| ["cpus", "class"].contains(&setting.name.as_str())));
    assert_eq!(levels(&closed, "cpus"), ["cpus=1", "cpus=2"]);
    assert_eq!(closed.plan, Some(closed.default));
    assert!(closed.refused.len() > 8 && !closed.relink.is_empty());
    let plain = of(&machine(4, 1, None), Ghc { threaded: Some(false), ..open() });
    assert!(levels(&plain, "-N").is_empty() && levels(&plain, "-I").is_empty() && !levels(&plain, "-A").is_empty());
    assert!(plain.configurations.iter().flatten().all(|word| !word.starts_with("-N")));
    let unknown = Program { name: None, link: Err("It is a script.".into()), given: Given::default() };
    let (unknown, _) = offered(&machine(4, 1, None), &unknown, &["./mill"], false);
    assert!(unknown.notes[0].contains("It is a script. So only"));
}

#[test]
fn ocaml_has_its_own_words() {
    let (offer, frame) = of_ocaml(&machine(2, 1, None), OcamlRelease::From5_3, None, &["./churn", "-d", "{domains:4}"]);
    assert_eq!(levels(&offer, "domains"), ["domains=1", "domains=2", "domains=3"]);
    assert_eq!(levels(&offer, "s"), ["s=32k", "s=64k", "s=128k", "s=512k", "s=1M", "s=2M", "s=4M", "s=8M"]);
    assert_eq!(levels(&offer, "o"), ["o=40", "o=80", "o=200", "o=400"]);
    assert!(levels(&offer, "d").is_empty(), "the template says how many");
    assert!(has(&offer, "domains=2 s=8M o=200") && has(&offer, "domains=1 s=1M cpus=1") && has(&offer, "o=400"));
    assert_eq!(offer.configurations[offer.plan.unwrap()], ["domains=2", "s=1M"]);
    assert_eq!(frame.setup("").argv, command(&["./churn", "-d", "4"]));
    let setup = frame.setup("domains=2 s=8M o=200 cpus=1 class=batch");
    let wanted = Setup {
        argv: command(&["./churn", "-d", "2"]),
        set: vec![("OCAMLRUNPARAM".into(), "s=8M,o=200".into())],
        cpus: Some(vec![0]),
        class: SchedPolicy::Batch,
        workers: 2,
        link: None,
    };
    assert_eq!(setup, wanted);
}

#[test]
fn d_is_for_programs_that_ask_how_many() {
    let eight = machine(4, 2, None);
    let (offer, frame) = of_ocaml(&eight, OcamlRelease::From5_3, Some("v=0x400,o=100"), &["./churn"]);
    assert!(levels(&offer, "d").contains(&"d=4") && !levels(&offer, "d").contains(&"d=8"));
    assert_eq!((offer.kept[0].option.as_str(), levels(&offer, "o")), ("o=100", vec![]));
    assert_eq!(frame.setup("d=4").set[0].1, "v=0x400,o=100,d=4");
    let (old, _) = of_ocaml(&eight, OcamlRelease::Before5_3, None, &["./churn"]);
    assert!(old.refused[0].why.contains("5.3") && levels(&old, "d").is_empty());
    let (four, _) = of_ocaml(&eight, OcamlRelease::Before5, None, &["./churn"]);
    assert!(levels(&four, "o").contains(&"o=80") && four.refused.is_empty());
}

#[test]
fn a_malformed_template_is_reported() {
    let (offer, frame) = of_ocaml(&machine(2, 1, None), OcamlRelease::From5_3, None, &["./churn", "{domains:x}"]);
    assert!(offer.notes[0].starts_with("{domains:x} is no template"));
    assert_eq!(frame.setup("domains=2").argv, command(&["./churn", "{domains:x}"]));
    let (_, inside) = of_ocaml(&machine(2, 1, None), OcamlRelease::From5_3, None, &["./churn", "--jobs={domains}/x"]);
    assert_eq!(inside.setup("domains=3").argv, command(&["./churn", "--jobs=3/x"]));
    assert_eq!(inside.setup("").argv, command(&["./churn", "--jobs=2/x"]), "as many as there are CPUs");
}

#[test]
fn what_a_runtime_refuses_leaves_the_space() {
    let mut offer = of(&machine(2, 1, None), open());
    let probes = offer.probes(&mill(open(), Given::default()));
    assert_eq!(probes[0], Vec::<String>::new());
    assert!(
        probes.contains(&vec!["--nonmoving-gc".to_owned()]) && probes.contains(&vec!["-N4".into(), "-A256m".into()])
    );
    assert!(probes.len() < 60, "{}", probes.len());
    let before = offer.configurations.len();
    offer.learn(&[], "nothing is learnt of nothing");
    assert_eq!(offer.configurations.len(), before);
    offer.learn(&["-c".to_owned()], "no such flag");
    assert!(offer.configurations.iter().all(|words| !words.contains(&"-c".to_owned())));
    assert!(levels(&offer, "-c").is_empty());
    assert_eq!(offer.rejected.last().unwrap().by, By::Probe);
    assert_eq!(offer.configurations[offer.plan.unwrap()], ["-N2", "-A16m"]);
    offer.learn(&["-A16m".to_owned()], "too large");
    assert_eq!(offer.plan, None);
    assert!(offer.configurations[offer.default].is_empty());
}
