//! Conditions for CI: `pauses.time_to_stop_ns.p99 > +20%`. Owns their grammar and when one holds; the caller supplies
//! the figures.
//!
//! | condition | holds when |
//! |---|---|
//! | `KEY > +20%`, `KEY < -3%` | the figure changed by more than that share of before |
//! | `KEY > +5ms`, `KEY < -64MiB` | it changed by more than that |
//! | `KEY > 5ms`, `KEY < 0.9` | after, it lies beyond that |
//! | `finding ID` | after, there is this finding |
//!
//! A change must also be real where that can be judged: a condition that two runs of the same program meet by chance
//! is useless.

/// A parsed condition.
#[derive(Clone, PartialEq, Debug)]
pub struct Condition {
    /// The text as given.
    pub text: String,
    /// The test that it makes.
    pub asks: Asks,
}

/// A test on two runs.
#[derive(Clone, PartialEq, Debug)]
pub enum Asks {
    /// Whether a finding exists.
    Finding(String),
    /// Whether a figure lies beyond a bound.
    Figure {
        /// Path of keys in `report --json`.
        path: String,
        /// Above the bound, else below.
        above: bool,
        /// The bound that the figure is compared with.
        bound: Bound,
    },
}

/// A bound on a figure or on its change.
#[derive(Copy, Clone, PartialEq, Debug)]
pub enum Bound {
    /// On the change as a share of before: 0.2.
    Relative(f64),
    /// On after minus before.
    Change(f64),
    /// On the figure afterwards.
    Value(f64),
}

/// The message for a text that is no condition.
const SHAPE: &str = "it is neither KEY > BOUND, KEY < BOUND nor `finding ID`";

impl std::str::FromStr for Condition {
    /// Why the text is no condition.
    type Err = String;

    fn from_str(text: &str) -> Result<Condition, String> {
        let trimmed = text.trim();
        if let Some(id) = trimmed.strip_prefix("finding ") {
            let id = id.trim();
            let fits = !id.is_empty() && id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
            let asks = fits.then(|| Asks::Finding(id.to_owned())).ok_or(SHAPE)?;
            return Ok(Condition { text: trimmed.to_owned(), asks });
        }
        let at = trimmed.find(['<', '>']).ok_or(SHAPE)?;
        let (path, rest) = trimmed.split_at(at);
        let (path, above) = (path.trim(), rest.starts_with('>'));
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.' || c == '-';
        if path.is_empty() || !path.chars().all(fits) {
            return Err(SHAPE.to_owned());
        }
        let bound = bound(rest.get(1..).unwrap_or("").trim(), path)?;
        Ok(Condition { text: trimmed.to_owned(), asks: Asks::Figure { path: path.to_owned(), above, bound } })
    }
}

/// What the figure of a key counts, judged by its name.
#[derive(Copy, Clone, Eq, PartialEq)]
enum Countable {
    Ns,
    Bytes,
    Other,
}

fn counts(path: &str) -> Countable {
    let ends = |ending: &str| path.split('.').any(|key| key.ends_with(ending));
    match () {
        // A count of something, whatever its unit is.
        () if path.ends_with(".count") => Countable::Other,
        () if ends("_ns") => Countable::Ns,
        () if ends("_bytes") || ends("_bytes_per_second") => Countable::Bytes,
        () => Countable::Other,
    }
}

fn bound(text: &str, path: &str) -> Result<Bound, String> {
    let number = text.find(|c: char| !(c.is_ascii_digit() || "+-.".contains(c))).unwrap_or(text.len());
    let (number, unit) = text.split_at(number);
    let unit = unit.trim();
    let value: f64 = number.parse().map_err(|_| format!("{text:?} is no number"))?;
    let signed = number.starts_with(['+', '-']);
    if unit == "%" {
        let share = value / 100.0;
        return match (signed, counts(path)) {
            (true, _) => Ok(Bound::Relative(share)),
            (false, Countable::Other) => Ok(Bound::Value(share)),
            (false, counts) => Err(other_unit("% without a sign", counts)),
        };
    }
    let value = value * scale(unit, counts(path))?;
    Ok(if signed { Bound::Change(value) } else { Bound::Value(value) })
}

fn scale(unit: &str, counts: Countable) -> Result<f64, String> {
    let (factor, of) = match unit {
        "" => return Ok(1.0),
        "ns" => (1.0, Countable::Ns),
        "us" => (1e3, Countable::Ns),
        "ms" => (1e6, Countable::Ns),
        "s" => (1e9, Countable::Ns),
        "B" => (1.0, Countable::Bytes),
        "KiB" => (1024.0, Countable::Bytes),
        "MiB" => (1024.0 * 1024.0, Countable::Bytes),
        "GiB" => (1024.0 * 1024.0 * 1024.0, Countable::Bytes),
        other => return Err(format!("{other:?} is no unit; there are %, ns, us, ms, s, B, KiB, MiB and GiB")),
    };
    if of == counts { Ok(factor) } else { Err(other_unit(unit, counts)) }
}

fn other_unit(unit: &str, counts: Countable) -> String {
    let key = match counts {
        Countable::Ns => "nanoseconds",
        Countable::Bytes => "bytes",
        Countable::Other => "neither time nor bytes",
    };
    format!("{unit} does not fit a key of {key}")
}

/// A figure as a condition sees it.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct Values {
    /// Before; `None` where not known.
    pub before: Option<f64>,
    /// After; `None` where not known.
    pub after: Option<f64>,
    /// Before and after as they are compared: sums per second of the run.
    pub compared: (Option<f64>, Option<f64>),
    /// Whether a change is real, where that was judged.
    pub real: Option<bool>,
}

/// Whether a condition holds.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Holds {
    /// It holds.
    Yes,
    /// It does not hold.
    No,
    /// The change is large enough, but two runs of the same program differ by as much.
    ByChance,
    /// The figure is not known.
    Unknown,
}

/// Whether the figure of a condition lies beyond its bound.
pub fn beyond(values: &Values, above: bool, bound: Bound) -> Holds {
    let (value, limit, changes) = match bound {
        Bound::Value(limit) => (values.after, limit, false),
        Bound::Change(limit) => (values.before.zip(values.after).map(|(before, after)| after - before), limit, true),
        Bound::Relative(limit) => (values.compared.0.zip(values.compared.1).map(relative), limit, true),
    };
    let Some(value) = value else { return Holds::Unknown };
    let so = if above { value > limit } else { value < limit };
    match (so, changes && values.real == Some(false)) {
        (false, _) => Holds::No,
        (true, true) => Holds::ByChance,
        (true, false) => Holds::Yes,
    }
}

/// The change as a share of before; without bounds if before is 0.
fn relative((before, after): (f64, f64)) -> f64 {
    if before == after { 0.0 } else { (after - before) / before.abs() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Asks, String> {
        text.parse::<Condition>().map(|condition| condition.asks)
    }

    fn figure(path: &str, above: bool, bound: Bound) -> Result<Asks, String> {
        Ok(Asks::Figure { path: path.into(), above, bound })
    }

    #[test]
    fn every_form_is_read() {
        let p99 = "pauses.time_to_stop_ns.p99";
        assert_eq!(read("pauses.time_to_stop_ns.p99 > +20%"), figure(p99, true, Bound::Relative(0.2)));
        assert_eq!(read(" pauses.time_to_stop_ns.p99<-3% "), figure(p99, false, Bound::Relative(-0.03)));
        assert_eq!(read("pauses.time_to_stop_ns.p99 > 5ms"), figure(p99, true, Bound::Value(5e6)));
        assert_eq!(read("pauses.time_to_stop_ns.p99 > +1.5 s"), figure(p99, true, Bound::Change(1.5e9)));
        assert_eq!(read("pauses.total_ns > 70"), figure("pauses.total_ns", true, Bound::Value(70.0)));
        assert_eq!(read("productivity.wall < 80%"), figure("productivity.wall", false, Bound::Value(0.8)));
        assert_eq!(
            read("memory.rss_bytes.max > 2GiB"),
            figure("memory.rss_bytes.max", true, Bound::Value(2147483648.0))
        );
        assert_eq!(read("finding cpu-throttled"), Ok(Asks::Finding("cpu-throttled".into())));
    }

    #[test]
    fn what_is_no_condition_is_refused_with_a_reason() {
        for text in ["", "finding ", "finding a b", "> 5ms", "a b > 1", "pauses.total_ns", "pauses.total_ns = 5"] {
            assert_eq!(read(text), Err(SHAPE.to_owned()), "{text}");
        }
        assert_eq!(read("pauses.total_ns > much"), Err("\"much\" is no number".into()));
        assert_eq!(read("pauses.total_ns > "), Err("\"\" is no number".into()));
        let days = read("pauses.total_ns > 5 days").unwrap_err();
        assert!(days.starts_with("\"days\" is no unit; there are %, ns"), "{days}");
        for text in ["pauses.total_ns > 5MiB", "pauses.total_ns > 5%", "pauses.pause_ns.count > 5ms"] {
            assert!(read(text).unwrap_err().contains(" does not fit a key of "), "{text}");
        }
    }

    fn values(before: f64, after: f64, real: Option<bool>) -> Values {
        let (before, after) = (Some(before), Some(after));
        Values { before, after, compared: (before, after), real }
    }

    #[test]
    fn a_change_must_be_real_where_that_is_known() {
        let by = Bound::Relative(0.2);
        assert_eq!(beyond(&values(100.0, 121.0, Some(true)), true, by), Holds::Yes);
        assert_eq!(beyond(&values(100.0, 121.0, None), true, by), Holds::Yes);
        assert_eq!(beyond(&values(100.0, 121.0, Some(false)), true, by), Holds::ByChance);
        assert_eq!(beyond(&values(100.0, 120.0, Some(true)), true, by), Holds::No);
        assert_eq!(beyond(&values(100.0, 121.0, Some(false)), true, Bound::Value(120.0)), Holds::Yes);
        assert_eq!(beyond(&values(100.0, 121.0, None), true, Bound::Change(30.0)), Holds::No);
    }

    #[test]
    fn nothing_is_not_zero() {
        let unknown = Values { before: None, after: Some(1.0), compared: (None, Some(1.0)), real: None };
        assert_eq!(beyond(&unknown, true, Bound::Relative(0.2)), Holds::Unknown);
        assert_eq!(beyond(&unknown, true, Bound::Value(0.5)), Holds::Yes);
        assert_eq!(beyond(&values(0.0, 1.0, None), true, Bound::Relative(9.0)), Holds::Yes);
        assert_eq!(beyond(&values(0.0, 0.0, None), true, Bound::Relative(0.0)), Holds::No);
    }
}
