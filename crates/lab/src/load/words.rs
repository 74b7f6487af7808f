//! Rates and limits as written on a command line: `100..2000 in 60s`, `p99 > 500ms for 10s`. Owns the grammar;
//! `rtscope_load` decides which rates are possible.

use rtscope_load::limit::{Figure, Limit};
use rtscope_load::profile::{Phase, Profile};
use rtscope_terminal::values::duration;
use std::time::Duration;

const RATE_FORM: &str = "write 1000, '1000 for 30s', '100..2000 in 60s' or '100..1000 by 100 every 10s'";
const LIMIT_FORM: &str = "write 'errors > 5% for 10s' or 'p99 > 500ms for 10s' (p50, p90, p99, p99.9, max)";

/// Quantiles of latency that a limit can refer to.
const QUANTILES: [(&str, f64); 5] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("max", 1.0)];

/// How long a limit must be exceeded by default.
const LIMIT_LASTS: Duration = Duration::from_secs(10);

/// A rate as given; a bare one lasts as long as `--for` says.
#[derive(Clone, PartialEq, Debug)]
pub enum Rate {
    /// `1000`: requests per second.
    Bare(f64),
    /// All other forms.
    Phases(Vec<Phase>),
}

/// Parses one `--rate`.
pub fn rate(text: &str) -> Result<Rate, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let phases = match words.as_slice() {
        [bare] if !bare.contains("..") => {
            let rate = number(bare)?;
            checked(vec![Phase::constant(rate, Duration::from_secs(1))])?;
            return Ok(Rate::Bare(rate));
        }
        [constant, "for", time] => vec![Phase::constant(number(constant)?, duration(time)?)],
        [line, "in", time] => {
            let (from, to) = range(line)?;
            vec![Phase { from, to, lasts: duration(time)? }]
        }
        [stairs, "by", by, "every", time] => {
            let (from, to) = range(stairs)?;
            Phase::steps(from, to, number(by)?, duration(time)?).map_err(|error| error.to_string())?
        }
        _ => return Err(RATE_FORM.to_owned()),
    };
    checked(phases).map(Rate::Phases)
}

fn checked(phases: Vec<Phase>) -> Result<Vec<Phase>, String> {
    // A rate that is too low for its own phase may be enough with others: this is checked at the end.
    match Profile::new(phases.clone()) {
        Err(error) if error != rtscope_load::profile::ProfileError::Requests => Err(error.to_string()),
        _ => Ok(phases),
    }
}

/// The profile of `--rate`; a rate on its own lasts `bare_lasts`.
pub fn profile(rates: &[Rate], bare_lasts: Duration) -> Result<Profile, String> {
    let phases = rates.iter().flat_map(|rate| match rate {
        Rate::Bare(rate) => vec![Phase::constant(*rate, bare_lasts)],
        Rate::Phases(phases) => phases.clone(),
    });
    Profile::new(phases.collect()).map_err(|error| error.to_string())
}

/// Parses one `--stop-when`; `None` for `never`.
pub fn limit(text: &str) -> Result<Option<Limit>, String> {
    if text.trim() == "never" {
        return Ok(None);
    }
    let form = || LIMIT_FORM.to_owned();
    let (figure, rest) = text.split_once('>').ok_or_else(form)?;
    let (value, lasts) = match rest.split_once(" for ") {
        Some((value, time)) => (value.trim(), duration(time.trim())?),
        None => (rest.trim(), LIMIT_LASTS),
    };
    if lasts.subsec_nanos() > 0 {
        return Err("limits are watched second by second: give whole seconds".to_owned());
    }
    let quantile = QUANTILES.iter().find(|(name, _)| *name == figure.trim());
    let (figure, above) = match quantile {
        Some((_, quantile)) => (Figure::Latency(*quantile), duration(value)?.as_secs_f64() * 1e9),
        None if figure.trim() == "errors" => (Figure::Errors, share(value)?),
        None => return Err(form()),
    };
    Ok(Some(Limit { figure, above, lasts, text: text.trim().to_owned() }))
}

fn share(text: &str) -> Result<f64, String> {
    let per_cent = text.strip_suffix('%').ok_or("write a share of errors with %: 5%")?;
    let share = number(per_cent.trim())? / 100.0;
    // A limit of 100 % cannot be exceeded.
    if share < 1.0 { Ok(share) } else { Err("no share of errors is above 100%".to_owned()) }
}

fn range(text: &str) -> Result<(f64, f64), String> {
    let (from, to) = text.split_once("..").ok_or(RATE_FORM)?;
    Ok((number(from)?, number(to)?))
}

fn number(text: &str) -> Result<f64, String> {
    rtscope_terminal::values::number(text).map_err(|why| format!("{why}; {RATE_FORM}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn rates_read_as_they_are_written() {
        assert_eq!(rate("1000"), Ok(Rate::Bare(1000.0)));
        assert_eq!(rate("0.5 for 1m"), Ok(Rate::Phases(vec![Phase::constant(0.5, 60 * SECOND)])));
        let line = Phase { from: 100.0, to: 2000.0, lasts: 60 * SECOND };
        assert_eq!(rate("100..2000 in 60s"), Ok(Rate::Phases(vec![line])));
        let Ok(Rate::Phases(stairs)) = rate("100..1000 by 100 every 10s") else { panic!("no stairs") };
        assert_eq!((stairs.len(), stairs.last().map(|step| step.from)), (10, Some(1000.0)));
        let rates = [Rate::Bare(10.0), Rate::Phases(stairs)];
        assert_eq!(profile(&rates, 5 * SECOND).unwrap().lasts(), 105 * SECOND);
    }

    #[test]
    fn wrong_rates_say_what_to_write() {
        for (text, says) in [
            ("", "write"),
            ("fast", "no number"),
            ("0", "above 0"),
            ("-5", "no number"),
            ("1e3", "no number"),
            ("inf", "no number"),
            ("2000000", "at most 1,000,000"),
            ("0 for 10s", "above 0"),
            ("100..200", "write"),
            ("100..200 in", "write"),
            ("100..200 in 5", "unit"),
            ("100..200 by 0 every 1s", "steps"),
            ("100 200", "write"),
        ] {
            let why = rate(text).unwrap_err();
            assert!(why.contains(says), "{text}: {why}");
        }
        assert!(profile(&[], SECOND).unwrap_err().contains("at least one request"));
    }

    #[test]
    fn limits_read_as_they_are_written() {
        let limit_of = |text| limit(text).unwrap().unwrap();
        let errors = limit_of("errors > 5% for 3s");
        assert_eq!((errors.figure, errors.above, errors.lasts), (Figure::Errors, 0.05, 3 * SECOND));
        let slow = limit_of(" p99.9>500ms ");
        assert_eq!((slow.figure, slow.above, slow.lasts), (Figure::Latency(0.999), 5e8, LIMIT_LASTS));
        assert_eq!(slow.text, "p99.9>500ms");
        assert_eq!(limit("never"), Ok(None));
        for (text, says) in [
            ("errors", "write"),
            ("errors > 5", "%"),
            ("errors > 100%", "100%"),
            ("p98 > 5ms", "write"),
            ("p99 > 5", "unit"),
            ("p99 > 5ms for 1.5s", "whole"),
            ("errors > 5% for ever", "unit"),
        ] {
            let why = limit(text).unwrap_err();
            assert!(why.contains(says), "{text}: {why}");
        }
    }
}
