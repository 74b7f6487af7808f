//! The distribution of pause durations. Above: how many there were of each length, with both axes logarithmic,
//! so that the many short ones do not hide the few long ones, which hurt. Below: the time that pauses of each
//! length took.

use rtscope_analyze::results::{Column, Distribution, Results};
use rtscope_draw::svg::{Anchor, Svg, WIDTH, text_width, tick_label};
use rtscope_model::units;

const COUNTS: [f64; 4] = [56.0, 46.0, WIDTH - 76.0, 150.0];
const TIMES: [f64; 4] = [56.0, 234.0, WIDTH - 76.0, 80.0];
/// Rows for the labels of marks, lowest first: one for each of three close together.
const MARK_ROWS: [f64; 3] = [34.0, 22.0, 10.0];
/// Maximum columns drawn: two for each doubling are fewer, whatever the durations.
const COLUMNS_MAX: usize = 200;

/// The drawing; `None` without pauses.
pub(crate) fn draw(results: &Results) -> Option<String> {
    let columns = results.spectrum.get(..COLUMNS_MAX).unwrap_or(&results.spectrum);
    let axis = Axis::of(columns)?;
    let [left, top, width, _] = TIMES;
    let bottom = top + TIMES[3];
    let mut svg = Svg::new(bottom + 40.0, "distribution of pause durations");
    counts(&mut svg, columns, &axis);
    times(&mut svg, columns, &axis);
    marks(&mut svg, &results.pauses.pause_ns, &axis);
    axis.ticks(&mut svg, bottom + 16.0);
    svg.text(
        left + width,
        bottom + 33.0,
        Anchor::End,
        "tick",
        "length of the pause, from the request until all run again",
    );
    Some(svg.finish())
}

fn counts(svg: &mut Svg, columns: &[Column], axis: &Axis) {
    let [left, top, _, height] = COUNTS;
    let most = columns.iter().map(|column| column.count).max().unwrap_or(1).max(1) as f64;
    let decades = most.log10().ceil().max(1.0);
    // A single pause must be visible: the axis starts below one.
    let y = |count: f64| top + height * (1.0 - (count.log10() + 0.3) / (decades + 0.3));
    for decade in 0..=(decades as i32) {
        let count = 10f64.powi(decade);
        svg.level(COUNTS, y(count), &units::count(count as u64));
    }
    axis.bars(svg, COUNTS, columns, |column| (column.count > 0).then(|| y(column.count as f64)));
    svg.text(left, top + height + 16.0, Anchor::Start, "tick", "how many (logarithmic)");
}

fn times(svg: &mut Svg, columns: &[Column], axis: &Axis) {
    let [left, top, _, height] = TIMES;
    let most = columns.iter().map(|column| column.sum_ns).max().unwrap_or(1).max(1) as f64;
    let y = |ns: u64| top + height * (1.0 - ns as f64 / most);
    axis.bars(svg, TIMES, columns, |column| (column.sum_ns > 0).then(|| y(column.sum_ns)));
    svg.text(left - 6.0, top + 8.0, Anchor::End, "tick", &units::duration(most as u64));
    svg.text(left, top + height + 33.0, Anchor::Start, "tick", "time in all");
}

/// Median, 99 in 100 and longest, as lines labelled above the plot.
fn marks(svg: &mut Svg, pauses: &Distribution, axis: &Axis) {
    let [left, top, width, _] = COUNTS;
    let bottom = TIMES[1] + TIMES[3];
    let mut free_from = MARK_ROWS.map(|_| 0.0);
    for (name, value) in [("median", pauses.p50), ("99 in 100", pauses.p99), ("longest", pauses.max)] {
        let Some(value) = value.filter(|value| *value > 0) else { continue };
        let at = axis.x(value as f64);
        svg.line([at, top - 8.0, at, bottom], "mark");
        let text = format!("{name} {}", units::duration(value));
        let half = text_width(&text) / 2.0;
        let centre = at.clamp(left + half, left + width - half);
        let row = free_from.iter().position(|free| *free <= centre - half).unwrap_or(MARK_ROWS.len() - 1);
        svg.text(centre, MARK_ROWS[row], Anchor::Middle, "strong", &text);
        free_from[row] = centre + half + 6.0;
    }
}

/// The scale of lengths that plots share, in decimal logarithms.
pub(crate) struct Axis {
    from: f64,
    to: f64,
}

impl Axis {
    pub(crate) fn of<'c>(columns: impl IntoIterator<Item = &'c Column> + Clone) -> Option<Axis> {
        let used = || columns.clone().into_iter().filter(|column| column.count > 0);
        let from = used().map(lower).fold(f64::INFINITY, f64::min);
        let to = used().map(|column| column.to_ns.max(2) as f64).fold(0.0, f64::max);
        (from < to).then(|| Axis { from: from.log10(), to: to.log10() })
    }

    pub(crate) fn x(&self, ns: f64) -> f64 {
        let [left, _, width, _] = COUNTS;
        left + width * (ns.max(1.0).log10().clamp(self.from, self.to) - self.from) / (self.to - self.from)
    }

    pub(crate) fn ticks(&self, svg: &mut Svg, y: f64) {
        for length in self.decades().map(|decade| 10f64.powi(decade)) {
            svg.text(self.x(length), y, Anchor::Middle, "tick", &tick_label(length));
        }
    }

    fn decades(&self) -> std::ops::RangeInclusive<i32> {
        (self.from.ceil() as i32)..=(self.to.floor() as i32)
    }

    pub(crate) fn grid(&self, svg: &mut Svg, top: f64, height: f64) {
        for decade in self.decades() {
            let at = self.x(10f64.powi(decade));
            svg.line([at, top, at, top + height], "grid");
        }
    }

    /// The box of a column.
    pub(crate) fn place(&self, column: &Column, top: f64, height: f64) -> [f64; 4] {
        let (from, to) = (self.x(lower(column)), self.x(column.to_ns as f64));
        [from + 0.5, top, to - from - 1.0, height]
    }

    /// Draws a bar from the bottom of a plot up to `y` for each column that has one.
    fn bars(&self, svg: &mut Svg, plot: [f64; 4], columns: &[Column], y: impl Fn(&Column) -> Option<f64>) {
        let [left, top, width, height] = plot;
        self.grid(svg, top, height);
        for (column, y) in columns.iter().filter_map(|column| Some((column, y(column)?))) {
            let title = format!(
                "{} of {} to {}, {} in all",
                units::counted(column.count, "pause", "pauses"),
                units::duration(column.from_ns),
                units::duration(column.to_ns),
                units::duration(column.sum_ns)
            );
            svg.rect(self.place(column, y, top + height - y), "bar", &title);
        }
        svg.line([left, top + height, left + width, top + height], "axis");
    }
}

/// Where a column begins on the axis; one that begins at 0 is drawn as wide as any other.
fn lower(column: &Column) -> f64 {
    let from = if column.from_ns == 0 { column.to_ns as f64 / std::f64::consts::SQRT_2 } else { column.from_ns as f64 };
    from.max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(from_ns: u64, to_ns: u64, count: u64) -> Column {
        Column { from_ns, to_ns, count, sum_ns: count.saturating_mul(from_ns) }
    }

    #[test]
    fn the_axis_covers_what_holds_a_pause() {
        let axis = Axis::of(&[column(1_000, 2_000, 0), column(2_000, 4_000, 3), column(4_000, 8_000, 1)]).unwrap();
        let [left, _, width, _] = COUNTS;
        assert!((axis.x(2_000.0) - left).abs() < 0.01 && (axis.x(8_000.0) - left - width).abs() < 0.01);
        assert!(axis.x(0.0).is_finite() && axis.x(f64::MAX).is_finite());
        assert!(Axis::of(&[]).is_none());
        assert!(Axis::of(&[column(5, 6, 0)]).is_none());
        assert!(Axis::of(&[column(u64::MAX, 1, 1)]).is_none(), "upside down");
    }
}
