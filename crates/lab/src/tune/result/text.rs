//! A result as text: the recommendation, lines to paste, time and memory, what each flag does. Owns the words
//! and the columns.

use super::pairs::{Claim, Pair};
use super::{Shown, is_time, named, printed_gain};
use crate::tune::measure::Figure;
use rtscope_draw::present::{Block, Cell, Command, Name, Section, Table, TextForm};
use rtscope_model::units;
use rtscope_report::words;
use rtscope_terminal::present;
use rtscope_terminal::screen::Screen;
use rtscope_terminal::style::{Style, Tone};
use rtscope_tune::result::{Document, Effect, Gain, LevelEffect, ParetoPoint, Word};
use rtscope_tune::study::StudyKind;
use rtscope_tune::study::interval::Interval;

const ROWS: usize = 12;
const SETTINGS: usize = 8;
const FINDINGS: usize = 6;

/// The whole text; ends with a line feed.
pub fn draw(shown: &Shown, style: &Style) -> String {
    let found = &shown.document;
    let mut page = Screen::new(style);
    for (index, sentence) in recommendation(found).iter().enumerate() {
        page.paragraph("", 0, Some(if index == 0 { Tone::Strong } else { Tone::Faint }), sentence);
    }
    let failed = found.failed.iter().map(|failed| format!("{}: {}", failed.of.name, failed.why));
    let effects_title = format!("What each flag does by itself, in {}", ratio(found));
    for section in [
        Section::new("paste", "To paste", [paste(shown)]),
        Section::new("confirmed", format!("Confirmed, {}", ratio(found)), [candidates(found)]),
        Section::new("measured", "Measured there, medians (95 %)", [measured(found)]),
        Section::new("why", "Why: what captures of both found", [findings(shown.findings.as_deref())]),
        Section::new("pareto", format!("Of {} and memory, shares of the default's", found.objective), [pareto(found)]),
        Section::new("effects", effects_title, effects(found)),
        Section::new("failed", "Cannot be used", [Block::text("", TextForm::List, cut(failed.collect(), ROWS))]),
    ] {
        present::titled(&mut page, &section);
    }
    page.blank();
    page.paragraph("", 0, Some(Tone::Faint), &facts(found, style));
    page.finish()
}

/// What to do, then how certain that is.
fn recommendation(found: &Document) -> Vec<String> {
    let default = called(found);
    let over = |gain: &Gain, what: &str| gain.gain.map(|ratio| said(found, &ratio, gain.pairs, what));
    let best = found.candidates.first().map_or("", |best| best.of.name.as_str());
    let mut out = match (found.verdict, &found.recommended) {
        (Word::Better, Some(best)) => {
            let gain = over(&found.over_default, &default).unwrap_or_default();
            vec![format!("Use {}: {gain}.", best.name)]
        }
        (Word::NoDifference, Some(best)) if found.default_breaks.is_some() => {
            let breaks = found.default_breaks.as_deref().unwrap_or_default();
            let gain = over(&found.over_default, &default).unwrap_or_else(|| "not measured often".to_owned());
            let said = format!("Use {}: it keeps to the limits, and is {gain}.", best.name);
            vec![said, format!("What runs today does not: {breaks}.")]
        }
        (Word::NoDifference, _) => {
            let zone = units::percent(found.zone);
            let mut out = vec![format!(
                "No difference: keep {default}. Nothing beats it by {zone}, as far as these trials show."
            )];
            out.extend(over(&found.over_default, &default).map(|gain| format!("The best, {best}: {gain}.")));
            out
        }
        (Word::Stopped, _) => {
            let best = over(&found.over_default, &default).map(|gain| format!(" Best so far, {best}: {gain}."));
            let stopped = format!("Stopped early: {}.{}", why(found), best.unwrap_or_default());
            vec![stopped, "The same command goes on from the trials that there are by then.".to_owned()]
        }
        _ => vec![format!("No recommendation: {}.", why(found))],
    };
    match (&found.over_plan, &found.plan, &found.recommended) {
        (_, None, _) | (_, _, None) => (),
        (gain, Some(plan), _) if gain.gain.is_some() => {
            out.extend(over(gain, &format!("the plan, {}", plan.name)).map(|gain| format!("It is {gain}.")));
        }
        (gain, _, _) => out.extend(gain.why.as_ref().map(|why| format!("Against the plan: {why}."))),
    }
    out
}

fn why(found: &Document) -> String {
    let why = found.why.as_deref().unwrap_or("the trials do not say");
    match found.verdict {
        Word::DefaultFails => format!("the default fails ({why})"),
        _ => why.to_owned(),
    }
}

/// In a study of a program, what runs today has no words.
fn called(found: &Document) -> String {
    match found.default.name.as_str() {
        "" => named("").to_owned(),
        name => format!("the default, {name}"),
    }
}

/// "1.21 times as fast as the default (95 %: 1.12 to 1.31, 14 pairs)".
fn said(found: &Document, gain: &Interval, pairs: usize, what: &str) -> String {
    let (gain, pairs) = (printed_gain(found, gain), units::counted(pairs as u64, "pair", "pairs"));
    let measure = match is_time(found) {
        true => format!("{:.2} times as fast as", gain.mean),
        false => format!("at {:.2} of the {} of", gain.mean, found.objective),
    };
    format!("{measure} {what} ({}: {}, {pairs})", sure(found), ends(&gain))
}

/// The heading that explains the gains in a table.
fn ratio(found: &Document) -> String {
    let default = if found.default.name.is_empty() { named("") } else { "the default" };
    match is_time(found) {
        true => format!("how many times as fast as {default} ({})", sure(found)),
        false => format!("{} as a share of that of {default} ({})", found.objective, sure(found)),
    }
}

fn sure(found: &Document) -> String {
    format!("{:.0} %", (1.0 - found.error) * 100.0)
}

fn ends(gain: &Interval) -> String {
    format!("{:.2} to {:.2}", gain.low, gain.high)
}

fn paste(shown: &Shown) -> Option<Block<'_>> {
    let command = |line: &super::PasteLine| Command { what: line.what.clone(), text: line.line.clone() };
    (!shown.paste.is_empty()).then(|| Block::Commands(shown.paste.iter().map(command).collect()))
}

/// Results of fresh blocks for each candidate; nothing for a single one.
fn candidates(found: &Document) -> Option<Block<'_>> {
    let measured: Vec<_> = found.candidates.iter().filter_map(|one| Some((one, one.gain?))).collect();
    let row = |(one, gain): (&rtscope_tune::result::Candidate, Interval)| {
        let (gain, pairs) = (printed_gain(found, &gain), units::count(one.pairs as u64));
        (Name::from(one.of.name.as_str()), [format!("{:.2}", gain.mean), ends(&gain), pairs].map(Cell::from))
    };
    let several = measured.len() > 1;
    let rows = measured.into_iter().filter(|_| several).map(row);
    Table::new("", ["gain", "interval", "pairs"], rows).short(ROWS, "candidates").block()
}

/// Figures that are shown if there are any, after the objective.
const SHOWN: [&str; 7] = ["p99", "time", "cpu", "rss", "productivity", "gen0_per_second", "mean_pause"];

/// Each figure of each configuration in fresh blocks.
fn measured(found: &Document) -> Option<Block<'_>> {
    let names =
        std::iter::once(found.objective.as_str()).chain(SHOWN.into_iter().filter(|name| *name != found.objective));
    let figures: Vec<&Figure> = names.filter_map(Figure::find).collect();
    let mut table = Table::of_columns("", ["", ""]);
    for one in found.measured.iter().take(ROWS) {
        table.row(named(&one.name), [units::counted(one.trials as u64, "trial", "trials"), String::new()]);
        for (figure, median) in figures.iter().filter_map(|figure| Some((figure, one.figures.get(figure.name)?))) {
            let ends = median.interval.map(|(low, high)| format!("{} to {}", figure.shown(low), figure.shown(high)));
            let name = Name { depth: 1, ..Name::from(figure.word()) };
            table.row(name, [figure.shown(median.median), ends.unwrap_or_default()]);
        }
    }
    table.block()
}

/// Both captures' findings.
fn findings(pairs: Option<&[Pair]>) -> Option<Block<'_>> {
    let pairs = pairs?;
    let said = |said: &Claim| format!("{}: {}", units::percent(said.share), said.claim);
    let one = |pair: &Pair| match (&pair.default, &pair.recommended) {
        (Some(default), None) => format!("gone: {}", said(default)),
        (None, Some(recommended)) => format!("came: {}", said(recommended)),
        (Some(default), Some(recommended)) => {
            format!("{} instead of {}", units::percent(recommended.share), said(default))
        }
        (None, None) => pair.id.clone(),
    };
    let mut all: Vec<String> = pairs.iter().map(one).collect();
    if all.is_empty() {
        all.push("nothing in either".to_owned());
    }
    Block::text("", TextForm::List, words::cut(all, FINDINGS, |more| format!("and {more} that cost less")))
}

/// The front, what was confirmed, and what others are compared with.
fn pareto(found: &Document) -> Option<Block<'_>> {
    let marked = |point: &&ParetoPoint| !marks(found, point).is_empty();
    let row = |point: &ParetoPoint| {
        let cells = [
            format!("{:.2}", point.objective),
            format!("{:.2}", point.memory),
            units::bytes(point.memory_bytes as u64),
            point.trials.to_string(),
            marks(found, point).join(", "),
        ];
        (Name::from(named(&point.name)), cells.map(Cell::from))
    };
    let (shown, others): (Vec<&ParetoPoint>, Vec<&ParetoPoint>) = found.pareto.iter().partition(marked);
    let more = others.len() + shown.len().saturating_sub(ROWS);
    let mut table = Table::new(
        "configuration",
        ["measure", "memory", "bytes", "trials", "is"],
        shown.into_iter().take(ROWS).map(row),
    );
    if more > 0 {
        let more = units::counted(more as u64, "other", "others");
        table.row(format!("and {more}"), [""; 5]);
    }
    table.block()
}

/// Marks of a point; none for one that is only dominated.
fn marks(found: &Document, point: &ParetoPoint) -> Vec<&'static str> {
    let is = |named: &Option<rtscope_tune::result::Named>| {
        named.as_ref().is_some_and(|named| named.configuration == point.configuration)
    };
    let default = point.configuration == found.default.configuration;
    [
        (is(&found.recommended), "use"),
        (default, "default"),
        (is(&found.plan), "plan"),
        (point.front, "trade-off"),
        (point.front && !point.confirmed && !default, "not confirmed"),
        (point.confirmed && !default && !point.front, "confirmed"),
    ]
    .into_iter()
    .filter(|(is, _)| *is)
    .map(|(_, word)| word)
    .collect()
}

/// The flag with the largest effect comes first.
fn effects(found: &Document) -> [Option<Block<'_>>; 2] {
    let size = |effect: &Effect| known(effect).map(|(_, gain)| gain.mean.ln().abs()).fold(0.0, f64::max);
    let mut sorted: Vec<&Effect> = found.effects.iter().filter(|effect| known(effect).next().is_some()).collect();
    sorted.sort_by(|one, other| size(other).total_cmp(&size(one)));
    let row = |(level, gain): (&LevelEffect, Interval)| {
        let (gain, trials) = (printed_gain(found, &gain), units::count(level.trials as u64));
        let word = level.word.as_ref().map_or("without", |word| word);
        (Name::from(word), [format!("{:.2}", gain.mean), ends(&gain), trials].map(Cell::from))
    };
    let rows = sorted.iter().take(SETTINGS).flat_map(|effect| known(effect)).map(row);
    let table = Table::new("", ["gain", "interval", "trials"], rows);
    let more = sorted.len().saturating_sub(SETTINGS) as u64;
    let more = (more > 0).then(|| format!("and {} with a smaller gain", units::counted(more, "setting", "settings")));
    [table.block(), Block::text("", TextForm::Faint, more)]
}

/// Levels with a known gain, except the default's.
fn known(effect: &Effect) -> impl Iterator<Item = (&LevelEffect, Interval)> {
    effect.levels.iter().filter_map(|level| Some((level, level.gain?)))
}

fn cut(all: Vec<String>, most: usize) -> Vec<String> {
    words::cut(all, most, |more| format!("and {}", units::counted(more as u64, "other", "others")))
}

fn facts(found: &Document, style: &Style) -> String {
    let counts = found.trials;
    let taken = counts.clean + counts.failed;
    let taken = units::counted(taken as u64, "trial", "trials");
    // Only a search has a budget.
    let mut facts = vec![match found.kind {
        StudyKind::Search => format!("{taken} of {}", counts.budget),
        _ => taken,
    }];
    facts.extend((counts.dirty > 0).then(|| format!("{} disturbed and taken again", counts.dirty)));
    facts.extend((counts.failed > 0).then(|| format!("{} failed", counts.failed)));
    facts.push(format!("seed {}", found.seed));
    facts.extend(found.check.map(|check| format!("the default over itself {}", ends(&check))));
    facts.push(found.machine.clone());
    facts.join(style.dot())
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::pairs::{pair, tests::finding};
    use super::super::{PasteLine, Shown};
    use super::*;
    use rtscope_tune::study::{Ask, Description, Design, Outcome, Row, Stage, StudyKind, Taken};
    use rtscope_tune::{jobs, result};

    /// Blocks in which the third is fastest and largest; the fourth fails.
    pub(in super::super) fn example(step: f64) -> Shown {
        let names = ["-A1m", "-A4m", "-A16m -qg", "-A64m", "-A4m -n1m --nonmoving-gc <x>"];
        let description = Description {
            version: "1".to_owned(),
            program: "churn".to_owned(),
            argv: Vec::new(),
            names: names.map(str::to_owned).into(),
            default: 0,
            plan: Some(1),
            design: Design::new(60, 5),
            objective: "wall_seconds".to_owned(),
            limits: Vec::new(),
            proposer: "believed".to_owned(),
            machine: "2 CPUs".to_owned(),
            kind: StudyKind::Search,
        };
        let row = |block: usize, one: usize| {
            let ask = Ask { number: block * 5 + one, stage: Stage::Fresh, block, configuration: one, again: false };
            let quicker = [0.0, 1.0, 2.0, 0.0, 0.5][one];
            let value = (3.0 - step * quicker) * (1.0 + ((block * 5 + one * 3) % 7) as f64 * 3e-3);
            let mut row = Row::new(Taken { ask, outcome: Outcome::Measured(value) });
            row.figures.insert("rss_bytes".to_owned(), 2e7 * (1.0 + one as f64));
            if one == 3 {
                row.taken.outcome = Outcome::Failed("it ends with 2".to_owned());
            }
            row
        };
        let mut rows: Vec<Row> = (0..8).flat_map(|block| [0, 1, 2, 4].map(|one| row(block, one))).collect();
        rows.push(row(8, 3));
        let answer = jobs::answer(&description.space().unwrap(), &description.design, &rows);
        Shown::new(result::document(&description, &answer, &rows).unwrap())
    }

    #[test]
    fn the_recommendation_comes_first_with_its_interval() {
        let mut shown = example(0.5);
        shown.paste = vec![
            PasteLine { what: "environment".to_owned(), line: "GHCRTS='-A16m -qg'".to_owned() },
            PasteLine { what: "link with".to_owned(), line: "-rtsopts\n-with-rtsopts=\x1b[31m".to_owned() },
        ];
        shown.findings =
            Some(pair(&[finding("sync", "lanes wait for each other", 0.4)], &[finding("memory", "it grew", 0.1)]));
        let text = draw(&shown, &Style::plain(80));
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.starts_with("Use -A16m -qg: 1.50 times as fast as the default, -A1m (95 %: 1.4"), "{text}");
        assert!(flat.contains("It is 1.25 times as fast as the plan, -A4m (95 %: 1.2"), "{text}");
        assert!(text.contains("\n  environment  GHCRTS='-A16m -qg'\n  link with    -rtsopts\n"), "{text}");
        assert!(!text.contains('\x1b') && text.contains("gone: 40 %: lanes wait for each other"), "{text}");
        assert!(text.contains("came: 10 %: it grew") && text.contains("-A64m: it ends with 2"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let row = text.lines().find(|line| line.contains("use, trade-off")).unwrap();
        assert!(row.contains("-A16m -qg") && row.contains("0.67") && row.contains("3.00"), "{row}");
        assert!(flat.contains("-A4m 1.20 1.18 to 1.2"), "{text}");
        assert!(text.contains("33 trials of 60, 1 failed, seed 5"), "{text}");
    }

    #[test]
    fn no_difference_is_reported_as_such() {
        let text = draw(&example(0.01), &Style::plain(80));
        assert!(text.starts_with("No difference: keep the default, -A1m."), "{text}");
        assert!(text.contains("by 5") && text.contains("The best, "), "{text}");
    }

    #[test]
    fn no_recommendation_says_why() {
        let mut shown = example(0.5);
        shown.document.verdict = Word::DefaultFails;
        shown.document.recommended = None;
        shown.document.why = Some("it ends with 1".to_owned());
        let text = draw(&shown, &Style::plain(80));
        assert!(text.starts_with("No recommendation: the default fails (it ends with 1).\n\n"), "{text}");
        shown.document.verdict = Word::Stopped;
        let text = draw(&shown, &Style::plain(80));
        assert!(text.starts_with("Stopped early: it ends with 1. Best so far, "), "{text}");
        assert!(text.contains("\nThe same command goes on from the trials"), "{text}");
    }

    #[test]
    fn a_default_that_breaks_a_limit_is_not_kept() {
        let mut shown = example(0.01);
        shown.document.default_breaks = Some("rss 700 MiB is above the limit of 512 MiB".to_owned());
        shown.document.recommended = shown.document.candidates.first().map(|best| best.of.clone());
        let flat = draw(&shown, &Style::plain(80)).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.starts_with("Use ") && flat.contains(": it keeps to the limits, and is 1.0"), "{flat}");
        assert!(flat.contains("What runs today does not: rss 700 MiB is above the limit of 512 MiB."), "{flat}");
    }

    #[test]
    fn other_objectives_are_low_and_not_fast() {
        let mut shown = example(0.5);
        shown.document.objective = "p99".to_owned();
        let text = draw(&shown, &Style::plain(80));
        assert!(text.starts_with("Use -A16m -qg: at 0.67 of the p99 of the default, -A1m (95 %: 0.6"), "{text}");
    }
}
