//! A command line with placeholders for what changes from run to run. Owns how a template is split into words
//! and filled in; refuses shells.

use crate::words;
use std::ffi::OsString;
use std::path::Path;
use std::str::FromStr;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    pub name: String,
    /// The command's words, including placeholders.
    pub words: Vec<String>,
}

impl Template {
    /// From the words after `--`; the program gives the name.
    pub fn unnamed(words: &[String]) -> Template {
        let program = words.first().map_or("", String::as_str);
        let name = Path::new(program).file_name().map_or_else(|| program.into(), |name| name.to_string_lossy());
        Template { name: name.into_owned(), words: words.to_vec() }
    }

    /// Whether `place` (`{workers}`) occurs anywhere.
    pub fn has(&self, place: &str) -> bool {
        self.words.iter().any(|word| word.contains(place))
    }

    /// The command with `number` in place of each `place`.
    pub fn filled(&self, place: &str, number: u32) -> Vec<OsString> {
        self.words.iter().map(|word| word.replace(place, &number.to_string()).into()).collect()
    }

    /// The command as it was given, for people.
    pub fn shown(&self) -> String {
        self.words.join(" ")
    }
}

impl FromStr for Template {
    type Err = String;

    fn from_str(text: &str) -> Result<Template, String> {
        let (name, template) = text.split_once('=').ok_or("it has no NAME= in front of its command")?;
        let words = words::split(template)?;
        if name.is_empty() || words.is_empty() {
            return Err("a name or a command is missing".into());
        }
        Ok(Template { name: name.into(), words })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_goes_into_every_place() {
        let place = "{workers}";
        let template: Template = "main=env OCAMLRUNPARAM=s=8M,d={workers} ./x main {workers}".parse().unwrap();
        assert_eq!(template.filled(place, 4), ["env", "OCAMLRUNPARAM=s=8M,d=4", "./x", "main", "4"]);
        assert_eq!(template.name, "main");
        assert!(template.has(place) && !template.has("{threads}"));
        assert_eq!(Template::unnamed(&["/usr/bin/x".into()]).name, "x");
    }
}
