//! The rings of a process: their container, the version that wrote them, and access to their events.

use super::error::RingError;
use super::import::Importer;
use super::layout::{self, Layout};
use super::slot::Pass;
use super::stream::RingStream;
use super::version::{Version, WrittenBy};
use super::version_evidence;
use crate::source::ReadAt;
use rtscope_model::runtimes::OCAML;
use rtscope_model::{Classes, ClockMap, Exported};
use std::sync::Arc;

/// Name of the source in losses, unless one is set.
pub(super) const DEFAULT_NAME: &str = "ring";

/// The opened rings of one process. Holds at most an index, never their words.
pub struct Rings {
    source: Arc<dyn ReadAt>,
    layout: Layout,
    written_by: WrittenBy,
    name: String,
}

impl Rings {
    /// Whether a file that starts with `head` (64 bytes, or the whole file) holds rings: a file that an OCaml
    /// program wrote, or a stream that a recorder made of one. A ring file that its program has only begun to lay
    /// out is not recognised yet.
    pub fn recognise(head: &[u8]) -> bool {
        layout::recognise(head)
    }

    /// Opens rings: reads their head, and as many events as are needed to determine the version that wrote them.
    /// `version` is what the caller knows about it; rings whose events contradict it are refused.
    ///
    /// A file that its program still writes is read as it is at each [`Rings::stream`].
    ///
    /// # Errors
    /// [`RingError`]: not a ring, a damaged or missing head, a version that is unknown, cannot be
    /// determined, or differs.
    pub fn open(source: Arc<dyn ReadAt>, version: Option<Version>) -> Result<Rings, RingError> {
        let layout = Layout::read(source.as_ref())?;
        let written_by = version_evidence::determine_version(
            Pass::new(Arc::clone(&source), layout.clone(), version_evidence::filter()),
            version,
        )?;
        Ok(Rings { source, layout, written_by, name: DEFAULT_NAME.to_owned() })
    }

    /// Sets the name that appears in their losses.
    pub fn named(mut self, name: impl Into<String>) -> Rings {
        self.name = name.into();
        self
    }

    /// These rings, read from another source.
    #[cfg(test)]
    pub(super) fn with_source(&self, source: Arc<dyn ReadAt>) -> Rings {
        Rings { source, layout: self.layout.clone(), written_by: self.written_by, name: self.name.clone() }
    }

    /// The version that wrote them, and how it is known.
    pub fn version(&self) -> WrittenBy {
        self.written_by
    }

    /// The events of `classes` in time order. Stamps are already on the trace clock
    /// ([`rtscope_model::ClockMap::MONOTONIC`]).
    pub fn stream(&self, classes: Classes) -> RingStream {
        let layout = self.layout.clone();
        let importer = Importer::new(self.written_by.newest, classes, layout.rings);
        let pass = Pass::new(Arc::clone(&self.source), layout, importer.filter());
        RingStream::new(pass, importer, self.written_by.newest, self.name.clone())
    }
}

/// The facts about a program that writes rings.
pub(super) fn facts(version: Option<String>) -> Exported {
    Exported {
        family: Some(OCAML.id.to_owned()),
        version,
        threaded: Some(true),
        generations: Some(2),
        clock: ClockMap::MONOTONIC,
        ..Exported::default()
    }
}
