//! Every row of the rules for GHC, and how the rules combine with given options.

use super::*;
use crate::plan::{Goal, plan};
use crate::runtime::Program;
use crate::testing::{given as of_user, limited, machine, mill, open, words};
use rtscope_model::Confidence;

const MIB: u64 = 1 << 20;

fn planned(resources: &Resources, ghc: Ghc, goal: Goal) -> Plan {
    plan(resources, &mill(ghc, Given::default()), goal)
}

fn given(ghc: Ghc, ghcrts: &str, arguments: &[&str]) -> Program {
    mill(ghc, of_user(ghcrts, arguments))
}

#[test]
fn four_cores_and_eight_threads() {
    let machine = machine(4, 2, None);
    let latency = planned(&machine, open(), Goal::Latency);
    assert_eq!(words(&latency), ["-N4", "-A16m"]);
    assert_eq!(latency.env["GHCRTS"], "-N4 -A16m");
    assert_eq!(latency.cpus, Some(vec![0, 2, 4, 6]));
    let throughput = planned(&machine, open(), Goal::Throughput);
    assert_eq!(words(&throughput), ["-N8", "-qn4", "-A64m"]);
    assert_eq!(throughput.cpus, None);
    assert_eq!(words(&planned(&machine, open(), Goal::Memory)), ["-N4"], "-A4m is the default of 9.6");
}

#[test]
fn one_pair_of_siblings_is_one_core() {
    let pair = Resources { cpus_allowed: vec![2, 3], cores: 1, siblings: vec![vec![2, 3]], ..machine(4, 2, None) };
    let plan = planned(&pair, open(), Goal::Latency);
    assert_eq!(words(&plan), ["-N1", "-A16m"]);
    assert_eq!(plan.cpus, Some(vec![2]));
    assert_eq!(words(&planned(&pair, open(), Goal::Throughput)), ["-N2", "-qg", "-A64m"]);
}

#[test]
fn quotas_are_rounded_down_for_latency_and_up_for_throughput() {
    let of = |quota, goal| words(&planned(&machine(4, 2, Some(quota)), open(), goal));
    assert_eq!(of(2.5, Goal::Latency), ["-N2", "-A16m"]);
    assert_eq!(of(2.5, Goal::Throughput), ["-N3", "-qn2", "-A64m"]);
    assert_eq!(of(2.5, Goal::Memory), ["-N2"]);
    assert_eq!(of(0.5, Goal::Latency), ["-N1", "-A16m"]);
    assert_eq!(of(0.5, Goal::Throughput), ["-N1", "-A64m"]);
    assert_eq!(of(1.5, Goal::Throughput), ["-N2", "-qg", "-A64m"]);
    assert_eq!(of(8.0, Goal::Latency), ["-N4", "-A16m"]);
}

#[test]
fn a_flag_has_its_numbers_and_files() {
    let plan = planned(&machine(4, 2, Some(2.5)), open(), Goal::Latency);
    let workers = serde_json::to_value(&plan.flags[0]).unwrap();
    assert_eq!(workers["flag"], "-N");
    assert_eq!(workers["value"], "2");
    assert_eq!(workers["confidence"], "high");
    assert!(workers["reason"].as_str().unwrap().contains("a quota of 2.5 CPUs in /sys/fs/cgroup/x/cpu.max"));
    assert!(workers["source"].as_str().unwrap().contains("/sys/fs/cgroup/x/cpu.max"));
    let hidden = Resources { ancestors_hidden: true, ..machine(4, 2, None) };
    let plan = planned(&hidden, open(), Goal::Latency);
    assert_eq!(plan.flags[0].confidence, Confidence::Medium);
    assert!(plan.notes.iter().any(|note| note.contains("above")), "{:?}", plan.notes);
}

#[test]
fn memory_decides_over_what_is_wanted() {
    let of = |mib: u64, goal| words(&planned(&limited(machine(4, 1, None), mib * MIB), open(), goal));
    assert_eq!(of(320, Goal::Latency), ["-N4", "-A16m", "-M256m"]);
    assert_eq!(of(319, Goal::Latency), ["-N4", "-M255m"], "-A4m is the default of 9.6");
    assert_eq!(of(70, Goal::Latency), ["-N4", "-A1m"], "a heap of 6 MiB is no plan");
    assert_eq!(of(1280, Goal::Throughput), ["-N4", "-A64m", "-M1088m"]);
    let tiny = planned(&limited(machine(4, 1, None), 16 * MIB), open(), Goal::Latency);
    assert_eq!(words(&tiny), ["-N4", "-A1m"]);
    assert!(tiny.notes.iter().any(|note| note.contains("more than a fifth")), "{:?}", tiny.notes);
    assert!(tiny.notes.iter().any(|note| note.contains("no -M is planned")), "{:?}", tiny.notes);
    let unlimited = Resources { memory_limit_bytes: None, memory_limit_path: None, ..machine(4, 1, None) };
    assert_eq!(words(&planned(&unlimited, open(), Goal::Latency)), ["-N4", "-A16m"]);
}

#[test]
fn the_versions_default_is_left_out() {
    let of = |version, goal, mib: u64| {
        let ghc = Ghc { version, ..open() };
        words(&planned(&limited(machine(1, 1, None), mib * MIB), ghc, goal)).get(1).cloned()
    };
    assert_eq!(of(Some((9, 0, 2)), Goal::Memory, 100), None);
    assert_eq!(of(Some((9, 2, 0)), Goal::Memory, 100), None);
    assert_eq!(of(None, Goal::Memory, 100).as_deref(), Some("-A4m"));
    assert_eq!(of(Some((9, 0, 2)), Goal::Latency, 20).as_deref(), Some("-A4m"));
    assert_eq!(of(Some((9, 2, 0)), Goal::Latency, 20), None);
    assert_eq!(of(Some((9, 2, 0)), Goal::Latency, 19).as_deref(), Some("-A1m"));
    assert_eq!(of(Some((9, 0, 2)), Goal::Latency, 19), None);
}

#[test]
fn numa_takes_nodes_workers_and_a_runtime_that_has_it() {
    let two = |quota| Resources { numa_nodes: 2, ..machine(4, 1, quota) };
    let of = |quota, numa| planned(&two(quota), Ghc { numa, ..open() }, Goal::Latency);
    assert_eq!(words(&of(None, Some(true))), ["-N4", "-A16m", "--numa"]);
    for (plan, why) in
        [(of(Some(1.0), Some(true)), "fewer"), (of(None, Some(false)), "without NUMA"), (of(None, None), "not known")]
    {
        assert!(!words(&plan).contains(&"--numa".to_owned()));
        let refused = plan.refused.iter().find(|refused| refused.flag == "--numa").unwrap();
        assert!(refused.why.contains(why), "{}", refused.why);
    }
    assert!(
        planned(&machine(4, 1, None), open(), Goal::Latency).refused.iter().all(|refused| refused.flag != "--numa")
    );
}

#[test]
fn pinning_is_refused_whatever_the_mask() {
    for allowed in [vec![0, 1], vec![2, 3], vec![]] {
        let resources = Resources { cpus_allowed: allowed, cores: 2, ..Resources::default() };
        let plan = planned(&resources, open(), Goal::Latency);
        assert!(plan.refused.iter().any(|refused| refused.flag == "-qa" && refused.why.contains("-qa pins")));
    }
}

#[test]
fn what_was_given_stays_and_the_rest_reckons_with_it() {
    let machine = machine(4, 2, None);
    let linked = Ghc { with_rtsopts: "-N2 -A8m".into(), ..open() };
    let linked = planned(&machine, linked, Goal::Latency);
    assert!(words(&linked).is_empty() && linked.env.is_empty());
    let kept: Vec<_> = linked.kept.iter().map(|kept| (kept.option.as_str(), kept.from)).collect();
    assert_eq!(kept, [("-N2", "-with-rtsopts"), ("-A8m", "-with-rtsopts")]);

    let user = plan(&machine, &given(open(), " -T  -A32m", &["-N8"]), Goal::Latency);
    assert_eq!(words(&user), ["-qn4"], "8 workers on 4 cores collect with 4");
    assert_eq!(user.env["GHCRTS"], "-qn4 -T -A32m", "the user's own comes later and wins");
    assert_eq!(user.cpus, None, "8 workers do not go on 4 CPUs");
    assert_eq!(user.workers, 8);

    let fewer = plan(&machine, &given(open(), "", &["-N3"]), Goal::Latency);
    assert_eq!(fewer.env["GHCRTS"], "-A16m");
    assert_eq!(fewer.cpus, Some(vec![0, 2, 4, 6]));
    let bare = plan(&machine, &given(open(), "-N", &[]), Goal::Latency);
    assert_eq!(bare.workers, 4, "that is what the narrowed mask makes of it");
    assert_eq!(bare.env["GHCRTS"], "-A16m -N");
}

#[test]
fn a_bare_n_of_the_link_gets_its_number() {
    let linked = Ghc { with_rtsopts: "-N".into(), ..open() };
    let plan = planned(&machine(4, 2, None), linked, Goal::Latency);
    assert_eq!(plan.env["GHCRTS"], "-N4 -A16m");
    assert!(plan.notes.iter().any(|note| note.contains("a bare -N")), "{:?}", plan.notes);
}

#[test]
fn what_the_binary_rejects_is_refused_with_a_way_out() {
    let some = planned(&machine(4, 2, None), Ghc { rtsopts: Some(Rtsopts::Some), ..open() }, Goal::Latency);
    assert_eq!(some.env["GHCRTS"], "-N4");
    let refused = some.refused.iter().find(|refused| refused.flag == "-A").unwrap();
    assert_eq!(refused.value.as_deref(), Some("16m"));
    assert!(refused.why.contains("-rtsopts=some"), "{}", refused.why);
    assert!(some.relink.iter().any(|relink| relink.with == "\"-with-rtsopts=-N4 -A16m\""), "{:?}", some.relink);

    let plain = planned(&machine(4, 2, None), Ghc { threaded: Some(false), ..open() }, Goal::Latency);
    assert_eq!(plain.env["GHCRTS"], "-A16m");
    assert_eq!(plain.workers, 1);
    assert_eq!(plain.relink[0].with, "-threaded");
    for ghc in [Ghc { rtsopts: None, threaded: None, ..open() }, Ghc { rtsopts: Some(Rtsopts::None), ..open() }] {
        let ghc_is_stripped = ghc.rtsopts.is_none();
        let plan = planned(&machine(4, 2, None), ghc, Goal::Latency);
        assert!(plan.env.is_empty() && plan.flags.is_empty());
        assert_eq!(plan.unknown.is_some(), ghc_is_stripped);
        assert!(plan.refused.iter().any(|refused| refused.flag == "-N" && refused.value.as_deref() == Some("4")));
        assert!(!plan.relink.is_empty());
    }
}

#[test]
fn rules_that_are_beaten_are_to_be_measured() {
    let plan = planned(&machine(4, 2, None), open(), Goal::Latency);
    let of = |flag: &str| plan.measure.iter().find(|measure| measure.flag == flag);
    assert_eq!(of("-A").unwrap().candidates, ["-A4m", "-A64m", "-A128m"]);
    assert_eq!(of("-qg").unwrap().candidates, ["-qg"]);
    assert_eq!(of("-N").unwrap().candidates, ["-N5", "-N8 -qg"]);
    assert_eq!(of("-xn").unwrap().candidates, ["-xn"], "8 CPUs for 4 workers leave some");
    assert_eq!(of("-Iw").unwrap().candidates, ["-Iw60", "-I0"]);
    assert!(plan.measure.iter().all(|measure| measure.command == "rtscope tune -- ./mill"));
    let full = planned(&machine(2, 1, Some(2.5)), open(), Goal::Latency);
    assert!(full.measure.iter().all(|measure| measure.flag != "-xn"));
    let refused = full.refused.iter().find(|refused| refused.flag == "-xn").unwrap();
    assert!(refused.why.contains("2 workers and 2 allowed CPUs leave none"), "{}", refused.why);
}

#[test]
fn a_program_of_unknown_kind_gets_a_mask_and_no_flags() {
    let program = Program { name: Some("script".into()), link: Err("a script".into()), given: of_user("-A8m", &[]) };
    let plan = plan(&machine(4, 2, None), &program, Goal::Latency);
    assert!(plan.flags.is_empty() && plan.env.is_empty());
    assert_eq!(plan.unknown.as_deref(), Some("a script"));
    assert_eq!(plan.cpus, Some(vec![0, 2, 4, 6]));
}
