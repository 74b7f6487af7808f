//! Turns figures into output: the screen, the line of text, the document. Owns layout and wording; a pure function of
//! its input.

use rtscope_analyze::Context;
use rtscope_analyze::results::Distribution;
use rtscope_analyze::window::{KeptOff, LaneShares, Throttled, WindowFigures};
use rtscope_model::manifest::Tier;
use rtscope_model::units::{self, duration, duration_or_dash, percent};
use rtscope_model::{Loss, LossKind, Node};
use rtscope_report::{stm, words};
use rtscope_terminal::style::{Joined, Style, Tone, clean, shorten, wrap};
use serde::Serialize;
use serde_json::json;

/// Maximum lanes shown.
const LANES_MAX: usize = 64;
/// Width of the column of row names.
const LABEL: usize = 14;
/// Widths of the columns of lanes.
const COLUMN: usize = 9;
const LAST: usize = 14;
/// Live data older than this is shown with its age, nanoseconds.
const OLD_NS: u64 = 5_000_000_000;

/// The part that does not change: the head of the screen.
#[derive(Clone, Debug, Default, Serialize)]
pub struct View {
    /// `process 4242`, the path of a capture.
    pub of: String,
    /// Command line of the program.
    pub command: String,
    /// "GHC 9.6.6 (thr)"; `null` without a known runtime.
    pub runtime: Option<String>,
    /// How the kernel is observed; `null` for a log on its own.
    pub kernel: Option<Tier>,
    /// CPUs that it may use, by mask and quota.
    pub cpus_available: Option<f64>,
    /// CPU quotas of its control groups, by index.
    #[serde(skip)]
    pub quotas: Vec<Option<f64>>,
    /// Whether a log is read.
    #[serde(skip)]
    pub log: bool,
}

impl View {
    /// Built from what is known at the start.
    pub fn of(context: &Context, of: String, log: bool) -> View {
        View {
            of,
            command: context.program.as_ref().map(|program| program.command.join(" ")).unwrap_or_default(),
            runtime: words::runtime(&context.runtime),
            kernel: context.kernel.as_ref().map(|kernel| kernel.tier),
            cpus_available: context.cpus_available(),
            quotas: context.groups.iter().map(|group| group.quota_cpus).collect(),
            log,
        }
    }
}

/// The part that changes every second.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Shown {
    /// Seconds since the start.
    pub seconds: f64,
    /// Figures of the window.
    #[serde(flatten)]
    pub figures: WindowFigures,
    /// CPUs that rtscope uses itself; `None` if not measured.
    #[serde(rename = "own_cpus")]
    pub own_cpu: Option<f64>,
    /// How many times events of the log were lost.
    pub log_gaps: u64,
    /// How many times kernel records were lost.
    pub kernel_gaps: u64,
    /// What cannot be shown, a sentence each.
    pub notes: Vec<String>,
    /// Why the display has ended.
    pub over: Option<String>,
    /// Whether updates follow, which a key ends.
    #[serde(skip)]
    pub keys: bool,
}

impl Shown {
    /// Counts a loss.
    pub fn lost(&mut self, loss: &Loss) {
        match loss.kind {
            // Only of streams: a switch that the kernel does not report is inferred from what follows it.
            LossKind::KernelRecords => self.kernel_gaps += u64::from(loss.source.contains('/')),
            LossKind::OutOfOrder => {}
            _ => self.log_gaps += 1,
        }
    }
}

/// What `--json` prints for a second.
pub(super) fn json(view: &View, shown: &Shown) -> serde_json::Result<String> {
    rtscope_terminal::style::json(&Joined { head: json!({ "schema": "rtscope/top/1" }), body: view, tail: shown })
}

pub(super) fn rows() -> usize {
    terminal_size::terminal_size().map_or(24, |(_, height)| usize::from(height.0))
}

/// The lines of a screen, `style.width` wide at most.
pub fn frame(view: &View, shown: &Shown, style: &Style) -> Vec<String> {
    let mut lines = head(view, shown, style);
    lines.push(String::new());
    let rows = rows_of(view, shown);
    for (label, text, tone) in &rows {
        let mut first = true;
        for part in wrap(text, style.width.saturating_sub(LABEL)) {
            let label = if std::mem::take(&mut first) { *label } else { "" };
            let painted = style.paint(*tone, &part).into_owned();
            lines.push(format!("{}{painted}", style.paint(Tone::Faint, &format!("{label:<LABEL$}"))));
        }
    }
    lines.extend(lanes(&shown.figures.lanes, style));
    let mut notes: Vec<String> = shown.notes.iter().map(|note| clean(note).into_owned()).collect();
    if shown.log_gaps > 0 {
        notes.push(format!("Parts of the log were lost {}: pauses there are left out.", times(shown.log_gaps)));
    }
    if shown.kernel_gaps > 0 {
        notes.push(format!("Records of the kernel were lost {}: causes there are unknown.", times(shown.kernel_gaps)));
    }
    if !notes.is_empty() {
        lines.push(String::new());
    }
    for note in notes {
        lines.extend(wrap(&note, style.width).into_iter().map(|line| style.paint(Tone::Faint, &line).into_owned()));
    }
    lines
}

fn times(count: u64) -> String {
    if count == 1 { "once".into() } else { format!("{count} times") }
}

fn head(view: &View, shown: &Shown, style: &Style) -> Vec<String> {
    let span = (shown.figures.span_ns > 0).then(|| format!("last {}", duration(shown.figures.span_ns)));
    let keys = shown.keys.then(|| "q ends".to_owned());
    let right = span.into_iter().chain(keys).collect::<Vec<_>>().join(style.dot());
    let command = clean(&view.command);
    let left = format!("{}  {command}", clean(&view.of));
    let room = style.width.saturating_sub(right.chars().count() + 2);
    let left = shorten(&left, room).into_owned();
    let gap = style.width.saturating_sub(left.chars().count() + right.chars().count()).max(1);
    let mut facts: Vec<String> = view.runtime.iter().map(|runtime| clean(runtime).into_owned()).collect();
    facts.extend(view.cpus_available.map(|cpus| format!("{} to use", units::of_cpus(cpus))));
    facts.extend(view.kernel.map(|tier| kernel_words(tier).to_owned()));
    facts.extend(shown.own_cpu.map(|own| format!("rtscope takes {} of a CPU", percent(own))));
    let mut lines =
        vec![format!("{}{}{}", style.paint(Tone::Strong, &left), " ".repeat(gap), style.paint(Tone::Faint, &right))];
    let facts = wrap(&facts.join(style.dot()), style.width);
    lines.extend(facts.iter().map(|line| style.paint(Tone::Faint, line).into_owned()));
    let over = shown.over.iter().flat_map(|over| wrap(&format!("This is over: {}.", clean(over)), style.width));
    lines.extend(over.map(|line| style.paint(Tone::Warn, &line).into_owned()));
    lines
}

fn kernel_words(tier: Tier) -> &'static str {
    match tier {
        Tier::Tracepoints => "kernel: switches and wake-ups",
        Tier::CpuWideSwitches => "kernel: switches",
        Tier::OwnSwitches => "kernel: switches of its own threads",
        Tier::Polling => "kernel: counters only",
    }
}

type TopRow = (&'static str, String, Tone);

fn rows_of(view: &View, shown: &Shown) -> Vec<TopRow> {
    let figures = &shown.figures;
    let mut rows: Vec<TopRow> = Vec::new();
    if figures.span_ns == 0 {
        return rows;
    }
    rows.extend(account(figures).map(|text| ("time went to", text, Tone::Plain)));
    if view.log {
        let pauses = &figures.pauses;
        rows.push(("pauses", pauses_words(figures), Tone::Plain));
        if pauses.time_to_stop_ns.count > 0 {
            rows.push(("time to stop", spread(&pauses.time_to_stop_ns), Tone::Plain));
        } else if pauses.count > 0 {
            rows.push(("time to stop", "unknown: this runtime posts no request".into(), Tone::Plain));
        }
        rows.extend(productivity(figures).map(|text| ("productivity", text, Tone::Plain)));
    }
    rows.extend(figures.transactions.as_ref().map(|rates| ("transactions", stm::rates(rates), Tone::Plain)));
    if let Some(used) = figures.cpus_used {
        let missed = figures.cpus_missed.unwrap_or(0.0);
        rows.push(("CPUs", format!("{used:.2} used, {missed:.2} wanted and not had"), Tone::Plain));
    }
    rows.extend(memory(figures).map(|text| ("memory", text, Tone::Plain)));
    rows.extend(figures.throttled.as_ref().map(|one| {
        let tone = if one.throttled > 0 { Tone::Bad } else { Tone::Plain };
        ("throttled", throttled(view, one), tone)
    }));
    if let Some(kept) = &figures.kept {
        rows.push(("kept off", kept_words(kept), Tone::Plain));
    }
    if view.log {
        let text = worst(figures);
        rows.push(("worst cause", text, if figures.worst.is_some() { Tone::Warn } else { Tone::Plain }));
    }
    rows
}

/// Maximum top-level parts of the account on the screen.
const PARTS_SHOWN: usize = 4;

/// Where the time of all lanes went, longest first: "had work, had no CPU 64 % (a CPU quota was used up), program 21 %".
fn account(figures: &WindowFigures) -> Option<String> {
    let whole: u64 = figures.account.iter().map(|part| part.ns).sum();
    let share = |part: &Node| part.ns as f64 / whole.max(1) as f64;
    let words = |part: &Node| {
        let most =
            part.parts.first().filter(|most| 2 * most.ns > part.ns).map(|most| format!(" ({})", clean(&most.name)));
        format!("{} {}{}", clean(&part.name), percent(share(part)), most.unwrap_or_default())
    };
    let shown = figures.account.iter().take(PARTS_SHOWN).filter(|part| share(part) >= 0.01);
    words::all_of(shown.map(words), ", ")
}

fn pauses_words(figures: &WindowFigures) -> String {
    let pauses = &figures.pauses;
    if pauses.count == 0 {
        return "none".into();
    }
    let (often, share) = (rate(pauses.per_second), units::percent_of(pauses.total_ns, figures.span_ns));
    let mut text = format!("{often} per second, {share} of the time, {}", spread(&pauses.pause_ns));
    if pauses.partial > 0 {
        text += &format!(" ({} seen in part)", pauses.partial);
    }
    text
}

fn spread(of: &Distribution) -> String {
    let [p50, p99, longest] = [of.p50, of.p99, of.max].map(duration_or_dash);
    format!("p50 {p50}, p99 {p99}, longest {longest}")
}

/// At most three significant digits.
fn rate(per_second: f64) -> String {
    match per_second {
        rate if rate >= 99.95 => format!("{rate:.0}"),
        rate if rate >= 9.95 => format!("{rate:.1}"),
        rate => format!("{rate:.2}"),
    }
}

fn productivity(figures: &WindowFigures) -> Option<String> {
    let wall =
        figures.productivity_wall.map(|wall| format!("the program ran {} of the time that it could", percent(wall)));
    let runtime = figures.productivity_runtime.map(|view| format!("{} as the runtime counts it", percent(view)));
    let parts: Vec<String> = wall.into_iter().chain(runtime).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn memory(figures: &WindowFigures) -> Option<String> {
    let memory = &figures.memory;
    let mut parts: Vec<String> = Vec::new();
    parts.extend(memory.rss_bytes.map(|rss| format!("RSS {}", units::bytes(rss))));
    parts.extend(memory.heap_bytes.map(|heap| format!("heap {}", units::bytes(heap))));
    if let Some(live) = memory.live_bytes {
        let age = memory.live_at.map_or(0, |at| figures.at.since(at));
        let age = if age >= OLD_NS { format!(" {} ago", duration(age)) } else { String::new() };
        let ratio = memory.rss_bytes.filter(|_| live > 0).map(|rss| rss as f64 / live as f64);
        let ratio = ratio.map_or(String::new(), |ratio| format!(" (RSS is {} times that)", rate(ratio)));
        parts.push(format!("live {}{age}{ratio}", units::bytes(live)));
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn throttled(view: &View, one: &Throttled) -> String {
    let quota = view.quotas.get(usize::from(one.group)).copied().flatten();
    let quota = quota.map_or_else(|| "a quota".to_owned(), |cpus| format!("a quota of {}", units::of_cpus(cpus)));
    match one.throttled {
        0 => format!("never ({quota})"),
        count => format!(
            "in {count} of {} periods, {} over all CPUs ({quota})",
            one.periods.max(count),
            duration(one.throttled_ns)
        ),
    }
}

fn kept_words(kept: &KeptOff) -> String {
    let mostly = kept.who.as_ref().map_or(String::new(), |name| format!(" (mostly {})", clean(name)));
    let mut parts = Vec::new();
    for (share, by) in [
        (kept.quota, "by a quota".to_owned()),
        (kept.others, format!("by other processes{mostly}")),
        (kept.own, "by its own threads".to_owned()),
    ] {
        if share >= 0.0005 {
            parts.push(format!("{} of the time {by}", percent(share)));
        }
    }
    if parts.is_empty() { "never: it had the CPUs that it wanted".into() } else { parts.join(", ") }
}

fn worst(figures: &WindowFigures) -> String {
    match &figures.worst {
        Some(worst) => format!(
            "{}: {} of what pauses waited for ({}), longest {}",
            clean(&words::cause(worst.cause, worst.who.as_deref())),
            percent(worst.share),
            duration(worst.sum_ns),
            duration(worst.longest_ns)
        ),
        None if figures.pauses.count == 0 => "no pause".into(),
        None => "nothing was waited for".into(),
    }
}

/// A row for each lane with a bar: how its time went.
fn lanes(lanes: &[LaneShares], style: &Style) -> Vec<String> {
    if lanes.is_empty() {
        return Vec::new();
    }
    let name = lanes.iter().map(|lane| lane.name.chars().count()).max().unwrap_or(0).max(LABEL - 2) + 2;
    // Columns without room are left out from the right.
    let columns = (style.width.saturating_sub(name) / COLUMN).min(4);
    let room = style.width.saturating_sub(name + 4 * COLUMN);
    let last = if room >= LAST { LAST } else { 0 };
    let bar = room.saturating_sub(last + 2).min(40);
    let head = |text: &str| format!("{text:>COLUMN$}");
    let titles = ["program", "collect", "waits", "idle"].map(head);
    let mut title = format!("{:<name$}{}", "", titles.get(..columns).unwrap_or_default().concat());
    if last > 0 {
        title += &format!("{:>LAST$}", "stopped last");
    }
    let mut out = vec![String::new(), style.paint(Tone::Faint, &title).into_owned()];
    let cell = |share: Option<f64>| format!("{:>COLUMN$}", share.map_or_else(|| "-".into(), percent));
    for lane in lanes.iter().take(LANES_MAX) {
        let shares = [lane.program, lane.collect, lane.wait, lane.idle].map(cell);
        let mut row = format!("{:<name$}{}", lane.name, shares.get(..columns).unwrap_or_default().concat());
        if last > 0 {
            row += &format!("{:>LAST$}  {}", lane.straggler, bar_of(lane, bar, style));
        }
        out.push(row.trim_end().to_owned());
    }
    if lanes.len() > LANES_MAX {
        out.push(format!("and {} more", lanes.len() - LANES_MAX));
    }
    out
}

fn bar_of(lane: &LaneShares, width: usize, style: &Style) -> String {
    let parts = [(lane.program, '#', Tone::Good), (lane.collect, 'c', Tone::Calm), (lane.wait, 'w', Tone::Warn)];
    let mut left = width;
    let mut out = String::new();
    for (share, letter, tone) in parts {
        let cells = ((share.unwrap_or(0.0) * width as f64).round() as usize).min(left);
        left -= cells;
        out += &style.paint(tone, &letter.to_string().repeat(cells));
    }
    out
}

/// The figures of a second in one line.
pub fn line(view: &View, shown: &Shown) -> String {
    let figures = &shown.figures;
    let mut parts = vec![format!("{:.0} s", shown.seconds)];
    if figures.span_ns == 0 {
        parts.push("no figures yet".into());
    } else if view.log {
        let pauses = &figures.pauses;
        parts.push(format!("{} pauses/s", rate(pauses.per_second)));
        parts.push(format!("time to stop p99 {}", duration_or_dash(pauses.time_to_stop_ns.p99)));
        let share = figures.productivity_wall.or(figures.productivity_runtime);
        parts.push(format!("productivity {}", share.map_or_else(|| "-".into(), percent)));
    }
    parts.extend(figures.cpus_used.map(|used| format!("{used:.2} CPUs")));
    parts.extend(figures.memory.rss_bytes.map(|rss| format!("RSS {}", units::bytes(rss))));
    parts.extend(figures.memory.live_bytes.map(|live| format!("live {}", units::bytes(live))));
    let attempts =
        figures.transactions.map(|rates| format!("{} transactions/s", units::rate(rates.attempts_per_second)));
    parts.extend(attempts);
    let throttled = figures.throttled.as_ref().filter(|one| one.throttled > 0);
    parts.extend(throttled.map(|one| format!("throttled {}", duration(one.throttled_ns))));
    parts.extend(figures.worst.as_ref().map(|worst| words::cause(worst.cause, worst.who.as_deref())));
    parts.extend((shown.log_gaps > 0).then(|| format!("log lost in part {}", times(shown.log_gaps))));
    parts.extend((shown.kernel_gaps > 0).then(|| format!("kernel records lost {}", times(shown.kernel_gaps))));
    parts.extend(shown.over.clone());
    clean(&parts.join(", ")).into_owned()
}
