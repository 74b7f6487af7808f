//! Drawings of other commands on a page: of a tuning, an experiment, a machine. Owns what is accepted as a drawing
//! and how it is embedded: as an image, in which no script runs and which loads nothing. Refuses to read its content,
//! except for its name.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rtscope_draw::escape::{escape, unescape};
use rtscope_draw::html::figure;
use rtscope_terminal::user_error::UserError;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Maximum bytes of all drawings of a page.
pub const PLOTS_MAX: usize = 256 << 10;

/// An SVG drawing that a page embeds.
pub struct Plot {
    svg: String,
    name: String,
}

impl Plot {
    /// Checks `svg`; the drawing is called `name` unless it has a label.
    fn new(svg: String, name: &str) -> Result<Plot, UserError> {
        let Some(at) = svg.find("<svg").filter(|at| *at < 1000 && svg.contains("</svg>")) else {
            let error = UserError::new(format!("cannot put {name} on the page")).because("it is no SVG drawing");
            return Err(error.next("give a drawing that rtscope tune, bench, load, heap or machine wrote"));
        };
        let begin = svg.get(at..).unwrap_or_default().split('>').next().unwrap_or_default();
        let label = begin.split_once("aria-label=\"").and_then(|(_, rest)| rest.split_once('"'));
        let name = label.map_or_else(|| name.to_owned(), |(label, _)| unescape(label));
        Ok(Plot { svg, name })
    }
}

/// Reads SVG drawings from files.
///
/// # Errors
/// A file cannot be read, is no SVG, or all together exceed [`PLOTS_MAX`].
pub fn read(paths: &[impl AsRef<Path>]) -> Result<Vec<Plot>, UserError> {
    let mut room = PLOTS_MAX as u64;
    let mut plots = Vec::new();
    for path in paths {
        let path = path.as_ref();
        let name = path.display().to_string();
        let failure = || UserError::new(format!("cannot put {name} on the page"));
        let mut svg = String::new();
        let file = File::open(path).map_err(|error| failure().because(error))?;
        file.take(room + 1).read_to_string(&mut svg).map_err(|error| failure().because(error))?;
        let large = || failure().because("drawings of more than 256 KiB would make it too large to mail");
        room = room.checked_sub(svg.len() as u64).ok_or_else(|| large().next("give fewer with --plot"))?;
        plots.push(Plot::new(svg, &name)?);
    }
    Ok(plots)
}

/// The section; `None` without drawings.
pub(super) fn section(plots: &[Plot]) -> Option<String> {
    let drawn = |plot: &Plot| {
        let name = escape(&plot.name);
        figure(&format!("<img alt=\"{name}\" src=\"data:image/svg+xml;base64,{}\">", STANDARD.encode(&plot.svg)), &name)
    };
    (!plots.is_empty()).then(|| plots.iter().map(drawn).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drawing_is_a_picture_and_says_what_it_shows() {
        let svg = "<svg aria-label=\"time &amp; memory\"><script>alert(1)</script></svg>";
        let plot = Plot::new(svg.into(), "x.svg").unwrap();
        assert_eq!(plot.name, "time & memory");
        let section = section(&[plot]).unwrap();
        assert!(section.contains("alt=\"time &amp; memory\"") && !section.contains("<script"), "{section}");
        assert_eq!(Plot::new("<svg></svg>".into(), "<x>.svg").unwrap().name, "<x>.svg");
        assert!(super::section(&[]).is_none());
    }

    #[test]
    fn what_is_no_drawing_is_refused() {
        for text in ["", "{}", "<html></html>", "<svg"] {
            let refused = Plot::new(text.into(), "x").err().unwrap().to_string();
            assert!(refused.contains("it is no SVG drawing"), "{refused}");
        }
    }
}
