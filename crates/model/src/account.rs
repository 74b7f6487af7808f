//! The account of a recording: the time of all lanes, divided without remainder.
//!
//! Owns the shape of the tree and its invariant: the parts of a node add up to the node, to the nanosecond. Refuses
//! to measure, and to know a runtime.

use crate::ids::LaneId;
use serde::{Deserialize, Serialize};

/// What a node's length is based on.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// Events of the runtime and the kernel: exact.
    #[default]
    Events,
    /// Samples: its share of the samples that fell into its parent node.
    Samples,
    /// Looks at threads: its share of the threads that were seen to wait.
    Looks,
}

/// A part of the account.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// Stable name, unique among its siblings.
    pub id: String,
    /// The name for display.
    pub name: String,
    /// Lane time, nanoseconds.
    pub ns: u64,
    /// Wall-clock time during which at least one lane was in it, nanoseconds; null where that is not summed up.
    pub wall_ns: Option<u64>,
    /// What `ns` is based on.
    pub basis: Basis,
    /// Number of samples or looks that it is based on; null for events.
    pub samples: Option<u64>,
    /// Why it is unknown, or what would divide it further; null where nothing is missing.
    pub why: Option<String>,
    /// Its parts, longest first; empty if it is not divided.
    pub parts: Vec<Node>,
}

/// Nodes from the top, and how long the last of them was, nanoseconds.
pub type LongPath<'p> = (&'p [Node], u64);

impl Node {
    /// An undivided part, based on events.
    pub fn leaf(id: impl Into<String>, name: impl Into<String>, ns: u64) -> Node {
        Node { id: id.into(), name: name.into(), ns, ..Node::default() }
    }

    /// The sum of these parts, longest first; parts without length are left out.
    pub fn sum(id: impl Into<String>, name: impl Into<String>, mut parts: Vec<Node>) -> Node {
        parts.retain(|part| part.ns > 0);
        parts.sort_by_key(|part| std::cmp::Reverse(part.ns));
        let ns = parts.iter().map(|part| part.ns).sum();
        Node { parts, ..Node::leaf(id, name, ns) }
    }

    /// A tree from lengths of paths, each from the top; nodes of one id are one.
    pub fn tree<'p>(paths: impl IntoIterator<Item = LongPath<'p>>) -> Vec<Node> {
        let mut tops: Vec<(&Node, Vec<LongPath<'p>>)> = Vec::new();
        for (path, ns) in paths {
            let Some((first, rest)) = path.split_first() else { continue };
            match tops.iter_mut().find(|(top, _)| top.id == first.id) {
                Some((_, below)) => below.push((rest, ns)),
                None => tops.push((first, vec![(rest, ns)])),
            }
        }
        let node = |(top, below): (&Node, Vec<LongPath<'p>>)| {
            let ns = below.iter().map(|(_, ns)| ns).sum();
            Node { ns, parts: Node::tree(below), ..top.clone() }
        };
        Node::sum("", "", tops.into_iter().map(node).collect()).parts
    }

    /// The part with this id.
    pub fn part(&self, id: &str) -> Option<&Node> {
        self.parts.iter().find(|part| part.id == id)
    }

    /// Whether its parts add up to its length, recursively.
    pub fn sums_up(&self) -> bool {
        let parts: u64 = self.parts.iter().map(|part| part.ns).sum();
        (self.parts.is_empty() || parts == self.ns) && self.parts.iter().all(Node::sums_up)
    }

    /// Divides `ns` by samples: `weights` are nodes with the CPU time and the number of their samples.
    pub fn divide(&mut self, weights: Vec<(Node, u64, u64)>) {
        let all: u64 = weights.iter().map(|weight| weight.1).sum();
        if all == 0 || self.ns == 0 {
            return;
        }
        let share = |weight: u64| (u128::from(self.ns) * u128::from(weight) / u128::from(all)) as u64;
        let mut parts: Vec<Node> = Vec::with_capacity(weights.len());
        for (mut part, weight, samples) in weights {
            (part.ns, part.basis, part.samples) = (share(weight), Basis::Samples, Some(samples));
            parts.push(part);
        }
        // The remainder of rounding is less than a nanosecond per part.
        let rest = self.ns - parts.iter().map(|part| part.ns).sum::<u64>();
        if let Some(longest) = parts.iter_mut().max_by_key(|part| part.ns) {
            longest.ns += rest;
        }
        parts.retain(|part| part.ns > 0);
        parts.sort_by_key(|part| std::cmp::Reverse(part.ns));
        self.parts = parts;
    }
}

/// The account of one lane.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LaneAccount {
    /// Number of the lane.
    pub lane: LaneId,
    /// Its time: from when it was first seen until the end of it or of the recording, nanoseconds.
    pub ns: u64,
    /// The parts of that time, longest first.
    pub parts: Vec<Node>,
}

/// The account of an interval, or of a whole recording.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Account {
    /// The time of all lanes, nanoseconds.
    pub lanes_ns: u64,
    /// Wall-clock time during which there was a lane, nanoseconds.
    pub wall_ns: u64,
    /// Wall-clock time outside pauses by the number of lanes with work, from none on, nanoseconds; empty: not known.
    pub with_work_ns: Vec<u64>,
    /// The part of the first of these in intervals of at most a millisecond: waking a thread takes that long; in
    /// longer ones the program waited for something.
    pub no_work_briefly_ns: u64,
    /// The parts of `lanes_ns`, longest first.
    pub parts: Vec<Node>,
    /// The account of each lane.
    pub lanes: Vec<LaneAccount>,
}

impl Account {
    /// Whether all parts add up: those of the whole, of each lane, and the lanes to the whole.
    pub fn sums_up(&self) -> bool {
        let all = |parts: &[Node], ns: u64| {
            parts.iter().all(Node::sums_up) && parts.iter().map(|part| part.ns).sum::<u64>() == ns
        };
        all(&self.parts, self.lanes_ns)
            && self.lanes.iter().all(|lane| all(&lane.parts, lane.ns))
            && self.lanes.iter().map(|lane| lane.ns).sum::<u64>() == self.lanes_ns
            && self.with_work_ns.iter().sum::<u64>() <= self.wall_ns
            && self.no_work_briefly_ns <= self.with_work_ns.first().copied().unwrap_or(0)
    }

    /// The part with this id.
    pub fn part(&self, id: &str) -> Option<&Node> {
        self.parts.iter().find(|part| part.id == id)
    }

    /// Whether events of the kernel were there that do not fit the log.
    pub fn lacks_kernel(&self) -> bool {
        self.part("not-known").is_some_and(|top| top.part("no-kernel").is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_samples_divide_sums_up_whatever_is_rounded() {
        let mut node = Node::leaf("program", "program", 1_000);
        let weights = (0..7).map(|index| (Node::leaf(format!("{index}"), "", 0), 10, 1)).collect();
        node.divide(weights);
        assert!(node.sums_up());
        assert_eq!(node.parts.len(), 7);
        assert!(node.parts.iter().all(|part| part.basis == Basis::Samples && (142..=148).contains(&part.ns)));
    }

    #[test]
    fn nothing_is_divided_without_samples() {
        let mut node = Node::leaf("program", "program", 1_000);
        node.divide(Vec::new());
        assert!(node.parts.is_empty() && node.sums_up());
    }

    #[test]
    fn paths_of_one_node_are_one_node() {
        let node = |id: &str| Node::leaf(id, id, 0);
        let paths = [vec![node("a"), node("b")], vec![node("c")], vec![node("a"), node("d")]];
        let tree = Node::tree(paths.iter().map(|path| &path[..]).zip([3, 9, 4]));
        let shown: Vec<_> = tree.iter().map(|node| (&*node.id, node.ns, node.parts.len())).collect();
        assert_eq!(shown, [("c", 9, 0), ("a", 7, 2)]);
        assert!(tree.iter().all(Node::sums_up) && tree[1].parts[0].id == "d");
    }

    #[test]
    fn a_part_that_is_missing_shows() {
        let whole =
            Node::sum("all", "all", vec![Node::leaf("a", "a", 3), Node::leaf("b", "b", 4), Node::leaf("c", "c", 0)]);
        assert_eq!((whole.ns, whole.parts.len()), (7, 2));
        assert_eq!(whole.parts[0].id, "b");
        let wrong = Node { ns: 8, ..whole.clone() };
        assert!(whole.sums_up() && !wrong.sums_up());
        let account = Account {
            lanes_ns: 7,
            wall_ns: 7,
            with_work_ns: vec![3, 4],
            no_work_briefly_ns: 2,
            lanes: vec![LaneAccount { lane: LaneId(0), ns: 7, parts: vec![whole.clone()] }],
            parts: vec![whole],
        };
        assert!(account.sums_up() && !Account { with_work_ns: vec![3, 5], ..account.clone() }.sums_up());
        assert!(!Account { no_work_briefly_ns: 4, ..account.clone() }.sums_up());
        assert!(!Account { lanes_ns: 8, ..account }.sums_up());
    }
}
