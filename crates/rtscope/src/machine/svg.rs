//! The machine as a drawing for pages and documents: boxes in boxes down to CPUs; those that may be used are
//! filled. A self-contained file. Refuses to say more than the text does.

use super::headline;
use super::nest::{Core, Nest, nests};
use rtscope_draw::svg::Svg;
use rtscope_model::resources::Resources;

/// Widest row of boxes; a box that does not fit begins a new row.
const WIDTH: f64 = 1040.0;
const MARGIN: f64 = 20.0;
const PAD: f64 = 10.0;
const GAP: f64 = 8.0;
const LINE: f64 = 16.0;
const CPU_HEIGHT: f64 = 24.0;
/// Number of cores up to which each names its own caches.
const NAMED_MAX: usize = 64;

const STYLE: &str = "\
.title{font-size:15px;font-weight:600}.faint{fill:var(--faint);font-size:11px}\
.nest{fill:var(--card);stroke:var(--rule)}.core{fill:var(--paper);stroke:var(--rule)}\
.use{fill:var(--line-2)}.off{fill:var(--idle)}.on-use{fill:var(--on-strong);font-weight:600}.on-off{fill:var(--faint)}";

/// The drawing as an SVG document.
pub fn svg(resources: &Resources) -> String {
    let nests = nests(resources);
    let count = nests.iter().map(cores_in).sum::<usize>();
    let digits = resources.cpus.iter().map(|place| place.cpu.to_string().len()).max().unwrap_or(1);
    let drawing = SvgDrawing { caches: count <= NAMED_MAX, cpu_width: (digits as f64 * 8.0 + 6.0).max(30.0) };
    let placed = drawing.flow(nests.iter().map(FlowItem::Nest).collect(), WIDTH);
    let title = headline(resources);
    let hidden = if resources.ancestors_hidden { "control groups above are hidden" } else { "" };
    let top = MARGIN + if hidden.is_empty() { 28.0 } else { 44.0 };
    let width = placed.width.max(text_width(&title) * 1.3).max(320.0) + 2.0 * MARGIN;
    let height = top + placed.height + 28.0 + MARGIN;
    let mut out = Svg::file([width, height], &title, STYLE);
    out.rounded([0.0, 0.0, width, height], "paper", 0.0);
    out.plain([MARGIN, MARGIN + 12.0], false, "title", &title);
    out.plain([MARGIN, MARGIN + 30.0], false, "faint", hidden);
    drawing.draw(&placed, MARGIN, top, &mut out);
    legend(&mut out, resources, top + placed.height + 14.0);
    out.finish() + "\n"
}

fn cores_in(nest: &Nest) -> usize {
    nest.cores.len() + nest.inner.iter().map(cores_in).sum::<usize>()
}

/// Approximate width of a text of 12 pixels.
fn text_width(text: &str) -> f64 {
    text.chars().count() as f64 * 6.9
}

enum FlowItem<'n> {
    Nest(&'n Nest),
    Core(&'n Core),
}

/// Items with their places and sizes, in rows.
struct Flow<'n> {
    items: Vec<Placed<'n>>,
    width: f64,
    height: f64,
}

struct Placed<'n> {
    item: FlowItem<'n>,
    inside: Option<Flow<'n>>,
    at: [f64; 2],
    size: [f64; 2],
}

struct SvgDrawing {
    caches: bool,
    /// Width of a CPU, by the digits of the largest number.
    cpu_width: f64,
}

impl SvgDrawing {
    /// Lays items out from left to right, in rows of at most `width`. A row is as high
    /// as the highest in it.
    fn flow<'n>(&self, items: Vec<FlowItem<'n>>, width: f64) -> Flow<'n> {
        let mut flow = Flow { items: Vec::new(), width: 0.0, height: 0.0 };
        let (mut x, mut y, mut row) = (0.0_f64, 0.0_f64, 0.0_f64);
        for item in items {
            let (inside, size) = self.measure(&item, width);
            // Boxes begin a row of their own after cores that are in none.
            let other =
                flow.items.last().is_some_and(|last| matches!(last.item, FlowItem::Core(_)) && inside.is_some());
            if x > 0.0 && (other || x + size[0] > width) {
                (x, y, row) = (0.0, y + row + GAP, 0.0);
            }
            flow.items.push(Placed { item, inside, at: [x, y], size });
            row = row.max(size[1]);
            flow.width = flow.width.max(x + size[0]);
            flow.height = y + row;
            x += size[0] + GAP;
        }
        flow
    }

    fn measure<'n>(&self, item: &FlowItem<'n>, width: f64) -> (Option<Flow<'n>>, [f64; 2]) {
        match item {
            FlowItem::Nest(nest) => {
                let items =
                    nest.cores.iter().map(FlowItem::Core).chain(nest.inner.iter().map(FlowItem::Nest)).collect();
                let inside = self.flow(items, width - 2.0 * PAD);
                let head = if nest.names.is_empty() { 0.0 } else { LINE + 4.0 };
                let named = text_width(&name(nest));
                let size = [inside.width.max(named) + 2.0 * PAD, inside.height + head + 2.0 * PAD - 4.0];
                (Some(inside), size)
            }
            FlowItem::Core(core) => {
                let cpus = core.cpus.len() as f64 * (self.cpu_width + 4.0) - 4.0;
                let caches = core.caches.iter().filter(|_| self.caches);
                let words =
                    caches.clone().map(|cache| text_width(cache) * 0.92).fold(text_width(&label(core)), f64::max);
                (None, [cpus.max(words) + 12.0, LINE + CPU_HEIGHT + 10.0 + caches.count() as f64 * 14.0])
            }
        }
    }

    fn draw(&self, flow: &Flow<'_>, left: f64, top: f64, out: &mut Svg) {
        for Placed { item, inside, at, size } in &flow.items {
            let (x, y) = (left + at[0], top + at[1]);
            let frame = [x, y, size[0], size[1]];
            match item {
                FlowItem::Nest(nest) => {
                    out.rounded(frame, "nest", 6.0);
                    out.plain([x + PAD, y + LINE], false, "", &name(nest));
                    let head = if nest.names.is_empty() { 0.0 } else { LINE + 4.0 };
                    if let Some(inside) = inside {
                        self.draw(inside, x + PAD, y + head + PAD - 4.0, out);
                    }
                }
                FlowItem::Core(core) => self.core(core, frame, out),
            }
        }
    }

    fn core(&self, core: &Core, frame: [f64; 4], out: &mut Svg) {
        let [x, y, ..] = frame;
        out.rounded(frame, "core", 4.0);
        out.plain([x + 6.0, y + 13.0], false, "faint", &label(core));
        for (index, (cpu, allowed)) in core.cpus.iter().enumerate() {
            let left = x + 6.0 + index as f64 * (self.cpu_width + 4.0);
            let (shape, words) = if *allowed { ("use", "on-use") } else { ("off", "on-off") };
            out.rounded([left, y + LINE + 2.0, self.cpu_width, CPU_HEIGHT], shape, 3.0);
            out.plain([left + self.cpu_width / 2.0, y + LINE + 18.0], true, words, &cpu.to_string());
        }
        for (index, cache) in core.caches.iter().enumerate().filter(|_| self.caches) {
            out.plain([x + 6.0, y + LINE + CPU_HEIGHT + 16.0 + index as f64 * 14.0], false, "faint", cache);
        }
    }
}

fn name(nest: &Nest) -> String {
    nest.names.join(" · ")
}

fn label(core: &Core) -> String {
    format!("core {} {}", core.number, core.kind).trim_end().to_owned()
}

/// What the colours mean.
fn legend(out: &mut Svg, resources: &Resources, y: f64) {
    let mut x = MARGIN;
    for (class, words, allowed) in [("use", "CPU that may be used", true), ("off", "not allowed", false)] {
        if resources.cpus.iter().any(|place| place.allowed == allowed) {
            out.rounded([x, y, 14.0, 14.0], class, 2.0);
            out.plain([x + 20.0, y + 11.0], false, "faint", words);
            x += 20.0 + text_width(words) + 16.0;
        }
    }
}
