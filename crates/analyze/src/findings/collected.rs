//! Wall-clock time of collections, divided by the purposes that samples found, and the purposes of the program's own
//! time. Owns how lane time becomes wall-clock time, and how many samples make a share credible. Refuses to judge.

use super::with_work::at_work;
use super::{Facts, scaled};
use rtscope_model::{Account, Node};

/// With fewer samples than this a share says nothing.
pub const SAMPLES_MIN: u64 = 10;
/// With this many samples a share is good to a few per cent.
pub const SAMPLES_MANY: u64 = 100;

/// Lane time as wall-clock time: its share of all lane time, applied to the run.
pub fn mean(account: &Account, ns: u64) -> u64 {
    scaled(account.wall_ns, ns, account.lanes_ns)
}

/// Wall-clock time that collections took for these purposes or kernel parts (by id); `None` if there are too
/// few samples.
pub fn measured(facts: &Facts<'_>, purposes: &[&str]) -> Option<u64> {
    let took = Collecting::of(facts)?.summed(purposes);
    (took.of >= SAMPLES_MANY).then_some(took.ns)
}

/// Like [`measured`], but accepts a time that only a few samples found.
pub fn found(facts: &Facts<'_>, purposes: &[&str]) -> Option<u64> {
    Some(Collecting::of(facts)?.summed(purposes)).filter(|took| took.samples >= SAMPLES_MIN).map(|took| took.ns)
}

/// Nodes with this id in the program's own time, outside collections.
pub fn in_program<'a>(facts: &Facts<'a>, id: &str) -> Vec<&'a Node> {
    let program = facts.account.and_then(|account| account.part("program"));
    let nodes = program.into_iter().flat_map(|program| std::iter::once(program).chain(&program.parts));
    nodes.filter_map(|node| node.part(id)).collect()
}

/// Program time of lanes as wall-clock time: if only one lane of eight has work, all that it does lengthens the run.
pub fn of_lanes_at_work(account: &Account, ns: u64) -> u64 {
    let lanes = at_work(&account.with_work_ns).unwrap_or(account.lanes.len() as f64).max(1.0);
    (ns as f64 / lanes) as u64
}

/// The program's own time for these purposes or kernel parts (by id).
pub fn served(facts: &Facts<'_>, ids: &[&str]) -> Took {
    let nodes = ids.iter().flat_map(|id| match id.starts_with("kernel:") {
        true => in_program(facts, id),
        false => in_program(facts, &format!("purpose:{id}")),
    });
    let (ns, samples) = nodes.fold((0, 0), |sum, node| (sum.0 + node.ns, sum.1 + node.samples.unwrap_or(0)));
    Took { ns: facts.account.map_or(0, |account| of_lanes_at_work(account, ns)), samples, of: 0 }
}

/// The part `collecting` of an account as wall-clock time.
pub struct Collecting<'a> {
    /// Nodes that samples divide, each with its wall-clock time: in pauses, and between them.
    parts: Vec<(&'a Node, u64)>,
}

/// What collections took for some purposes.
pub struct Took {
    /// Wall-clock time, nanoseconds.
    pub ns: u64,
    /// Samples that found these purposes.
    pub samples: u64,
    /// All samples of collections.
    pub of: u64,
}

impl<'a> Collecting<'a> {
    /// `None`: the account has no such part.
    pub fn of(facts: &Facts<'a>) -> Option<Collecting<'a>> {
        let account = facts.account?;
        let whole = account.part("collecting")?;
        // Between pauses a lane collects while others run: this takes the same share of the run as of lane time. In
        // pauses the world stands still, however few lanes work.
        let slices = whole.parts.iter().filter(|part| part.id == "slices").map(|part| mean(account, part.ns)).sum();
        // By the account, a collector that waits for one without a CPU works; that time is reported elsewhere.
        let collections = [&facts.collections.minor, &facts.collections.major];
        let undisturbed = collections.iter().any(|kind| kind.count > 0);
        let undisturbed = undisturbed.then(|| collections.iter().map(|kind| kind.collect_ns).sum::<u64>());
        let in_pauses = whole.wall_ns.unwrap_or(0).saturating_sub(slices).min(undisturbed.unwrap_or(u64::MAX));
        let wall = |part: &Node| if part.id == "slices" { mean(account, part.ns) } else { in_pauses };
        Some(Collecting { parts: whole.parts.iter().map(|part| (part, wall(part))).collect() })
    }

    /// Wall-clock time of all collections, nanoseconds.
    pub fn ns(&self) -> u64 {
        self.parts.iter().map(|part| part.1).sum()
    }

    /// What collections took for these purposes or kernel parts (by id).
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

    /// All parts that samples show, largest first, with their shares.
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
