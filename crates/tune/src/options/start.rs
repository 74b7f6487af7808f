//! Settings of how a program is started, for any runtime: CPUs, scheduling class, and a number of
//! domains in an argument. Owns the template and these levels.

use super::part::{Broken, Dimension, SpacePart, View, plain};
use crate::dialect::{CLASS, CPUS, DOMAINS, Role, Words};
use crate::plan::Goal;
use crate::plan::workers::Room;
use rtscope_model::resources::Resources;
use std::ffi::{OsStr, OsString};

/// The plain template; `{domains:4}` also says what runs today.
const TEMPLATE: &str = "{domains}";
const BEGINNING: &str = "{domains";

/// A template for the number of domains in an argument.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Template {
    /// Today's number, if the template gives it.
    pub today: Option<u32>,
}

/// The byte range of a template in `text`, and the template.
pub fn find(text: &str) -> Option<(usize, usize, Template)> {
    let start = text.find(BEGINNING)?;
    let rest = text.get(start..)?;
    let end = rest.find('}')? + 1;
    let template = rest.get(..end)?;
    if template == TEMPLATE {
        return Some((start, start + end, Template { today: None }));
    }
    let number = template.get(BEGINNING.len()..)?.strip_prefix(':')?.strip_suffix('}')?;
    let number = number.parse::<u32>().ok().filter(|number| *number > 0)?;
    Some((start, start + end, Template { today: Some(number) }))
}

/// The first template in the arguments of `command`.
pub fn template(command: &[OsString]) -> Option<Template> {
    command.iter().skip(1).find_map(|word| find(word.to_str()?)).map(|(.., template)| template)
}

/// `word` with its template replaced by `domains`.
pub fn filled(word: &OsStr, domains: u32) -> OsString {
    let filled = |text: &str| {
        let (from, to, _) = find(text)?;
        Some(format!("{}{domains}{}", text.get(..from)?, text.get(to..)?))
    };
    word.to_str().and_then(filled).map_or_else(|| word.to_owned(), OsString::from)
}

/// A sentence about an argument that looks like a template but is not one.
pub fn odd_template(command: &[OsString]) -> Option<String> {
    let odd = |word: &&OsString| word.to_str().is_some_and(|text| text.contains(BEGINNING) && find(text).is_none());
    let word = command.iter().skip(1).find(odd)?;
    Some(format!(
        "{} is no template and stays as it is: write {TEMPLATE}, or {{domains:4}} where 4 are run today.",
        word.to_string_lossy()
    ))
}

/// Worker counts worth trying, in ascending order: small numbers, then powers of two, then one more than
/// the machine can run, and twice as many.
pub fn counts(room: &Room) -> Vec<u32> {
    let most = room.workers(Goal::Throughput);
    let mut counts: Vec<u32> = (1..=most.min(4)).filter(|count| most <= 8 || count.is_power_of_two()).collect();
    counts.extend(std::iter::successors(Some(8_u32), |count| count.checked_mul(2)).take_while(|count| *count < most));
    counts.extend([room.workers(Goal::Latency), most, most.saturating_mul(2)]);
    counts.extend((most <= 8).then_some(most + 1));
    counts.sort_unstable();
    counts.dedup();
    counts
}

/// Adds the settings of how the program is started.
pub fn add(part: &mut SpacePart, room: &Room, template: Option<Template>, plan: &Words, resources: &Resources) {
    if let Some(template) = template {
        let today = template.today.unwrap_or(room.cpus);
        part.today.insert(&DOMAINS, DOMAINS.word(today));
        let why =
            format!("How many work at once, in the place of the template; {}", lower(&room.reason(Goal::Latency)));
        let product = counts(room).into_iter().map(|count| DOMAINS.word(count)).collect();
        part.dimensions.push(Dimension { product, ..Dimension::new(&DOMAINS, "domains", why) });
    }
    let cpus: Vec<u32> = cpus(room, resources);
    if !cpus.is_empty() {
        let single = cpus.iter().map(|count| CPUS.word(count)).collect();
        let bases = on_fewer_workers(part, plan, &cpus);
        let why = "CPUs that it may run on, one of each core first: fewer of them share less of caches and cores.";
        part.dimensions.push(Dimension { single, bases, ..Dimension::new(&CPUS, "cpus", why) });
    }
    let why = "Batch threads are taken off their CPU less often, and wait longer for it.";
    let single = vec!["class=batch".to_owned()];
    part.dimensions.push(Dimension { single, ..Dimension::new(&CLASS, "class", why) });
}

fn cpus(room: &Room, resources: &Resources) -> Vec<u32> {
    let allowed = u32::try_from(resources.cpus_allowed.len()).unwrap_or(u32::MAX);
    let mut cpus = vec![room.cores, room.fed(), allowed / 2, 1];
    cpus.retain(|count| *count > 0 && *count < allowed);
    cpus.sort_unstable();
    cpus.dedup();
    cpus
}

/// Today's configuration, the plan, and the plan with as many workers as CPUs.
fn on_fewer_workers(part: &SpacePart, plan: &Words, cpus: &[u32]) -> Vec<Words> {
    let mut bases = vec![Words::new(), plain(plan.clone(), &part.today)];
    let counted = part.dimensions.iter().map(|dimension| dimension.what);
    for what in counted.filter(|what| what.role == Role::Workers || *what == &DOMAINS) {
        bases.extend(cpus.iter().map(|count| {
            let mut words = plan.clone();
            words.insert(what, what.word(count));
            if *count == 1 {
                words.retain(|what, _| what.role != Role::Collectors);
            }
            plain(words, &part.today)
        }));
    }
    bases.dedup();
    bases
}

/// More workers or domains than CPUs.
pub fn broken(view: &View<'_>) -> Option<Broken> {
    let cpus = view.count(&CPUS)?;
    let workers = view.words.keys().chain(view.today.keys()).find(|what| what.role == Role::Workers).copied();
    for (what, one) in workers.map(|what| (what, "workers")).into_iter().chain([(&DOMAINS, "domains")]) {
        if view.count(what).is_some_and(|workers| workers > cpus) {
            return view.because(&[what, &CPUS], &format!("More {one} than CPUs would only queue for them."));
        }
    }
    None
}

fn lower(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_lowercase().chain(letters).collect())
}
