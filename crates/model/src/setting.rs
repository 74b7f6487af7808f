//! The setting of a remedy, as data. Owns the kinds of settings. How a program gets one, and whether it accepts it as
//! it was started, is decided where its start and its link are known.

use crate::ids::GroupId;
use serde::Serialize;

/// What a remedy sets.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Setting {
    /// Options of the program's runtime, in its syntax: `-A64m`, `s=8M`.
    Options(Vec<String>),
    /// Environment variables that are not options of a runtime: names and values.
    Variables(Vec<(String, String)>),
    /// A CPU limit for a group that covers the program.
    CpuLimit {
        /// The control group.
        #[serde(skip)]
        group: GroupId,
        /// Number of CPUs.
        cpus: f64,
    },
    /// A line for the program's source.
    Code(String),
    /// Running the program again under `rtscope` with these words.
    Rtscope(Vec<String>),
}

impl Setting {
    /// One option of the program's runtime.
    pub fn option(word: impl Into<String>) -> Setting {
        Setting::Options(vec![word.into()])
    }

    /// Environment variables.
    pub fn variables<const N: usize>(variables: [(&str, &str); N]) -> Setting {
        Setting::Variables(variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into())
    }

    /// Running the program again under `rtscope` with these words.
    pub fn rtscope<const N: usize>(words: [&str; N]) -> Setting {
        Setting::Rtscope(words.map(str::to_owned).into())
    }
}
