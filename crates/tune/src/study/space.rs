//! What can be tried: configurations as lists of words, and the similarity of two of them. Owns how a
//! word is split into setting and value; refuses to know what a flag means.

use crate::dialect;
use serde::Serialize;
use thiserror::Error;

/// Most configurations in a space: a [`super::belief::Belief`] needs the square of this.
pub const MOST: usize = 2_000;

/// The configurations of a study.
#[derive(Clone, Debug)]
pub struct Space {
    names: Vec<String>,
    settings: Vec<Setting>,
    /// Index of the level, by configuration, by setting.
    points: Vec<Vec<usize>>,
    default: usize,
}

/// A dimension in which configurations differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The prefix of its words: `-A` for `-A64m`.
    pub name: String,
    /// Its levels in the order of their values; absence, if possible, first.
    pub levels: Vec<Level>,
}

/// A possible value of a setting.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Level {
    /// The word; `None`: the setting is absent.
    pub word: Option<String>,
    /// Base-two logarithm of its value, if that is above 0; for absence, of the value that it stands for.
    pub value: Option<f64>,
}

/// Why names do not form a space.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Error, Serialize)]
#[allow(missing_docs)]
pub enum NoSpace {
    #[error("there is nothing to compare with the default")]
    Empty,
    #[error("the default is none of the configurations")]
    NoDefault,
    #[error("{0} configurations are more than {MOST}")]
    TooMany(usize),
}

impl Space {
    /// The space of `names`, which are words separated by spaces; the one to beat is number `default`.
    ///
    /// # Errors
    /// There is nothing to compare, or too much.
    pub fn new(names: Vec<String>, default: usize) -> Result<Space, NoSpace> {
        match names.len() {
            0 | 1 => return Err(NoSpace::Empty),
            count if count > MOST => return Err(NoSpace::TooMany(count)),
            count if default >= count => return Err(NoSpace::NoDefault),
            _ => (),
        }
        let words: Vec<Vec<(&str, Level)>> =
            names.iter().map(|name| name.split_whitespace().map(level).collect()).collect();
        let settings: Vec<Setting> = settings(&words);
        let point = |words: &Vec<(&str, Level)>| settings.iter().map(|setting| setting.number(words)).collect();
        let points = words.iter().map(point).collect();
        Ok(Space { points, settings, names, default })
    }

    /// Gives absence a value: with `-A4m`, a configuration without `-A` is as similar to one with `-A2m`
    /// as one with `-A4m` is.
    pub fn where_absence_is<'w>(mut self, words: impl IntoIterator<Item = &'w str>) -> Space {
        for (name, today) in words.into_iter().map(level) {
            let levels = self.settings.iter_mut().filter(|setting| setting.name == name).flat_map(|of| &mut of.levels);
            levels.filter(|level| level.word.is_none()).for_each(|level| level.value = today.value);
        }
        self
    }

    /// Number of configurations, including the default.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Always false: [`Space::new`] refuses empty spaces.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The number of the default.
    pub fn default(&self) -> usize {
        self.default
    }

    /// The words of a configuration; empty if the number is none.
    pub fn name(&self, configuration: usize) -> &str {
        self.names.get(configuration).map_or("", String::as_str)
    }

    /// By configuration, whether it differs from the default.
    pub fn others(&self) -> Vec<bool> {
        (0..self.len()).map(|configuration| configuration != self.default).collect()
    }

    /// The settings in which configurations differ, sorted by name.
    pub fn settings(&self) -> &[Setting] {
        &self.settings
    }

    /// A configuration's level of each setting; empty if the number is none.
    pub fn point(&self, configuration: usize) -> &[usize] {
        self.points.get(configuration).map_or(&[], Vec::as_slice)
    }

    /// Similarity of two configurations in each setting, 0 to 1: by the ratio of the values if both have
    /// one, else by equality.
    pub fn alike(&self, one: usize, other: usize) -> impl Iterator<Item = f64> + '_ {
        let pairs = self.point(one).iter().zip(self.point(other));
        pairs.zip(&self.settings).map(|((one, other), setting)| {
            let value = |number: &usize| setting.levels.get(*number).and_then(|level| level.value);
            match (value(one), value(other)) {
                (Some(one), Some(other)) => (-(one - other).abs() / OCTAVES).exp(),
                _ => f64::from(u8::from(one == other)),
            }
        })
    }
}

impl Setting {
    /// Index of the level in `words`; 0, which is absence, if they have none.
    fn number(&self, words: &[(&str, Level)]) -> usize {
        let own = words.iter().find(|(name, _)| *name == self.name).map(|(_, level)| level);
        own.and_then(|own| self.levels.iter().position(|level| level == own)).unwrap_or(0)
    }
}

/// Number of doublings of a value after which effects are mostly unrelated.
const OCTAVES: f64 = 3.0;

fn settings(words: &[Vec<(&str, Level)>]) -> Vec<Setting> {
    let mut names: Vec<&str> = words.iter().flatten().map(|(name, _)| *name).collect();
    names.sort_unstable();
    names.dedup();
    let levels = |name: &str| {
        let of = |words: &Vec<(&str, Level)>| {
            words.iter().find(|(other, _)| *other == name).map(|(_, level)| level.clone()).unwrap_or_default()
        };
        let mut levels: Vec<Level> = words.iter().map(of).collect();
        let value = |level: &Level| level.value.unwrap_or(f64::NEG_INFINITY);
        levels.sort_by(|one, other| value(one).total_cmp(&value(other)).then_with(|| one.word.cmp(&other.word)));
        levels.dedup();
        levels
    };
    names.into_iter().map(|name| Setting { name: name.to_owned(), levels: levels(name) }).collect()
}

fn level(word: &str) -> (&str, Level) {
    let (name, number) = dialect::parts(word);
    let value = number.filter(|(number, _)| *number > 0.0).map(|(number, power)| number.log2() + f64::from(power));
    (name, Level { word: Some(word.to_owned()), value })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(names: &[&str]) -> Space {
        Space::new(names.iter().map(|name| (*name).to_owned()).collect(), 0).unwrap()
    }

    #[test]
    fn words_are_settings_with_values() {
        let space = space(&["-N1 -A1m", "-N2 -A64m", "-N2 -A512k -qg", "-N2 -A1m --nonmoving-gc"]);
        let names: Vec<_> = space.settings().iter().map(|setting| setting.name.as_str()).collect();
        assert_eq!(names, ["--nonmoving-gc", "-A", "-N", "-qg"]);
        let words = |setting: &Setting| setting.levels.iter().map(|level| level.word.clone()).collect::<Vec<_>>();
        assert_eq!(words(&space.settings()[1]), ["-A512k", "-A1m", "-A64m"].map(|word| Some(word.to_owned())));
        assert_eq!(words(&space.settings()[3]), [None, Some("-qg".to_owned())]);
        assert_eq!((space.point(2), space.point(9)), (&[0, 0, 1, 1][..], &[][..]));
        assert_eq!(space.settings()[1].levels[2].value, Some(26.0));
    }

    #[test]
    fn near_values_are_alike() {
        let space = space(&["-A1m", "-A2m", "-A64m", "-A64m -c", "-I0"]);
        let alike = |one, other| space.alike(one, other).collect::<Vec<_>>();
        // -A, -I, -c
        assert_eq!((alike(2, 3), alike(4, 4)), (vec![1.0, 1.0, 0.0], vec![1.0; 3]));
        assert!(alike(0, 1)[0] > alike(0, 2)[0] && alike(0, 2)[0] > 0.0);
        assert_eq!(alike(0, 4), [0.0, 0.0, 1.0]);
    }

    #[test]
    fn absence_is_like_what_it_stands_for() {
        let space = space(&["", "-A2m", "-A64m -qg"]).where_absence_is(["-A4m", "-x1"]);
        let alike = |one, other| space.alike(one, other).next().unwrap();
        assert!(alike(0, 1) > alike(0, 2) && alike(0, 2) > 0.0);
        assert_eq!(space.settings()[0].levels[0], Level { word: None, value: Some(22.0) });
        assert_eq!(space.settings()[1].levels[0].value, None);
    }

    #[test]
    fn there_is_something_to_compare() {
        let names = |count: usize| (0..count).map(|i| format!("-N{i}")).collect::<Vec<_>>();
        assert_eq!(Space::new(names(1), 0).unwrap_err(), NoSpace::Empty);
        assert_eq!(Space::new(names(2), 2).unwrap_err(), NoSpace::NoDefault);
        assert_eq!(Space::new(names(MOST + 1), 0).unwrap_err(), NoSpace::TooMany(MOST + 1));
    }
}
