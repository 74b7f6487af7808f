//! What a study is to achieve, in words: `--minimize p99`, `--limit rss=512M`, `--limit errors=0`. Owns the
//! grammar and whether a trial's figures meet it; `measure` defines the figures.

use super::measure::{Figure, Figures, KNOWN, Of, Unit, Use};
use super::runtimes::RUNTIME_FIGURES;
use rtscope_terminal::values::{binary_size, number, seconds};
use std::str::FromStr;

/// A figure to minimise.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Minimize(pub &'static Figure);

/// An upper limit for a figure.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct Limit {
    /// The limited figure.
    pub figure: &'static Figure,
    /// The limit, in the figure's unit.
    pub most: f64,
}

/// All requirements on a configuration.
#[derive(Clone, PartialEq, Debug)]
pub struct Objective {
    /// What the study compares.
    pub minimize: Minimize,
    /// What every trial has to meet.
    pub limits: Vec<Limit>,
}

impl FromStr for Minimize {
    type Err = String;

    fn from_str(text: &str) -> Result<Minimize, String> {
        let found = Figure::find(text.trim()).filter(|figure| figure.usage == Use::Minimize);
        found.map(Minimize).ok_or_else(|| {
            format!("{text:?} is nothing that can be made small; known: {}", words(|usage| usage == Use::Minimize))
        })
    }
}

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Limit, String> {
        let form = || "write FIGURE=MOST: rss=512M, p99=20ms, errors=0, errors=1%".to_owned();
        let (name, value) = text.split_once('=').ok_or_else(form)?;
        let (name, value) = (name.trim(), value.trim());
        // A number of requests, or a share of them.
        let name = if name == "errors" && value.ends_with('%') { "error_share" } else { name };
        let figure = Figure::find(name).filter(|figure| figure.usage != Use::Note).ok_or_else(|| {
            format!("{name:?} is nothing that has a limit; known: {}", words(|usage| usage != Use::Note))
        })?;
        let most = match figure.unit {
            Unit::Time => seconds(value)? * 1e9,
            Unit::Memory => binary_size(value)? as f64,
            Unit::Share => number(value.strip_suffix('%').ok_or("write a share with %: 1%")?.trim())? / 100.0,
            Unit::Count | Unit::Rate => number(value)?,
        };
        let good = most.is_finite() && most >= 0.0 && (figure.unit != Unit::Time || most > 0.0);
        if !good || (figure.unit == Unit::Share && most >= 1.0) {
            return Err(format!("{text:?} is no limit that anything could keep to or break"));
        }
        Ok(Limit { figure, most })
    }
}

fn words(wanted: impl Fn(Use) -> bool) -> String {
    let words: Vec<_> = KNOWN.iter().filter(|figure| wanted(figure.usage)).map(Figure::word).collect();
    words.join(", ")
}

impl Objective {
    /// Checks that trials can give these figures.
    ///
    /// # Errors
    /// A figure is one of servers and there is no load, or vice versa.
    pub fn new(minimize: Minimize, limits: Vec<Limit>, server: bool) -> Result<Objective, String> {
        let asked = std::iter::once(minimize.0).chain(limits.iter().map(|limit| limit.figure));
        for figure in asked {
            match (figure.of, server) {
                (Of::Server, false) => {
                    return Err(format!("{} is a figure of servers: give the load with --load URL", figure.word()));
                }
                (Of::Batch, true) => {
                    return Err(format!(
                        "a server runs as long as its load: {} says nothing about it; take p99, cpu or rss",
                        figure.word()
                    ));
                }
                _ => {}
            }
        }
        Ok(Objective { minimize, limits })
    }

    /// The first limit that these figures break, in words; `Err`: a figure is missing.
    pub(super) fn broken(&self, figures: &Figures) -> Result<Option<String>, String> {
        for limit in &self.limits {
            let (figure, value) = (limit.figure, known(limit.figure, figures)?);
            if value > limit.most {
                let (shown, most) = (figure.shown(value), figure.shown(limit.most));
                // Three digits may be the same for both.
                let by = if shown == most { "just above" } else { "above" };
                return Ok(Some(format!("{} {shown} is {by} the limit of {most}", figure.word())));
            }
        }
        Ok(None)
    }

    /// The figure that is compared, above 0.
    pub(super) fn measure(&self, figures: &Figures) -> Result<f64, String> {
        // Comparisons are ratios: no pause at all counts as one nanosecond.
        known(self.minimize.0, figures).map(|value| value.max(1.0))
    }
}

fn known(figure: &Figure, figures: &Figures) -> Result<f64, String> {
    figures.get(figure.name).copied().ok_or_else(|| match figure.of {
        Of::Runtime => format!("trials do not say {}: {RUNTIME_FIGURES}", figure.word()),
        _ => format!("trials do not say {}", figure.word()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(values: &[(&str, f64)]) -> Figures {
        values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
    }

    fn objective(minimize: &str, limits: &[&str], server: bool) -> Result<Objective, String> {
        let limits = limits.iter().map(|limit| limit.parse()).collect::<Result<_, _>>()?;
        Objective::new(minimize.parse()?, limits, server)
    }

    #[test]
    fn limits_read_as_they_are_written() {
        let limit = |text: &str| text.parse::<Limit>().map(|limit| (limit.figure.name, limit.most));
        assert_eq!(limit("rss=512M"), Ok(("rss_bytes", 536_870_912.0)));
        assert_eq!(limit("rss = 1.5GiB"), Ok(("rss_bytes", 1_610_612_736.0)));
        assert_eq!(limit("p99=20ms"), Ok(("p99_ns", 2e7)));
        assert_eq!(limit("max_pause=500us"), Ok(("max_pause_ns", 5e5)));
        assert_eq!((limit("errors=0"), limit("errors=1%")), (Ok(("errors", 0.0)), Ok(("error_share", 0.01))));
        for (text, says) in [
            ("rss", "FIGURE=MOST"),
            ("rss=512", "unit"),
            ("rss=512MB", "1000s"),
            ("p99=20", "unit"),
            ("p99=-1ms", "no limit"),
            ("p99=nans", "unit"),
            ("p99=infs", "unit"),
            ("errors=-1", "no number"),
            ("errors=100%", "no limit"),
            ("productivity=50%", "known: time, wall"),
            ("speed=1", "known: time, wall"),
        ] {
            let why = text.parse::<Limit>().unwrap_err();
            assert!(why.contains(says), "{text}: {why}");
        }
    }

    #[test]
    fn what_cannot_be_asked_says_why() {
        assert!(objective("p99", &["rss=1G", "errors=0"], true).is_ok());
        for (minimize, limits, server, says) in [
            ("speed", vec![], true, "known: time, wall, cpu, rss"),
            ("productivity", vec![], true, "made small"),
            ("p99", vec![], false, "--load"),
            ("time", vec!["errors=0"], false, "--load"),
            ("time", vec![], true, "as long as its load"),
        ] {
            let why = objective(minimize, &limits, server).unwrap_err();
            assert!(why.contains(says), "{why}");
        }
    }

    #[test]
    fn a_broken_limit_says_by_how_much() {
        let asked = objective("time", &["rss=512M"], false).unwrap();
        let broken = |bytes: f64| asked.broken(&figures(&[("rss_bytes", bytes)]));
        assert_eq!(broken(734_003_200.0), Ok(Some("rss 700 MiB is above the limit of 512 MiB".to_owned())));
        assert_eq!(broken(536_870_913.0), Ok(Some("rss 512 MiB is just above the limit of 512 MiB".to_owned())));
        assert_eq!(broken(536_870_912.0), Ok(None));
        assert!(asked.broken(&Figures::new()).unwrap_err().contains("do not say rss"));
        assert_eq!(asked.measure(&figures(&[("time_ns", 7e8)])), Ok(7e8));
        assert!(
            objective("max_pause", &[], false).unwrap().measure(&Figures::new()).unwrap_err().contains("-rtsopts=all")
        );
    }
}
