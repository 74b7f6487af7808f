//! What is run: the benchmarks of the repository's own program, or one command of the user. Owns their names
//! and how they become commands; the program defines what each does.

use super::super::template::Template;
use std::ffi::OsString;
use std::path::Path;
use std::str::FromStr;

/// The placeholder for the number of threads.
pub const PLACE: &str = "{threads}";

/// Name, description, the words by which the program of `workloads/haskell/stm-bench` knows it, and the number
/// of operations if it is not the program's own.
const KNOWN: [(&str, &str, &[&str], Option<u64>); 10] = [
    ("si", "one shared integer that every thread raises", &["si"], None),
    ("ll", "a sorted linked list of 200 keys", &["ll"], None),
    ("ll-24", "a sorted linked list of 24 keys", &["ll", "--keys", "24"], Some(1_000_000)),
    ("hash", "a hash table", &["hash"], None),
    ("rbtree", "a red-black tree", &["rbtree"], None),
    ("queue", "a queue of two lists", &["queue"], None),
    ("bank", "transfers among accounts", &["bank"], None),
    ("readers", "long reading transactions and short writing ones", &["readers"], None),
    ("retry", "givers and takers that wait for each other", &["retry"], None),
    ("orelse", "alternatives nested in each other", &["orelse"], None),
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Benchmark {
    pub name: String,
    pub about: Option<&'static str>,
    /// Its command, with [`PLACE`].
    pub command: Template,
    /// What to add so that the program counts its attempts; `None`: it cannot.
    pub count: Option<&'static str>,
}

impl Benchmark {
    /// A command of the user.
    pub fn own(words: &[String]) -> Benchmark {
        let command = Template::unnamed(words);
        Benchmark { name: command.name.clone(), about: None, command, count: None }
    }

    /// The command for that many threads; `program` replaces its own program.
    pub fn words(&self, threads: u32, program: Option<&Path>, counting: bool) -> Vec<OsString> {
        let mut words = self.command.filled(PLACE, threads);
        if let (Some(first), Some(program)) = (words.first_mut(), program) {
            *first = program.into();
        }
        words.extend(self.count.filter(|_| counting).map(OsString::from));
        words
    }
}

pub fn names() -> impl Iterator<Item = &'static str> {
    KNOWN.into_iter().map(|(name, ..)| name)
}

/// The benchmarks of the repository's own program with these names, or all, in the order of the list.
///
/// # Errors
/// A name is unknown.
pub fn of(program: &str, only: &[String], operations: &[Operations]) -> Result<Vec<Benchmark>, String> {
    let mut given = only.iter().map(String::as_str).chain(operations.iter().filter_map(|some| some.of.as_deref()));
    if let Some(name) = given.find(|name| !names().any(|known| known == *name)) {
        let all: Vec<&str> = names().collect();
        return Err(format!("no benchmark is called {name}; there are {}", all.join(", ")));
    }
    let wanted = |name: &str| only.is_empty() || only.iter().any(|one| one == name);
    let made = |(name, about, words, usual): (&str, &'static str, &[&str], Option<u64>)| {
        let asked = |of: Option<&str>| operations.iter().find(|some| some.of.as_deref() == of).map(|some| some.count);
        let count = asked(Some(name)).or_else(|| asked(None)).or(usual).map(|count| count.to_string());
        let (called, options) = words.split_first()?;
        let command = [program, *called, PLACE].map(str::to_owned).into_iter().chain(count);
        let words = command.chain(options.iter().map(|word| (*word).to_owned())).collect();
        let command = Template { name: name.to_owned(), words };
        Some(Benchmark { name: name.to_owned(), about: Some(about), command, count: Some("--count") })
    };
    Ok(KNOWN.into_iter().filter(|(name, ..)| wanted(name)).filter_map(made).collect())
}

/// Number of operations of a run, instead of the program's own: `N`, or `NAME=N`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operations {
    /// The benchmark that it applies to; `None`: all others.
    pub of: Option<String>,
    pub count: u64,
}

impl FromStr for Operations {
    type Err = String;

    fn from_str(text: &str) -> Result<Operations, String> {
        let (of, count) = text.split_once('=').map_or((None, text), |(name, count)| (Some(name), count));
        let count = count.parse().ok().filter(|count| (1..=1_000_000_000).contains(count));
        let count = count.ok_or("not a number of operations, from 1 to 1000000000")?;
        Ok(Operations { of: of.map(str::to_owned), count })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(benchmark: &Benchmark, counting: bool) -> String {
        let words = benchmark.words(4, None, counting);
        words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn commands_have_threads_operations_and_options_in_their_places() {
        let operations: Vec<Operations> = ["ll-24=7", "500"].iter().map(|text| text.parse().unwrap()).collect();
        let only = ["ll-24".to_owned(), "si".to_owned()];
        let made = of("./b", &only, &operations).unwrap();
        assert_eq!(made.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["si", "ll-24"]);
        assert_eq!(shown(&made[0], true), "./b si 4 500 --count");
        assert_eq!(shown(&made[1], false), "./b ll 4 7 --keys 24");
        assert_eq!(made[0].words(1, Some(Path::new("/linked")), false)[0], "/linked");
        assert_eq!(shown(&of("./b", &[], &[]).unwrap()[4], false), "./b rbtree 4");
        assert_eq!(of("./b", &[], &[]).unwrap().len(), KNOWN.len());
    }

    #[test]
    fn unknown_benchmarks_are_reported_with_the_known_ones() {
        let said = of("./b", &["sl".to_owned()], &[]).unwrap_err();
        assert!(said.contains("sl") && said.contains("si, ll"), "{said}");
        assert!(of("./b", &[], &["x=3".parse().unwrap()]).is_err());
        for wrong in ["", "0", "si=", "si=x", "-3", "1000000001"] {
            assert!(wrong.parse::<Operations>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_command_of_the_user_s_is_not_asked_to_count() {
        let own = Benchmark::own(&["env".into(), "A=1".into(), "./x".into(), PLACE.into()]);
        assert_eq!((own.name.as_str(), shown(&own, true).as_str()), ("env", "env A=1 ./x 4"));
    }
}
