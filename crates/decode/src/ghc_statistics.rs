//! The statistics of GHC's runtime for a whole run: the file of `+RTS -tFILE --machine-readable`, a line with
//! the command and a list of pairs of texts. Owns the keys; refuses an incomplete list, as left by a program
//! that was killed.
//!
//! The keys that are read here are the same from GHC 9.0 to 9.10. Pauses are collections only: the time to stop
//! before them counts as the mutator's.

use thiserror::Error;

/// Limit of a file that is read, in bytes: GHC writes 4 KiB, and the program's arguments.
pub const BYTES_MAX: usize = 4 << 20;

/// Limit of pairs: GHC writes 90, and nine more for each generation.
const PAIRS_MAX: usize = 16_384;

/// Limit of generations: `-G` accepts any number, but such high ones are not used.
const GENERATIONS_MAX: usize = 256;

/// Limit of plausible seconds: 30 years.
const SECONDS_MAX: f64 = 1e9;

/// Why there are no figures.
#[derive(Clone, Eq, PartialEq, Debug, Error)]
#[allow(missing_docs)]
pub enum StatisticsError {
    #[error("the runtime wrote no statistics: the program was killed, or it was asked for others of its own")]
    Empty,
    #[error("these are no statistics as --machine-readable writes them")]
    Format,
    #[error("the runtime's statistics have no {0}")]
    Missing(&'static str),
    #[error("the runtime's statistics say {1:?} for {0}")]
    Number(&'static str, String),
}

/// Figures of a run, in nanoseconds and bytes.
#[derive(Clone, PartialEq, Debug)]
pub struct Statistics {
    /// Wall-clock time outside collections.
    pub mutator_wall_ns: u64,
    /// Wall-clock time in collections.
    pub gc_wall_ns: u64,
    /// Wall-clock time including the runtime's own start and end.
    pub total_wall_ns: u64,
    /// CPU time of all CPUs, outside collections.
    pub mutator_cpu_ns: u64,
    /// CPU time of all CPUs, in collections.
    pub gc_cpu_ns: u64,
    /// CPU time of all CPUs.
    pub total_cpu_ns: u64,
    /// Total allocation.
    pub allocated_bytes: u64,
    /// Peak memory of the runtime's heap; `None`: not reported.
    pub peak_bytes: Option<u64>,
    /// Generations, the youngest first.
    pub generations: Vec<Generation>,
}

/// Collections of one generation and those below it.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct Generation {
    /// Number of collections.
    pub collections: u64,
    /// Wall-clock time of all of them.
    pub wall_ns: u64,
    /// Longest collection.
    pub max_pause_ns: u64,
    /// Mean collection time; 0 where there was none.
    pub mean_pause_ns: u64,
}

impl Statistics {
    /// Reads a whole file.
    ///
    /// # Errors
    /// It is not a whole list of pairs, or lacks a figure.
    pub fn of_bytes(bytes: &[u8]) -> Result<Statistics, StatisticsError> {
        let pairs = Pairs(pairs(bytes)?);
        Ok(Statistics {
            mutator_wall_ns: pairs.ns("mut_wall_seconds")?,
            gc_wall_ns: pairs.ns("GC_wall_seconds")?,
            total_wall_ns: pairs.ns("total_wall_seconds")?,
            mutator_cpu_ns: pairs.ns("mut_cpu_seconds")?,
            gc_cpu_ns: pairs.ns("GC_cpu_seconds")?,
            total_cpu_ns: pairs.ns("total_cpu_seconds")?,
            allocated_bytes: pairs.count("bytes allocated")?,
            peak_bytes: pairs.optional("max_mem_in_use_bytes")?,
            generations: pairs.generations()?,
        })
    }

    /// Number of collections of all generations.
    pub fn collections(&self) -> u64 {
        self.generations.iter().map(|generation| generation.collections).fold(0, u64::saturating_add)
    }
}

/// Keys and values as text.
struct Pairs<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Pairs<'a> {
    fn find(&self, key: &str) -> Option<&'a str> {
        self.0.iter().find(|(name, _)| *name == key).map(|(_, value)| *value)
    }

    fn text(&self, key: &'static str) -> Result<&'a str, StatisticsError> {
        self.find(key).ok_or(StatisticsError::Missing(key))
    }

    fn ns(&self, key: &'static str) -> Result<u64, StatisticsError> {
        nanoseconds(key, self.text(key)?)
    }

    fn count(&self, key: &'static str) -> Result<u64, StatisticsError> {
        count(key, self.text(key)?)
    }

    fn optional(&self, key: &'static str) -> Result<Option<u64>, StatisticsError> {
        self.find(key).map(|text| count(key, text)).transpose()
    }

    fn generations(&self) -> Result<Vec<Generation>, StatisticsError> {
        (0..GENERATIONS_MAX).map_while(|number| self.generation(number).transpose()).collect()
    }

    fn generation(&self, number: usize) -> Result<Option<Generation>, StatisticsError> {
        let text = |what: &'static str| self.find(&format!("gen_{number}_{what}"));
        let Some(collections) = text("collections") else { return Ok(None) };
        let ns = |what| nanoseconds(what, text(what).ok_or(StatisticsError::Missing(what))?);
        Ok(Some(Generation {
            collections: count("collections", collections)?,
            wall_ns: ns("wall_seconds")?,
            max_pause_ns: ns("max_pause_seconds")?,
            mean_pause_ns: ns("avg_pause_seconds")?,
        }))
    }
}

fn count(key: &'static str, text: &str) -> Result<u64, StatisticsError> {
    text.parse().map_err(|_| StatisticsError::Number(key, shown(text)))
}

fn nanoseconds(key: &'static str, text: &str) -> Result<u64, StatisticsError> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let seconds = text.parse::<f64>().ok().filter(|seconds| plain && *seconds <= SECONDS_MAX);
    seconds.map(|seconds| (seconds * 1e9).round() as u64).ok_or_else(|| StatisticsError::Number(key, shown(text)))
}

fn shown(text: &str) -> String {
    text.chars().take(40).collect()
}

/// The list after the line with the command. An argument of the command may contain line ends and anything else; what
/// the runtime itself wrote comes last.
fn pairs(bytes: &[u8]) -> Result<Vec<(&str, &str)>, StatisticsError> {
    const OPENS: &[u8] = b"\n [(\"";
    if bytes.len() > BYTES_MAX {
        return Err(StatisticsError::Format);
    }
    let Some(at) = memchr::memmem::rfind(bytes, OPENS) else {
        let list = memchr::memchr(b'\n', bytes).is_some_and(|end| end + 1 < bytes.len());
        return Err(if list { StatisticsError::Format } else { StatisticsError::Empty });
    };
    let text = bytes.get(at + 2..).and_then(|list| std::str::from_utf8(list).ok()).ok_or(StatisticsError::Format)?;
    let list =
        text.trim_end().strip_suffix(']').and_then(|list| list.strip_prefix('[')).ok_or(StatisticsError::Format)?;
    let mut found = Vec::new();
    for line in list.lines().filter(|line| !line.trim().is_empty()) {
        if found.len() == PAIRS_MAX {
            return Err(StatisticsError::Format);
        }
        found.push(one(line).ok_or(StatisticsError::Format)?);
    }
    Ok(found)
}

/// A pair `,("key", "value")`; the first has no comma.
fn one(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    let inner = line.strip_prefix(',').unwrap_or(line).strip_prefix("(\"")?.strip_suffix("\")")?;
    let (key, value) = inner.split_once("\", \"")?;
    (!key.contains('"') && !value.contains('"')).then_some((key, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "'./mill' '2' +RTS '-t/tmp/x' '--machine-readable' \n";

    fn list(extra: &str) -> String {
        let keys = ["mut_wall", "GC_wall", "total_wall", "mut_cpu", "GC_cpu", "total_cpu"];
        let times = keys.iter().enumerate().map(|(at, key)| format!(" ,(\"{key}_seconds\", \"{at}.500000\")\n"));
        format!("{HEAD} [(\"bytes allocated\", \"430236832\")\n{}{extra} ]\n", times.collect::<String>())
    }

    fn generation(number: usize) -> String {
        let value = |what: &str, text: &str| format!(" ,(\"gen_{number}_{what}\", \"{text}\")\n");
        value("collections", "3")
            + &value("wall_seconds", "0.3")
            + &value("max_pause_seconds", "0.2")
            + &value("avg_pause_seconds", "0.100000")
    }

    #[test]
    fn figures_are_read_in_nanoseconds() {
        let text = list(&(generation(0) + &generation(1) + " ,(\"max_mem_in_use_bytes\", \"23068672\")\n"));
        let read = Statistics::of_bytes(text.as_bytes()).unwrap();
        assert_eq!(
            (read.mutator_wall_ns, read.gc_wall_ns, read.total_cpu_ns),
            (500_000_000, 1_500_000_000, 5_500_000_000)
        );
        assert_eq!((read.allocated_bytes, read.peak_bytes, read.collections()), (430_236_832, Some(23_068_672), 6));
        let one =
            Generation { collections: 3, wall_ns: 300_000_000, max_pause_ns: 200_000_000, mean_pause_ns: 100_000_000 };
        assert_eq!(read.generations, [one, one]);
        assert_eq!(Statistics::of_bytes(list("").as_bytes()).unwrap().generations, []);
    }

    #[test]
    fn arguments_may_hold_anything() {
        let text = list("").replace("'2'", "'a\n [(\"mut_wall_seconds\", \"9\")\n ]'");
        assert_eq!(Statistics::of_bytes(text.as_bytes()).unwrap().mutator_wall_ns, 500_000_000);
    }

    #[test]
    fn what_is_not_whole_is_refused() {
        use StatisticsError::{Empty, Format, Missing, Number};
        let refused = |text: &str| Statistics::of_bytes(text.as_bytes()).unwrap_err();
        assert_eq!(refused(""), Empty);
        assert_eq!(refused(HEAD), Empty, "the program was killed");
        assert_eq!(refused("one\ntwo\n"), Format);
        let whole = list("");
        assert_eq!(refused(whole.trim_end().trim_end_matches(']')), Format);
        assert_eq!(refused(&(whole.clone() + "rest")), Format);
        assert_eq!(refused(&whole.replace("GC_wall_seconds", "gone")), Missing("GC_wall_seconds"));
        for wrong in ["-0.1", "nan", "inf", "1e400", "1e5", "", "9999999999.0", "1.2.3"] {
            let text = whole.replace("1.500000", wrong);
            assert_eq!(refused(&text), Number("GC_wall_seconds", wrong.to_owned()), "{wrong}");
        }
        assert_eq!(refused(&list(" ,(\"gen_0_collections\", \"3\")\n")), Missing("wall_seconds"));
        let many: String = (0..PAIRS_MAX).map(|number| format!(" ,(\"k{number}\", \"0\")\n")).collect();
        assert_eq!(refused(&list(&many)), Format);
    }
}
