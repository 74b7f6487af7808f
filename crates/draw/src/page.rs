//! What every page has: its head, a policy that forbids everything but its own style and script, a header, and sections in
//! reading order. Refuses to know what they show.

use crate::escape::{escape, json_in_script};
use crate::html;
use crate::present::Section;
use serde::Serialize;
use std::fmt::Write as _;

/// Largest page, in bytes.
pub const SIZE_MAX: usize = 1_000_000;

/// The style sheet of pages, with the viewer's colours.
pub const STYLE: &str = concat!(include_str!("../../../web/app/palette.css"), include_str!("style.css"));

/// The hash of [`STYLE`]; a test recomputes it.
const STYLE_HASH: &str = "sha256-hnENN5vYFrHXihYrZSGwfGuex/t6DToipDWiI5ojI4o=";

/// Additional style and script of some pages. Hashes are for the policy; tests recompute them.
pub struct More {
    /// The style sheet.
    pub style: &'static str,
    /// Its hash.
    pub style_hash: &'static str,
    /// The hash of its script.
    pub script_hash: Option<&'static str>,
}

/// What the browser may load: only the style sheet, what `more` has, and the script for what `body` has to paste; with
/// `pictures`, also images embedded in the page.
fn policy(body: &str, more: Option<&More>, pictures: bool) -> String {
    let style: String = more.map(|more| format!(" '{}'", more.style_hash)).unwrap_or_default();
    let copy = body.contains(html::PASTE).then_some(COPY_HASH);
    let scripts = copy.into_iter().chain(more.and_then(|more| more.script_hash));
    let scripts: String = scripts.map(|hash| format!(" '{hash}'")).collect();
    let script = if scripts.is_empty() { scripts } else { format!(" script-src{scripts};") };
    let pictures = if pictures { " img-src data:;" } else { "" };
    format!(
        "default-src 'none'; style-src '{STYLE_HASH}'{style};{script}{pictures} base-uri 'none'; form-action 'none'"
    )
}

/// Stripes for what must be distinguishable without colour: once on a page.
const PATTERNS: &str = concat!(
    r#"<svg class="patterns" width="0" height="0" aria-hidden="true"><defs>"#,
    r#"<pattern id="p-throttled" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">"#,
    r#"<rect width="6" height="6" class="plain-throttled"/><rect width="2" height="6" class="second-throttled"/></pattern>"#,
    r#"<pattern id="p-queued" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(-45)">"#,
    r#"<rect width="6" height="6" class="plain-queued"/><rect width="2" height="6" class="second-queued"/></pattern>"#,
    "</defs></svg>"
);

/// The start of a page with this body.
pub fn head(title: &str, body: &str, more: Option<&More>, pictures: bool) -> String {
    let title = escape(title);
    let policy = policy(body, more, pictures);
    let more = more.map_or_else(String::new, |more| format!("<style>{}</style>", more.style));
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\"><title>rtscope: {title}</title>\
         <style>{STYLE}</style>{more}</head><body><main>{PATTERNS}\n"
    )
}

/// Gives texts to paste a button that copies them.
const COPY: &str = include_str!("copy.js");
/// The hash of [`COPY`]; a test recomputes it.
const COPY_HASH: &str = "sha256-bSC/B1rl9xov1XVe9cqY37fmc46nfGo/1+Cj1PHwiwg=";

/// The whole page: its head, its body, and `data` (JSON, made safe for a script element).
pub fn finish(head: &str, body: &str, data: &str) -> String {
    let copy = if body.contains(html::PASTE) { format!("<script>{COPY}</script>\n") } else { String::new() };
    format!(
        "{head}{body}</main>\n<script type=\"application/json\" id=\"rtscope-data\">{data}</script>\n{copy}\
         </body></html>\n"
    )
}

/// A page with at least this many sections has a list of them.
const LISTED_FROM: usize = 4;

/// A page that is being written.
pub struct Page {
    header: String,
    titles: Vec<String>,
    body: String,
}

impl Page {
    /// A page without sections; `header` is HTML.
    pub fn new(header: String) -> Page {
        Page { header, titles: Vec::new(), body: String::with_capacity(1 << 17) }
    }

    /// Adds a section; returns false, and adds nothing, if there is nothing to show.
    pub fn section(&mut self, section: &Section<'_>) -> bool {
        let content = html::blocks(section);
        if !content.is_empty() {
            let [id, title] = [&section.id, &section.title].map(|text| escape(text));
            self.titles.push(format!("<a href=\"#{id}\">{title}</a>"));
            let _ = writeln!(self.body, "<section id=\"{id}\"><h2>{title}</h2>{content}</section>");
        }
        !content.is_empty()
    }

    /// The body of the page.
    pub fn body(self) -> String {
        let contents = match self.titles.len() >= LISTED_FROM {
            true => format!("<nav aria-label=\"On this page\">{}</nav>\n", self.titles.join(" ")),
            false => String::new(),
        };
        format!("{}{contents}{}", self.header, self.body)
    }

    /// The whole page with a `document` as its data, which is left out if it is too long.
    pub fn with_document(self, title: &str, document: &impl Serialize, more: Option<&More>) -> String {
        let data = json_in_script(&serde_json::to_string(document).unwrap_or_default());
        let body = self.body();
        let fits = body.len() + data.len() + SIZE_MAX / 20 <= SIZE_MAX;
        finish(&head(title, &body, more, false), &body, if fits { &data } else { "{}" })
    }
}

/// Facts in one line.
pub fn facts(facts: &[String]) -> String {
    facts.iter().map(|fact| escape(fact)).collect::<Vec<_>>().join(" &middot; ")
}
