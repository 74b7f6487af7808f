//! What can be tried of a program, and what was left out and why. Owns these words, and what is learnt of
//! them when the runtime is asked.

use crate::dialect::{Role, What, number};
use crate::plan::{Kept, Refused, Relink};
use crate::runtime::Program;
use crate::study::Space;
use crate::study::space::NoSpace;
use serde::Serialize;

/// What can be tried.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Offer {
    /// What configurations differ in.
    pub settings: Vec<Setting>,
    /// Words by configuration.
    pub configurations: Vec<Vec<String>>,
    /// The number of what the user runs today: no words.
    pub default: usize,
    /// The number of the plan's; `None`: its flags turned out to be refused.
    pub plan: Option<usize>,
    /// Combinations that are left out.
    pub rejected: Vec<Rejected>,
    /// What the user gave, which is not varied.
    pub kept: Vec<Kept>,
    /// Flags that this program does not take at all.
    pub refused: Vec<Refused>,
    /// What to link with to have them.
    pub relink: Vec<Relink>,
    /// What a reader should know, one sentence each.
    pub notes: Vec<String>,
}

/// What configurations differ in.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Setting {
    /// Its flags: `-qg, -qn`.
    pub name: String,
    /// Why it is tried: a sentence.
    pub why: String,
    /// What holds where a configuration has no word of it; `None`: not known.
    pub today: Option<String>,
    /// Its words, ascending.
    pub levels: Vec<String>,
}

/// Words that are not tried together.
#[derive(Clone, Eq, PartialEq, Debug, Serialize)]
pub struct Rejected {
    /// The words; a single one is not tried at all.
    pub words: Vec<String>,
    /// Why: a sentence.
    pub why: String,
    /// Who says so.
    pub by: By,
}

/// How a rejection is known.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// A rule.
    Rule,
    /// The runtime refused when it was started so.
    Probe,
}

impl Offer {
    /// The configurations as a study takes them; the default is [`Offer::default`].
    ///
    /// # Errors
    /// There is nothing beside the default.
    pub fn space(&self) -> Result<Space, NoSpace> {
        let names = self.configurations.iter().map(|words| words.join(" ")).collect();
        let space = Space::new(names, self.default)?;
        Ok(space.where_absence_is(self.settings.iter().filter_map(|setting| setting.today.as_deref())))
    }

    /// What to start the program with before the first trial, to see whether its runtime takes
    /// it: nothing, each word by itself, and pairs that nobody has proved to go together.
    pub fn probes(&self, program: &Program) -> Vec<Vec<String>> {
        let mut probes = vec![Vec::new()];
        let Some(dialect) = program.dialect().filter(|dialect| dialect.probed) else { return probes };
        let what = |word: &str| dialect.knob(word);
        let levels = self.settings.iter().flat_map(|setting| &setting.levels);
        let words: Vec<&String> = levels.filter(|word| what(word).is_some()).collect();
        probes.extend(words.iter().map(|word| vec![(*word).clone()]));
        let doubtful = |word: &&&String| what(word).is_some_and(|what| what.doubtful);
        let pairs: Vec<&String> = words.iter().filter(doubtful).copied().collect();
        for (place, one) in pairs.iter().enumerate() {
            let others = pairs.iter().skip(place + 1).filter(|other| self.together(one, other));
            probes.extend(others.map(|other| vec![(*one).clone(), (**other).clone()]));
        }
        probes.extend(self.largest(&what));
        probes
    }

    fn together(&self, one: &str, other: &str) -> bool {
        self.configurations
            .iter()
            .any(|words| words.iter().any(|word| word == one) && words.iter().any(|word| word == other))
    }

    /// The configuration with the most workers times nursery: whether it can be had at all.
    fn largest(&self, what: &dyn Fn(&str) -> Option<What>) -> Option<Vec<String>> {
        let of = |words: &[String], role: Role| {
            let word = words.iter().find(|word| what(word).is_some_and(|what| what.role == role))?;
            Some((number(word)?, word.clone()))
        };
        let both = |words: &Vec<String>| Some((of(words, Role::Workers)?, of(words, Role::Nursery)?));
        let largest = self.configurations.iter().filter_map(both);
        let largest = largest.max_by_key(|((workers, _), (nursery, _))| workers.saturating_mul(*nursery))?;
        Some(vec![largest.0.1, largest.1.1])
    }

    /// Takes out every configuration that has all of `words`, as the runtime refuses them for
    /// `why`. The default stays: of no words nothing is learnt.
    pub fn learn(&mut self, words: &[String], why: &str) {
        if words.is_empty() {
            return;
        }
        let gone = |configuration: &Vec<String>| words.iter().all(|word| configuration.contains(word));
        let plan = self.plan.and_then(|plan| self.configurations.get(plan)).filter(|plan| !gone(plan)).cloned();
        self.configurations.retain(|configuration| !gone(configuration));
        self.plan = plan.and_then(|plan| self.configurations.iter().position(|words| *words == plan));
        for setting in &mut self.settings {
            setting.levels.retain(|level| self.configurations.iter().any(|words| words.contains(level)));
        }
        self.settings.retain(|setting| !setting.levels.is_empty());
        self.rejected.push(Rejected { words: words.to_vec(), why: why.to_owned(), by: By::Probe });
    }
}
