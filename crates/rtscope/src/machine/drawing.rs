//! The machine drawn on a terminal: packages, nodes and shared caches as indented headings, cores as boxes, or
//! as cells if there are many. Refuses to be wider than the terminal.

use super::nest::{Core, Nest, nests};
use rtscope_host::cpu_list;
use rtscope_model::resources::Resources;
use rtscope_terminal::style::{Style, Tone};

/// Number of cores up to which each has a box of three lines.
const BOXES_MAX: usize = 32;

/// Most cores of one place that are drawn; more are summarised in words.
const CELLS_MAX: usize = 256;

/// The drawing, line by line.
pub(super) fn lines(resources: &Resources, style: &Style) -> Vec<String> {
    let cores: std::collections::BTreeSet<u32> = resources.cpus.iter().map(|place| place.core).collect();
    let drawing = TextDrawing {
        style,
        boxes: cores.len() <= BOXES_MAX,
        number: resources.cpus.iter().map(|place| place.cpu.to_string().len()).max().unwrap_or(1),
        threads: most_threads(resources),
    };
    let mut out = Vec::new();
    for nest in nests(resources) {
        drawing.nest(&nest, 0, &mut out);
    }
    if resources.cpus.iter().any(|place| !place.allowed) {
        let (used, not) = (style.paint(Tone::Good, "n"), style.paint(Tone::Faint, "(n)"));
        out.push(format!("{used} may be used, {not} not"));
    }
    out
}

fn most_threads(resources: &Resources) -> usize {
    let mut counts = std::collections::BTreeMap::new();
    resources.cpus.iter().for_each(|place| *counts.entry(place.core).or_insert(0) += 1);
    counts.into_values().max().unwrap_or(1)
}

struct TextDrawing<'s> {
    style: &'s Style,
    /// Whether cores are boxes; otherwise cells.
    boxes: bool,
    /// Digits of the largest CPU number.
    number: usize,
    /// Most CPUs of any core.
    threads: usize,
}

impl TextDrawing<'_> {
    fn nest(&self, nest: &Nest, depth: usize, out: &mut Vec<String>) {
        let indent = "  ".repeat(depth);
        if !nest.names.is_empty() {
            let name = nest.names.join(self.style.dot());
            out.push(format!("{indent}{}", self.style.paint(Tone::Strong, &name)));
        }
        let depth = depth + usize::from(!nest.names.is_empty());
        if !nest.cores.is_empty() {
            self.cores(&nest.cores, &"  ".repeat(depth), out);
        }
        for inner in &nest.inner {
            self.nest(inner, depth, out);
        }
    }

    fn cores(&self, cores: &[Core], indent: &str, out: &mut Vec<String>) {
        if cores.len() > CELLS_MAX {
            out.push(format!("{indent}{}", summary(cores)));
            return;
        }
        let each = self.inner_width(cores) + 3;
        let most = ((self.style.width.saturating_sub(indent.len()) + 1) / each).max(1);
        // Rows of equal length, if there are enough cores.
        let columns = cores.len().div_ceil(cores.len().div_ceil(most));
        for row in cores.chunks(columns) {
            let parts: Vec<Vec<String>> = row.iter().map(|core| self.core(core, each - 3)).collect();
            for line in 0..parts.first().map_or(0, Vec::len) {
                let cells: Vec<&str> = parts.iter().filter_map(|part| part.get(line)).map(String::as_str).collect();
                out.push(format!("{indent}{}", cells.join(" ")).trim_end().to_owned());
            }
        }
    }

    /// Columns between the walls of a core.
    fn inner_width(&self, cores: &[Core]) -> usize {
        let cpus = self.threads * (self.number + 2);
        let label = |core: &Core| self.label(core).chars().count();
        if self.boxes {
            cores.iter().map(|core| label(core) + 1).max().unwrap_or(0).max(cpus)
        } else {
            cpus + cores.iter().map(|core| core.kind.len()).max().unwrap_or(0)
        }
    }

    fn label(&self, core: &Core) -> String {
        let kind = if core.kind.is_empty() { String::new() } else { format!(" {}", core.kind) };
        format!(" core {}{kind} ", core.number)
    }

    /// A core, in one line or three.
    fn core(&self, core: &Core, width: usize) -> Vec<String> {
        let cpus: String = core.cpus.iter().map(|(cpu, allowed)| self.cpu(*cpu, *allowed)).collect();
        let used = core.cpus.len() * (self.number + 2);
        let pad = |used: usize| " ".repeat(width.saturating_sub(used));
        if !self.boxes {
            let kind = &core.kind;
            return vec![format!("[{cpus}{}{kind}]", pad(used + kind.len()))];
        }
        let [corners, [line, wall]] =
            if self.style.unicode { [["┌", "┐└┘"], ["─", "│"]] } else { [["+", "+++"], ["-", "|"]] };
        let [left, rest] = corners;
        let mut rest = rest.chars();
        let mut corner = || rest.next().unwrap_or('+');
        let label = self.label(core);
        let top = format!("{left}{label}{}{}", line.repeat(width.saturating_sub(label.chars().count())), corner());
        let bottom = format!("{}{}{}", corner(), line.repeat(width), corner());
        vec![top, format!("{wall}{cpus}{}{wall}", pad(used)), bottom]
    }

    /// A CPU's number, in brackets where the process may not run there.
    fn cpu(&self, cpu: u32, allowed: bool) -> String {
        let width = self.number;
        if allowed {
            return self.style.paint(Tone::Good, &format!(" {cpu:>width$} ")).into_owned();
        }
        let text = format!("{:>width$}", format!("({cpu})"), width = width + 2);
        self.style.paint(Tone::Faint, &text).into_owned()
    }
}

/// Summarises many cores in words.
fn summary(cores: &[Core]) -> String {
    let all = |wanted: bool| {
        let cpus = cores.iter().flat_map(|core| &core.cpus).filter(|(_, allowed)| *allowed || !wanted);
        let mut cpus: Vec<u32> = cpus.map(|(cpu, _)| *cpu).collect();
        cpus.sort_unstable();
        cpus
    };
    let (every, allowed) = (all(false), all(true));
    let may = match allowed.len() {
        0 => "none of them allowed".to_owned(),
        count if count == every.len() => "all allowed".to_owned(),
        _ => format!("allowed: {}", cpu_list::show(&allowed)),
    };
    format!("{} cores with CPUs {}, {may}", cores.len(), cpu_list::show(&every))
}
