//! Properties of every plan, whatever the machine, the link and the user's options. The table of
//! accepted options is written a second time here, from runs of real programs, so that it can
//! disagree with the planner's table.

use super::ghc::{Ghc, Subject};
use super::{ghc, ocaml};
use crate::plan::{Goal, Plan, plan};
use crate::runtime::Given;
use crate::testing::{machine, mill};
use proptest::prelude::*;
use rtscope_model::Rtsopts;
use rtscope_model::resources::Resources;

fn accepts(ghc: &Ghc, word: &str) -> bool {
    let threaded = ["-N", "-qn", "-qg", "--numa"].iter().any(|flag| word.starts_with(flag));
    let version =
        ghc.version.is_none_or(|version| version >= (8, 2, 0) || !(word.starts_with("-qn") || word == "--numa"));
    let link = match ghc.rtsopts {
        Some(Rtsopts::All | Rtsopts::Ignore) => true,
        Some(Rtsopts::Some) => word.starts_with("-N") || word == "--numa",
        _ => false,
    };
    link && version && (!threaded || ghc.threaded == Some(true)) && (word != "--numa" || ghc.numa == Some(true))
}

fn any_ghc() -> impl Strategy<Value = Ghc> {
    let rtsopts = prop::option::of(prop::sample::select(vec![
        Rtsopts::None,
        Rtsopts::Some,
        Rtsopts::All,
        Rtsopts::Ignore,
        Rtsopts::IgnoreAll,
    ]));
    let versions =
        vec![(7, 10, 3), (8, 0, 2), (8, 2, 1), (8, 10, 7), (9, 0, 2), (9, 2, 8), (9, 6, 6), (9, 10, 3), (9, 14, 1)];
    let version = prop::option::of(prop::sample::select(versions));
    let with = prop::sample::select(vec!["", "-N", "-N2 -A8m", "-T -qg", "-M1g --numa", "-xn", "-maxN4", "-H -n4m"]);
    (rtsopts, version, any::<Option<bool>>(), any::<Option<bool>>(), with).prop_map(
        |(rtsopts, version, threaded, numa, with)| Ghc {
            version,
            threaded,
            rtsopts,
            with_rtsopts: with.into(),
            numa,
            assumed: false,
        },
    )
}

fn any_given() -> impl Strategy<Value = Given> {
    let texts =
        vec![None, Some(""), Some("-A32m"), Some("-N3"), Some("-N  -qg"), Some("-M500m -T"), Some("-N99"), Some("-qa")];
    let arguments = prop::sample::select(vec![vec![], vec!["-N3"], vec!["-A1g", "-s"], vec!["-N"], vec!["-N64"]]);
    (prop::sample::select(texts), arguments).prop_map(|(ghcrts, arguments)| Given {
        variables: ghcrts.map(|text: &str| ("GHCRTS", text.to_owned())).into_iter().collect(),
        arguments: arguments.into_iter().map(Into::into).collect(),
    })
}

fn any_machine() -> impl Strategy<Value = Resources> {
    let quota = prop::option::of(prop_oneof![0.0..20.0_f64, Just(f64::NAN), Just(1e300)]);
    let memory = prop::option::of(prop_oneof![0..1_u64 << 40, Just(u64::MAX)]);
    (0..80_u32, 1..5_u32, quota, memory, any::<bool>(), 0..4_u32).prop_map(
        |(cores, threads, quota, memory_limit_bytes, memory_limited, numa_nodes)| Resources {
            memory_limit_bytes,
            memory_limited,
            numa_nodes,
            ..machine(cores, threads, quota)
        },
    )
}

fn any_goal() -> impl Strategy<Value = Goal> {
    prop::sample::select(vec![Goal::Latency, Goal::Throughput, Goal::Memory])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_plan_never_keeps_a_program_from_starting(
        ghc in any_ghc(), given in any_given(), machine in any_machine(), goal in any_goal()
    ) {
        let plan = plan(&machine, &mill(ghc.clone(), given.clone()), goal);
        let own: Vec<&str> = given.variables.get("GHCRTS").map_or("", String::as_str).split_whitespace().collect();
        let env: Vec<&str> = plan.env.get("GHCRTS").map_or(vec![], |text| text.split(' ').collect());
        // The user's own words come last and unchanged.
        prop_assert!(env.is_empty() || env.ends_with(&own), "{env:?}");
        let added = env.get(..env.len().saturating_sub(own.len())).unwrap_or_default();
        prop_assert_eq!(added.len(), plan.flags.len());
        for word in added {
            prop_assert!(accepts(&ghc, word), "{word} for {ghc:?}");
            prop_assert!(!word.starts_with("-qa"));
            // Under -rtsopts=some, a number above the remaining CPUs is rejected.
            if let Some(number) = word.strip_prefix("-N") {
                let cpus = plan.cpus.as_ref().map_or(machine.cpus_allowed.len(), Vec::len).max(1);
                prop_assert!(number.parse::<usize>().unwrap() <= cpus);
            }
            // What a user settled is not settled again.
            let settled = own.iter().any(|own| Subject::of(own) == Subject::of(word));
            prop_assert!(!settled, "{word} against {own:?}");
        }
        for flag in &plan.flags {
            prop_assert!(flag.reason.ends_with('.') && !flag.source.is_empty(), "{flag:?}");
        }
        prop_assert!(plan.refused.iter().all(|refused| refused.why.ends_with('.')), "{:?}", plan.refused);
        prop_assert!(plan.refused.iter().any(|refused| refused.flag == "-qa"));
    }

    #[test]
    fn a_mask_is_never_widened_or_emptied(ghc in any_ghc(), given in any_given(), machine in any_machine(), goal in any_goal()) {
        let plan = plan(&machine, &mill(ghc, given), goal);
        if let Some(cpus) = &plan.cpus {
            prop_assert!(goal == Goal::Latency && !cpus.is_empty());
            prop_assert!(cpus.iter().all(|cpu| machine.cpus_allowed.contains(cpu)));
            prop_assert!(cpus.len() < machine.cpus_allowed.len());
            prop_assert!(plan.workers as usize <= cpus.len());
        }
    }

    #[test]
    fn nurseries_and_minor_heaps_keep_to_their_share(machine in any_machine(), goal in any_goal()) {
        let ghc = plan(&machine, &ghc::RUNTIME.program(Given::default()), goal);
        let ocaml = plan(&machine, &ocaml::RUNTIME.program(Given::default()), goal);
        let memory = machine.memory_limit_bytes.unwrap_or(u64::MAX);
        let figure = |plan: &Plan, flag: &str| plan.flags.iter().find(|of| of.flag == flag).and_then(|of| of.value.clone());
        if let Some(size) = figure(&ghc, "-A") {
            let mib: u64 = size.trim_end_matches('m').parse().unwrap();
            let excused = mib == 1 && ghc.notes.iter().any(|note| note.contains("more than a fifth"));
            prop_assert!(excused || (mib << 20) * 5 * u64::from(ghc.workers) <= memory);
        }
        if figure(&ocaml, "s").as_deref() == Some("1M") {
            prop_assert!((80 << 20) * u64::from(ocaml.workers) <= memory);
        }
    }
}
