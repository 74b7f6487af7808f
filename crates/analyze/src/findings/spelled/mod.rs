//! The settings of remedies, in the form that this program accepts: a pasted line must yield a program that starts.
//! Owns the wording of each kind of setting; where nothing that can be pasted is known, there is no line. Refuses to
//! choose a setting.

pub(super) mod limit;
mod line;
mod options;

use crate::recording::Context;
use line::{Note, Spelled};
use rtscope_model::text::{is_plain, quoted};
use rtscope_model::{Finding, RuntimeInfo, Setting};

/// Gives each remedy with a setting its line.
pub(super) fn spell(findings: &mut [Finding], runtime: &'static RuntimeInfo, context: &Context) {
    let mut perhaps_relinked = false;
    for finding in findings {
        let mut relinked = false;
        for remedy in &mut finding.remedies {
            let Some(setting) = &remedy.setting else { continue };
            let spelled = spelled(setting, runtime, context);
            let note = match spelled.note {
                Some(Note::Own(text)) => Some(text),
                Some(Note::Relink(text)) => (!std::mem::replace(&mut relinked, true)).then_some(text),
                Some(Note::PerhapsRelink(text)) => {
                    (!std::mem::replace(&mut perhaps_relinked, true)).then(|| text.to_owned())
                }
                None => None,
            };
            let words = &mut remedy.text.words;
            note.iter().for_each(|note| *words = format!("{words} {note}"));
            remedy.flag = spelled.line;
            #[cfg(test)]
            tests::is_ready_to_paste(remedy);
        }
    }
}

fn spelled(setting: &Setting, runtime: &'static RuntimeInfo, context: &Context) -> Spelled {
    match setting {
        Setting::Options(words) => options::spelled(words, runtime, context),
        Setting::Variables(variables) => {
            let variables = variables.iter().map(|(name, value)| format!("{name}={}", quoted(value)));
            let variables = variables.collect::<Vec<_>>().join(" ");
            let with = |command: String| format!("{variables} {command}");
            Spelled::line(command(context).map_or(variables.clone(), with))
        }
        Setting::CpuLimit { group, cpus } => {
            let group = context.groups.get(usize::from(group.0));
            Spelled::line(group.and_then(|group| limit::raised(group, *cpus)))
        }
        Setting::Code(line) => Spelled::line(line.clone()),
        Setting::Rtscope(words) => {
            Spelled::line(command(context).map(|command| format!("rtscope {} -- {command}", words.join(" "))))
        }
    }
}

/// The program as it was started. Only the user knows the quoting of words that a shell would change.
fn command(context: &Context) -> Option<String> {
    let command = &context.program.as_ref()?.command;
    (!command.is_empty() && command.iter().all(|word| is_plain(word))).then(|| command.join(" "))
}

#[cfg(test)]
mod tests;
