//! The heap profile under the memory lines: stacked bands, the largest at the bottom, and their legend. A sample
//! holds until the next. Owns how many bands a picture has; the rest becomes one band.

use crate::{units, words};
use rtscope_analyze::results::Results;
use rtscope_analyze::results::heap_profile::Band;
use rtscope_draw::escape::escape;
use rtscope_draw::html::swatch;
use rtscope_draw::svg::Svg;
use rtscope_model::Time;

/// Labels with a colour of their own. More colours could not be distinguished.
const SHOWN: usize = 8;
/// Characters of a label in the legend.
const LABEL_MAX: usize = 60;

/// A band with its class.
pub(crate) type Classed = (String, Band);

/// Each band, the largest first; none without a profile.
pub(crate) fn bands(results: &Results) -> Vec<Classed> {
    let Some(profile) = &results.heap_profile else { return Vec::new() };
    let (shown, rest) = words::heap_profile(profile, SHOWN);
    let shown = shown.into_iter().enumerate().map(|(index, band)| (format!("band b-{index}"), band));
    shown.chain(rest.map(|rest| ("band b-rest".into(), rest))).collect()
}

/// Total bytes of the largest sample.
pub(crate) fn max(bands: &[Classed]) -> Option<u64> {
    let samples = 0..bands.first()?.1.points.len();
    let bytes = |sample: usize| bands.iter().filter_map(move |(_, band)| Some(band.points.get(sample)?.1));
    samples.map(|sample| bytes(sample).fold(0, u64::saturating_add)).max()
}

/// Draws the bands; the last sample holds until `end`.
pub(crate) fn draw(svg: &mut Svg, bands: &[Classed], x: impl Fn(Time) -> f64, y: impl Fn(u64) -> f64, end: f64) {
    let mut below: Vec<u64> = Vec::new();
    for (class, band) in bands {
        below.resize(band.points.len(), 0);
        let place = |((at, bytes), below): (&(Time, u64), &mut u64)| {
            let bottom = y(*below);
            *below = below.saturating_add(*bytes);
            (x(*at), y(*below), bottom)
        };
        let points: Vec<_> = band.points.iter().zip(&mut below).map(place).collect();
        svg.area(&points, end, class, &title(band));
    }
}

fn title(band: &Band) -> String {
    let bytes = units::bytes;
    format!("{}: {} at most, {} in the last sample", band.label, bytes(band.max_bytes), bytes(band.last_bytes))
}

/// The legend, from the top of the stack down.
pub(crate) fn legend(results: &Results) -> Option<String> {
    let profile = results.heap_profile.as_ref()?;
    let entry = |(class, band): &Classed| {
        let label = rtscope_model::text::shorten(&band.label, LABEL_MAX);
        format!("<span class=\"long\">{}{}</span> ", swatch(class), escape(&label))
    };
    let entries: String = bands(results).iter().rev().map(entry).collect();
    Some(format!("<p class=\"legend\">Heap by {}: {entries}</p>", escape(profile.breakdown)))
}
