//! How the eventlog is enabled: one merge of the classes requested by the program's link, its
//! environment and its command line with those that the recorder needs. `-l` is not cumulative:
//! each `-l` starts again from `sgpu` and the last one wins completely (`-with-rtsopts` <
//! `GHCRTS` < command line), so the recorder has to write the union itself. Pure: no I/O.

use crate::binary::Inspected;
pub use crate::runtimes::recorded::Detail;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// A set of event classes as `-l` spells them.
#[derive(Clone, Eq, PartialEq, Debug, Default)]
struct LogClasses(BTreeSet<char>);

/// The classes that `-la` enables.
const ALL: [char; 5] = ['s', 'g', 'p', 'f', 'u'];
/// The classes that a bare `-l` enables.
const DEFAULT: [char; 4] = ['s', 'g', 'p', 'u'];

impl LogClasses {
    /// The classes that `-lTEXT` means.
    fn of_flag(text: &str) -> LogClasses {
        let mut classes: BTreeSet<char> = DEFAULT.into();
        let mut on = true;
        for letter in text.chars() {
            match (letter, on) {
                ('-', _) => {
                    on = false;
                    continue;
                }
                ('a', true) => classes.extend(ALL),
                ('a', false) => classes.retain(|class| !ALL.contains(class)),
                (class, true) => _ = classes.insert(class),
                (class, false) => _ = classes.remove(&class),
            }
            on = true;
        }
        LogClasses(classes)
    }

    fn of_detail(detail: Detail) -> LogClasses {
        LogClasses(match detail {
            Detail::Cheap => ['g', 'p'].into(),
            Detail::Full => ALL.into(),
        })
    }

    fn union(&self, other: &LogClasses) -> LogClasses {
        LogClasses(self.0.union(&other.0).copied().collect())
    }

    /// The flag that requests exactly these: `-l-agp`.
    fn flag(&self) -> String {
        let all = ALL.iter().all(|class| self.0.contains(class));
        let rest = self.0.iter().filter(|class| !all || !ALL.contains(class));
        format!("{}{}", if all { "-la" } else { "-l-a" }, rest.collect::<String>())
    }
}

/// The user's request for a log.
#[derive(Clone, Eq, PartialEq, Debug, Default)]
struct Asked {
    classes: Option<LogClasses>,
    path: Option<String>,
}

impl Asked {
    fn take(&mut self, option: &str) {
        if let Some(path) = option.strip_prefix("-ol") {
            self.path = Some(path.to_owned());
        } else if let Some(text) = option.strip_prefix("-l") {
            self.classes = Some(LogClasses::of_flag(text));
        }
    }

    fn of_words(text: &str) -> Asked {
        let mut asked = Asked::default();
        text.split_ascii_whitespace().for_each(|word| asked.take(word));
        asked
    }

    /// `self`, overridden by `later`.
    fn then(self, later: Asked) -> Asked {
        Asked { classes: later.classes.or(self.classes), path: later.path.or(self.path) }
    }
}

/// Positions in `argv` that the runtime reads as its own options. In a wrapper
/// (`cabal run x -- +RTS …`) a lone `--` ends the wrapper's options, not the
/// runtime's, so there it does not end the search.
pub fn runtime_options(argv: &[String], wrapper: bool) -> Vec<usize> {
    let mut inside = false;
    let mut found = Vec::new();
    for (index, argument) in argv.iter().enumerate().skip(1) {
        match argument.as_str() {
            "--RTS" => break,
            "--" if !wrapper => break,
            "--" => {}
            "+RTS" => inside = true,
            "-RTS" => inside = false,
            _ if inside => found.push(index),
            _ => {}
        }
    }
    found
}

#[derive(Clone, Eq, PartialEq, Debug, Default)]
pub(super) struct RtsPlan {
    /// Its arguments, the program first.
    pub argv: Vec<String>,
    /// Value of `GHCRTS`; `None`: leave the environment unchanged.
    pub ghcrts: Option<String>,
    pub logging: bool,
    /// Classes, as the runtime's flag spells them.
    pub classes: String,
    /// A file that the user chose (`-ol`), as given.
    pub user_log: Option<PathBuf>,
    /// Options that were added, as text for the manifest.
    pub added: Vec<String>,
    /// One sentence for each thing that is not recorded.
    pub notes: Vec<String>,
    /// See [`crate::runtimes::recorded::Launch::hints`].
    pub hint: Option<&'static str>,
}

#[derive(Clone, Debug)]
pub(super) struct Request<'a> {
    pub argv: &'a [String],
    pub ghcrts: Option<&'a str>,
    /// What is known about the program (for a wrapper, about the one inside).
    pub inspected: &'a Inspected,
    /// The command starts another program, which may be a GHC program.
    pub wrapper: bool,
    pub detail: Detail,
    /// Path for the log, free of anything that GHCRTS cannot contain.
    pub log_path: &'a str,
}

/// Merges the user's request with what the recorder needs.
pub(super) fn plan(request: &Request<'_>) -> RtsPlan {
    let mut plan = RtsPlan { argv: request.argv.to_vec(), ..RtsPlan::default() };
    if let Some(note) = refusal(request.inspected, request.wrapper) {
        plan.notes.push(note);
        return plan;
    }
    let at_link = Asked::of_words(request.inspected.binary.with_rtsopts.as_deref().unwrap_or(""));
    let in_environment = Asked::of_words(request.ghcrts.unwrap_or(""));
    let places = runtime_options(&plan.argv, request.wrapper);
    let mut on_command_line = Asked::default();
    for place in &places {
        plan.argv.get(*place).into_iter().for_each(|option| on_command_line.take(option));
    }
    let user = at_link.then(in_environment).then(on_command_line);
    let wanted = LogClasses::of_detail(request.detail);
    let classes = user.classes.as_ref().map_or(wanted.clone(), |asked| asked.union(&wanted));
    plan.classes = classes.flag();
    plan.logging = true;
    rewrite_command_line(&mut plan, &places);
    let mut added = vec![plan.classes.clone()];
    match user.path {
        Some(path) => plan.user_log = Some(path.into()),
        None => added.push(format!("-ol{}", request.log_path)),
    }
    let added = added.join(" ");
    plan.added.push(format!("GHCRTS: {added}"));
    plan.ghcrts = Some(match request.ghcrts.map(str::trim) {
        Some(own) if !own.is_empty() => format!("{own} {added}"),
        _ => added,
    });
    if request.wrapper && !request.inspected.is_ghc() {
        plan.hint =
            Some("a GHC program linked by GHC 9.2 or older without -eventlog refuses to start, because GHCRTS is set");
    }
    plan
}

/// A `-l` on the command line overrides GHCRTS, so it is rewritten in place.
fn rewrite_command_line(plan: &mut RtsPlan, places: &[usize]) {
    for place in places {
        let Some(option) = plan.argv.get_mut(*place) else { continue };
        if option.starts_with("-l") && *option != plan.classes {
            plan.added.push(format!("argument {place}: {option} became {}", plan.classes));
            option.clone_from(&plan.classes);
        }
    }
}

/// Why the environment must not be changed, if so.
fn refusal(inspected: &Inspected, wrapper: bool) -> Option<String> {
    let binary = &inspected.binary;
    let sentence = || binary.note.clone().unwrap_or_default();
    match binary.family.as_deref() {
        Some("ghc") if binary.can_log != Some(true) || inspected.refuses_environment() => {
            Some(format!("{} (without its eventlog only the kernel's side is recorded)", sentence()))
        }
        None if !wrapper => {
            Some("no GHC or OCaml runtime found in the binary: only the kernel's side is recorded".to_owned())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtscope_model::manifest::Binary;

    fn ghc(with_rtsopts: Option<&str>, rtsopts: &str, can_log: bool) -> Inspected {
        let binary = Binary {
            family: Some("ghc".into()),
            with_rtsopts: with_rtsopts.map(Into::into),
            rtsopts: Some(rtsopts.into()),
            can_log: Some(can_log),
            symbols: true,
            note: Some("relink".into()),
            ..Binary::default()
        };
        Inspected { binary, elf: true, ..Inspected::default() }
    }

    fn made(inspected: &Inspected, argv: &[&str], ghcrts: Option<&str>, wrapper: bool, detail: Detail) -> RtsPlan {
        let argv: Vec<String> = argv.iter().map(|text| (*text).to_owned()).collect();
        plan(&Request { argv: &argv, ghcrts, inspected, wrapper, detail, log_path: "/c/log" })
    }

    #[test]
    fn flags_mean_what_the_runtime_means() {
        for (text, flag) in [
            ("", "-l-agpsu"),
            ("-ag", "-l-ag"),
            ("a", "-la"),
            ("a-s", "-l-afgpu"),
            ("-au", "-l-au"),
            ("f", "-la"),
            ("n", "-l-agnpsu"),
            ("an", "-lan"),
            ("-a", "-l-a"),
        ] {
            assert_eq!(LogClasses::of_flag(text).flag(), flag, "-l{text}");
            let again = LogClasses::of_flag(flag.strip_prefix("-l").unwrap());
            assert_eq!(again, LogClasses::of_flag(text));
        }
    }

    #[test]
    fn the_default_is_cheap() {
        let plan = made(&ghc(None, "some", true), &["p", "1"], None, false, Detail::Cheap);
        assert_eq!(plan.ghcrts.as_deref(), Some("-l-agp -ol/c/log"));
        assert_eq!(plan.argv, ["p", "1"]);
        let full = made(&ghc(None, "some", true), &["p"], None, false, Detail::Full);
        assert_eq!(full.ghcrts.as_deref(), Some("-la -ol/c/log"));
    }

    #[test]
    fn what_the_user_asked_for_stays_and_the_last_place_wins_whole() {
        let linked = made(&ghc(Some("-N2 -l-au"), "some", true), &["p"], Some(" -A8m "), false, Detail::Cheap);
        assert_eq!(linked.ghcrts.as_deref(), Some("-A8m -l-agpu -ol/c/log"));
        let both = made(&ghc(Some("-l-au"), "some", true), &["p"], Some("-l-as"), false, Detail::Cheap);
        assert_eq!(both.classes, "-l-agps");
    }

    #[test]
    fn a_flag_on_the_command_line_is_rewritten_in_place() {
        let argv = ["p", "-lx", "+RTS", "-N2", "-l-au", "-RTS", "-lfile"];
        let plan = made(&ghc(None, "some", true), &argv, None, false, Detail::Cheap);
        assert_eq!(plan.argv, ["p", "-lx", "+RTS", "-N2", "-l-agpu", "-RTS", "-lfile"]);
        assert_eq!(plan.ghcrts.as_deref(), Some("-l-agpu -ol/c/log"));
        assert_eq!(plan.added.len(), 2);
    }

    #[test]
    fn what_is_not_the_runtimes_is_left_alone() {
        for argv in [["p", "--", "+RTS", "-l"], ["p", "--RTS", "+RTS", "-l"]] {
            let plan = made(&ghc(None, "some", true), &argv, None, false, Detail::Cheap);
            assert_eq!(plan.argv, argv);
        }
        let wrapped = made(&Inspected::default(), &["w", "--", "+RTS", "-l"], None, true, Detail::Cheap);
        assert_eq!(wrapped.argv, ["w", "--", "+RTS", "-l-agpsu"]);
    }

    #[test]
    fn a_log_file_of_the_users_is_followed() {
        let plan = made(&ghc(None, "some", true), &["p", "+RTS", "-olmine.eventlog"], None, false, Detail::Cheap);
        assert_eq!(plan.user_log, Some("mine.eventlog".into()));
        assert_eq!(plan.ghcrts.as_deref(), Some("-l-agp"));
    }

    #[test]
    fn a_program_that_would_die_of_it_gets_no_options() {
        for inspected in [ghc(None, "none", true), ghc(None, "ignoreAll", true), ghc(None, "all", false)] {
            let plan = made(&inspected, &["p", "+RTS", "-l"], None, false, Detail::Cheap);
            assert_eq!((plan.ghcrts, plan.logging), (None, false));
            assert_eq!(plan.argv, ["p", "+RTS", "-l"]);
            assert!(plan.notes.first().unwrap().contains("relink"));
        }
        let stranger = Inspected { elf: true, ..Inspected::default() };
        assert_eq!(made(&stranger, &["ls"], None, false, Detail::Cheap).ghcrts, None);
    }

    #[test]
    fn a_wrapper_gets_them_all_the_same() {
        let plan = made(&Inspected::default(), &["bash", "-c", "x"], None, true, Detail::Cheap);
        assert_eq!(plan.ghcrts.as_deref(), Some("-l-agp -ol/c/log"));
        assert!(plan.notes.is_empty() && plan.hint.is_some_and(|hint| hint.contains("GHCRTS")));
    }
}
