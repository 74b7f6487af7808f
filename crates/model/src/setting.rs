//! What a remedy sets, as data. Owns its kinds; how a program is given one, and whether it takes it as it was started, is
//! said where its start and its link are known.

use crate::ids::GroupId;
use serde::Serialize;

/// What a remedy sets.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Setting {
    /// Options of the program's runtime, as it spells each: `-A64m`, `s=8M`.
    Options(Vec<String>),
    /// Variables of the program's environment that are no runtime's options: names and values.
    Variables(Vec<(String, String)>),
    /// So many CPUs, as the limit of a group that covers the program.
    CpuLimit {
        /// The group.
        #[serde(skip)]
        group: GroupId,
        /// CPUs.
        cpus: f64,
    },
    /// A line of the program's source.
    Code(String),
    /// The program once more, under `rtscope` with these words.
    Rtscope(Vec<String>),
}

impl Setting {
    /// One option of the program's runtime.
    pub fn option(word: impl Into<String>) -> Setting {
        Setting::Options(vec![word.into()])
    }

    /// Variables of the environment.
    pub fn variables<const N: usize>(variables: [(&str, &str); N]) -> Setting {
        Setting::Variables(variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into())
    }

    /// The program once more, under `rtscope` with these words.
    pub fn rtscope<const N: usize>(words: [&str; N]) -> Setting {
        Setting::Rtscope(words.map(str::to_owned).into())
    }
}
