//! What all handmade results share: the clock at which they begin, and short ways to write
//! distributions, evidence and remedies.

use rtscope_analyze::results::{Distribution, Results};
use rtscope_model::{Evidence, Names, Remedy, Time};

/// A handmade result for one situation.
pub struct Fixture {
    pub name: &'static str,
    pub results: Results,
    pub names: Names,
}

pub const MS: u64 = 1_000_000;
pub const SECOND: u64 = 1_000_000_000;
pub const START: Time = Time(81_234_000_000_000);

pub fn dist(count: u64, sum: u64, [min, p50, p90, p99, p999, max]: [u64; 6]) -> Distribution {
    Distribution {
        count,
        sum: Some(sum),
        mean: (count > 0).then(|| sum as f64 / count as f64),
        min: Some(min),
        p50: Some(p50),
        p90: Some(p90),
        p99: Some(p99),
        p999: Some(p999),
        max: Some(max),
    }
}

pub fn seen(text: &str) -> Evidence {
    Evidence { text: text.into(), from: Some(START.plus(400 * MS)), to: Some(START.plus(2_900 * MS)) }
}

pub fn change(text: &str, flag: Option<&str>, verify: &str) -> Remedy {
    Remedy { text: text.into(), setting: None, flag: flag.map(String::from), verify: verify.into(), metric: None }
}
