//! Heap profiles in a log: names for the labels of their samples, and the events of their records.
//!
//! The runtime posts them into its global buffer. Labels are gathered from its blocks before the stream, so names do
//! not depend on which thread scans what, and labels that come later are known too. Owns the limit of labels. Refuses
//! biographical samples: they are all posted at the end, for moments long past.

use super::header::Header;
use super::index::Block;
use super::info::each_global;
use super::record::{Ids, Record};
use crate::source::ReadAt;
use rtscope_model::{Breakdown, HeapProfile, NameId, Names};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// Limit of distinct labels; later ones have no name.
pub(super) const LABELS_MAX: usize = 1 << 15;
/// Longest part of a label that is used, in bytes.
const LABEL_MAX: usize = 256;
/// Name for samples without a cost centre.
const NO_CENTRE: &str = "(no cost centre)";
/// Name for an empty label: the empty name stands for no label.
const NO_TEXT: &str = "(empty)";

/// The labels of a log's heap profiles.
#[derive(Clone, Debug, Default)]
pub(super) struct Labels {
    names: Names,
    by: Option<Breakdown>,
    texts: HashMap<Box<[u8]>, NameId>,
    /// By the innermost cost centre; `None`: without one.
    centres: HashMap<Option<u32>, NameId>,
}

impl Labels {
    /// The names of the labels.
    pub(super) fn names(&self) -> &Names {
        &self.names
    }

    /// Registers the label of a record; called for all records of a log.
    pub(super) fn gather(&mut self, record: &Record<'_>) {
        let full = self.texts.len() + self.centres.len() >= LABELS_MAX;
        match *record {
            Record::HeapProfBegin { breakdown: code, .. } => self.by = Some(breakdown(code)),
            Record::HeapProfSampleString { label, .. } if !full && !self.texts.contains_key(cut(label)) => {
                let name = self.names.intern(&text(label));
                self.texts.insert(cut(label).into(), name);
            }
            Record::HeapProfSampleCostCentre { stack, .. } if !full => {
                let centre = innermost(stack);
                let names = &mut self.names;
                let name = || match centre {
                    Some(id) => names.intern(&format!("cost centre {id}")),
                    None => names.intern(NO_CENTRE),
                };
                self.centres.entry(centre).or_insert_with(name);
            }
            _ => {}
        }
    }

    /// Names labels that are numbers, where the log has names for them.
    pub(super) fn resolve(&mut self, header: &Header, blocks: &[Block], sources: &[Arc<dyn ReadAt>], has_ipe: bool) {
        let addresses = match self.by {
            Some(Breakdown::InfoTable) if has_ipe => self.addresses(),
            _ => HashMap::new(),
        };
        if addresses.is_empty() && self.centres.is_empty() {
            return;
        }
        each_global(header, blocks, sources, &mut |_, record| match *record {
            Record::HeapProfCostCentre { id, label, module, .. } => {
                if let Some(name) = self.centres.get_mut(&Some(id)) {
                    *name = self.names.intern(&format!("{}.{}", text(module), text(label)));
                }
            }
            Record::Ipe { info, table, closure, ty, label, module, place } => {
                let known = addresses.get(&info).and_then(|raw| self.texts.get_mut(raw));
                if let Some(name) = known {
                    *name = self.names.intern(&origin([table, closure, ty, label, module, place]));
                }
            }
            _ => {}
        });
    }

    /// The labels that are addresses of info tables.
    fn addresses(&self) -> HashMap<u64, Box<[u8]>> {
        let address = |raw: &[u8]| {
            let digits = std::str::from_utf8(raw).ok()?.strip_prefix("0x")?;
            Some((u64::from_str_radix(digits, 16).ok()?, raw.into()))
        };
        self.texts.keys().filter_map(|raw| address(raw)).collect()
    }

    /// The event of `record`.
    pub(super) fn event(&self, record: &Record<'_>) -> Option<HeapProfile> {
        Some(match *record {
            Record::HeapProfBegin { breakdown: code, .. } => HeapProfile::By(breakdown(code)),
            Record::HeapProfSampleBegin { .. } => HeapProfile::Begin,
            Record::HeapProfSampleString { residency_bytes, label, .. } => {
                HeapProfile::Label { label: self.texts.get(cut(label)).copied(), bytes: residency_bytes }
            }
            Record::HeapProfSampleCostCentre { residency_bytes, stack, .. } => {
                HeapProfile::Label { label: self.centres.get(&innermost(stack)).copied(), bytes: residency_bytes }
            }
            Record::HeapProfSampleEnd { .. } => HeapProfile::End,
            _ => return None,
        })
    }
}

/// The breakdown with GHC's number `code`.
fn breakdown(code: u32) -> Breakdown {
    match code {
        1 => Breakdown::CostCentre,
        2 => Breakdown::Module,
        3 => Breakdown::ClosureDescription,
        4 => Breakdown::Type,
        5 => Breakdown::Retainer,
        6 => Breakdown::Biography,
        7 => Breakdown::ClosureType,
        8 => Breakdown::InfoTable,
        9 => Breakdown::Era,
        _ => Breakdown::Other,
    }
}

fn innermost(stack: Ids<'_>) -> Option<u32> {
    stack.iter().next()
}

fn cut(label: &[u8]) -> &[u8] {
    label.get(..LABEL_MAX).unwrap_or(label)
}

fn text(label: &[u8]) -> Cow<'_, str> {
    match label {
        [] => NO_TEXT.into(),
        label => String::from_utf8_lossy(cut(label)),
    }
}

/// Describes an info table by its provenance: what its objects are, and where in the source they are made. Tables
/// without a location are named as the linker does.
fn origin([table, closure, ty, label, module, place]: [&[u8]; 6]) -> String {
    if label.is_empty() {
        let table = table.strip_suffix(b"_info").unwrap_or(table);
        return format!("{}.{}", text(module), text(table));
    }
    // The runtime's numbers of closure types since 9.2.
    let kind = match std::str::from_utf8(closure).ok().and_then(|number| number.parse().ok()) {
        Some(8..=14) => "function ",
        Some(15..=22) => "thunk ",
        _ => "",
    };
    let what = if ty.is_empty() { kind.to_string() } else { format!("{kind}{}, ", text(ty)) };
    let place = if place.len() < 2 { String::new() } else { format!(" ({})", text(place)) };
    format!("{what}{}.{}{place}", text(module), text(label))
}
