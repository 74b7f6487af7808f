//! A whole log: its header, its block index (including buffers that the program had not written yet), and access
//! to its events.

use super::error::EventlogError;
use super::frame::FrameTable;
use super::header::Header;
use super::heap_profile::Labels;
use super::import;
use super::index::{Block, BlockEnd, Chain, MARKER, Marker};
use super::info::Info;
use super::pool::{LaneBlocks, Pool};
use super::scan::{Plan, ScannedEvent};
use super::stream::Stream;
use super::tags;
use super::tally::Losses;
use crate::code::Ipe;
use crate::raw_loss::RawLoss;
use crate::source::ReadAt;
use rtscope_model::{Class, Classes, ClockMap, LossKind};
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::Arc;

/// Limit of items queued ahead of the reader, beyond one step per lane; so many are still cached when they are read.
const BUDGET_ITEMS: usize = (2 << 20) / size_of::<ScannedEvent>();

/// Bytes first read for the header, and the limit of a header.
const HEADER_FIRST: u64 = 64 << 10;
const HEADER_MAX: u64 = 16 << 20;

/// A buffer that was copied from the program's memory before the program wrote it: an open block marker (size 0) and
/// the events after it.
#[derive(Clone)]
pub struct UnflushedBlock {
    /// Capability; 65535: the global buffer.
    pub cap: u16,
    /// Time stamp of its block marker.
    pub time: u64,
    /// The marker and the events after it.
    pub bytes: Arc<dyn ReadAt>,
}

impl UnflushedBlock {
    /// The buffer in `bytes`; `None` if it does not start with a block marker.
    ///
    /// # Errors
    /// The marker cannot be read.
    pub fn new(bytes: Arc<dyn ReadAt>) -> io::Result<Option<UnflushedBlock>> {
        let mut head = [0; MARKER];
        let count = bytes.read_full(&mut head, 0)?;
        let marker = head.get(..count).and_then(Marker::parse);
        Ok(marker.map(|Marker { cap, time, .. }| UnflushedBlock { cap, time, bytes }))
    }
}

/// An opened log. Holds its index, not its bytes.
pub struct Eventlog {
    name: String,
    header: Arc<Header>,
    /// The log, followed by the unflushed buffers in use.
    sources: Vec<Arc<dyn ReadAt>>,
    chain: Chain,
    unflushed: Vec<UnflushedBlock>,
    /// Blocks of the log and of the unflushed buffers in use.
    blocks: Arc<Vec<Block>>,
    info: Info,
    labels: Arc<Labels>,
    ended: bool,
}

impl Eventlog {
    /// Opens a log: reads its header, its block markers and its global blocks. A truncated, damaged or growing log
    /// opens as far as it can be read.
    ///
    /// # Errors
    /// Nothing can be read at all. This includes a log without any block, unless `unflushed` has one.
    pub fn open(source: Arc<dyn ReadAt>, unflushed: Vec<UnflushedBlock>) -> Result<Eventlog, EventlogError> {
        let header = Arc::new(read_header(source.as_ref())?);
        let chain = Chain::from(header.data_offset());
        let mut log = Eventlog {
            name: "eventlog".to_string(),
            header,
            sources: vec![source],
            chain,
            unflushed,
            blocks: Arc::default(),
            info: Info::default(),
            labels: Arc::default(),
            ended: false,
        };
        log.refresh()?;
        if log.blocks.is_empty() && log.chain.losses.is_empty() {
            return Err(EventlogError::HeaderOnly { position: log.header.data_offset() });
        }
        Ok(log)
    }

    /// Sets the name that appears in its losses.
    pub fn named(mut self, name: impl Into<String>) -> Eventlog {
        self.name = name.into();
        self
    }

    /// Adds blocks that the program has written since; returns how many.
    ///
    /// # Errors
    /// The source cannot be read.
    pub fn refresh(&mut self) -> Result<usize, EventlogError> {
        let before = self.chain.blocks.len();
        let Some(source) = self.sources.first().cloned() else { return Ok(0) };
        let position = self.chain.resume;
        self.blocks = Arc::default();
        self.chain.extend(source.as_ref(), &self.header).map_err(|source| EventlogError::Io { position, source })?;
        self.sources.truncate(1);
        self.combine();
        let mut labels = Labels::default();
        let (info, ended) = Info::scan(&self.header, &self.blocks, &self.sources, |record| labels.gather(record));
        labels.resolve(&self.header, &self.blocks, &self.sources, info.has_ipe);
        self.info = info;
        self.labels = Arc::new(labels);
        self.ended = ended || self.chain.ended;
        Ok(self.chain.blocks.len().saturating_sub(before))
    }

    /// What the log says about the whole program.
    pub fn info(&self) -> &Info {
        &self.info
    }

    /// The names that it gives code in these sorted ranges of addresses, if it names any code.
    pub fn ipe(&self, ranges: &[(u64, u64)]) -> Vec<Ipe> {
        if !self.info.has_ipe || ranges.is_empty() {
            return Vec::new();
        }
        Info::ipe(&self.header, &self.blocks, &self.sources, ranges)
    }

    /// Its blocks: the log's in file order, then the unflushed ones in use.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Whether the log has its end mark: the program ended normally.
    pub fn is_complete(&self) -> bool {
        self.ended
    }

    /// The events of `classes` in time order, on the trace clock; scans with `threads` threads, including the caller's.
    pub fn stream(&self, classes: Classes, clock: ClockMap, threads: usize) -> Stream {
        self.stream_within(classes, clock, threads, BUDGET_ITEMS)
    }

    pub(super) fn stream_within(&self, classes: Classes, clock: ClockMap, threads: usize, budget: usize) -> Stream {
        let lanes = self.lanes();
        let green = classes.has(Class::Green);
        let plan = Plan {
            table: FrameTable::new(&self.header, |tag| import::plan(tag, classes)),
            classes,
            labels: Arc::clone(&self.labels),
            sources: self.sources.clone(),
            step_items: (budget / lanes.len().max(1)).clamp(64, 4096),
            budget_items: budget,
            edges: classes.has(Class::GreenEdges) && !green,
            green,
        };
        let mut tags: Vec<u16> = self.header.types().iter().map(|event| event.tag).collect();
        tags.push(tags::BLOCK_MARKER);
        tags.sort_unstable();
        tags.dedup();
        let mut losses = Losses::default();
        self.chain.losses.iter().cloned().for_each(|loss| losses.push(loss));
        if let Some(loss) = self.mixed() {
            losses.push(loss);
        }
        let named = (self.name.clone(), Arc::clone(&self.header));
        Stream::new(Pool::new(plan, lanes, tags), threads.max(1), clock, named, losses, self.ended)
    }

    fn mixed(&self) -> Option<RawLoss> {
        let pids = &self.info.pids;
        (pids.len() > 1).then(|| RawLoss {
            kind: LossKind::MixedProcesses,
            count: pids.len() as u64,
            from: None,
            to: None,
            note: format!(
                "processes {pids:?} wrote into one log: give each its own with -ol, or set GHCRTS for one only"
            ),
        })
    }

    /// Blocks by lane, each lane's in time order.
    fn lanes(&self) -> Vec<LaneBlocks> {
        let mut lanes: BTreeMap<u16, Vec<u32>> = BTreeMap::new();
        let opened = |index: &u32| self.blocks.get(*index as usize).map_or(0, |block| block.t_open);
        for (index, block) in (0u32..).zip(self.blocks.iter()) {
            let blocks = lanes.entry(block.cap).or_default();
            // The order of the log is kept; a copied buffer is inserted by its stamp.
            let at = match block.source {
                0 => blocks.len(),
                _ => blocks.partition_point(|before| opened(before) <= block.t_open),
            };
            blocks.insert(at, index);
        }
        let lane = |(cap, order)| LaneBlocks { cap, order, blocks: Arc::clone(&self.blocks) };
        lanes.into_iter().map(lane).collect()
    }

    /// Merges the unflushed buffers into the log's blocks: a buffer that the log has in full is dropped; one that the
    /// log has only in part is used if it is longer.
    fn combine(&mut self) {
        self.blocks = Arc::clone(&self.chain.blocks);
        if self.unflushed.is_empty() {
            return;
        }
        let blocks = Arc::make_mut(&mut self.blocks);
        let mut at_stamp: HashMap<(u16, u64), usize> = HashMap::new();
        for (index, block) in blocks.iter().enumerate() {
            at_stamp.insert((block.cap, block.t_open), index);
        }
        for buffer in &self.unflushed {
            let Ok(len) = buffer.bytes.size() else { continue };
            let len = u32::try_from(len).unwrap_or(u32::MAX);
            let Ok(source) = u16::try_from(self.sources.len()) else { break };
            let (cap, t_open) = (buffer.cap, buffer.time);
            let block = Block { cap, source, end: BlockEnd::Open, t_open, t_end: 0, offset: 0, len };
            match at_stamp.get(&(cap, t_open)).and_then(|index| blocks.get_mut(*index)) {
                Some(known) if known.end == BlockEnd::Whole || known.len >= len => continue,
                Some(known) => *known = block,
                None => {
                    at_stamp.insert((cap, t_open), blocks.len());
                    blocks.push(block);
                }
            }
            self.sources.push(Arc::clone(&buffer.bytes));
        }
    }
}

pub(super) fn read_header(source: &dyn ReadAt) -> Result<Header, EventlogError> {
    let io_error = |position| move |source| EventlogError::Io { position, source };
    let size = source.size().map_err(io_error(0))?;
    let mut want = HEADER_FIRST;
    loop {
        let mut bytes = vec![0; usize::try_from(want.min(size)).unwrap_or(0)];
        let count = source.read_full(&mut bytes, 0).map_err(io_error(0))?;
        match Header::parse(bytes.get(..count).unwrap_or_default()) {
            Err(EventlogError::HeaderCut { .. }) if want < size && want < HEADER_MAX => want *= 4,
            result => return result,
        }
    }
}
