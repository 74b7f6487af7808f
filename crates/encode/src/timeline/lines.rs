//! Values over time that formats draw as lines. Owns which figures are lines, their names and units; refuses figures
//! of a single collection.

use crate::Tables;
use rtscope_model::{Counter, Cpu, GroupId, LaneId, NameId, Sample};

/// A line. Each value holds until the next one.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug)]
pub enum Line {
    /// A figure of the runtime: of a lane, or of the program for [`LaneId::NONE`].
    Runtime(Counter, LaneId),
    /// Resident set of the program.
    Rss,
    /// Time for which a control group has been throttled since its start, summed over CPUs.
    Throttled(GroupId),
    /// Memory charged to a control group.
    GroupMemory(GroupId),
    /// Time that the host has taken from a CPU since its start.
    Stolen(Cpu),
    /// Time that a CPU has spent in interrupts since its start.
    Interrupts(Cpu),
    /// Pressure stall total of a resource: 0 cpu, 1 memory, 2 io.
    Pressure(u8),
    /// A value that the program posts.
    User(NameId),
    /// A label of the runtime's heap profile; `None`: labels that are not distinguished.
    Label(Option<NameId>),
}

rtscope_model::listed! {
    /// The unit of a line's values.
    #[derive(Copy, Clone, Eq, PartialEq, Debug)]
    pub enum Unit: word {
        Bytes = "bytes",
        Ns = "ns",
        Us = "us",
        Count = "count",
        /// The program's own unit.
        Own = "own",
    }
}

/// Lines of the runtime's figures: name, unit, whether each lane has its own line.
const FIGURES: [(Counter, &str, Unit, bool); 20] = [
    (Counter::SlopBytes, "slop", Unit::Bytes, false),
    (Counter::FragmentationBytes, "fragmentation", Unit::Bytes, false),
    (Counter::AllocatedBytes, "allocated", Unit::Bytes, true),
    (Counter::HeapBytes, "heap", Unit::Bytes, false),
    (Counter::BlocksBytes, "blocks", Unit::Bytes, false),
    (Counter::LiveBytes, "live", Unit::Bytes, false),
    (Counter::CopiedBytes, "copied", Unit::Bytes, false),
    (Counter::ReturnHeldMib, "held, MiB", Unit::Count, false),
    (Counter::ReturnNeededMib, "needed, MiB", Unit::Count, false),
    (Counter::ReturnedMib, "returned, MiB", Unit::Count, false),
    (Counter::SparksCreated, "sparks created", Unit::Count, true),
    (Counter::SparksDud, "sparks dud", Unit::Count, true),
    (Counter::SparksOverflowed, "sparks overflowed", Unit::Count, true),
    (Counter::SparksConverted, "sparks converted", Unit::Count, true),
    (Counter::SparksCollected, "sparks collected", Unit::Count, true),
    (Counter::SparksFizzled, "sparks fizzled", Unit::Count, true),
    (Counter::SparksRemaining, "sparks remaining", Unit::Count, true),
    (Counter::YoungBytes, "young heap when collected", Unit::Bytes, true),
    (Counter::PromotedBytes, "promoted", Unit::Bytes, true),
    (Counter::LargeBytes, "large blocks", Unit::Bytes, false),
];

/// Index of a counter in [`FIGURES`], counted from 1; 0: not a line. In most logs every third event is looked up here.
const PLACES: [u8; Counter::ALL.len()] = {
    let mut places = [0; Counter::ALL.len()];
    let mut at = 0;
    while at < FIGURES.len() {
        places[FIGURES[at].0 as usize] = at as u8 + 1;
        at += 1;
    }
    places
};

fn figure(counter: Counter) -> Option<(&'static str, Unit, bool)> {
    let place = PLACES.get(counter as usize)?.checked_sub(1)?;
    FIGURES.get(usize::from(place)).map(|(_, name, unit, own)| (*name, *unit, *own))
}

impl Line {
    /// The line of a figure posted by `lane`; `None`: it is not a line.
    pub fn of(counter: Counter, lane: LaneId) -> Option<Line> {
        let (.., own) = figure(counter)?;
        Some(Line::Runtime(counter, if own { lane } else { LaneId::NONE }))
    }

    /// Its name without lane or program.
    pub fn name(self, tables: Tables<'_>) -> String {
        match self {
            Line::Runtime(counter, _) => figure(counter).map_or("", |figure| figure.0).to_owned(),
            Line::Rss => "resident set".to_owned(),
            Line::Throttled(group) => format!("throttled, group {group}"),
            Line::GroupMemory(group) => format!("memory, group {group}"),
            Line::Stolen(cpu) => format!("stolen from CPU {cpu}"),
            Line::Interrupts(cpu) => format!("interrupts of CPU {cpu}"),
            Line::Pressure(0) => "pressure, cpu".to_owned(),
            Line::Pressure(1) => "pressure, memory".to_owned(),
            Line::Pressure(_) => "pressure, io".to_owned(),
            Line::User(name) => tables.user.get(name).to_owned(),
            Line::Label(Some(label)) => format!("heap profile: {}", tables.user.get(label)),
            Line::Label(None) => "heap profile: the rest".to_owned(),
        }
    }

    /// Its name with its lane; `lane_word` is the runtime's word for a lane.
    pub fn full_name(self, tables: Tables<'_>, lane_word: &str) -> String {
        let name = self.name(tables);
        match self.lane() {
            Some(lane) => format!("{name}, {lane_word} {lane}"),
            None => name,
        }
    }

    /// Its lane, if it belongs to one.
    pub fn lane(self) -> Option<LaneId> {
        match self {
            Line::Runtime(_, lane) if lane.is_some() => Some(lane),
            _ => None,
        }
    }

    pub fn unit(self) -> Unit {
        match self {
            Line::Runtime(counter, _) => figure(counter).map_or(Unit::Own, |figure| figure.1),
            Line::Rss | Line::GroupMemory(_) | Line::Label(_) => Unit::Bytes,
            Line::Throttled(_) | Line::Stolen(_) | Line::Interrupts(_) => Unit::Ns,
            Line::Pressure(_) => Unit::Us,
            Line::User(_) => Unit::Own,
        }
    }
}

/// The values of a sample, at most two. Counters of single threads, calls and the recorder's own lateness
/// are not lines.
pub fn of_sample(sample: &Sample) -> [Option<(Line, u64)>; 2] {
    match *sample {
        Sample::Rss { bytes } => [Some((Line::Rss, bytes)), None],
        Sample::Quota { group, throttled_ns, .. } => [Some((Line::Throttled(group), throttled_ns)), None],
        Sample::GroupMemory { group, bytes } => [Some((Line::GroupMemory(group), bytes)), None],
        Sample::CpuStolen { cpu, steal_ns, irq_ns } => {
            [Some((Line::Stolen(cpu), steal_ns)), Some((Line::Interrupts(cpu), irq_ns))]
        }
        Sample::Pressure { resource, total_us } => [Some((Line::Pressure(resource.min(2)), total_us)), None],
        Sample::Thread { .. } | Sample::Calls { .. } | Sample::Late { .. } => [None, None],
    }
}
