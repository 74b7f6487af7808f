//! `tracer-disturbance`: the recording itself slows the program down: lanes write log buffers, the runtime's tracing
//! code runs, the recorder's threads take CPUs.
//!
//! Cost: wall-clock time in which a lane wrote its log; CPU time that the runtime spent on posting events, according
//! to samples, divided by the lanes; time in which the recorder ran on a CPU that the program wanted. Where other
//! processes want the CPUs, too, the recorder alone takes up to a twentieth. A twelfth of the wall clock is more than
//! any recording should take; then treat its other figures with care.

use crate::findings::{Cost, Facts, Rule, Verdict, evidence, recorder_ns, sure};
use crate::kernel::purposes::Spent;
use rtscope_model::units::duration;
use rtscope_model::{Evidence, Figure, Remedy, Setting};

pub static RULE: Rule = Rule {
    id: "tracer-disturbance",
    explains: &["standing-still", "no-cpu", "kept"],
    order: 110,
    share_min: 0.08,
    why: "on a busy machine the recorder takes up to a twentieth",
    check,
    ..Rule::BLANK
};

/// Time that lanes spent writing.
const WRITE: Figure =
    Figure { path: "tracer.write_ns", shows: "the time spent writing the log falls (see `tracer` in --json)" };

/// The parts of the cost, nanoseconds.
struct TracerCost {
    writes: u64,
    posts: u64,
    recorder: u64,
}

impl TracerCost {
    fn of(facts: &Facts<'_>) -> TracerCost {
        let posts = facts
            .code
            .map_or(0, |code| code.purposes.sums.iter().filter(|(spent, _)| posts(spent)).map(|(_, ns)| *ns).sum());
        let own = facts.context.own_cost.as_ref().map_or(u64::MAX, |cost| cost.cpu_ns);
        TracerCost {
            writes: facts.disturbance.wall.ns(),
            posts: posts / facts.lanes.max(1) as u64,
            // Names may be shared with another recorder: no more than the time that this one ran.
            recorder: facts.held.map_or(0, |held| recorder_ns(held, &facts.recorder)).min(own),
        }
    }

    fn sum(&self) -> u64 {
        self.writes + self.posts + self.recorder
    }
}

/// Work for the log except its writes, which are the kernel's.
fn posts(spent: &Spent) -> bool {
    !spent.in_kernel && spent.purpose.is_some_and(|purpose| purpose.get().id == "log-writing")
}

fn check(facts: &Facts<'_>) -> Option<Verdict> {
    let parts = TracerCost::of(facts);
    let most = match parts.writes.max(parts.posts).max(parts.recorder) {
        most if most == parts.writes => "capabilities wrote their event logs",
        most if most == parts.posts => "the runtime posted events",
        _ => "the recorder ran on its CPUs",
    };
    let what = format!("Recording slows the program down: {most}, at a cost of ");
    let cost = Cost::Time(parts.sum().min(facts.span_ns));
    let verdict = Verdict::new(cost, sure(parts.writes * 2 >= parts.sum()), what);
    Some(verdict.seen(seen(facts, &parts)).remedies(remedies(facts)))
}

fn seen(facts: &Facts<'_>, parts: &TracerCost) -> Vec<Evidence> {
    let (writes, longest) = (facts.disturbance.writes, facts.disturbance.longest);
    let mut seen = Vec::new();
    if writes > 0 {
        let ns = longest.map_or(0, |(from, to)| to.since(from));
        let text = format!(
            "Capabilities wrote log buffers {writes} times, during {} of the run; the longest write took {}.",
            duration(parts.writes),
            duration(ns)
        );
        seen.push(evidence(text, longest));
    }
    if parts.posts > 0 {
        seen.push(facts.overall(format!(
            "Samples found the runtime posting events during {} of each capability's time.",
            duration(parts.posts)
        )));
    }
    if parts.recorder > 0 {
        let ran = duration(parts.recorder);
        seen.push(facts.overall(format!("The recorder ran on a CPU that the program waited for during {ran}.")));
    }
    seen
}

/// The program's name in the folder of in-memory files.
fn in_memory(facts: &Facts<'_>) -> Option<Setting> {
    let path = facts.context.program.as_ref()?.command.first()?;
    let name = path.rsplit('/').next().filter(|name| !name.is_empty())?;
    Some(Setting::rtscope(["record", "-o", &format!("/dev/shm/{name}.rtscope")]))
}

fn remedies(facts: &Facts<'_>) -> [Remedy; 2] {
    [
        Remedy::new(
            "Record fewer classes of events: without `--detail full`, and without an `-l` of the program's own that \
             asks for the scheduler's events.",
        )
        .set(Setting::rtscope(["record", "--detail", "cheap"]))
        .falls(WRITE),
        Remedy::or("put the recording on a faster disk, or in memory.").set(in_memory(facts)).falls(WRITE),
    ]
}
