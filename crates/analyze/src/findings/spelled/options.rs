//! Options of the runtime as a program takes them: on its command line, from its environment, or only at link time.
//! Owns the order in which these are tried; what a link allows is data of the runtime.

use super::line::{Note, Spelled};
use crate::recording::Context;
use crate::recording::start::link;
use rtscope_model::manifest::Binary;
use rtscope_model::options::AtLink;
use rtscope_model::text::quoted;
use rtscope_model::{Link, Refusal, Rtsopts, RuntimeInfo};

/// The program that is to get options.
struct Given<'a> {
    runtime: &'static RuntimeInfo,
    context: &'a Context,
    binary: Option<&'a Binary>,
    words: &'a [String],
}

pub(super) fn spelled(words: &[String], runtime: &'static RuntimeInfo, context: &Context) -> Spelled {
    let given = Given { runtime, context, binary: context.start.binary_of(runtime), words };
    match &runtime.spelling.link {
        Some(at) => given.as_its_link_allows(at),
        None if runtime.spelling.variables.is_empty() => Spelled::line(given.on_the_command_line()),
        None => Spelled::line(given.in_the_environment()),
    }
}

impl Given<'_> {
    fn as_its_link_allows(&self, at: &AtLink) -> Spelled {
        let known = self.link(at);
        let refusal = |link: Link| self.words.iter().find_map(|word| (at.refusal)(&link, word));
        // Without its file, it may have the default link or another.
        if known.rtsopts.is_none() && self.binary.is_none() {
            return match refusal(Link { rtsopts: Some(at.usual), ..known }) {
                None => self.accepted(at, known),
                Some(Refusal::Link(_)) => self.accepted(at, known).noted(Note::PerhapsRelink(at.unknown_note)),
                Some(refusal) => self.refused(at, refusal),
            };
        }
        refusal(known).map_or_else(|| self.accepted(at, known), |refusal| self.refused(at, refusal))
    }

    /// The program's link; a program that started with an option evidently accepts options.
    fn link(&self, at: &AtLink) -> Link {
        let context = self.context;
        let link = link(at, self.binary, context.threaded, &context.runtime);
        let variable: Vec<&str> = self.runtime.spelling.split(context.start.variable(self.runtime)).collect();
        let proven = match (at.proven)(&context.runtime.own_args()) {
            true => Some(Rtsopts::All),
            // It may parse its command line itself.
            false => (at.proven)(&variable).then_some(Rtsopts::Ignore),
        };
        Link { rtsopts: link.rtsopts.or(proven), ..link }
    }

    fn accepted(&self, at: &AtLink, link: Link) -> Spelled {
        let spelling = &self.runtime.spelling;
        let clash = |own: &&str| self.words.iter().any(|word| spelling.clash(own, word));
        if let Some(own) = spelling.split(self.linked_in()).find(clash) {
            let text = format!("It conflicts with {own}, which is linked in: relink the program.");
            return Spelled::line(self.at_the_link(at, "")).noted(Note::Relink(text));
        }
        let line = match link.rtsopts {
            Some(Rtsopts::Ignore) => self.in_the_environment(),
            _ => self.on_the_command_line(),
        };
        let args = self.context.runtime.own_args();
        let own = args.into_iter().chain(spelling.split(self.context.start.variable(self.runtime))).find(clash);
        Spelled { note: own.map(|own| Note::Own(format!("Leave {own} out: the two conflict."))), ..Spelled::line(line) }
    }

    fn refused(&self, at: &AtLink, refusal: Refusal) -> Spelled {
        let explanation = (at.explain)(refusal);
        match refusal {
            Refusal::Since(_) => Spelled::default().noted(Note::Own(explanation)),
            Refusal::NotThreaded | Refusal::PerhapsNotThreaded => {
                Spelled::line(self.at_the_link(at, at.threaded)).noted(Note::Relink(explanation))
            }
            Refusal::Unknown | Refusal::Link(_) => {
                Spelled::line(self.at_the_link(at, "")).noted(Note::Relink(explanation))
            }
        }
    }

    /// Options that are linked in already.
    fn linked_in(&self) -> &str {
        self.binary.and_then(|binary| binary.with_rtsopts.as_deref()).unwrap_or_default()
    }

    fn at_the_link(&self, at: &AtLink, more: &str) -> Option<String> {
        let words = self.runtime.spelling.merged(self.linked_in(), self.words);
        // The description of a package cannot hold quotes within quotes.
        let plain = !words.contains(|c: char| "\"'\\".contains(c) || c.is_control());
        let more = if more.is_empty() { String::new() } else { format!("{more} ") };
        plain.then(|| format!("{} {more}\"{}{words}\"", at.field, at.with))
    }

    fn on_the_command_line(&self) -> String {
        let begin = self.runtime.own_args.words.map(|[begin, ..]| begin);
        begin.into_iter().chain(self.words.iter().map(String::as_str)).collect::<Vec<_>>().join(" ")
    }

    fn in_the_environment(&self) -> String {
        let spelling = &self.runtime.spelling;
        let value = spelling.merged(self.context.start.variable(self.runtime), self.words);
        format!("{}={}", spelling.variable(), quoted(&value))
    }
}
