//! Line plots with intervals, one line for each way to run a program. Owns positions and how lines are distinguished;
//! refuses to compute what is drawn.

use super::svg::{Anchor, Svg, names_at_right, round_step};
use rtscope_model::text::shorten;

/// Number of distinct looks; further lines start over with the first.
pub const LOOKS: usize = 8;
/// Margins of a plot: above for titles, below for the axis, at the right for the names of lines.
pub const ABOVE: f64 = 44.0;
/// Margin below for the axis.
pub const BELOW: f64 = 44.0;
/// Margin at the right for the names of lines.
pub const RIGHT: f64 = 170.0;
/// Longest name that is drawn.
const NAME_MAX: usize = 22;
/// Horizontal distance between lines, so that no interval hides another.
const LINE_OFFSET: f64 = 5.0;

/// Style of the lines, for a page that has the palette.
pub const LINES: &str = "\
.s0,.s1,.s2,.s3,.s4,.s5,.s6,.s7{fill:none;stroke-width:2}\
.s0{stroke:var(--line-2)}.s1{stroke:var(--line-1);stroke-dasharray:8 3}.s2{stroke:var(--line-3);stroke-dasharray:2 3}\
.s3{stroke:var(--line-4);stroke-dasharray:8 3 2 3}.s4{stroke:var(--line-6)}.s5{stroke:var(--faint);stroke-dasharray:5 2}\
.s6{stroke:var(--line-7);stroke-dasharray:12 3}.s7{stroke:var(--line-5);stroke-dasharray:1 2}\
.e{stroke-dasharray:none;stroke-width:1.4}\
.d0{fill:var(--line-2)}.d1{fill:var(--line-1)}.d2{fill:var(--line-3)}.d3{fill:var(--line-4)}.d4{fill:var(--line-6)}\
.d5{fill:var(--faint)}.d6{fill:var(--line-7)}.d7{fill:var(--line-5)}";

/// An empty drawing for a file of its own.
pub fn document(height: f64, label: &str) -> Svg {
    Svg::document(height, label, LINES)
}

/// Lines over one horizontal axis.
pub struct Plot<'a> {
    /// Its heading.
    pub title: &'a str,
    /// What it shows, for readers that do not see it.
    pub about: String,
    /// Label of the horizontal axis.
    pub across: &'a str,
    /// Its ticks: position (0 to 1) and label.
    pub ticks: Vec<(f64, String)>,
    /// A dashed vertical line: position (0 to 1) and label.
    pub mark: Option<(f64, String)>,
    /// Upper end of the vertical axis.
    pub max: f64,
    /// Formats a value of the vertical axis.
    pub shown: fn(f64) -> String,
    /// In the order of their looks.
    pub lines: Vec<Curve>,
}

/// One line of a plot.
pub struct Curve {
    /// Its name at the right end.
    pub name: String,
    /// From left to right.
    pub points: Vec<Spot>,
}

/// One point of a line.
pub struct Spot {
    /// Horizontal position, 0 to 1.
    pub at: f64,
    /// Vertical position, in units of the axis.
    pub value: f64,
    /// Lower and upper end.
    pub interval: Option<(f64, f64)>,
    /// The tooltip.
    pub said: String,
}

struct Scale {
    frame: [f64; 4],
    top: f64,
}

impl Scale {
    fn x(&self, at: f64) -> f64 {
        self.frame[0] + self.frame[2] * at.clamp(0.0, 1.0)
    }

    fn y(&self, value: f64) -> f64 {
        self.frame[1] + self.frame[3] * (1.0 - (value / self.top).clamp(0.0, 1.0))
    }
}

/// Draws `plot` into `frame`: left, top, width and height without the margins.
pub fn draw(svg: &mut Svg, frame: [f64; 4], plot: &Plot<'_>) {
    let [left, top, width, height] = frame;
    let step = round_step(plot.max, 6.0);
    let scale = Scale { frame, top: (plot.max / step).ceil().max(1.0) * step };
    axes(svg, plot, &scale, step);
    let middle = plot.lines.len().saturating_sub(1) as f64 / 2.0;
    let mut names = Vec::new();
    for (index, line) in plot.lines.iter().enumerate() {
        names.extend(curve(svg, (index, line), (index as f64 - middle) * LINE_OFFSET, &scale));
    }
    names_at_right(svg, [left + width + 8.0, top + height], names);
    svg.line([left, top, left, top + height], "axis");
    svg.line([left, top + height, left + width, top + height], "axis");
    svg.text(left, top - 26.0, Anchor::Start, "strong", plot.title);
    svg.text(left, top - 10.0, Anchor::Start, "tick", &plot.about);
    svg.text(left + width, top + height + 36.0, Anchor::End, "tick", plot.across);
}

fn axes(svg: &mut Svg, plot: &Plot<'_>, scale: &Scale, step: f64) {
    let [left, top, width, height] = scale.frame;
    let lines = (scale.top / step).round() as u32;
    for value in (0..=lines).map(|line| f64::from(line) * step) {
        let y = scale.y(value);
        svg.line([left, y, left + width, y], "grid");
        let label = if value == 0.0 { "0".into() } else { (plot.shown)(value) };
        svg.text(left - 8.0, y + 4.0, Anchor::End, "tick", &label);
    }
    for (at, label) in &plot.ticks {
        let x = scale.x(*at);
        svg.line([x, top + height, x, top + height + 4.0], "axis");
        svg.text(x, top + height + 19.0, Anchor::Middle, "tick", label);
    }
    if let Some((at, label)) = &plot.mark {
        let x = scale.x(*at);
        svg.line([x, top, x, top + height], "mark");
        svg.text(x + 4.0, top + 12.0, Anchor::Start, "tick", label);
    }
}

/// Draws one line of the plot, shifted by `aside`; returns the position, text and class of its name.
fn curve(svg: &mut Svg, (index, line): (usize, &Curve), offset: f64, scale: &Scale) -> Option<(f64, String, String)> {
    let look = index % LOOKS;
    let class = format!("s{look}");
    let place = |point: &Spot| (scale.x(point.at) + offset, scale.y(point.value));
    svg.polyline(&line.points.iter().map(place).collect::<Vec<_>>(), &class);
    for point in &line.points {
        let (x, y) = place(point);
        if let Some((low, high)) = point.interval {
            let error = format!("{class} e");
            svg.line([x, scale.y(low), x, scale.y(high)], &error);
            for end in [low, high] {
                svg.line([x - 4.0, scale.y(end), x + 4.0, scale.y(end)], &error);
            }
        }
        svg.dot(x, y, &format!("d{look}"), &point.said);
    }
    let last = line.points.last()?;
    Some((place(last).1, shorten(&line.name, NAME_MAX).into_owned(), class))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_look_has_a_stroke_and_a_fill_in_both_colour_schemes() {
        for look in 0..LOOKS {
            assert!(
                LINES.contains(&format!(".s{look}{{stroke:var(")) && LINES.contains(&format!(".d{look}{{fill:var("))
            );
        }
    }
}
