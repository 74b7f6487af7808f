//! The machine in words: each figure, and below it the file that it came from with its content. Refuses to
//! compute: figures are shown as they are.

use super::{drawing, headline, nest};
use rtscope_draw::present::{Cell, Name, Table};
use rtscope_host::cpu_list;
use rtscope_model::resources::{Cache, CgroupLevel, OneCache, Resources, Source};
use rtscope_model::units;
use rtscope_terminal::present;
use rtscope_terminal::screen::{LABEL, Screen};
use rtscope_terminal::style::{Style, Tone, clean, short, shorten_front};

/// The machine as text in `style`. Ends with a line feed.
pub fn text(resources: &Resources, style: &Style) -> String {
    let mut screen = Screen::new(style);
    screen.paragraph("", 0, Some(Tone::Strong), &headline(resources));
    screen.blank();
    for line in drawing::lines(resources, style) {
        screen.line(&line);
    }
    screen.blank();
    processors(&mut screen, resources);
    caches(&mut screen, resources);
    quota(&mut screen, resources);
    memory(&mut screen, resources);
    levels(&mut screen, resources);
    screen.entries("Notes", &resources.notes);
    screen.finish()
}

/// The files that a figure came from, faint: `path: text`.
fn from(screen: &mut Screen<'_>, sources: &[&Source]) {
    let Some(first) = sources.first() else { return };
    let more = match sources.len() {
        1 => String::new(),
        count => format!(" (and {} more: --json)", count - 1),
    };
    let text = format!("{}: {}{more}", first.path, short(&first.text, 80));
    screen.paragraph(&" ".repeat(LABEL), LABEL, Some(Tone::Faint), &text);
}

/// Sources whose `what` begins with this.
fn sources<'r>(resources: &'r Resources, what: &str) -> Vec<&'r Source> {
    resources.sources.iter().filter(|source| source.what.starts_with(what)).collect()
}

/// The source at this path.
fn file<'r>(resources: &'r Resources, path: &str) -> Vec<&'r Source> {
    resources.sources.iter().filter(|source| source.path == path).take(1).collect()
}

fn processors(screen: &mut Screen<'_>, resources: &Resources) {
    let allowed = &resources.cpus_allowed;
    let of = match resources.cpus_online.len() {
        0 => String::new(),
        online => format!(" of {online} online"),
    };
    screen.entry("CPUs", &format!("{}{of}: {}", allowed.len(), cpu_list::show(allowed)));
    from(screen, &sources(resources, "cpus_allowed"));
    screen.entry("Cores", &cores(resources));
    let mut files = sources(resources, "siblings of cpu");
    if files.is_empty() {
        files = sources(resources, "core id of cpu");
    }
    from(screen, &files);
    if !resources.kinds.is_empty() {
        let kind = |kind: &rtscope_model::resources::CoreKind| {
            let name = if kind.name.starts_with(|c: char| c.is_ascii_digit()) {
                format!("capacity {}", kind.name)
            } else {
                kind.name.clone()
            };
            format!("{name}: {}", cpu_list::show(&kind.cpus))
        };
        let kinds: Vec<String> = resources.kinds.iter().map(kind).collect();
        screen.entry("Kinds", &kinds.join("; "));
        for kind in &resources.kinds {
            from(screen, &sources(resources, &format!("{} cores", kind.name)));
        }
    }
    screen.entry("Packages", &resources.packages.to_string());
    from(screen, &sources(resources, "package of cpu"));
    screen.entry("NUMA nodes", &resources.numa_nodes.to_string());
    from(screen, &sources(resources, "CPUs of node "));
}

/// `4 physical, each with 2 CPUs allowed`.
fn cores(resources: &Resources) -> String {
    let mut counts = std::collections::BTreeMap::new();
    resources.siblings.iter().for_each(|core| *counts.entry(core.len()).or_insert(0u64) += 1);
    let cpus = |count: usize| units::counted(count as u64, "CPU", "CPUs");
    let how = match counts.len() {
        1 => counts.keys().map(|count| format!(", each with {} allowed", cpus(*count))).collect(),
        _ => {
            let parts = counts.iter().rev().map(|(count, cores)| format!("{cores} with {} allowed", cpus(*count)));
            format!(": {}", parts.collect::<Vec<_>>().join(", "))
        }
    };
    format!("{} physical{how}", resources.cores)
}

fn caches(screen: &mut Screen<'_>, resources: &Resources) {
    if resources.caches.is_empty() {
        return;
    }
    let row = |cache: &Cache| {
        let workers = |one: &OneCache| one.cpus.iter().filter(|cpu| resources.cpus_allowed.contains(cpu)).count();
        let shared = cache.each.iter().map(workers).max().unwrap_or(0);
        let largest = cache.each.iter().map(|one| one.size_bytes).max().unwrap_or(cache.size_bytes);
        let to = if largest > cache.size_bytes { format!(" to {}", units::bytes(largest)) } else { String::new() };
        let cells = [
            units::bytes(cache.size_bytes) + &to,
            cache.count.to_string(),
            units::counted(shared as u64, "CPU", "CPUs"),
            units::bytes(cache.share_bytes),
        ];
        (Name::from(nest::cache_level(cache)), cells.map(Cell::from))
    };
    let heads = ["size", "how many", "shared by", "least per worker"];
    present::table(screen, &Table::new("caches", heads, resources.caches.iter().map(row)));
    for cache in &resources.caches {
        let (level, kind) = (cache.level, &cache.kind);
        let size = sources(resources, &format!("size of the level {level} {kind} cache"));
        let shared = sources(resources, &format!("CPUs that share a level {level} {kind} cache"));
        if let (Some(size), Some(shared)) = (size.first(), shared.first()) {
            let folder = size.path.trim_end_matches("/size");
            let text = format!("{folder}/{{size,shared_cpu_list}}: {}; {}", size.text, shared.text);
            screen.paragraph(&" ".repeat(LABEL), LABEL, Some(Tone::Faint), &text);
        }
    }
}

fn quota(screen: &mut Screen<'_>, resources: &Resources) {
    let limits = |level: &&CgroupLevel| level.quota_cpus.is_some() && level.quota_cpus == resources.quota_cpus;
    let level = resources.levels.iter().find(limits);
    let hidden = if resources.ancestors_hidden { "; levels above are hidden and may have a smaller one" } else { "" };
    let text = match (resources.quota_cpus, level) {
        (Some(quota), Some(level)) => {
            let period = level.period_ns.map_or_else(String::new, |ns| format!(" in each {}", units::duration(ns)));
            let others = resources.levels.iter().filter(|level| level.quota_cpus.is_some()).count();
            let others = if others > 1 { format!(", the smallest of {others}") } else { String::new() };
            format!("{}{period}, set by {}{others}{hidden}", units::of_cpus(quota), level.path)
        }
        (Some(quota), None) => format!("{}{hidden}", units::of_cpus(quota)),
        (None, _) if resources.levels.is_empty() => "unknown: no control group is visible".to_owned(),
        (None, _) if resources.ancestors_hidden => {
            "none that is visible; levels above are hidden and may have one".into()
        }
        (None, _) => "none at any level".to_owned(),
    };
    screen.entry("Quota", &text);
    let files = match &resources.quota_path {
        Some(path) => file(resources, path),
        None => sources(resources, "quota of "),
    };
    from(screen, &files);
}

fn memory(screen: &mut Screen<'_>, resources: &Resources) {
    let hidden = if resources.ancestors_hidden { "; levels above are hidden and may have a smaller one" } else { "" };
    let text = match resources.memory_limit_bytes {
        None => "unknown".to_owned(),
        Some(limit) if resources.memory_limited => {
            format!("{}, the limit of a control group{hidden}", units::bytes(limit))
        }
        Some(limit) => format!("{}, all that the machine has{hidden}", units::bytes(limit)),
    };
    screen.entry("Memory", &text);
    from(screen, &resources.memory_limit_path.iter().flat_map(|path| file(resources, path)).collect::<Vec<_>>());
}

fn levels(screen: &mut Screen<'_>, resources: &Resources) {
    if resources.levels.is_empty() {
        return;
    }
    let dash = || "-".to_owned();
    let width = screen.style().width;
    let row = |level: &CgroupLevel| {
        let ran_out = match (level.throttled_periods, level.periods) {
            (Some(throttled), Some(periods)) if level.quota_cpus.is_some() || periods > 0 => {
                format!("{} of {}", units::count(throttled), units::count(periods))
            }
            _ => dash(),
        };
        let cells = [
            format!("v{}", level.version),
            level.quota_cpus.map_or_else(dash, units::of_cpus),
            level.memory_limit_bytes.map_or_else(dash, units::bytes),
            ran_out,
        ];
        let path = shorten_front(&clean(&level.path), width.saturating_sub(52).max(8)).into_owned();
        (Name::from(path), cells.map(Cell::from))
    };
    let heads = ["version", "quota", "memory", "periods it ran out"];
    present::table(screen, &Table::new("control groups", heads, resources.levels.iter().map(row)));
}
