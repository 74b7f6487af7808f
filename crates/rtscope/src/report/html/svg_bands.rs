//! The heap profile behind the memory lines: bands that are stacked, the largest at the
//! bottom, and their legend. A sample holds until the next. Owns how many bands a picture
//! has; what is left over is one band.

use super::table::swatch;
use crate::draw::escape::escape;
use crate::draw::svg::Svg;
use crate::report::{units, words};
use rtscope_analyze::results::Results;
use rtscope_analyze::results::heap_profile::{self, Found};
use rtscope_model::Time;
use std::fmt::Write as _;

/// Labels with a colour of their own. More could not be told apart.
const SHOWN: usize = 8;
/// Characters of a label in the legend.
const LABEL_MAX: usize = 60;

/// What is to be drawn; maybe nothing.
#[derive(Default)]
pub(super) struct Bands {
    at: Vec<Time>,
    bands: Vec<Band>,
}

struct Band {
    class: String,
    title: String,
    /// Bytes of this band and of all below it, of each sample.
    tops: Vec<u64>,
}

impl Bands {
    /// Those of a report.
    pub(super) fn of(results: &Results) -> Bands {
        let rows = results.heap_profile.iter().flat_map(classed).collect::<Vec<_>>();
        let Some((_, first)) = rows.first() else { return Bands::default() };
        let at: Vec<Time> = first.points.iter().map(|(at, _)| *at).collect();
        let mut below = vec![0u64; at.len()];
        let band = |(class, band): (String, heap_profile::Band)| {
            for (sum, (_, bytes)) in below.iter_mut().zip(&band.points) {
                *sum = sum.saturating_add(*bytes);
            }
            Band { class, title: title(&band), tops: below.clone() }
        };
        Bands { at, bands: rows.into_iter().map(band).collect() }
    }

    pub(super) fn max(&self) -> Option<u64> {
        self.bands.last().and_then(|band| band.tops.iter().copied().max())
    }

    /// Draws them; the last sample holds until `end`.
    pub(super) fn draw(&self, svg: &mut Svg, x: impl Fn(Time) -> f64, y: impl Fn(u64) -> f64, end: f64) {
        let mut below = vec![0u64; self.at.len()];
        for band in &self.bands {
            let tops = band.tops.iter().zip(&below);
            let points: Vec<_> =
                self.at.iter().zip(tops).map(|(at, (top, bottom))| (x(*at), y(*top), y(*bottom))).collect();
            svg.area(&points, end, &band.class, &band.title);
            below.clone_from(&band.tops);
        }
    }
}

/// Each band with its class, the largest first.
fn classed(profile: &Found) -> Vec<(String, heap_profile::Band)> {
    let (shown, rest) = words::heap_profile(profile, SHOWN);
    let shown = shown.into_iter().enumerate().map(|(index, band)| (format!("band b-{index}"), band));
    shown.chain(rest.map(|rest| ("band b-rest".into(), rest))).collect()
}

fn title(band: &heap_profile::Band) -> String {
    let bytes = units::bytes;
    format!("{}: {} at most, {} in the last sample", band.label, bytes(band.max_bytes), bytes(band.last_bytes))
}

/// Which colour is what, from the top of the stack down.
pub(super) fn legend(results: &Results) -> Option<String> {
    let profile = results.heap_profile.as_ref()?;
    let mut out = format!("<p class=\"legend\">Heap by {}: ", escape(profile.breakdown));
    for (class, band) in classed(profile).iter().rev() {
        let label = crate::style::shorten(&band.label, LABEL_MAX);
        let _ = write!(out, "<span class=\"long\">{}{}</span> ", swatch(class), escape(&label));
    }
    out.push_str("</p>");
    Some(out)
}
