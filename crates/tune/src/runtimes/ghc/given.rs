//! Options that a GHC program already has: from its link, its user's environment, or its command
//! line. Owns which of them settles which question; every given option stays, and the plan leaves its
//! question alone. Refuses to judge options.

use super::knobs::{DIALECT, Ghc};
use crate::dialect::matches;
use crate::plan::KeptOption;
use crate::runtime::Given;
use rtscope_model::Rtsopts;

/// A question that a plan answers for GHC.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Subject {
    /// `-N`, `-maxN`.
    Workers,
    /// `-qg`, `-qn`.
    Collectors,
    /// `-A`, and what changes with it: `-H`, `-n`.
    Nursery,
    /// `-M`.
    HeapLimit,
    /// `--numa`.
    Numa,
    /// `-xn`, `-c`, `-G1`: the old generation's collector.
    OldGeneration,
    /// `-I`, `-Iw`.
    IdleCollection,
    /// `-F`.
    OldGenerationSize,
    /// `-C`.
    Switching,
}

/// The options that settle each question.
const OPTIONS: [(Subject, &[&str]); 9] = [
    (Subject::Workers, &["-N", "-N#", "-maxN#"]),
    (Subject::Collectors, &["-qg*", "-qn*"]),
    (Subject::Nursery, &["-A#", "-H", "-H#", "-n#"]),
    (Subject::HeapLimit, &["-M#"]),
    (Subject::Numa, &["--numa*", "--debug-numa*"]),
    (Subject::OldGeneration, &["-c", "-c#", "-G#", "-xn", "-xns", "--nonmoving-gc", "--copying-gc"]),
    (Subject::IdleCollection, &["-I#", "-Iw#"]),
    (Subject::OldGenerationSize, &["-F#"]),
    (Subject::Switching, &["-C", "-C#"]),
];

impl Subject {
    /// The question that `option` settles.
    pub fn of(option: &str) -> Option<Subject> {
        let settles = |(_, options): &&(Subject, &[&str])| options.iter().any(|pattern| matches(pattern, option));
        OPTIONS.iter().find(settles).map(|(subject, _)| *subject)
    }

    /// All questions, in the order in which they are shown.
    pub fn all() -> impl Iterator<Item = Subject> {
        OPTIONS.iter().map(|(subject, _)| *subject)
    }
}

/// All options that a GHC program already has, weakest first.
#[derive(Clone, Eq, PartialEq, Debug, Default)]
pub struct GivenOptions {
    options: Vec<(Subject, String, &'static str)>,
    /// The link asks for one worker per CPU, and no option gives a number.
    pub automatic: bool,
}

/// Name of the link as a source of options.
pub const LINK: &str = "-with-rtsopts";
/// Name of the command line as a source of options.
pub const COMMAND_LINE: &str = "the command line";

impl GivenOptions {
    /// The options of `given` that are effective in a program with this link.
    pub fn of(ghc: &Ghc, given: &Given) -> GivenOptions {
        let environment = match ghc.rtsopts {
            Some(Rtsopts::None | Rtsopts::IgnoreAll) => "",
            _ => given.variable(&DIALECT),
        };
        let arguments: &[String] = match ghc.rtsopts {
            Some(Rtsopts::None | Rtsopts::Ignore | Rtsopts::IgnoreAll) => &[],
            _ => &given.arguments,
        };
        let words = |text: &str| text.split_ascii_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let places = [
            (LINK, words(&ghc.with_rtsopts)),
            (DIALECT.variable(), words(environment)),
            (COMMAND_LINE, arguments.to_vec()),
        ];
        let mut options = Vec::new();
        for (from, words) in places {
            options.extend(words.into_iter().filter_map(|word| Some((Subject::of(&word)?, word, from))));
        }
        // A bare -N in the link asks for the right number, which the plan knows.
        let is_automatic = |(_, word, from): &(Subject, String, &str)| word == "-N" && *from == LINK;
        let automatic = options.iter().any(is_automatic);
        options.retain(|option| !is_automatic(option));
        let mut found = GivenOptions { options, automatic };
        found.automatic &= found.settled(Subject::Workers).is_none();
        found
    }

    /// The option that settles `subject`, and its source: the last one wins.
    pub fn settled(&self, subject: Subject) -> Option<(&str, &'static str)> {
        self.options.iter().rev().find(|(of, ..)| *of == subject).map(|(_, word, from)| (word.as_str(), *from))
    }

    /// All effective options, weakest first.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.options.iter().map(|(_, word, _)| word.as_str())
    }

    /// The number of workers that was given; `cpus` is what a bare `-N` finds.
    pub fn workers(&self, cpus: u32) -> Option<u32> {
        let (option, _) = self.settled(Subject::Workers)?;
        if let Some(most) = option.strip_prefix("-maxN") {
            return Some(most.parse::<u32>().unwrap_or(cpus).min(cpus).max(1));
        }
        let number = option.strip_prefix("-N").unwrap_or_default();
        Some(if number.is_empty() { cpus } else { number.parse::<u32>().unwrap_or(1).max(1) })
    }

    /// Every settled question, for the plan to show; `cpus` as for [`GivenOptions::workers`].
    pub fn kept(&self, cpus: u32) -> Vec<KeptOption> {
        let shown = [Subject::Workers, Subject::Collectors, Subject::Nursery, Subject::HeapLimit, Subject::Numa];
        let settled = shown.into_iter().filter_map(|subject| Some((subject, self.settled(subject)?)));
        settled
            .map(|(subject, (option, from))| {
                let means = match subject {
                    Subject::Workers if option == "-N" || option.starts_with("-maxN") => {
                        format!(
                            "It stays: {} workers, as many as there are CPUs to run on.",
                            self.workers(cpus).unwrap_or(1)
                        )
                    }
                    Subject::Workers => "It stays, and the rest of the plan reckons with that many workers.".to_owned(),
                    _ => "It stays.".to_owned(),
                };
                KeptOption { option: option.to_owned(), from, means }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{given as of_user, open};

    #[test]
    fn options_settle_their_subject_and_no_other() {
        for (option, subject) in [
            ("-N", Some(Subject::Workers)),
            ("-N4", Some(Subject::Workers)),
            ("-maxN8", Some(Subject::Workers)),
            ("-A16m", Some(Subject::Nursery)),
            ("-AL64m", None),
            ("-n4m", Some(Subject::Nursery)),
            ("-H1g", Some(Subject::Nursery)),
            ("-hT", None),
            ("-M1g", Some(Subject::HeapLimit)),
            ("-Mgrace=1m", None),
            ("-qg1", Some(Subject::Collectors)),
            ("-qn2", Some(Subject::Collectors)),
            ("-qa", None),
            ("--numa=3", Some(Subject::Numa)),
            ("-xn", Some(Subject::OldGeneration)),
            ("-Iw60", Some(Subject::IdleCollection)),
            ("-I0", Some(Subject::IdleCollection)),
            ("--copying-gc", Some(Subject::OldGeneration)),
            ("-F1.5", Some(Subject::OldGenerationSize)),
            ("-C0.1", Some(Subject::Switching)),
            ("-l-ag", None),
            ("-T", None),
        ] {
            assert_eq!(Subject::of(option), subject, "{option}");
        }
    }

    fn given(with: &str, ghcrts: &str, arguments: &[&str]) -> GivenOptions {
        let ghc = Ghc { with_rtsopts: with.into(), ..open() };
        GivenOptions::of(&ghc, &of_user(ghcrts, arguments))
    }

    #[test]
    fn the_command_line_beats_the_environment_beats_the_link() {
        assert_eq!(given("-N2", "", &[]).settled(Subject::Workers), Some(("-N2", LINK)));
        assert_eq!(given("-N2", "-A8m -N5", &[]).settled(Subject::Workers), Some(("-N5", "GHCRTS")));
        assert_eq!(given("-N2", "-N5", &["-N3"]).workers(8), Some(3));
        assert_eq!(given("", "-N", &[]).workers(8), Some(8));
        assert_eq!(given("", "-maxN4", &[]).workers(8), Some(4));
        assert_eq!(given("", "-maxN4", &[]).workers(2), Some(2));
        assert_eq!(given("", "-N99999999999", &[]).workers(2), Some(1));
    }

    #[test]
    fn a_bare_n_of_the_link_is_a_question_and_of_the_user_an_answer() {
        let link = given("-N -A8m", "", &[]);
        assert!(link.automatic);
        assert_eq!(link.workers(8), None);
        let number = given("-N", "-N4", &[]);
        assert!(!number.automatic);
        assert_eq!(number.workers(8), Some(4));
        assert!(!given("", "-N", &[]).automatic);
    }

    #[test]
    fn what_the_program_does_not_read_does_not_count() {
        let of = |rtsopts| {
            let ghc = Ghc { rtsopts: Some(rtsopts), ..open() };
            let options = GivenOptions::of(&ghc, &of_user("-A8m", &["-N3"]));
            (options.settled(Subject::Nursery).is_some(), options.settled(Subject::Workers).is_some())
        };
        assert_eq!(of(Rtsopts::All), (true, true));
        assert_eq!(of(Rtsopts::Ignore), (true, false));
        assert_eq!(of(Rtsopts::None), (false, false));
        assert_eq!(of(Rtsopts::IgnoreAll), (false, false));
    }
}
