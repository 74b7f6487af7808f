//! Time against memory as a drawing: every configuration a point, the front a line of steps. A self-contained
//! file. Refuses to say more than the text does.

use super::Shown;
use rtscope_draw::svg::{Anchor, Svg, WIDTH, round_step, text_width};
use rtscope_model::text::shorten;
use rtscope_model::units;
use rtscope_tune::result::ParetoPoint;

const LEFT: f64 = 70.0;
/// Space right of the plot for the names of points.
const RIGHT: f64 = 270.0;
const PLOT: [f64; 4] = [LEFT, 60.0, WIDTH - LEFT - RIGHT, 340.0];
/// Longest name that is drawn, with what it is, and where it is bold, which is wider.
const NAME_MAX: usize = 34;
const BOLD_MAX: usize = 30;
/// Number of names that fit.
const NAMES: usize = 18;
const APART: f64 = 18.0;

const STYLE: &str = "\
.tick{fill:var(--faint)}.front{fill:none;stroke:var(--line-1);stroke-width:1.6}\
circle{stroke-width:1.6;stroke:var(--faint);fill:var(--paper)}.sure{fill:var(--faint);stroke-width:4}\
.f{stroke:var(--line-1)}.sure.f{fill:var(--line-1)}.b{stroke:var(--line-2)}.sure.b{fill:var(--line-2)}";

/// An axis: both ends, as logarithms.
struct Axis {
    low: f64,
    high: f64,
}

impl Axis {
    /// Around `values`, with a small margin.
    fn around(values: impl Iterator<Item = f64> + Clone) -> Axis {
        let low = values.clone().fold(f64::INFINITY, f64::min).ln();
        let high = values.fold(f64::NEG_INFINITY, f64::max).ln();
        if low.is_finite() && high.is_finite() {
            let room = ((high - low) * 0.08).max(0.05);
            Axis { low: low - room, high: high + room }
        } else {
            Axis { low: 0.0, high: 1.0 }
        }
    }

    fn share(&self, value: f64) -> f64 {
        ((value.ln() - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    /// Round values between the ends: a few, however wide it is.
    fn ticks(&self) -> Vec<f64> {
        let (low, high) = (self.low.exp(), self.high.exp());
        if high / low > 8.0 {
            let from = low.log10().floor() as i32;
            let all = (from..=high.log10().ceil() as i32)
                .flat_map(|power| [1.0, 2.0, 5.0].map(|one| one * 10f64.powi(power)));
            return all.filter(|tick| (low..=high).contains(tick)).collect();
        }
        let step = round_step(high - low, 6.0);
        let first = (low / step).ceil() as u32;
        (0..20).map(|tick| f64::from(first + tick) * step).take_while(|tick| *tick <= high).collect()
    }
}

struct Scale {
    memory: Axis,
    objective: Axis,
}

impl Scale {
    fn x(&self, mebibytes: f64) -> f64 {
        PLOT[0] + PLOT[2] * self.memory.share(mebibytes)
    }

    fn y(&self, objective: f64) -> f64 {
        PLOT[1] + PLOT[3] * (1.0 - self.objective.share(objective))
    }

    fn of(&self, point: &ParetoPoint) -> (f64, f64) {
        (self.x(mebibytes(point)), self.y(point.objective))
    }
}

fn mebibytes(point: &ParetoPoint) -> f64 {
    point.memory_bytes / f64::from(1 << 20)
}

pub fn draw(shown: &Shown) -> String {
    let found = &shown.document;
    let [left, top, width, height] = PLOT;
    let label = format!("{} against memory", found.objective);
    let mut svg = Svg::document(top + height + 60.0, &label, STYLE);
    let scale = Scale {
        memory: Axis::around(found.pareto.iter().map(mebibytes)),
        objective: Axis::around(found.pareto.iter().map(|point| point.objective)),
    };
    axes(&mut svg, &scale);
    front(&mut svg, &found.pareto, &scale);
    points(&mut svg, shown, &scale);
    let title = format!("{} as a share of the default's, against memory", found.objective);
    svg.text(left, 20.0, Anchor::Start, "strong", &title);
    let about = "low and left is better; filled: in fresh blocks; hollow: tried a few times";
    svg.text(left, 38.0, Anchor::Start, "tick", about);
    svg.line([left, top, left, top + height], "axis");
    svg.line([left, top + height, left + width, top + height], "axis");
    svg.text(left + width, top + height + 38.0, Anchor::End, "tick", "resident memory");
    svg.finish()
}

fn axes(svg: &mut Svg, scale: &Scale) {
    let [left, top, width, height] = PLOT;
    for tick in scale.objective.ticks() {
        let y = scale.y(tick);
        svg.line([left, y, left + width, y], "grid");
        let label = format!("{tick:.2}");
        svg.text(left - 8.0, y + 4.0, Anchor::End, "tick", label.trim_end_matches('0').trim_end_matches('.'));
    }
    let mut last = f64::NEG_INFINITY;
    for tick in scale.memory.ticks() {
        let x = scale.x(tick);
        svg.line([x, top, x, top + height], "grid");
        // Towards the end of a wide axis ticks are close to each other.
        if x - last > 56.0 {
            let label = units::bytes((tick * f64::from(1 << 20)) as u64);
            svg.text(x, top + height + 18.0, Anchor::Middle, "tick", &label);
            last = x;
        }
    }
    let y = scale.y(1.0);
    svg.line([left, y, left + width, y], "mark");
}

/// From each point of the front down to the next, which is smaller and slower.
fn front(svg: &mut Svg, points: &[ParetoPoint], scale: &Scale) {
    let places: Vec<(f64, f64)> = points.iter().filter(|point| point.front).map(|point| scale.of(point)).collect();
    for pair in places.windows(2) {
        if let [(x1, y1), (x2, y2)] = pair {
            svg.line([*x1, *y1, *x1, *y2], "front");
            svg.line([*x1, *y2, *x2, *y2], "front");
        }
    }
}

/// Dominated points first, so that they hide nothing; those with a name have a number.
fn points(svg: &mut Svg, shown: &Shown, scale: &Scale) {
    let found = &shown.document;
    let is = |named: Option<&rtscope_tune::result::Named>, point: &ParetoPoint| {
        named.is_some_and(|named| named.configuration == point.configuration)
    };
    let best = |point: &ParetoPoint| is(found.recommended.as_ref(), point);
    let role = |point: &ParetoPoint| match point {
        point if best(point) && is(Some(&found.default), point) => ", keep it",
        point if best(point) => ", use it",
        point if is(Some(&found.default), point) => ", the default",
        point if is(found.plan.as_ref(), point) => ", the plan",
        _ => "",
    };
    let named = |point: &ParetoPoint| point.front || point.confirmed || !role(point).is_empty();
    let dot = |svg: &mut Svg, point: &ParetoPoint| {
        let (x, y) = scale.of(point);
        let class = match (point.confirmed, best(point), point.front) {
            (true, true, _) => "sure b",
            (true, false, true) => "sure f",
            (true, false, false) => "sure",
            (false, true, _) => "b",
            (false, false, true) => "f",
            (false, false, false) => "",
        };
        let memory = units::bytes(point.memory_bytes as u64);
        let trials = units::counted(point.trials as u64, "trial", "trials");
        svg.dot(x, y, class, &format!("{}: {:.2}, {memory}, {trials}", super::named(&point.name), point.objective));
    };
    found.pareto.iter().filter(|point| !named(point)).for_each(|point| dot(svg, point));
    found.pareto.iter().filter(|point| named(point)).for_each(|point| dot(svg, point));
    let list = PLOT[0] + PLOT[2] + 16.0;
    let mut taken: Vec<Taken> = found.pareto.iter().map(|point| Taken::dot(scale.of(point))).collect();
    for (index, point) in found.pareto.iter().filter(|point| named(point)).take(NAMES).enumerate() {
        let number = (index + 1).to_string();
        let place = Taken::number(scale.of(point), &number, &taken);
        taken.push(place);
        svg.text(place.at.0, place.at.1 + 4.0, Anchor::Middle, "strong", &number);
        let at = PLOT[1] + 10.0 + index as f64 * APART;
        svg.text(list + 14.0, at, Anchor::End, "strong", &number);
        let role = role(point);
        let (class, most) = if best(point) { ("strong", BOLD_MAX) } else { ("", NAME_MAX) };
        let name = shorten(super::named(&point.name), most - role.len());
        svg.text(list + 22.0, at, Anchor::Start, class, &format!("{name}{role}"));
    }
}

/// An occupied area of the plot: its middle, and half of its width and height.
#[derive(Copy, Clone, Debug)]
struct Taken {
    at: (f64, f64),
    half: (f64, f64),
}

impl Taken {
    fn dot(at: (f64, f64)) -> Taken {
        Taken { at, half: (4.0, 4.0) }
    }

    /// The place of a point's number: right above it, or around it and farther away where it hides nothing.
    fn number((x, y): (f64, f64), number: &str, others: &[Taken]) -> Taken {
        const AROUND: [(f64, f64); 4] = [(11.0, -10.0), (11.0, 10.0), (-11.0, -10.0), (-11.0, 10.0)];
        let half = (text_width(number) / 2.0 + 0.5, 5.5);
        let place = |far: f64, (right, down): (f64, f64)| Taken { at: (x + right * far, y + down * far), half };
        let free = |place: &Taken| !others.iter().any(|other| place.hides(other));
        let mut places = [1.0, 2.5, 4.0].into_iter().flat_map(|far| AROUND.map(|around| place(far, around)));
        places.find(free).unwrap_or_else(|| place(1.0, AROUND[0]))
    }

    fn hides(&self, other: &Taken) -> bool {
        (self.at.0 - other.at.0).abs() < self.half.0 + other.half.0
            && (self.at.1 - other.at.1).abs() < self.half.1 + other.half.1
    }
}

#[cfg(test)]
mod tests {
    use super::super::text::tests::example;
    use super::*;

    #[test]
    fn the_document_has_points_a_front_and_names() {
        let out = draw(&example(0.5));
        assert!(out.starts_with("<svg xmlns=") && out.ends_with("</svg>"), "{out}");
        assert_eq!(out.matches("<circle").count(), 4);
        // Three of the front, two steps of two lines each.
        assert_eq!(out.matches("class=\"front\"").count(), 4);
        assert!(out.contains("-A16m -qg, use it") && out.contains("-A1m, the default") && out.contains("the plan"));
        assert!(out.contains("&lt;x&gt;") && !out.contains("<x>"));
    }

    #[test]
    fn one_point_and_none_are_drawn() {
        let mut shown = example(0.5);
        for left in [1, 0] {
            shown.document.pareto.truncate(left);
            let out = draw(&shown);
            assert!(!out.contains("NaN") && !out.contains("inf"), "{out}");
            assert_eq!(out.matches("<circle").count(), left);
        }
    }

    #[test]
    fn numbers_hide_neither_dots_nor_each_other() {
        let point = (300.0, 200.0);
        let mut taken = vec![Taken::dot(point), Taken::dot((309.0, 191.0))];
        for _ in 0..11 {
            let number = Taken::number(point, "7", &taken);
            assert!(!taken.iter().any(|other| number.hides(other)), "{number:?}: {taken:?}");
            taken.push(number);
        }
        assert_eq!(Taken::number((700.0, 200.0), "7", &taken).at, (711.0, 190.0));
        // Without room it is at the usual place.
        assert_eq!(Taken::number(point, "7", &taken).at, (311.0, 190.0));
    }

    #[test]
    fn axes_have_some_ticks() {
        for (low, high) in [(0.5, 2.1), (0.99, 1.01), (3.0, 40_000.0), (1.0, 1.0), (1e-6, 1e9)] {
            let ticks = Axis::around([low, high].into_iter()).ticks();
            assert!(ticks.windows(2).all(|pair| pair[0] < pair[1]) && ticks.len() >= 2, "{low} {high}: {ticks:?}");
        }
    }
}
