//! A plan on a terminal: the command to paste, then what is set and why, what is not and why not. In short, one
//! line each; explained, the whole reason with its source. Owns the layout; every sentence is the planner's.

use super::Planned;
use rtscope_model::resources::Resources;
use rtscope_model::text::quoted;
use rtscope_model::units;
use rtscope_terminal::screen::Screen;
use rtscope_terminal::style::{Style, Tone, clean, sentence};
use rtscope_tune::plan::{Goal, Plan};

/// Width of the column of flags in the short form.
const FLAG: usize = 18;

/// The plan as text; `explain` gives the whole of each reason.
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
    for Decision { word, tone, what, why, source } in decisions(plan, style) {
        if explain {
            page.row(word, tone, &what, why);
            source.iter().for_each(|source| page.below(Some(Tone::Faint), source));
        } else {
            let first = why.split_once(". ").map_or(why, |(first, _)| first).trim_end_matches('.');
            page.brief(word, tone, (&what, FLAG), first);
        }
    }
    for note in &plan.notes {
        page.note("note", Tone::Faint, &sentence(note));
    }
    if !explain {
        page.command("more", Tone::Faint, "rtscope plan --explain: the whole of each reason, with its source");
    }
    page.finish()
}

/// What a plan decided about one thing.
struct Decision<'p> {
    word: &'static str,
    tone: Tone,
    /// The flag, or whatever it is about.
    what: String,
    why: &'p str,
    /// Where the reason comes from, and how certain it is.
    source: Option<String>,
}

fn decisions<'p>(plan: &'p Plan, style: &Style) -> Vec<Decision<'p>> {
    let one = |word, tone, what: String, why: &'p str| Decision { word, tone, what, why, source: None };
    let set = plan.flags.iter().map(|flag| {
        let source = format!("{}{}confidence {}", flag.source, style.dot(), flag.confidence.word());
        let what = plan.word(&flag.flag, flag.value.as_deref());
        Decision { source: Some(source), ..one("set", Tone::Good, what, &flag.reason) }
    });
    let kept = plan
        .kept
        .iter()
        .map(|kept| one("kept", Tone::Good, format!("{} from {}", clean(&kept.option), kept.from), &kept.means));
    let cpus = plan.cpus.iter().map(|cpus| {
        let why = "`rtscope run` keeps the program to one CPU of each core, so that no two workers share one.";
        one("set", Tone::Good, format!("CPUs {}", rtscope_host::cpu_list::show(cpus)), why)
    });
    let refused = plan
        .refused
        .iter()
        .map(|refused| one("not", Tone::Warn, plan.word(&refused.flag, refused.value.as_deref()), &refused.why));
    let relink =
        plan.relink.iter().map(|relink| one("relink", Tone::Calm, clean(&relink.with).into_owned(), &relink.why));
    let measure =
        plan.measure.iter().map(|measure| one("measure", Tone::Calm, measure.candidates.join(", "), &measure.why));
    set.chain(kept).chain(cpus).chain(refused).chain(relink).chain(measure).collect()
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
