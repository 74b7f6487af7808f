//! What can be tried of a program, and what was left out and why. Owns the wording, and the updates
//! after the runtime was probed.

use crate::dialect::{Role, What, number};
use crate::plan::{KeptOption, Refused, Relink};
use crate::runtime::Program;
use crate::study::Space;
use crate::study::space::NoSpace;
use serde::Serialize;

/// What can be tried of a program.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Offer {
    /// The settings in which configurations differ.
    pub settings: Vec<Setting>,
    /// The words of each configuration.
    pub configurations: Vec<Vec<String>>,
    /// The number of the configuration that the user runs today: it has no words.
    pub default: usize,
    /// The number of the plan's configuration; `None`: the runtime refused its flags.
    pub plan: Option<usize>,
    /// Combinations that were left out.
    pub rejected: Vec<Rejected>,
    /// Options that the user gave, which are not varied.
    pub kept: Vec<KeptOption>,
    /// Flags that this program does not accept at all.
    pub refused: Vec<Refused>,
    /// What to link with to make them available.
    pub relink: Vec<Relink>,
    /// Notes for the reader, one sentence each.
    pub notes: Vec<String>,
}

/// A setting in which configurations differ.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Setting {
    /// Its flags: `-qg, -qn`.
    pub name: String,
    /// Why it is tried, as a sentence.
    pub why: String,
    /// The value of configurations that have no word of it; `None`: not known.
    pub today: Option<String>,
    /// Its words, in ascending order.
    pub levels: Vec<String>,
}

/// Words that are not tried together.
#[derive(Clone, Eq, PartialEq, Debug, Serialize)]
pub struct Rejected {
    /// The words; a single word is not tried at all.
    pub words: Vec<String>,
    /// Why, as a sentence.
    pub why: String,
    /// How the rejection is known.
    pub by: By,
}

/// How a rejection is known.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// A rule excludes it.
    Rule,
    /// The runtime refused to start with it.
    Probe,
}

impl Offer {
    /// The configurations as the space of a study; its default is [`Offer::default`].
    ///
    /// # Errors
    /// There is nothing to try except the default.
    pub fn space(&self) -> Result<Space, NoSpace> {
        let names = self.configurations.iter().map(|words| words.join(" ")).collect();
        let space = Space::new(names, self.default)?;
        Ok(space.where_absence_is(self.settings.iter().filter_map(|setting| setting.today.as_deref())))
    }

    /// Flags to start the program with before the first trial, to check that its runtime accepts them:
    /// none, each word alone, and pairs that are not known to work together.
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

    /// The configuration with the largest product of workers and nursery, to check that it can start.
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

    /// Removes every configuration that has all of `words`, which the runtime refuses for the reason
    /// `why`. The default stays: an empty list removes nothing.
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
