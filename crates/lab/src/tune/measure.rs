//! The figures of a trial: their names, units and sources. Owns the list; refuses to say which of them matters.

use rtscope_host::trial::Ended;
use rtscope_load::document::Document;
use rtscope_model::units;
use std::collections::BTreeMap;

/// Figures of one trial by name, those of [`KNOWN`]; unknown ones are absent.
pub type Figures = BTreeMap<String, f64>;

/// What a figure counts.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Unit {
    /// A time in nanoseconds.
    Time,
    /// An amount of memory in bytes.
    Memory,
    /// A number of things.
    Count,
    /// A share, from 0 to 1.
    Share,
    /// Things per second.
    Rate,
}

/// What a study may ask for a figure.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Use {
    /// To minimise it, or to limit it.
    Minimize,
    /// To limit it.
    Limit,
    /// Nothing: it is only recorded.
    Note,
}

/// Which trials have a figure.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Of {
    /// All trials.
    Any,
    /// Trials of programs that end by themselves.
    Batch,
    /// Trials of servers under load.
    Server,
    /// Trials of programs whose runtime counts itself, see `runtimes`.
    Runtime,
}

#[derive(Copy, Clone, Eq, PartialEq, Debug)]
#[allow(missing_docs)]
pub struct Figure {
    pub name: &'static str,
    pub unit: Unit,
    pub usage: Use,
    pub of: Of,
}

const fn figure(name: &'static str, unit: Unit, usage: Use, of: Of) -> Figure {
    Figure { name, unit, usage, of }
}

/// All figures; `docs/guide/tuning.md` says where each comes from.
pub const KNOWN: [Figure; 27] = [
    figure("time_ns", Unit::Time, Use::Minimize, Of::Batch),
    figure("wall_ns", Unit::Time, Use::Minimize, Of::Batch),
    figure("cpu_ns", Unit::Time, Use::Minimize, Of::Any),
    figure("rss_bytes", Unit::Memory, Use::Minimize, Of::Any),
    figure("mutator_ns", Unit::Time, Use::Note, Of::Runtime),
    figure("gc_ns", Unit::Time, Use::Limit, Of::Runtime),
    figure("productivity", Unit::Share, Use::Note, Of::Runtime),
    figure("collections", Unit::Count, Use::Limit, Of::Runtime),
    figure("gen0_per_second", Unit::Rate, Use::Note, Of::Runtime),
    figure("mean_pause_ns", Unit::Time, Use::Minimize, Of::Runtime),
    figure("max_pause_ns", Unit::Time, Use::Minimize, Of::Runtime),
    figure("allocated_bytes", Unit::Memory, Use::Limit, Of::Runtime),
    figure("heap_bytes", Unit::Memory, Use::Minimize, Of::Runtime),
    figure("p50_ns", Unit::Time, Use::Minimize, Of::Server),
    figure("p90_ns", Unit::Time, Use::Minimize, Of::Server),
    figure("p99_ns", Unit::Time, Use::Minimize, Of::Server),
    figure("p999_ns", Unit::Time, Use::Minimize, Of::Server),
    figure("max_ns", Unit::Time, Use::Minimize, Of::Server),
    figure("cpu_per_request_ns", Unit::Time, Use::Minimize, Of::Server),
    figure("requests", Unit::Count, Use::Note, Of::Server),
    figure("rate", Unit::Rate, Use::Note, Of::Server),
    figure("errors", Unit::Count, Use::Limit, Of::Server),
    figure("error_share", Unit::Share, Use::Limit, Of::Server),
    figure("late_p99_ns", Unit::Time, Use::Note, Of::Server),
    figure("foreign", Unit::Share, Use::Note, Of::Any),
    figure("steal", Unit::Share, Use::Note, Of::Any),
    figure("pressure", Unit::Share, Use::Note, Of::Any),
];

impl Figure {
    /// The figure of that name, with or without its unit: `p99_ns`, `p99`, `p99.9`.
    pub fn find(word: &str) -> Option<&'static Figure> {
        let word = if word == "p99.9" { "p999" } else { word };
        KNOWN.iter().find(|figure| figure.name == word || figure.word() == word)
    }

    /// Its name without its unit.
    pub fn word(&self) -> &'static str {
        let bare = self.name.strip_suffix("_ns").or_else(|| self.name.strip_suffix("_bytes"));
        bare.unwrap_or(self.name)
    }

    /// A value of it, for people.
    pub fn shown(&self, value: f64) -> String {
        match self.unit {
            Unit::Time => units::duration(value.max(0.0) as u64),
            Unit::Memory => units::bytes(value.max(0.0) as u64),
            Unit::Count => units::count(value.max(0.0) as u64),
            Unit::Share => units::percent(value),
            Unit::Rate => format!("{}/s", units::rate(value)),
        }
    }
}

/// The figures of a run's end.
pub fn of_run(ended: &Ended) -> Figures {
    let noise = &ended.noise;
    named([
        ("wall_ns", Some(ended.wall_ns as f64)),
        ("cpu_ns", Some(ended.cpu_ns as f64)),
        ("rss_bytes", Some(ended.memory_peak_bytes as f64)),
        ("foreign", noise.foreign),
        ("steal", noise.steal),
        ("pressure", noise.pressure),
    ])
}

/// The figures of a load.
pub fn of_load(load: &Document) -> Figures {
    let float = |figure: Option<u64>| figure.map(|figure| figure as f64);
    let (all, requests) = (&load.latency.all, &load.requests);
    named([
        ("p50_ns", float(all.p50_ns)),
        ("p90_ns", float(all.p90_ns)),
        ("p99_ns", float(all.p99_ns)),
        ("p999_ns", float(all.p999_ns)),
        ("max_ns", float(all.max_ns)),
        ("requests", Some(requests.due as f64)),
        ("rate", load.rate.fine),
        ("errors", Some(requests.failed.saturating_add(requests.unfinished) as f64)),
        ("error_share", Some(load.error_share())),
        ("late_p99_ns", float(load.latency.late.p99_ns)),
    ])
}

/// Those of `figures` that are known.
pub(super) fn named<const N: usize>(figures: [(&str, Option<f64>); N]) -> Figures {
    let known = figures.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    known.filter(|(_, value)| value.is_finite()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_find_figures_and_values_have_units() {
        let word = |text| Figure::find(text).map(|figure| figure.name);
        assert_eq!((word("p99"), word("p99_ns"), word("p99.9")), (Some("p99_ns"), Some("p99_ns"), Some("p999_ns")));
        assert_eq!(
            (word("rss"), word("errors"), word("max"), word("speed")),
            (Some("rss_bytes"), Some("errors"), Some("max_ns"), None)
        );
        let shown = |text, value| Figure::find(text).unwrap().shown(value);
        assert_eq!((shown("rss", 734_003_200.0), shown("p99", 29e6)), ("700 MiB".into(), "29.0 ms".into()));
        assert_eq!((shown("errors", 3.0), shown("gen0_per_second", 6.24)), ("3".into(), "6.2/s".into()));
    }

    #[test]
    fn every_figure_is_in_the_guide() {
        let guide =
            std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/tuning.md")).unwrap();
        for figure in KNOWN {
            assert!(guide.contains(&format!("`{}`", figure.name)), "{} is not described", figure.name);
        }
    }
}
