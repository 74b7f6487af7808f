//! A command line with a place for the number of workers. Owns how a template is cut
//! into words and filled; refuses shells.

use crate::words;
use std::ffi::OsString;
use std::path::Path;
use std::str::FromStr;

/// What stands where the number of workers goes.
const PLACE: &str = "{workers}";

/// One line of the plot: a name and a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// What it is called.
    pub name: String,
    /// The command's words, with [`PLACE`] in at least one of them.
    pub words: Vec<String>,
}

impl Series {
    /// Words behind `--`; the program gives the name.
    pub fn unnamed(words: &[String]) -> Series {
        let program = words.first().map_or("", String::as_str);
        let name = Path::new(program).file_name().map_or_else(|| program.into(), |name| name.to_string_lossy());
        Series { name: name.into_owned(), words: words.to_vec() }
    }

    /// Whether the number of workers goes anywhere.
    pub fn has_place(&self) -> bool {
        self.words.iter().any(|word| word.contains(PLACE))
    }

    /// The command for so many workers.
    pub fn command(&self, workers: u32) -> Vec<OsString> {
        self.words.iter().map(|word| word.replace(PLACE, &workers.to_string()).into()).collect()
    }

    /// The command as it was given, for people.
    pub fn template(&self) -> String {
        self.words.join(" ")
    }
}

impl FromStr for Series {
    type Err = String;

    fn from_str(text: &str) -> Result<Series, String> {
        let (name, template) = text.split_once('=').ok_or("it has no NAME= in front of its command")?;
        let words = words::split(template)?;
        if name.is_empty() || words.is_empty() {
            return Err("a name or a command is missing".into());
        }
        Ok(Series { name: name.into(), words })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_goes_into_every_place() {
        let series: Series = "main=env OCAMLRUNPARAM=s=8M,d={workers} ./x main {workers}".parse().unwrap();
        assert_eq!(series.command(4), ["env", "OCAMLRUNPARAM=s=8M,d=4", "./x", "main", "4"]);
        assert_eq!(series.name, "main");
        assert!(series.has_place() && !Series::unnamed(&["/usr/bin/x".into()]).has_place());
        assert_eq!(Series::unnamed(&["/usr/bin/x".into()]).name, "x");
    }
}
