//! What every page has: its head, a policy that forbids everything but its own style and script, sections and
//! figures. Refuses to know what they show.

use super::SIZE_MAX;
use rtscope_draw::escape::{escape, json_in_script};
use rtscope_model::units;
use serde::Serialize;
use std::fmt::Write as _;

/// The style sheet of pages, with the viewer's colours.
pub(crate) const STYLE: &str = concat!(include_str!("../../../../web/app/palette.css"), include_str!("style.css"));

/// The hash of [`STYLE`]; a test recomputes it.
const STYLE_HASH: &str = "sha256-/f+O0j3N4bwfnDZ6pgpSyu0bwCoXTh4LjagpH2f1Bqg=";

/// Additional style and script of some pages. Hashes are for the policy; tests recompute them.
pub struct More {
    /// The style sheet.
    pub style: &'static str,
    /// Its hash.
    pub style_hash: &'static str,
    /// The hash of its script.
    pub script_hash: Option<&'static str>,
}

/// What the browser may load: only the style sheet and what `more` has; with `pictures`, also images embedded in
/// the page.
fn policy(more: Option<&More>, pictures: bool) -> String {
    let (mut style, mut script) = (format!("'{STYLE_HASH}'"), String::new());
    if let Some(more) = more {
        let _ = write!(style, " '{}'", more.style_hash);
        script = more.script_hash.map_or_else(String::new, |hash| format!(" script-src '{hash}';"));
    }
    let pictures = if pictures { " img-src data:;" } else { "" };
    format!("default-src 'none'; style-src {style};{script}{pictures} base-uri 'none'; form-action 'none'")
}

/// The start of a page.
pub fn head(title: &str, more: Option<&More>, pictures: bool) -> String {
    let title = escape(title);
    let policy = policy(more, pictures);
    let more = more.map_or_else(String::new, |more| format!("<style>{}</style>", more.style));
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\"><title>rtscope: {title}</title>\
         <style>{STYLE}</style>{more}</head><body><main>\n"
    )
}

/// The whole page: its head, its body, and `data` (JSON, made safe for a script element).
pub fn finish(head: &str, body: &str, data: &str) -> String {
    format!(
        "{head}{body}</main>\n<script type=\"application/json\" id=\"rtscope-data\">{data}</script>\n</body></html>\n"
    )
}

/// A page with a `document` as its data, which is left out if it is too long.
pub fn shell_of(title: &str, body: &str, document: &impl Serialize, more: Option<&More>) -> String {
    let data = json_in_script(&serde_json::to_string(document).unwrap_or_default());
    let fits = body.len() + data.len() + SIZE_MAX / 20 <= SIZE_MAX;
    finish(&head(title, more, false), body, if fits { &data } else { "{}" })
}

/// A section with its heading.
pub fn section(body: &mut String, id: &str, title: &str, content: &str) {
    let _ = writeln!(body, "<section id=\"{id}\"><h2>{title}</h2>{content}</section>");
}

/// A section, unless there is nothing to show.
pub fn optional(body: &mut String, id: &str, title: &str, content: Option<String>) {
    if let Some(content) = content {
        section(body, id, title, &content);
    }
}

/// Facts in one line.
pub fn facts(facts: &[String]) -> String {
    facts.iter().map(|fact| escape(fact)).collect::<Vec<_>>().join(" &middot; ")
}

/// A list of escaped items.
pub fn list(items: &[String]) -> String {
    format!("<ul>{}</ul>", items.iter().map(|item| format!("<li>{}</li>", escape(item))).collect::<String>())
}

/// A list, or `nothing` if it is empty.
pub fn list_or(nothing: &str, items: &[String]) -> String {
    if items.is_empty() { format!("<p>{nothing}</p>") } else { list(items) }
}

/// The end of a list that was cut.
pub fn more(more: usize) -> String {
    format!("and {} more", units::count(more as u64))
}

/// A sentence with its topic in front.
pub fn headed(head: &str, sentence: &str) -> String {
    format!("<p><strong>{head}:</strong> {}.</p>", escape(sentence))
}

/// A paragraph in faint type.
pub fn faint(text: &str) -> String {
    format!("<p class=\"faint\">{}</p>", escape(text))
}

/// Sentences, each a paragraph.
pub fn paragraphs(texts: impl IntoIterator<Item = String>) -> String {
    texts.into_iter().map(|text| format!("<p>{}</p>", escape(&text))).collect()
}

/// A drawing without a caption, if there is one.
pub fn drawn(svg: Option<String>) -> Option<String> {
    svg.map(|svg| figure(&svg, ""))
}

/// The parts that exist, one below the other; `None` without any.
pub fn joined<const N: usize>(parts: [Option<String>; N]) -> Option<String> {
    parts.iter().any(Option::is_some).then(|| parts.into_iter().flatten().collect())
}

/// A drawing with its caption.
pub fn figure(svg: &str, caption: &str) -> String {
    let caption = if caption.is_empty() { String::new() } else { format!("<figcaption>{caption}</figcaption>") };
    format!("<figure>{svg}{caption}</figure>")
}
