//! What collections took, as wall-clock time, by what samples found them at, and what the program's own time was for. Owns
//! how lane time becomes wall-clock time, and from how many samples on a share is believed. Refuses to judge.

use super::with_work::at_work;
use super::{Facts, scaled};
use rtscope_model::{Account, Node};

/// Below this many samples a share says nothing.
pub const SAMPLES_MIN: u64 = 10;
/// A share of so many is good to a few per cent.
pub const SAMPLES_MANY: u64 = 100;

/// Lane time as wall-clock time: the share of all lanes' time as one of the run.
pub fn mean(account: &Account, ns: u64) -> u64 {
    scaled(account.wall_ns, ns, account.lanes_ns)
}

/// Wall-clock time that collections took for these purposes, or parts of the kernel's by their ids; `None` where too few
/// samples tell.
pub fn measured(facts: &Facts<'_>, purposes: &[&str]) -> Option<u64> {
    let took = Collecting::of(facts)?.summed(purposes);
    (took.of >= SAMPLES_MANY).then_some(took.ns)
}

/// The same where a few samples found it.
pub fn found(facts: &Facts<'_>, purposes: &[&str]) -> Option<u64> {
    Some(Collecting::of(facts)?.summed(purposes)).filter(|took| took.samples >= SAMPLES_MIN).map(|took| took.ns)
}

/// Parts of the program's own time with this id, outside collections.
pub fn in_program<'a>(facts: &Facts<'a>, id: &str) -> Vec<&'a Node> {
    let program = facts.account.and_then(|account| account.part("program"));
    let nodes = program.into_iter().flat_map(|program| std::iter::once(program).chain(&program.parts));
    nodes.filter_map(|node| node.part(id)).collect()
}

/// Program's time of lanes as wall-clock time: where one lane of eight has work, all that it does takes the run longer.
pub fn of_lanes_at_work(account: &Account, ns: u64) -> u64 {
    let lanes = at_work(&account.with_work_ns).unwrap_or(account.lanes.len() as f64).max(1.0);
    (ns as f64 / lanes) as u64
}

/// What the program's own time was for one of these: purposes, or parts of the kernel's by their ids.
pub fn served(facts: &Facts<'_>, ids: &[&str]) -> Took {
    let nodes = ids.iter().flat_map(|id| match id.starts_with("kernel:") {
        true => in_program(facts, id),
        false => in_program(facts, &format!("purpose:{id}")),
    });
    let (ns, samples) = nodes.fold((0, 0), |sum, node| (sum.0 + node.ns, sum.1 + node.samples.unwrap_or(0)));
    Took { ns: facts.account.map_or(0, |account| of_lanes_at_work(account, ns)), samples, of: 0 }
}

/// The part `collecting` of an account, as wall-clock time.
pub struct Collecting<'a> {
    /// What is divided by samples, with the wall-clock time that it comes to: in pauses, and between them.
    parts: Vec<(&'a Node, u64)>,
}

/// What collections took for some purposes.
pub struct Took {
    /// Wall-clock time.
    pub ns: u64,
    /// Samples that found it.
    pub samples: u64,
    /// Samples of collections.
    pub of: u64,
}

impl<'a> Collecting<'a> {
    /// `None`: the account has none.
    pub fn of(facts: &Facts<'a>) -> Option<Collecting<'a>> {
        let account = facts.account?;
        let whole = account.part("collecting")?;
        // Between pauses a lane collects while others run: it counts as much of the run as of lane time. In pauses the
        // world stands still, however few lanes work.
        let slices = whole.parts.iter().filter(|part| part.id == "slices").map(|part| mean(account, part.ns)).sum();
        // A collector that waits for one that has no CPU works, by the account; its time has another name.
        let collections = [&facts.collections.minor, &facts.collections.major];
        let undisturbed = collections.iter().any(|kind| kind.count > 0);
        let undisturbed = undisturbed.then(|| collections.iter().map(|kind| kind.collect_ns).sum::<u64>());
        let in_pauses = whole.wall_ns.unwrap_or(0).saturating_sub(slices).min(undisturbed.unwrap_or(u64::MAX));
        let wall = |part: &Node| if part.id == "slices" { mean(account, part.ns) } else { in_pauses };
        Some(Collecting { parts: whole.parts.iter().map(|part| (part, wall(part))).collect() })
    }

    /// All of it.
    pub fn ns(&self) -> u64 {
        self.parts.iter().map(|part| part.1).sum()
    }

    /// What they took for these purposes, or parts of the kernel's by their ids.
    pub fn summed(&self, purposes: &[&str]) -> Took {
        let is = |node: &&Node| purposes.contains(&node.id.strip_prefix("purpose:").unwrap_or(&node.id));
        let mut took = Took { ns: 0, samples: 0, of: 0 };
        for (whole, wall_ns) in &self.parts {
            let own: Vec<&Node> = whole.parts.iter().filter(is).collect();
            let ns: u64 = own.iter().map(|node| node.ns).sum();
            took.ns += scaled(*wall_ns, ns, whole.ns);
            took.samples += own.iter().filter_map(|node| node.samples).sum::<u64>();
            took.of += whole.parts.iter().filter_map(|node| node.samples).sum::<u64>();
        }
        took
    }

    /// All parts that samples tell, largest first, with their shares.
    pub fn largest(&self) -> impl Iterator<Item = (&'a str, f64)> {
        let all = self.ns().max(1) as f64;
        let mut parts: Vec<(&str, f64)> = Vec::new();
        for (node, ns) in self
            .parts
            .iter()
            .flat_map(|(whole, ns)| whole.parts.iter().map(move |node| (node, scaled(*ns, node.ns, whole.ns))))
            .filter(|(node, _)| node.samples.is_some())
        {
            let name = node.name.strip_prefix("the runtime: ").unwrap_or(&node.name);
            match parts.iter_mut().find(|(known, _)| *known == name) {
                Some(known) => known.1 += ns as f64 / all,
                None => parts.push((name, ns as f64 / all)),
            }
        }
        parts.sort_by(|one, other| other.1.total_cmp(&one.1));
        parts.into_iter()
    }
}
