//! The palette: every colour once, for light and dark, in a style sheet that pages and the viewer use as it is. Owns the
//! style of drawings in files of their own, which have no page around them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Every colour, and the patterns of states.
pub const PALETTE: &str = include_str!("../../../web/app/palette.css");

/// The style of a drawing in a file of its own: the variables that `rules` use, light and dark, and each colour twice, for
/// programs without CSS variables. Rules may declare further colours like those of the palette, in a `:root` of their own.
pub fn file_style(rules: &str) -> String {
    let declared = rules.split_once(":root {").and_then(|(before, rest)| Some((before, rest.split_once('}')?)));
    let (own, rules) = match declared {
        Some((before, (own, after))) => (own, Cow::from(format!("{before}{after}"))),
        None => ("", Cow::from(rules)),
    };
    let known: BTreeMap<&str, [&str; 2]> = colours(PALETTE).chain(colours(own)).collect();
    let used = rules.split("var(--").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0));
    let used: BTreeMap<&str, [&str; 2]> = used.filter_map(|name| Some((name, *known.get(name)?))).collect();
    let variables = |side: usize| -> String {
        used.iter().filter_map(|(name, sides)| Some(format!("--{name}:{};", sides.get(side)?))).collect()
    };
    let mut out = format!("svg{{{}}}@media (prefers-color-scheme:dark){{svg{{{}}}}}\n", variables(0), variables(1));
    let mut rest = &*rules;
    while let Some((before, after)) = rest.split_once("var(--") {
        let (name, after) = after.split_once(')').unwrap_or((after, ""));
        let start = before.rfind(['{', ';', '}', '\n']).map_or(0, |at| at + 1);
        let (done, property) = before.split_at(start);
        let plain = used.get(name).map_or_else(String::new, |[light, _]| format!("{property}{light};"));
        let _ = write!(out, "{done}{plain}{property}var(--{name})");
        rest = after;
    }
    out + rest
}

/// The colours that a style sheet declares: names, light and dark.
fn colours(sheet: &str) -> impl Iterator<Item = (&str, [&str; 2])> {
    sheet.split("--").filter_map(|declaration| {
        let (name, rest) = declaration.split_once(": light-dark(")?;
        let (light, rest) = rest.split_once(", ")?;
        Some((name, [light, rest.split_once(')')?.0]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_colour_is_given_twice_with_its_variable_for_light_and_dark() {
        let style =
            file_style(":root { --own: light-dark(#111, #eee); }\n.a { fill: var(--own); stroke: var(--ink); }");
        assert_eq!(
            style,
            "svg{--ink:#1d2327;--own:#111;}@media (prefers-color-scheme:dark){svg{--ink:#e4e8ea;--own:#eee;}}\n\n\
             .a { fill: #111; fill: var(--own); stroke: #1d2327; stroke: var(--ink); }"
        );
    }

    #[test]
    fn the_palette_has_its_colours() {
        let all: Vec<&str> = colours(PALETTE).map(|(name, _)| name).collect();
        assert!(all.len() > 35 && all.contains(&"paper") && all.contains(&"line-7"), "{all:?}");
    }
}
