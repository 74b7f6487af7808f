//! A plan on a terminal: the command to paste, then what is set and why, what is not and why not. In short a line for each;
//! explained, with the whole reason and its source.
//! Owns the layout; every sentence is the planner's.

use super::Planned;
use crate::draw::screen::Screen;
use crate::style::{Style, Tone, clean, sentence};
use rtscope_model::resources::Resources;
use rtscope_model::text::quoted;
use rtscope_model::units;
use rtscope_tune::plan::{Goal, Plan};

/// Width of the column of flags where each has one line.
const FLAG: usize = 18;

/// The plan as text; `explain`ed with the whole of each reason.
pub fn render(planned: &Planned, explain: bool, style: &Style) -> String {
    let plan = &planned.plan;
    let mut page = Screen::new(style);
    let program = plan.program.as_deref().map_or(String::new(), |program| format!("{}: ", clean(program)));
    page.line(&format!("{program}{}", clean(&planned.about)));
    page.line(&style.paint(Tone::Faint, &format!("{}; for {}", about(&planned.resources), plan.goal.name())));
    page.blank();
    if let Some(why) = &plan.unknown {
        page.note("unknown", Tone::Bad, why);
    }
    what_next(plan, &mut page);
    page.blank();
    if explain {
        reasons(plan, &mut page);
    } else {
        in_short(plan, &mut page);
    }
    for note in &plan.notes {
        page.note("note", Tone::Faint, &sentence(note));
    }
    if !explain {
        page.command("more", Tone::Faint, "rtscope plan --explain: the whole of each reason, with its source");
    }
    page.finish()
}

/// A line for each decision: the flag and the first sentence of its reason.
fn in_short(plan: &Plan, page: &mut Screen<'_>) {
    let mut line = |word: &str, tone: Tone, flag: &str, why: &str| {
        let first = why.split_once(". ").map_or(why, |(first, _)| first).trim_end_matches('.');
        page.brief(word, tone, (flag, FLAG), first);
    };
    for flag in &plan.flags {
        line("set", Tone::Good, &plan.word(&flag.flag, flag.value.as_deref()), &flag.reason);
    }
    for kept in &plan.kept {
        line("kept", Tone::Good, &kept.option, &kept.means);
    }
    if let Some(cpus) = &plan.cpus {
        line("set", Tone::Good, &format!("CPUs {}", rtscope_host::cpu_list::show(cpus)), ONE_OF_A_CORE);
    }
    for refused in &plan.refused {
        line("not", Tone::Warn, &plan.word(&refused.flag, refused.value.as_deref()), &refused.why);
    }
    for relink in &plan.relink {
        line("relink", Tone::Calm, &relink.with, &relink.why);
    }
    for measure in &plan.measure {
        line("measure", Tone::Calm, &measure.candidates.join(", "), &measure.why);
    }
}

const ONE_OF_A_CORE: &str =
    "`rtscope run` keeps the program to one CPU of each core, so that no two workers share one.";

/// Each decision with the whole of its reason and where that comes from.
fn reasons(plan: &Plan, page: &mut Screen<'_>) {
    let dot = page.style().dot();
    for flag in &plan.flags {
        let written = plan.word(&flag.flag, flag.value.as_deref());
        page.row("set", Tone::Good, &written, &flag.reason);
        let source = format!("{}{}confidence {}", flag.source, dot, flag.confidence.word());
        page.below(Some(Tone::Faint), &source);
    }
    for kept in &plan.kept {
        page.row("kept", Tone::Good, &format!("{} from {}", clean(&kept.option), kept.from), &kept.means);
    }
    if let Some(cpus) = &plan.cpus {
        let list = rtscope_host::cpu_list::show(cpus);
        page.row("set", Tone::Good, &format!("CPUs {list}"), ONE_OF_A_CORE);
    }
    for refused in &plan.refused {
        let written = plan.word(&refused.flag, refused.value.as_deref());
        page.row("not", Tone::Warn, &written, &refused.why);
    }
    for relink in &plan.relink {
        page.row("relink", Tone::Calm, &clean(&relink.with), &relink.why);
    }
    for measure in &plan.measure {
        let candidates = measure.candidates.join(", ");
        page.row("measure", Tone::Calm, &candidates, &measure.why);
    }
}

fn what_next(plan: &Plan, page: &mut Screen<'_>) {
    let program = plan.program.as_deref().map_or("PROG".into(), quoted);
    let goal = Some(plan.goal).filter(|goal| *goal != Goal::default());
    let goal = goal.map_or(String::new(), |goal| format!(" --goal {}", goal.name()));
    page.command("start", Tone::Faint, &format!("rtscope run{goal} -- {}", clean(&program)));
    if !plan.env.is_empty() {
        let variables: Vec<String> = plan.env.iter().map(|(name, value)| format!("{name}={}", quoted(value))).collect();
        let mask = |cpus: &Vec<u32>| format!("taskset -c {} ", rtscope_host::cpu_list::show(cpus));
        let mask = plan.cpus.as_ref().map_or(String::new(), mask);
        page.command("or", Tone::Faint, &clean(&format!("{} {mask}{program}", variables.join(" "))));
    }
    if let Some(measure) = plan.measure.first() {
        page.command("measure", Tone::Faint, &clean(&measure.command));
    }
}

/// `8 CPUs allowed, 4 cores, a quota of 2.5 CPUs, 16 GiB of memory`.
pub(crate) fn about(resources: &Resources) -> String {
    let cpus = format!("{} allowed", units::counted(resources.cpus_allowed.len() as u64, "CPU", "CPUs"));
    let cores = units::counted(resources.cores.into(), "core", "cores");
    let quota = match resources.quota_cpus {
        Some(quota) => format!("a quota of {}", units::of_cpus(quota)),
        None if resources.ancestors_hidden => "no CPU quota to be seen".to_owned(),
        None => "no CPU quota".to_owned(),
    };
    let memory = resources.memory_limit_bytes.map_or("memory unknown".to_owned(), |bytes| {
        format!("{} of memory{}", units::bytes(bytes), if resources.memory_limited { " (a limit)" } else { "" })
    });
    format!("{cpus}, {cores}, {quota}, {memory}")
}
