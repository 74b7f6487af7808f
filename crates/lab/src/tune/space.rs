//! What `rtscope tune -- PROG` would try: inspects the program, the machine and the plan, asks the runtime
//! which flags it takes, and shows the space. Owns these steps and their words; `rtscope_tune::options` decides
//! what follows from what.

use crate::plan::Planned;
use crate::plan::program::{self, as_text};
use crate::plan::text::about;
use indexmap::IndexMap;
use rtscope_host::probe::{Probed, Start, probe};
use rtscope_host::procfs::Host;
use rtscope_host::spawn::find_program;
use rtscope_model::units;
use rtscope_terminal::screen::Screen;
use rtscope_terminal::style::{Joined, Style, Tone, clean, sentence};
use rtscope_terminal::user_error::UserError;
use rtscope_tune::options::refusal;
use rtscope_tune::options::setup::StudyFrame;
use rtscope_tune::options::{By, Offer, Rejected, Setting, Wish, offer};
use rtscope_tune::plan::Goal;
use rtscope_tune::runtime::Program;
use serde_json::json;
use std::ffi::OsString;
use std::time::Duration;

/// A program whose runtime starts a second thread has it long before; a slow disk may delay it.
const PATIENCE: Duration = Duration::from_secs(10);
/// For a program that need not have a second thread: if its start fails, it has failed by then.
const PATIENCE_WITHOUT_THREADS: Duration = Duration::from_millis(300);
/// Combinations that are shown for one reason.
const SHOWN: usize = 4;

/// A program with what can be tried of it.
#[derive(Clone, Debug)]
pub struct Gathered {
    /// The plan, the machine and the program in a few words.
    pub planned: Planned,
    /// The inspected program.
    pub program: Program,
    /// What can be tried.
    pub offer: Offer,
    /// Turns a configuration's name into how it is started.
    pub frame: StudyFrame,
    /// How often the program was started to ask its runtime; `None`: it was not asked.
    pub asked: Option<usize>,
}

/// Inspects the program of `command`, the machine and the plan for `goal`. `vary_given`: what the user gave in
/// the environment or at the link is varied too. Nothing is started.
///
/// # Errors
/// There is no such program.
pub fn gather(command: &[OsString], goal: Goal, vary_given: bool) -> Result<Gathered, UserError> {
    let words = as_text(command);
    let name = words.first().cloned().unwrap_or_default();
    let path =
        command.first().and_then(|first| find_program(first)).filter(|path| path.is_file()).ok_or_else(|| {
            UserError::new(format!("{name} cannot be found"))
                .because("neither its path nor PATH leads to a file")
                .next("give its path, as in `rtscope tune -- ./my-program`")
        })?;
    let found = program::of_file(&path, &name, &words, true);
    let planned = Planned::of(&found, &Host::default(), None, goal);
    let (program, Planned { plan, resources, .. }) = (found.program, &planned);
    let offer = offer(&Wish { resources, program: &program, plan, command, vary_given });
    let frame = StudyFrame::new(&program, command, resources, plan);
    Ok(Gathered { planned, program, offer, frame, asked: None })
}

impl Gathered {
    /// Starts the program without words, then with each flag and each doubtful pair of flags, and ends it once
    /// its runtime has read them. What the runtime refuses leaves the space.
    ///
    /// # Errors
    /// The program does not start, or ends at once as it is run today.
    pub fn ask(&mut self) -> Result<(), UserError> {
        let mut asked = 0;
        for words in self.offer.probes(&self.program) {
            let gone = |rejected: &Rejected| rejected.words.iter().all(|word| words.contains(word));
            if self.offer.rejected.iter().any(|rejected| rejected.by == By::Probe && gone(rejected)) {
                continue;
            }
            asked += 1;
            let Some(why) = self.refusal(&words)? else { continue };
            if words.is_empty() {
                return Err(UserError::new(format!("{} does not run", self.planned.name()))
                    .because(format!("started as it is, {why}"))
                    .next("start it by hand first, with the same arguments"));
            }
            // A machine that was short of something for a moment is not a runtime that refuses.
            asked += 1;
            if let Some(why) = self.refusal(&words)? {
                self.offer.learn(&words, &sentence(&why));
            }
        }
        self.asked = Some(asked);
        Ok(())
    }

    /// Why the program does not run with `words`; `None`: it does.
    fn refusal(&self, words: &[String]) -> Result<Option<String>, UserError> {
        let setup = self.frame.setup(&words.join(" "));
        let threads = self.program.dialect().is_some_and(|dialect| dialect.probed);
        let patience = if threads { PATIENCE } else { PATIENCE_WITHOUT_THREADS };
        let start = Start { argv: setup.argv, set: setup.set, cpus: setup.cpus, patience };
        let seen = probe(&start).map_err(|error| {
            UserError::new("the program cannot be tried").because(error).next("start it by hand first")
        })?;
        Ok(match seen {
            Probed::Runs => None,
            Probed::Ended { how, stderr } => {
                Some(refusal::sentence(&stderr).unwrap_or_else(|| format!("it ended with {how} and said nothing")))
            }
        })
    }
}

/// The space for people.
pub fn text(gathered: &Gathered, style: &Style) -> String {
    let Gathered { planned, offer, .. } = gathered;
    let mut page = Screen::new(style);
    let name = planned.plan.program.as_deref().unwrap_or_default();
    page.line(&format!("{}: {}", clean(name), clean(&planned.about)));
    page.line(&style.paint(Tone::Faint, &format!("{}; for {}", about(&planned.resources), planned.plan.goal.name())));
    page.blank();
    let count = units::counted(offer.configurations.len() as u64, "configuration", "configurations");
    page.line(&style.paint(Tone::Strong, &format!("{count}, what runs today among them")));
    page.below(
        None,
        "The levels that matter most in all combinations, each other level on top of what runs today, of the plan, and of \
         the plan with a larger nursery.",
    );
    page.row("today", Tone::Calm, "no flags", "The command as it is: what all others are compared with.");
    match offer.plan.and_then(|plan| offer.configurations.get(plan)) {
        Some(words) if words.is_empty() => page.row("plan", Tone::Calm, "no flags", "The plan is what runs today."),
        Some(words) => page.row("plan", Tone::Calm, &clean(&words.join(" ")), "From `rtscope plan`: what rules say."),
        None => page.row("plan", Tone::Warn, "none", "The program does not take the plan's flags."),
    }
    page.blank();
    for setting in &offer.settings {
        page.row("vary", Tone::Good, &levels(setting), &setting.why);
    }
    for kept in &offer.kept {
        page.row("kept", Tone::Calm, &format!("{} from {}", clean(&kept.option), kept.from), &kept.means);
    }
    left_out(offer, &mut page);
    for relink in &offer.relink {
        page.row("relink", Tone::Calm, &clean(&relink.with), &relink.why);
    }
    for note in &offer.notes {
        page.note("note", Tone::Faint, &sentence(note));
    }
    page.blank();
    page.below(Some(Tone::Faint), &how_it_was_asked(gathered));
    page.finish()
}

fn levels(setting: &Setting) -> String {
    let today = setting.today.as_ref().map_or(String::new(), |today| format!(" (today {today})"));
    clean(&format!("{}{today}", setting.levels.join(" "))).into_owned()
}

/// What is not tried, grouped by reason.
fn left_out(offer: &Offer, page: &mut Screen<'_>) {
    // The reasons for several flags differ by the flag's name only.
    let refused = offer.refused.iter().map(|of| (of.flag.clone(), of.why.replace(&of.flag, "such a flag")));
    for (why, flags) in grouped(refused) {
        page.row("not taken", Tone::Warn, &flags.join(", "), &sentence(&why));
    }
    for (by, word, tone) in [(By::Probe, "refused", Tone::Bad), (By::Rule, "left out", Tone::Warn)] {
        let of = offer.rejected.iter().filter(|rejected| rejected.by == by);
        for (why, combinations) in grouped(of.map(|rejected| (rejected.words.join(" "), rejected.why.clone()))) {
            let mut shown = combinations.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
            if combinations.len() > SHOWN {
                shown += &format!(" and {} more", combinations.len() - SHOWN);
            }
            let why = if by == By::Probe { format!("The runtime said: {}", sentence(&why)) } else { why };
            page.row(word, tone, &clean(&shown), &why);
        }
    }
}

/// Groups things by their reasons, in the order of their first.
fn grouped(of: impl Iterator<Item = (String, String)>) -> IndexMap<String, Vec<String>> {
    let mut groups = IndexMap::<String, Vec<String>>::new();
    of.for_each(|(thing, why)| groups.entry(why).or_default().push(thing));
    groups
}

fn how_it_was_asked(gathered: &Gathered) -> String {
    match gathered.asked {
        None => "The program was not started.".to_owned(),
        Some(times) if times > 1 => format!(
            "The program was started {} for this, and ended each time as soon as its runtime had read its flags.",
            units::counted(times as u64, "time", "times")
        ),
        Some(_) => "The program was started once for this, to see that it runs, and ended.".to_owned(),
    }
}

/// The space as one JSON document, on one line.
pub fn json(gathered: &Gathered) -> String {
    let offer = &gathered.offer;
    let words = offer.plan.and_then(|plan| offer.configurations.get(plan));
    // The plan as a shell command.
    let plan_command = words
        .map(|words| super::paste::paste(&gathered.frame.setup(&words.join(" ")), &gathered.planned.resources).shell);
    let about = json!({
        "schema": "rtscope/space/1",
        "program": gathered.planned.plan.program,
        "about": gathered.planned.about,
        "goal": gathered.planned.plan.goal,
        "asked": gathered.asked,
    });
    let document = Joined { head: about, body: offer, tail: json!({ "plan_command": plan_command }) };
    // Keys are text and no figure is infinite, so there is always a document.
    rtscope_terminal::style::json(&document).unwrap_or_default() + "\n"
}
