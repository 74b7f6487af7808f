//! `rtscope explain`: what a finding means, how its cost is computed, and what helps. Owns the lookup; the
//! pages are those of `docs/findings`.

use clap::Args;
use include_dir::{Dir, include_dir};
use rtscope_terminal::markdown;
use rtscope_terminal::style::{Style, wrap};
use rtscope_terminal::user_error::{UserError, WRONG};
use std::fmt::Write;

static PAGES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../docs/findings");
/// The page that lists all findings.
const LIST: &str = "README.md";

/// Options of `explain`.
#[derive(Args, Debug)]
pub struct ExplainArgs {
    /// A finding as `rtscope report` names it: cpu-throttled, survivors... (default: list all of them)
    #[arg(value_name = "FINDING")]
    pub id: Option<String>,
}

/// The page of a finding as text, or the list of findings.
///
/// # Errors
/// There is no such finding.
pub fn text(args: &ExplainArgs, style: &Style) -> Result<String, UserError> {
    match &args.id {
        Some(id) => page(id).map(|page| markdown::render(page, style)),
        None => Ok(list(style)),
    }
}

fn page(id: &str) -> Result<&'static str, UserError> {
    let file = PAGES.get_file(format!("{id}.md")).filter(|file| file.path().as_os_str() != LIST);
    file.and_then(|file| file.contents_utf8()).ok_or_else(|| {
        UserError::new(format!("there is no finding `{id}`")).next("`rtscope explain` lists them").ends_with(WRONG)
    })
}

/// Each finding with its sentence, in the order of the documentation.
fn list(style: &Style) -> String {
    let rows: Vec<(&str, &str)> = findings().collect();
    let longest = rows.iter().map(|(id, _)| id.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (id, says) in rows {
        let lines = wrap(&says.replace('`', ""), style.width.saturating_sub(longest + 2));
        let _ = writeln!(text, "{id:longest$}  {}", lines.join(&format!("\n{:1$}", "", longest + 2)));
    }
    text
}

/// Ids and sentences of the table that lists the findings.
fn findings() -> impl Iterator<Item = (&'static str, &'static str)> {
    let list = PAGES.get_file(LIST).and_then(|file| file.contents_utf8()).unwrap_or_default();
    list.lines().filter_map(|line| {
        let (id, rest) = line.strip_prefix("| [`")?.split_once("`]")?;
        Some((id, rest.split_once("| ")?.1.trim_end_matches('|').trim()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_has_a_page_and_is_in_the_list() {
        let ids: Vec<&str> = findings().map(|(id, _)| id).collect();
        for page in PAGES.files().filter(|file| file.path().as_os_str() != LIST) {
            let id = page.path().file_stem().unwrap().to_str().unwrap();
            assert!(ids.contains(&id) && rtscope_analyze::runtimes::is_rule(id), "{id}");
        }
        let style = Style::plain(80);
        for id in &ids {
            let shown = text(&ExplainArgs { id: Some((*id).to_owned()) }, &style).unwrap();
            assert!(shown.starts_with(id) && shown.contains("Cost."), "{shown}");
        }
        assert!(text(&ExplainArgs { id: None }, &style).unwrap().lines().count() >= ids.len());
        for wrong in ["README", "../truth", "no-such"] {
            assert_eq!(text(&ExplainArgs { id: Some(wrong.to_owned()) }, &style).unwrap_err().status, WRONG);
        }
    }
}
