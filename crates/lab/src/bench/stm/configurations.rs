//! The ways in which a program is run. Owns what the article's terms mean for GHC: it has no switch that turns
//! its scheduler off, so both ends of its timer are tried; and a limit of cores is one of capabilities.

use clap::ValueEnum;
use serde::Serialize;

/// Longer than any run: threads keep their capability until they block.
const NEVER: &str = "-C3600";

rtscope_model::listed! {
    /// The ways, by their names.
    #[derive(Copy, Clone, Eq, PartialEq, Debug, ValueEnum)]
    pub enum Way: name {
        /// As GHC is: a thread that runs for 20 ms gives way to the next
        Default = "default",
        /// Threads take turns as often as GHC can (-C0)
        Often = "often",
        /// Threads take no turns (a very large -C)
        Never = "never",
        /// On few cores, as GHC is
        Few = "few",
        /// On few cores, turns as often as GHC can
        FewOften = "few-often",
        /// On few cores, no turns
        FewNever = "few-never",
        /// With the transaction scheduler
        Scheduler = "scheduler",
        /// Linked with the transaction scheduler, which only counts
        Counting = "counting",
        /// With a back-off after each conflict, always: what the transaction scheduler may choose
        Backoff = "backoff",
        /// Once more as GHC is: what two runs of the same differ by
        Again = "again",
    }
}

impl Way {
    /// Whether it uses the program that is linked with the scheduler.
    pub fn is_linked(self) -> bool {
        matches!(self, Way::Scheduler | Way::Counting | Way::Backoff)
    }

    fn is_few(self) -> bool {
        matches!(self, Way::Few | Way::FewOften | Way::FewNever)
    }

    /// The ways of the article, and the scheduler if the program is linked with it.
    pub fn usual(linked: bool) -> Vec<Way> {
        let article = [Way::Default, Way::Often, Way::Never, Way::Few, Way::FewOften, Way::FewNever];
        article.into_iter().chain(linked.then_some(Way::Scheduler)).collect()
    }
}

/// A way to run a program, with its flags and variables.
#[derive(Clone, Eq, PartialEq, Debug, Serialize)]
pub struct Configuration {
    /// Its name in tables and in the JSON document.
    pub name: &'static str,
    /// Flags of GHC's runtime.
    pub flags: Vec<String>,
    /// Environment variables, each with its value.
    pub environment: Vec<(&'static str, &'static str)>,
    /// Whether it uses the program that is linked with the scheduler.
    pub linked: bool,
}

impl Configuration {
    /// Its flags and variables as typed in a shell.
    pub fn shown(&self) -> String {
        let variables = self.environment.iter().map(|(name, value)| format!("{name}={value}"));
        variables.chain(self.flags.iter().cloned()).collect::<Vec<_>>().join(" ")
    }
}

/// Numbers of capabilities that programs run with.
#[derive(Copy, Clone, Debug)]
pub struct Cores {
    /// Without a limit.
    pub all: u32,
    /// In configurations on few cores.
    pub few: u32,
}

/// The configurations, the default always first. On a machine that has no more cores than `few`, limited ones
/// are left out: they would repeat the others.
pub fn of(ways: &[Way], cores: Cores) -> Vec<Configuration> {
    let mut wanted = vec![Way::Default];
    for way in ways {
        if !wanted.contains(way) && (cores.few < cores.all || !way.is_few()) {
            wanted.push(*way);
        }
    }
    let made = |way: Way| {
        let capabilities = if way.is_few() { cores.few } else { cores.all };
        let switching = match way {
            Way::Often | Way::FewOften => Some("-C0"),
            Way::Never | Way::FewNever => Some(NEVER),
            _ => None,
        };
        let variable = match way {
            Way::Scheduler => Some(("RTSCOPE_STM", "adaptive")),
            Way::Counting => Some(("RTSCOPE_STM", "count")),
            Way::Backoff => Some(("RTSCOPE_STM", "backoff")),
            _ => None,
        };
        Configuration {
            name: way.name(),
            flags: std::iter::once(format!("-N{capabilities}")).chain(switching.map(str::to_owned)).collect(),
            environment: variable.into_iter().collect(),
            linked: way.is_linked(),
        }
    };
    wanted.into_iter().map(made).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(ways: &[Way], all: u32, few: u32) -> Vec<String> {
        let made = of(ways, Cores { all, few });
        made.iter().map(|one| format!("{}: {}", one.name, one.shown())).collect()
    }

    #[test]
    fn the_default_comes_first_and_none_comes_twice() {
        assert_eq!(
            shown(&[Way::FewNever, Way::Default, Way::Often, Way::Often], 10, 4),
            ["default: -N10", "few-never: -N4 -C3600", "often: -N10 -C0"]
        );
        assert_eq!(shown(&Way::usual(true), 2, 1).len(), 7);
        assert_eq!(shown(&[Way::Scheduler], 2, 1)[1], "scheduler: RTSCOPE_STM=adaptive -N2");
    }

    #[test]
    fn a_limit_that_limits_nothing_is_left_out() {
        assert_eq!(shown(&Way::usual(false), 1, 1), ["default: -N1", "often: -N1 -C0", "never: -N1 -C3600"]);
    }

    #[test]
    fn names_are_those_of_the_command_line() {
        for way in Way::value_variants() {
            assert_eq!(way.to_possible_value().unwrap().get_name(), way.name());
        }
    }
}
