//! The plan for an OCaml program: domains, minor heap, space overhead. Owns the spelling of
//! `OCAMLRUNPARAM`; other modules own sizes and numbers.

use super::knobs::{DIALECT, MINOR_DEFAULT, MINOR_HEAP, MINOR_HEAPS, Ocaml, parameters, words};
use crate::plan::workers::Room;
use crate::plan::{Flag, Goal, KeptOption, Plan, words as sentences};
use crate::runtime::Given;
use rtscope_model::resources::Resources;
use rtscope_model::runtimes::OcamlRelease;
use rtscope_model::{Confidence, units};

/// Below this control group limit, memory is tight, bytes.
const TIGHT: u64 = 512 << 20;
const OVERHEAD_WHEN_TIGHT: u32 = 80;

/// Fills in `plan` for a program of this release.
pub fn plan(plan: &mut Plan, resources: &Resources, room: &Room, ocaml: &Ocaml, given: &Given) {
    if ocaml.release == Some(OcamlRelease::Before5) {
        plan.refuse(
            "d",
            None,
            "The program is of OCaml 4, which has no domains: there is nothing to plan for one thread.",
        );
        return;
    }
    let own = parameters(given.variable(&DIALECT));
    let settled = |letter: char| own.iter().rev().find(|(of, _)| *of == letter).map(|(_, entry)| *entry);
    for letter in ['d', 's', 'o'] {
        plan.kept.extend(settled(letter).map(|entry| KeptOption {
            option: entry.to_owned(),
            from: DIALECT.variable(),
            means: "It stays.".to_owned(),
        }));
    }
    let planned = room.workers(plan.goal);
    let given_domains = settled('d').and_then(|entry| entry.strip_prefix("d=")?.parse::<u32>().ok());
    plan.workers = given_domains.map_or(planned, |most| most.clamp(1, planned));
    match settled('d') {
        Some(_) => {}
        None if planned < room.cpus => domains(plan, room, ocaml, planned),
        // A ceiling would harm a program with a fixed number of domains, and help no other.
        None => plan.notes.push(format!(
            "Domain.recommended_domain_count answers {planned} of itself, which is the plan: d is left out."
        )),
    }
    let (minor, flag) = minor_heap(plan, resources);
    if settled('s').is_none() {
        plan.flags.extend(flag);
        measure(plan, minor, resources.memory_limit_bytes);
    }
    if settled('o').is_none() {
        plan.flags.extend(overhead(plan.goal, resources));
    }
    plan.set(Some(given.variable(&DIALECT)).filter(|own| !own.is_empty()).map(str::to_owned).into_iter());
}

fn domains(plan: &mut Plan, room: &Room, ocaml: &Ocaml, number: u32) {
    let unknown = match ocaml.release {
        Some(OcamlRelease::From5_3) => {
            let reason = format!(
                "{} Domain.recommended_domain_count then answers {number}. It is a ceiling too: a program that starts more \
                 fails with \"failed to allocate domain\"; if yours does, set d yourself.",
                room.reason(plan.goal)
            );
            let source = room.source(plan.goal);
            plan.flags.push(Flag::new("d", Some(number.to_string()), reason, source, Confidence::Medium));
            return;
        }
        Some(_) => "The parameter",
        None => "The program's release is not known, and the parameter",
    };
    let own = sentences::count(number.into(), "domain");
    let why = format!("{unknown} came with OCaml 5.3: let the program itself start {own}.");
    plan.refuse("d", Some(number.to_string()), why);
}

/// The planned minor heap in words, and its flag; none if it is the runtime's default.
fn minor_heap(plan: &mut Plan, resources: &Resources) -> (u64, Option<Flag>) {
    let limit = resources.memory_limit_bytes;
    let chosen = MINOR_HEAPS.choose(plan.workers, wanted(plan.goal), limit);
    let total = chosen.size.saturating_mul(8).saturating_mul(plan.workers.into());
    let each = sentences::each(&format!("{} words", words(chosen.size)), plan.workers, "domain", total);
    let of = limit.map_or_else(
        || "memory, of which no figure could be read".to_owned(),
        |limit| format!("the {} of memory", units::bytes(limit)),
    );
    if chosen.too_large {
        plan.notes.push(format!(
            "Minor heaps of 32k words take {}, more than a tenth of {of}: the process needs more memory or fewer domains.",
            units::bytes(total)
        ));
    }
    if chosen.size == MINOR_DEFAULT {
        return (chosen.size, None);
    }
    let share = chosen.share("a tenth", &of);
    let reason = format!("Each full minor heap stops all domains; {each}: {share}.");
    let flag = Flag::new("s", Some(words(chosen.size)), reason, chosen.source(resources), Confidence::Medium);
    (chosen.size, Some(flag))
}

/// The minor heap size for `goal`, words.
fn wanted(goal: Goal) -> u64 {
    match goal {
        Goal::Latency => 1 << 20,
        Goal::Throughput => 4 << 20,
        Goal::Memory => MINOR_DEFAULT,
    }
}

/// What is worth measuring; `minor` is the planned size in words.
fn measure(plan: &mut Plan, minor: u64, memory: Option<u64>) {
    let sizes = MINOR_HEAPS.planned.iter().rev().skip(1).copied();
    let candidates = MINOR_HEAPS.others(sizes, plan.workers, minor, memory);
    let why = "The minor heap sets how often all domains are stopped, and the best size depends on the program: of one with \
               4 domains on 2 CPUs, 256k words took 10.9 s and 8M words 0.47 s; another was fastest with 256k and three \
               times slower with 32M.";
    plan.try_out("s", candidates.into_iter().map(|size| MINOR_HEAP.word(words(size))).collect(), why);
}

fn overhead(goal: Goal, resources: &Resources) -> Option<Flag> {
    let tight = resources.memory_limit_bytes.filter(|limit| resources.memory_limited && *limit < TIGHT);
    let (reason, source) = match (goal, tight) {
        (_, Some(limit)) => {
            let path = resources.memory_limit_path.clone().unwrap_or_else(|| "a control group".to_owned());
            (
                format!(
                    "A limit of {} ({path}) is tight: less garbage is kept, for more work of the collector.",
                    units::bytes(limit)
                ),
                path,
            )
        }
        (Goal::Memory, None) => (
            "Less garbage is kept than with the default of 120, for more work of the collector.".to_owned(),
            "the goal".to_owned(),
        ),
        _ => return None,
    };
    Some(Flag::new("o", Some(OVERHEAD_WHEN_TIGHT.to_string()), reason, source, Confidence::Medium))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{churn, limited, machine};

    fn planned(resources: &Resources, release: Option<OcamlRelease>, own: Option<&str>, goal: Goal) -> Plan {
        crate::plan::plan(resources, &churn(release, own), goal)
    }

    fn env(resources: &Resources, goal: Goal) -> Option<String> {
        planned(resources, Some(OcamlRelease::From5_3), None, goal).env.get("OCAMLRUNPARAM").cloned()
    }

    #[test]
    fn every_row_of_the_rules() {
        let machine = machine(4, 2, Some(2.5));
        assert_eq!(env(&machine, Goal::Latency).as_deref(), Some("d=2,s=1M"));
        assert_eq!(env(&machine, Goal::Throughput).as_deref(), Some("d=3,s=4M"));
        assert_eq!(env(&machine, Goal::Memory).as_deref(), Some("d=2,o=80"));
    }

    #[test]
    fn memory_decides_over_what_is_wanted() {
        let of = |mib: u64| env(&limited(machine(4, 2, None), mib << 20), Goal::Latency);
        assert_eq!(of(512).as_deref(), Some("d=4,s=1M"));
        assert_eq!(of(511).as_deref(), Some("d=4,s=1M,o=80"));
        assert_eq!(of(319).as_deref(), Some("d=4,o=80"), "256k is the default");
        assert_eq!(of(79).as_deref(), Some("d=4,s=32k,o=80"));
        let tiny = planned(&limited(machine(4, 2, None), 1 << 20), Some(OcamlRelease::From5_3), None, Goal::Latency);
        assert!(tiny.notes.iter().any(|note| note.contains("more than a tenth")), "{:?}", tiny.notes);
    }

    #[test]
    fn d_is_for_releases_that_have_it() {
        for release in [Some(OcamlRelease::Before5_3), None] {
            let plan = planned(&machine(4, 2, None), release, None, Goal::Latency);
            assert_eq!(plan.env["OCAMLRUNPARAM"], "s=1M");
            assert!(plan.refused.iter().any(|refused| refused.flag == "d" && refused.value.as_deref() == Some("4")));
        }
        let old = planned(&machine(4, 2, None), Some(OcamlRelease::Before5), None, Goal::Latency);
        assert!(old.env.is_empty() && old.flags.is_empty());
    }

    #[test]
    fn what_the_runtime_answers_by_itself_is_no_ceiling() {
        let plan = planned(&machine(4, 1, None), Some(OcamlRelease::From5_3), None, Goal::Latency);
        assert_eq!((plan.workers, plan.env["OCAMLRUNPARAM"].as_str()), (4, "s=1M"));
        assert!(plan.notes.iter().any(|note| note.contains("d is left out")), "{:?}", plan.notes);
    }

    #[test]
    fn the_users_own_stays_and_comes_last() {
        let plan = planned(&machine(4, 2, None), Some(OcamlRelease::From5_3), Some("b,s=8M"), Goal::Latency);
        assert_eq!(plan.env["OCAMLRUNPARAM"], "d=4,b,s=8M");
        assert_eq!(plan.kept.first().map(|kept| kept.option.as_str()), Some("s=8M"));
        let fewer = planned(&machine(4, 2, None), Some(OcamlRelease::From5_3), Some("d=1"), Goal::Latency);
        assert_eq!(fewer.env["OCAMLRUNPARAM"], "s=1M,d=1");
        assert_eq!(fewer.workers, 1);
    }

    #[test]
    fn sizes_read_as_the_runtime_reads_them() {
        assert_eq!((words(32 << 10), words(256 << 10), words(8 << 20)), ("32k".into(), "256k".into(), "8M".into()));
    }

    #[test]
    fn the_minor_heap_is_to_be_measured() {
        let plan = planned(&machine(4, 2, None), Some(OcamlRelease::From5_3), None, Goal::Latency);
        assert_eq!(plan.measure[0].candidates, ["s=256k", "s=4M", "s=8M"]);
        assert_eq!(plan.measure[0].command, "rtscope tune -- PROG");
    }
}
