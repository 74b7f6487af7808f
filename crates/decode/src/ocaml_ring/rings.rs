//! Rings as a whole: their container, the version that wrote them, and the way to their
//! events.

use super::error::RingError;
use super::import::Importer;
use super::layout::{self, Layout};
use super::slot::Pass;
use super::stream::RingStream;
use super::telling;
use super::version::{Version, WrittenBy};
use crate::source::ReadAt;
use rtscope_model::runtimes::OCAML;
use rtscope_model::{Classes, ClockMap, Exported};
use std::sync::Arc;

/// What losses call their source if nobody says a name.
pub(super) const DEFAULT_NAME: &str = "ring";

/// The rings of one process, opened. Holds an index at most, never their words.
pub struct Rings {
    source: Arc<dyn ReadAt>,
    layout: Layout,
    written_by: WrittenBy,
    name: String,
}

impl Rings {
    /// Whether what starts with `head` (64 bytes, or all there are) holds rings: a file
    /// that an OCaml program wrote, or what a recorder took from one. A ring file whose
    /// program has only started to lay it out is not told yet.
    pub fn recognise(head: &[u8]) -> bool {
        layout::recognise(head)
    }

    /// Opens rings: reads their head, and as many events as it takes to tell the version
    /// that wrote them. `version` is what the caller knows of it; events that contradict
    /// it win, by refusing.
    ///
    /// A file that its program still writes is taken as it is at each [`Rings::stream`].
    ///
    /// # Errors
    /// [`RingError`]: no ring, a damaged or missing head, a version that is not known,
    /// is not told, or is another one.
    pub fn open(source: Arc<dyn ReadAt>, version: Option<Version>) -> Result<Rings, RingError> {
        let layout = Layout::read(source.as_ref())?;
        let written_by = telling::tell(Pass::new(Arc::clone(&source), layout.clone(), telling::filter()), version)?;
        Ok(Rings { source, layout, written_by, name: DEFAULT_NAME.to_owned() })
    }

    /// The rings under the name that their losses shall carry.
    pub fn named(mut self, name: impl Into<String>) -> Rings {
        self.name = name.into();
        self
    }

    /// The same rings, read from elsewhere.
    #[cfg(test)]
    pub(super) fn with_source(&self, source: Arc<dyn ReadAt>) -> Rings {
        Rings { source, layout: self.layout.clone(), written_by: self.written_by, name: self.name.clone() }
    }

    /// Which version wrote them, and who said so.
    pub fn version(&self) -> WrittenBy {
        self.written_by
    }

    /// The events of `classes` in time order. Stamps are the trace clock's already
    /// ([`rtscope_model::ClockMap::MONOTONIC`]).
    pub fn stream(&self, classes: Classes) -> RingStream {
        let layout = self.layout.clone();
        let importer = Importer::new(self.written_by.newest, classes, layout.rings);
        let pass = Pass::new(Arc::clone(&self.source), layout, importer.filter());
        RingStream::new(pass, importer, self.written_by.newest, self.name.clone())
    }
}

/// What is known of a program that writes rings.
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
