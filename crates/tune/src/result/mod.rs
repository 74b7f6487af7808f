//! The result of a study, as one document: what to use and how certain that is, memory against time,
//! the effect of each flag. Owns the figures that are derived from rows in addition to the answer;
//! refuses to choose anything, which the study did, and to lay out text.
//!
//! Gains come from fresh blocks, which no choice was based on: they are confirmed. The front and the
//! effects come from all clean trials, where many configurations were tried once: they are explored.

mod effects;
mod logs;
mod measured;
mod pareto;
#[cfg(test)]
mod testing;

pub use effects::{Effect, LevelEffect};
pub use logs::MEMORY;
pub use measured::Measured;
pub use pareto::ParetoPoint;

use crate::study::design::FRESH_FROM;
use crate::study::interval::{self, Interval};
use crate::study::space::NoSpace;
use crate::study::{Answer, Description, Outcome, Row, Space, StudyKind, Verdict};
use logs::Logs;
use serde::Serialize;

/// Name and version of the document.
pub const SCHEMA: &str = "rtscope/tune/1";

/// The result of a study.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Document {
    /// Always [`SCHEMA`].
    pub schema: &'static str,
    /// Version of the rtscope that began the study.
    pub version: String,
    /// The program that was run.
    pub program: String,
    /// Its arguments.
    pub argv: Vec<String>,
    /// Description of the machine.
    pub machine: String,
    /// The figure to minimize.
    pub objective: String,
    /// Limits that a configuration must keep.
    pub limits: Vec<String>,
    /// Seed of all random choices.
    pub seed: u64,
    /// Whether this is a study or blocks of a job.
    pub kind: StudyKind,
    /// The conclusion.
    pub verdict: Word,
    /// Why there is no recommendation, for reasons other than the trials; null with `better` and
    /// `no_difference`.
    pub why: Option<String>,
    /// The configuration to use: the best, or the default if nothing is better; null if the study does
    /// not show which.
    pub recommended: Option<Named>,
    /// The default configuration.
    pub default: Named,
    /// The limit that the default breaks, if it does; others are compared with it all the same.
    pub default_breaks: Option<String>,
    /// The configuration that rules give without a trial; null: none that could be tried.
    pub plan: Option<Named>,
    /// Gain of the best candidate over the default, recommended or not.
    pub over_default: Gain,
    /// Gain of the recommended configuration over the plan.
    pub over_plan: Gain,
    /// Gains below this share do not matter.
    pub zone: f64,
    /// Share of studies in which any of the gains' intervals misses the truth.
    pub error: f64,
    /// The candidates, best first.
    pub candidates: Vec<Candidate>,
    /// The default against itself: how steady the machine was; null with too few pairs.
    pub check: Option<Interval>,
    /// Medians of the figures measured in fresh blocks.
    pub measured: Vec<Measured>,
    /// Time and memory, best time first.
    pub pareto: Vec<ParetoPoint>,
    /// The effect of each flag on its own.
    pub effects: Vec<Effect>,
    /// Configurations that cannot be used.
    pub failed: Vec<Failed>,
    /// Numbers of trials.
    pub trials: Counts,
}

/// The verdict without its reasons.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    /// A configuration is better than the default.
    Better,
    /// No configuration is better by a relevant amount.
    NoDifference,
    /// The default differs too much from itself.
    TooNoisy,
    /// The default configuration fails.
    DefaultFails,
    /// The study ended too early.
    Stopped,
    /// Today's configuration breaks a limit; every other one does so, too, or was measured too rarely.
    Impossible,
}

/// A configuration.
#[derive(Clone, Eq, PartialEq, Debug, Serialize)]
pub struct Named {
    /// Its number in the space.
    pub configuration: usize,
    /// Its words.
    pub name: String,
}

/// How much better a configuration is: the other's measure divided by its own; above 1 is better.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Gain {
    /// Geometric mean over pairs, with its interval; null: see `why`.
    pub gain: Option<Interval>,
    /// Fresh blocks that contain both.
    pub pairs: usize,
    /// Why there is no gain; null if there is one.
    pub why: Option<String>,
}

/// A configuration that was measured in fresh blocks.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Candidate {
    /// Its number and words.
    #[serde(flatten)]
    pub of: Named,
    /// Gain over the default; null with too few pairs.
    pub gain: Option<Interval>,
    /// Fresh blocks that contain both.
    pub pairs: usize,
}

/// A configuration that cannot be used.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Failed {
    /// Its number and words.
    #[serde(flatten)]
    pub of: Named,
    /// Reason of the failure.
    pub why: String,
}

/// Numbers of trials that were run.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Serialize)]
pub struct Counts {
    /// Trials measured without disturbance.
    pub clean: usize,
    /// Trials that other load disturbed; they are not used.
    pub dirty: usize,
    /// Undisturbed trials whose configuration failed.
    pub failed: usize,
    /// Trials that the budget allows.
    pub budget: usize,
}

/// The document for a study that ended with `answer` after `rows`.
///
/// # Errors
/// The description has no valid space.
pub fn document(description: &Description, answer: &Answer, rows: &[Row]) -> Result<Document, NoSpace> {
    let space = description.space()?;
    let logs = Logs::new(rows);
    let named = |configuration: usize| Named { configuration, name: space.name(configuration).to_owned() };
    let (verdict, why) = verdict(&answer.verdict);
    let default_breaks = default_breaks(&space, rows);
    let recommended = match (verdict, &answer.verdict) {
        (_, Verdict::Better(best)) => Some(*best),
        // Candidates keep the limits: one that broke a limit counts as failed.
        (Word::NoDifference, _) if default_breaks.is_some() => {
            answer.candidates.first().filter(|best| best.gain.is_some()).map(|best| best.configuration)
        }
        (Word::NoDifference, _) => Some(space.default()),
        _ => None,
    };
    let (verdict, why) = match &default_breaks {
        Some(broken) if verdict == Word::NoDifference && recommended.is_none() => {
            (Word::Impossible, Some(format!("{broken}, and nothing that was tried is known to keep to the limits")))
        }
        _ => (verdict, why),
    };
    let plan = description.plan.filter(|plan| *plan < space.len());
    let candidate =
        |one: &crate::study::Candidate| Candidate { of: named(one.configuration), gain: one.gain, pairs: one.pairs };
    Ok(Document {
        schema: SCHEMA,
        version: description.version.clone(),
        program: description.program.clone(),
        argv: description.argv.clone(),
        machine: description.machine.clone(),
        objective: description.objective.clone(),
        limits: description.limits.clone(),
        seed: description.design.seed,
        kind: description.kind,
        verdict,
        why,
        recommended: recommended.map(named),
        default: named(space.default()),
        default_breaks,
        plan: plan.map(named),
        over_default: over_default(answer),
        over_plan: over_plan(&space, answer, &logs, recommended, plan),
        zone: description.design.zone,
        error: description.design.error,
        candidates: answer.candidates.iter().map(candidate).collect(),
        check: answer.check,
        measured: measured::measured(&space, rows, description.design.seed),
        pareto: pareto::points(&space, &logs),
        effects: effects::effects(&space, &logs, description.design.error),
        failed: answer.failed.iter().map(|(one, why)| Failed { of: named(*one), why: why.clone() }).collect(),
        trials: counts(rows, description.design.trials),
    })
}

/// The limit that today's configuration breaks in most trials, so it is no requirement.
fn default_breaks(space: &Space, rows: &[Row]) -> Option<String> {
    let clean = |row: &&Row| !row.dirty && row.taken.ask.configuration == space.default();
    let own: Vec<&Row> = rows.iter().filter(clean).collect();
    let broken: Vec<&String> = own.iter().filter_map(|row| row.note.as_ref()).collect();
    broken.last().filter(|_| broken.len() * 2 > own.len()).map(|why| (*why).clone())
}

fn verdict(verdict: &Verdict) -> (Word, Option<String>) {
    match verdict {
        Verdict::Better(_) => (Word::Better, None),
        Verdict::NoDifference => (Word::NoDifference, None),
        Verdict::TooNoisy => {
            let why = "the default differs from itself by more than a study could distinguish";
            (Word::TooNoisy, Some(why.to_owned()))
        }
        Verdict::DefaultFails(why) => (Word::DefaultFails, Some(why.clone())),
        Verdict::Stopped(why) => (Word::Stopped, Some(why.clone())),
    }
}

fn over_default(answer: &Answer) -> Gain {
    let Some(best) = answer.candidates.first() else {
        return none(0, "there were no fresh blocks".to_owned());
    };
    let few = || none(best.pairs, too_few(best.pairs));
    best.gain.map_or_else(few, |gain| Gain { gain: Some(gain), pairs: best.pairs, why: None })
}

/// Fresh blocks only: in the others, the same trials chose the best.
fn over_plan(space: &Space, answer: &Answer, logs: &Logs, one: Option<usize>, plan: Option<usize>) -> Gain {
    let Some(one) = one else { return none(0, "nothing is recommended".to_owned()) };
    let Some(plan) = plan else { return none(0, "there is no plan that could be tried".to_owned()) };
    if one == plan {
        return none(0, "the plan is what is recommended".to_owned());
    }
    if let Some((_, why)) = answer.failed.iter().find(|(failed, _)| *failed == plan) {
        return none(0, format!("the plan cannot be used: {why}"));
    }
    let gains = logs.fresh_gains(one, plan);
    if gains.is_empty() {
        let tried = logs.all().any(|(other, _)| other == plan);
        let why = if tried { "it was tried, but others were better" } else { "it was not tried" };
        return none(0, format!("the plan, {}, was in no fresh block: {why}", space.name(plan)));
    }
    match interval::of_mean(&gains, answer.error).filter(|_| gains.len() >= FRESH_FROM) {
        Some(gain) => Gain { gain: Some(gain.exp()), pairs: gains.len(), why: None },
        None => none(gains.len(), too_few(gains.len())),
    }
}

fn none(pairs: usize, why: String) -> Gain {
    Gain { gain: None, pairs, why: Some(why) }
}

fn too_few(pairs: usize) -> String {
    format!("{pairs} pairs are too few, it takes {FRESH_FROM}")
}

fn counts(rows: &[Row], budget: usize) -> Counts {
    let mut counts = Counts { clean: 0, dirty: 0, failed: 0, budget };
    for row in rows {
        match (&row.taken.outcome, row.dirty) {
            (_, true) => counts.dirty += 1,
            (Outcome::Stopped(_), _) => (),
            (Outcome::Measured(_), false) => counts.clean += 1,
            (Outcome::Failed(_), false) => counts.failed += 1,
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::testing::measured;
    use super::*;
    use crate::jobs;
    use crate::study::{Design, Taken};

    fn description(plan: Option<usize>) -> Description {
        Description {
            version: "1".to_owned(),
            program: "churn".to_owned(),
            argv: vec!["9".to_owned()],
            names: ["-A1m", "-A4m", "-A16m -qg", "-A64m"].map(str::to_owned).into(),
            default: 0,
            plan,
            design: Design::new(60, 5),
            objective: "wall_seconds".to_owned(),
            limits: Vec::new(),
            proposer: "believed".to_owned(),
            machine: "here".to_owned(),
            kind: StudyKind::Merged { of: 8 },
        }
    }

    /// Blocks in which configuration 2 is the fastest and 1 is second.
    fn rows(blocks: usize) -> Vec<Row> {
        let row = |block: usize, (one, value): (usize, f64)| {
            let own = 1.0 + ((block * 5 + one * 3) % 7) as f64 * 1e-3;
            let mut row = measured(block, one, value * own * (1.0 + block as f64));
            row.figures.insert(MEMORY.to_owned(), 1e6 * (1.0 + one as f64));
            row
        };
        (0..blocks).flat_map(|block| [(0, 2.0), (1, 1.6), (2, 1.0)].map(|one| row(block, one))).collect()
    }

    fn made(plan: Option<usize>, rows: &[Row]) -> Document {
        let about = description(plan);
        let answer = jobs::answer(&about.space().unwrap(), &about.design, rows);
        document(&about, &answer, rows).unwrap()
    }

    #[test]
    fn what_is_recommended_has_its_gains_over_default_and_plan() {
        let mut all = rows(8);
        all.push(Row { dirty: true, ..measured(3, 3, 1e-6) });
        let mut failed = measured(4, 3, 1.0);
        failed.taken = Taken { outcome: Outcome::Failed("it ends with 2".to_owned()), ..failed.taken };
        all.push(failed);
        let found = made(Some(1), &all);
        assert_eq!((found.verdict, found.recommended.as_ref().unwrap().name.as_str()), (Word::Better, "-A16m -qg"));
        let (default, plan) = (found.over_default.gain.unwrap(), found.over_plan.gain.unwrap());
        assert!((default.mean - 2.0).abs() < 0.02 && default.low > 1.9, "{default:?}");
        assert!((plan.mean - 1.6).abs() < 0.02 && plan.low < plan.mean, "{plan:?}");
        assert_eq!((found.over_default.pairs, found.over_plan.pairs), (8, 8));
        assert_eq!(found.trials, Counts { clean: 24, dirty: 1, failed: 1, budget: 60 });
        assert_eq!((found.failed[0].of.name.as_str(), found.failed[0].why.as_str()), ("-A64m", "it ends with 2"));
        // The dirty trial, faster than all others, gives no point.
        assert_eq!(found.pareto.iter().map(|point| point.configuration).collect::<Vec<_>>(), [2, 1, 0]);
        let json = serde_json::to_value(&found).unwrap();
        assert_eq!((&json["schema"], &json["verdict"]), (&SCHEMA.into(), &"better".into()));
        assert_eq!(json["candidates"][0]["name"], "-A16m -qg");
    }

    #[test]
    fn why_there_is_no_gain_over_the_plan_is_reported() {
        let why = |plan, rows: &[Row]| made(plan, rows).over_plan.why.unwrap();
        assert_eq!(why(None, &rows(8)), "there is no plan that could be tried");
        assert_eq!(why(Some(2), &rows(8)), "the plan is what is recommended");
        assert_eq!(why(Some(3), &rows(8)), "the plan, -A64m, was in no fresh block: it was not tried");
        assert_eq!(why(Some(1), &rows(5)), "nothing is recommended");
        let mut some = rows(8);
        some.extend((0..3).map(|block| measured(block, 3, 1.5 * (1.0 + block as f64))));
        assert_eq!(why(Some(3), &some), "3 pairs are too few, it takes 6");
        some.push(Row {
            taken: Taken { outcome: Outcome::Failed("core".to_owned()), ..measured(4, 3, 1.0).taken },
            ..measured(4, 3, 1.0)
        });
        assert_eq!(why(Some(3), &some), "the plan cannot be used: core");
    }

    #[test]
    fn nothing_is_recommended_where_nothing_follows() {
        let few = made(Some(1), &rows(4));
        assert_eq!((few.verdict, few.recommended, few.over_default.pairs), (Word::Stopped, None, 4));
        assert_eq!(few.over_default.why.unwrap(), "4 pairs are too few, it takes 6");
        let none = made(None, &[]);
        assert_eq!((none.pareto.len(), none.check, none.verdict), (0, None, Word::Stopped));
        let same: Vec<Row> =
            (0..8).flat_map(|block| [0, 1].map(|one| measured(block, one, 2.0 + block as f64))).collect();
        let same = made(Some(1), &same);
        assert_eq!((same.verdict, same.recommended), (Word::NoDifference, Some(same.default)));
        assert!(same.over_plan.gain.is_some());
    }
}
