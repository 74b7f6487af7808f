//! A plan: flags derived from what a process may use, what its binary accepts, and which options it
//! already has. Owns the order of the steps, and the rules for every runtime; each runtime owns its
//! own rules, documented in `docs/plan-rules.md`. Refuses to look at a machine.

mod document;
pub(crate) mod memory;
pub(crate) mod words;
pub(crate) mod workers;

pub use document::{Flag, Goal, KeptOption, Measure, Plan, Refused, Relink};

use crate::runtime::Program;
use rtscope_model::resources::Resources;

/// Plans how to start `program` with `resources`, for `goal`.
pub fn plan(resources: &Resources, program: &Program, goal: Goal) -> Plan {
    let (runtime, name) = (program.dialect(), program.name.clone());
    let mut plan = Plan { goal, runtime, program: name, workers: 1, ..Plan::default() };
    let room = workers::Room::of(resources);
    match &program.link {
        Ok(link) => link.plan(&mut plan, resources, &room, &program.given),
        Err(why) => {
            plan.workers = room.workers(goal);
            plan.unknown = Some(why.clone());
        }
    }
    narrow(&mut plan, &room);
    notes_on_the_machine(&mut plan, resources);
    plan
}

/// A mask with fewer CPUs than workers would only make them queue, and a program with
/// `-rtsopts=some` would not start.
fn narrow(plan: &mut Plan, room: &workers::Room) {
    plan.cpus = room.narrowed(plan.goal);
    let Some(cpus) = &plan.cpus else { return };
    if (cpus.len() as u64) < u64::from(plan.workers) {
        plan.notes.push(format!(
            "{} are more than {}: the affinity mask stays as it is.",
            words::count(plan.workers.into(), "worker"),
            words::count(cpus.len() as u64, "core")
        ));
        plan.cpus = None;
    }
}

fn notes_on_the_machine(plan: &mut Plan, resources: &Resources) {
    if resources.ancestors_hidden {
        plan.notes.push(
            "Control groups above those that are visible from here may set smaller quotas and memory limits: this \
             plan cannot know them."
                .to_owned(),
        );
    }
    if resources.kinds.len() > 1 {
        let kinds = resources.kinds.iter().map(|kind| format!("{} {}", kind.cpus.len(), kind.name));
        plan.notes.push(format!(
            "The CPUs are of several kinds ({}): a collection waits for its slowest worker, so measure a start on the \
             fast ones alone (`taskset -c LIST`).",
            kinds.collect::<Vec<_>>().join(", ")
        ));
    }
    plan.notes.extend(resources.notes.iter().cloned());
}
