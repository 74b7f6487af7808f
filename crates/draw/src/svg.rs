//! Writes SVG: shapes with classes (the page's style sheet gives the colours, so both colour schemes share one
//! drawing) and escaped text.

use super::escape::escape;
use super::theme::file_style;
pub use rtscope_model::units::tick_label;
use std::fmt::Write as _;

/// Width of every drawing in its own units; the page scales it.
pub const WIDTH: f64 = 960.0;

/// Style of drawings in files of their own.
const FILE_STYLE: &str = include_str!("drawing.css");

/// A drawing that is being written.
pub struct Svg {
    out: String,
}

rtscope_model::listed! {
    /// Which end of a text its position refers to.
    #[derive(Copy, Clone, Eq, PartialEq)]
    pub enum Anchor: word {
        /// Its left end.
        Start = "start",
        /// Its centre.
        Middle = "middle",
        /// Its right end.
        End = "end",
    }
}

impl Svg {
    /// An empty drawing; `label` describes it for screen readers.
    pub fn new(height: f64, label: &str) -> Svg {
        let label = escape(label);
        Svg { out: format!(r#"<svg viewBox="0 0 {WIDTH} {height:.0}" role="img" aria-label="{label}">"#) }
    }

    /// An empty drawing for a file of its own, with its `style` and a background of class `paper`.
    pub fn document(height: f64, label: &str, style: &str) -> Svg {
        let mut svg = Svg::file([WIDTH, height], label, style);
        svg.rect([0.0, 0.0, WIDTH, height], "paper", "");
        svg
    }

    /// Like [`Svg::document`], but of any size and without the background.
    pub fn file([width, height]: [f64; 2], label: &str, style: &str) -> Svg {
        let label = escape(label);
        let out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
             height=\"{height:.0}\" role=\"img\" aria-label=\"{label}\">\n<style>{}</style>\n",
            file_style(&format!("{FILE_STYLE}{style}"))
        );
        Svg { out }
    }

    /// An empty decorative drawing next to text that says what it shows.
    pub fn mark([width, height]: [f64; 2], class: &str) -> Svg {
        Svg { out: format!(r#"<svg class="{class}" viewBox="0 0 {width:.0} {height:.0}" aria-hidden="true">"#) }
    }

    /// The whole drawing.
    pub fn finish(mut self) -> String {
        self.out.push_str("</svg>");
        self.out
    }

    /// A rectangle with the tooltip `title`.
    pub fn rect(&mut self, [x, y, w, h]: [f64; 4], class: &str, title: &str) {
        let _ = write!(
            self.out,
            r#"<rect x="{x:.1}" y="{y:.1}" width="{:.1}" height="{:.1}" class="{class}""#,
            w.max(0.0),
            h.max(0.0)
        );
        if title.is_empty() {
            self.out.push_str("/>");
        } else {
            let _ = write!(self.out, "><title>{}</title></rect>", escape(title));
        }
    }

    /// A straight line.
    pub fn line(&mut self, [x1, y1, x2, y2]: [f64; 4], class: &str) {
        let _ = write!(self.out, r#"<line x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}" class="{class}"/>"#);
    }

    /// A rectangle with round corners, on its own line of the file.
    pub fn rounded(&mut self, [x, y, w, h]: [f64; 4], class: &str, round: f64) {
        let round = if round > 0.0 { format!(" rx=\"{round:.0}\"") } else { String::new() };
        let _ = writeln!(
            self.out,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{w:.1}\" height=\"{h:.1}\"{round} class=\"{class}\"/>"
        );
    }

    /// Lines from each point to the next.
    pub fn polyline(&mut self, points: &[(f64, f64)], class: &str) {
        for pair in points.windows(2) {
            if let [(x1, y1), (x2, y2)] = *pair {
                self.line([x1, y1, x2, y2], class);
            }
        }
    }

    /// A horizontal hairline across a plot, labelled at its left.
    pub fn level(&mut self, [left, _, width, _]: [f64; 4], y: f64, label: &str) {
        self.line([left, y, left + width, y], "grid");
        self.text(left - 6.0, y + 4.0, Anchor::End, "tick", label);
    }

    /// A vertical hairline through a plot, labelled below.
    pub fn upright(&mut self, [_, top, _, height]: [f64; 4], x: f64, label: &str) {
        self.line([x, top, x, top + height], "grid");
        self.text(x, top + height + 16.0, Anchor::Middle, "tick", label);
    }

    /// Boxes stacked from `bottom` upwards between two horizontal positions, each with its height, class and tooltip.
    /// Boxes too low to be seen are left out.
    pub fn stack(
        &mut self,
        [from, to]: [f64; 2],
        mut bottom: f64,
        boxes: impl IntoIterator<Item = (f64, &'static str, String)>,
    ) {
        for (height, class, title) in boxes.into_iter().filter(|(height, ..)| *height >= 0.05) {
            self.rect([from, bottom - height, (to - from).max(0.7), height], class, &title);
            bottom -= height;
        }
    }

    /// A dot with a tooltip.
    pub fn dot(&mut self, x: f64, y: f64, class: &str, title: &str) {
        let title = escape(title);
        let _ = write!(
            self.out,
            r#"<circle cx="{x:.1}" cy="{y:.1}" r="2.4" class="{class}"><title>{title}</title></circle>"#
        );
    }

    /// A step line: each value holds until the next.
    pub fn steps(&mut self, points: &[(f64, f64)], end: f64, class: &str) {
        if !points.is_empty() {
            let _ = write!(self.out, r#"<path class="{class}" d="{}"/>"#, stairs(points.iter().copied(), end));
        }
    }

    /// A step line through known values, interrupted where a value is unknown. Returns the height of the last
    /// known one.
    pub fn known_steps(&mut self, points: &[(f64, Option<f64>)], end: f64, class: &str) -> Option<f64> {
        let mut next = 0;
        for some in points.chunk_by(|a, b| a.1.is_some() == b.1.is_some()) {
            next += some.len();
            let known: Vec<_> = some.iter().filter_map(|(x, y)| Some((*x, (*y)?))).collect();
            self.steps(&known, points.get(next).map_or(end, |(x, _)| *x), class);
        }
        points.iter().rev().find_map(|(_, y)| *y)
    }

    /// The area between two step lines: where each point begins, its top, its bottom.
    pub fn area(&mut self, points: &[(f64, f64, f64)], end: f64, class: &str, title: &str) {
        let back = points.iter().rev().map(|(x, _, bottom)| format!("V{bottom:.1}H{x:.1}"));
        let d = stairs(points.iter().map(|(x, top, _)| (*x, *top)), end) + &back.collect::<String>() + "Z";
        self.shape(if points.is_empty() { "" } else { &d }, class, title);
    }

    /// A filled path; draws nothing if it is empty.
    pub fn shape(&mut self, d: &str, class: &str, title: &str) {
        if !d.is_empty() {
            let _ = write!(self.out, r#"<path class="{class}" d="{d}"><title>{}</title></path>"#, escape(title));
        }
    }

    /// A path as a band: `[down, width]` is how far below the path and how wide. Draws nothing if it is empty.
    pub fn band(&mut self, d: &str, class: &str, [down, width]: [f64; 2]) {
        if !d.is_empty() {
            let at = format!("transform=\"translate(0 {down:.3})\" stroke-width=\"{width:.3}\"");
            let _ = write!(self.out, r#"<path class="{class}" d="{d}" {at}/>"#);
        }
    }

    /// Opens a group of shapes whose lengths are in units of `unit`.
    pub fn open_scaled(&mut self, [x, y]: [f64; 2], unit: f64, class: &str) {
        let _ = write!(self.out, r#"<g class="{class}" transform="translate({x:.1} {y:.1}) scale({unit:.4})">"#);
    }

    /// Ends the group that was opened last.
    pub fn close(&mut self) {
        self.out.push_str("</g>");
    }

    /// A line of text, escaped.
    pub fn text(&mut self, x: f64, y: f64, anchor: Anchor, class: &str, text: &str) {
        let (anchor, text) = (anchor.word(), escape(text));
        let _ = write!(self.out, r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}" class="{class}">{text}</text>"#);
    }

    /// A text on its own line of the file, with only the attributes it needs; writes nothing if it is empty.
    pub fn plain(&mut self, [x, y]: [f64; 2], centred: bool, class: &str, text: &str) {
        if text.is_empty() {
            return;
        }
        let anchor = if centred { " text-anchor=\"middle\"" } else { "" };
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        let _ = writeln!(self.out, "<text x=\"{x:.1}\" y=\"{y:.1}\"{anchor}{class}>{}</text>", escape(text));
    }

    /// A legend entry: a small square and its label.
    pub fn key(&mut self, x: f64, y: f64, class: &str, text: &str) {
        self.rect([x, y - 9.0, 10.0, 10.0], class, "");
        self.text(x + 15.0, y, Anchor::Start, "tick", text);
    }

    /// `text` centred in a box, if it fits.
    pub fn text_inside(&mut self, [x, y, w, h]: [f64; 4], class: &str, text: &str) {
        if text_width(text) + 8.0 <= w {
            self.text(x + w / 2.0, y + h / 2.0 + 4.0, Anchor::Middle, class, text);
        }
    }
}

/// A step line as path data: each height holds until the next.
fn stairs(points: impl Iterator<Item = (f64, f64)>, end: f64) -> String {
    let mut d = String::new();
    for (x, y) in points {
        let _ = if d.is_empty() { write!(d, "M{x:.1} {y:.1}") } else { write!(d, "H{x:.1}V{y:.1}") };
    }
    d + &format!("H{end:.1}")
}

/// Approximate width of `text` at the font size of drawings.
pub fn text_width(text: &str) -> f64 {
    text.chars().count() as f64 * 6.6
}

/// About `count` round steps from 0 to `max`: 1, 2 or 5 times a power of ten.
pub fn round_step(max: f64, count: f64) -> f64 {
    let raw = (max / count).max(f64::MIN_POSITIVE);
    let power = 10f64.powf(raw.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= raw).unwrap_or(10.0);
    factor * power
}

/// Multiples of `step` from 0 up to `top`.
pub fn ticks(step: f64, top: f64) -> impl Iterator<Item = f64> {
    (0..=(top / step) as u32).map(move |number| f64::from(number) * step)
}

/// Labelled horizontal hairlines across a plot, at each multiple of `step` from 0 to its top.
pub fn levels(svg: &mut Svg, plot: [f64; 4], [step, top]: [f64; 2], label: impl Fn(f64) -> String) {
    let [_, above, _, height] = plot;
    for value in ticks(step, top * 1.0001) {
        svg.level(plot, above + height * (1.0 - value / top), &label(value));
    }
}

/// A time axis below a plot: ticks, their labels, hairlines through the plot.
pub fn time_axis(svg: &mut Svg, [left, top, width, height]: [f64; 4], span_ns: u64) {
    let step = round_step(span_ns as f64, 8.0).max(1.0);
    for tick in ticks(step, span_ns as f64 * 1.0001) {
        let x = left + width * tick / span_ns.max(1) as f64;
        svg.upright([left, top, width, height], x, &if tick == 0.0 { "0".into() } else { tick_label(tick) });
    }
}

/// A vertical logarithmic scale of durations, in whole decades.
pub struct Decades {
    plot: [f64; 4],
    low: f64,
    high: f64,
}

impl Decades {
    /// The scale of a plot for these durations: above 0, in nanoseconds.
    pub fn of(plot: [f64; 4], durations: impl Iterator<Item = u64> + Clone) -> Decades {
        let logs = durations.filter(|ns| *ns > 0).map(|ns| (ns as f64).log10());
        let low = logs.clone().fold(f64::INFINITY, f64::min).min(18.0).floor();
        let high = logs.fold(low, f64::max).ceil().max(low + 1.0);
        Decades { plot, low, high }
    }

    /// Vertical position of a duration.
    pub fn y(&self, ns: u64) -> f64 {
        self.at((ns.max(1) as f64).log10())
    }

    fn at(&self, log: f64) -> f64 {
        let [_, top, _, height] = self.plot;
        top + height * (1.0 - (log.clamp(self.low, self.high) - self.low) / (self.high - self.low))
    }

    /// A labelled hairline for each decade.
    pub fn grid(&self, svg: &mut Svg) {
        for decade in (self.low as i32)..=(self.high as i32) {
            svg.level(self.plot, self.at(f64::from(decade)), &tick_label(10f64.powi(decade)));
        }
    }
}

/// Labels of lines (height of the line's end, text, class) at `x`, moved apart where they would overlap, none
/// below `bottom`.
pub fn names_at_right(svg: &mut Svg, [x, bottom]: [f64; 2], mut names: Vec<(f64, String, String)>) {
    const APART: f64 = 15.0;
    names.sort_by(|a, b| a.0.total_cmp(&b.0));
    let room = names.len() as f64 * APART;
    let mut next = 8.0f64;
    for (index, (y, text, class)) in names.into_iter().enumerate() {
        let last = bottom + 4.0 - room + index as f64 * APART;
        let y = y.max(next).min(last.max(next));
        svg.line([x, y, x + 16.0, y], &class);
        svg.text(x + 21.0, y + 4.0, Anchor::Start, "tick", &text);
        next = y + APART;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round() {
        assert_eq!(round_step(78.0, 8.0), 10.0);
        assert_eq!(round_step(3e9, 8.0), 5e8);
        assert!(round_step(0.0, 8.0) > 0.0);
    }

    #[test]
    fn text_is_escaped_everywhere() {
        let mut svg = Svg::new(10.0, "<&\">");
        svg.text(0.0, 0.0, Anchor::Start, "tick", "<b>");
        svg.rect([0.0, 0.0, -1.0, 1.0], "stop", "<i>");
        let out = svg.finish();
        assert!(!out.contains("<b>") && !out.contains("<i>") && out.contains(r#"width="0.0""#), "{out}");
    }
}
