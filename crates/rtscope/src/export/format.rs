//! Formats of other tools: their names, where to open their files, how an export begins. `rtscope-encode`
//! defines what a format looks like.

use clap::ValueEnum;
use rtscope_analyze::Context;
use rtscope_encode::{ChromeWriter, Export, FirefoxWriter, FxtWriter, ParquetWriter, PerfettoWriter};
use rtscope_model::exported::SCHEMA;
use rtscope_model::manifest::Manifest;
use rtscope_model::{Exported, Symbols};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Formats of other tools.
#[derive(Copy, Clone, Eq, PartialEq, Debug, ValueEnum)]
pub enum ExportFormat {
    /// Perfetto's own (ui.perfetto.dev): lanes, pauses with their causes, CPUs, threads, values
    Perfetto,
    /// Chrome's trace events: chrome://tracing, speedscope, Perfetto
    Chrome,
    /// Profile for the Firefox Profiler (profiler.firefox.com), which speedscope reads too
    Firefox,
    /// A folder of Parquet tables for DuckDB, Arrow and others that ask by SQL
    Parquet,
    /// Fuchsia trace format: eio-trace, Perfetto, and rtscope itself, which reads all of it back
    Fxt,
}

impl ExportFormat {
    /// The extension of its files, and where to open them.
    pub(super) fn files(self) -> (&'static str, &'static str) {
        match self {
            ExportFormat::Perfetto => ("pftrace", "open it in https://ui.perfetto.dev"),
            ExportFormat::Chrome => ("trace.json", "open it in chrome://tracing or https://www.speedscope.app"),
            ExportFormat::Firefox => ("firefox.json", "load it into https://profiler.firefox.com"),
            ExportFormat::Parquet => ("parquet", "each table is a file for DuckDB, Arrow, Polars"),
            ExportFormat::Fxt => {
                ("fxt", "open it in https://ui.perfetto.dev or eio-trace; `rtscope report` reads it, too")
            }
        }
    }

    /// Whether a terminal can show it.
    pub(super) fn is_text(self) -> bool {
        matches!(self, ExportFormat::Chrome | ExportFormat::Firefox)
    }

    /// Whether it consists of several files.
    pub(super) fn is_folder(self) -> bool {
        self == ExportFormat::Parquet
    }

    /// Begins an export of the recording that `facts` describe.
    pub(super) fn begin<'w>(self, to: To<'w>, facts: &Exported, symbols: &Symbols) -> io::Result<Box<dyn Export + 'w>> {
        let out = match to {
            To::Stream(out) => out,
            To::Folder(folder) => {
                let mut open = |table: &str| File::create(table_path(folder, table)).map(BufWriter::new);
                return Ok(Box::new(ParquetWriter::new(&mut open, facts)?));
            }
        };
        Ok(match self {
            ExportFormat::Perfetto => Box::new(PerfettoWriter::new(out, facts)?),
            ExportFormat::Chrome => Box::new(ChromeWriter::new(out, facts)?),
            ExportFormat::Firefox => Box::new(FirefoxWriter::new(out, tempfile::tempfile()?, facts)),
            ExportFormat::Fxt => Box::new(FxtWriter::new(out, facts, symbols)?),
            ExportFormat::Parquet => return Err(io::Error::other("tables are several files and need a folder")),
        })
    }
}

/// Where an export goes.
pub enum To<'w> {
    /// One file or pipe.
    Stream(Out<'w>),
    /// A folder that exists, for the tables of [`ExportFormat::Parquet`].
    Folder(&'w Path),
}

/// What an export says about the recording, in addition to its events.
pub(super) fn facts(context: &Context, manifest: Option<&Manifest>) -> Exported {
    Exported {
        schema: SCHEMA.to_string(),
        family: context.runtime.family.clone(),
        version: context.runtime.version.clone(),
        way: context.runtime.way.clone(),
        args: context.runtime.args.clone(),
        threaded: context.threaded,
        generations: context.generations,
        nursery_bytes: context.nursery_bytes,
        program_pid: context.program_pid.map(|pid| pid.0),
        clock: context.clock,
        every_green_event: context.every_green_event,
        kernel_missing: context.kernel.as_ref().map_or(Vec::new(), |kernel| kernel.missing.clone()),
        losses: context.losses.clone(),
        transactions: context.stm.as_ref().and_then(|stm| serde_json::to_string(stm).ok()),
        waits: context.waits.as_ref().and_then(|waits| serde_json::to_string(waits).ok()),
        manifest: manifest.cloned(),
    }
}

type Out<'w> = &'w mut (dyn Write + Send);

pub(super) fn table_path(folder: &Path, table: &str) -> PathBuf {
    folder.join(format!("{table}.parquet"))
}
