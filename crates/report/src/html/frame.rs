//! What every page has: its head, a policy that forbids everything but its own style and script, sections and
//! figures. Refuses to know what they show.

use super::SIZE_MAX;
use rtscope_draw::escape::{escape, json_in_script, marked};
use rtscope_model::units;
use serde::Serialize;
use std::fmt::Write as _;

/// The style sheet of pages, with the viewer's colours.
pub(crate) const STYLE: &str = concat!(include_str!("../../../../web/app/palette.css"), include_str!("style.css"));

/// The hash of [`STYLE`]; a test recomputes it.
const STYLE_HASH: &str = "sha256-Ukv53EQyBOQBgt6w80sAeUo3w0ZohHiLgNDk7BzKqAI=";

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
    let copy = body.contains(PASTE).then_some(COPY_HASH);
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
    let copy = if body.contains(PASTE) { format!("<script>{COPY}</script>\n") } else { String::new() };
    format!(
        "{head}{body}</main>\n<script type=\"application/json\" id=\"rtscope-data\">{data}</script>\n{copy}\
         </body></html>\n"
    )
}

/// The element that holds a text to paste.
const PASTE: &str = "<div class=\"paste\">";

/// A text to paste.
pub fn paste(text: &str, lines: usize) -> String {
    let lines: Vec<_> = text.lines().take(lines).map(escape).collect();
    format!("{PASTE}<pre><code>{}</code></pre></div>", lines.join("\n"))
}

/// A page with at least this many sections has a list of them.
const LISTED_FROM: usize = 4;

/// What a page consists of: a header, and sections in reading order.
pub struct Sections {
    header: String,
    titles: Vec<String>,
    body: String,
}

impl Sections {
    /// A page without sections.
    pub fn new(header: String) -> Sections {
        Sections { header, titles: Vec::new(), body: String::with_capacity(1 << 17) }
    }

    /// A section with its heading; both are HTML.
    pub fn section(&mut self, id: &str, title: &str, content: &str) {
        self.titles.push(format!("<a href=\"#{id}\">{title}</a>"));
        let _ = writeln!(self.body, "<section id=\"{id}\"><h2>{title}</h2>{content}</section>");
    }

    /// A section, unless there is nothing to show.
    pub fn optional(&mut self, id: &str, title: &str, content: Option<String>) {
        if let Some(content) = content {
            self.section(id, title, &content);
        }
    }

    /// The body of the page.
    pub fn body(self) -> String {
        let contents = match self.titles.len() >= LISTED_FROM {
            true => format!("<nav aria-label=\"On this page\">{}</nav>\n", self.titles.join(" ")),
            false => String::new(),
        };
        format!("{}{contents}{}", self.header, self.body)
    }
}

/// A page with a `document` as its data, which is left out if it is too long.
pub fn shell_of(title: &str, body: Sections, document: &impl Serialize, more: Option<&More>) -> String {
    let data = json_in_script(&serde_json::to_string(document).unwrap_or_default());
    let body = body.body();
    let fits = body.len() + data.len() + SIZE_MAX / 20 <= SIZE_MAX;
    finish(&head(title, &body, more, false), &body, if fits { &data } else { "{}" })
}

/// Facts in one line.
pub fn facts(facts: &[String]) -> String {
    facts.iter().map(|fact| escape(fact)).collect::<Vec<_>>().join(" &middot; ")
}

/// A list; what stands between backticks is code.
pub fn list(items: &[String]) -> String {
    format!("<ul>{}</ul>", items.iter().map(|item| format!("<li>{}</li>", marked(item))).collect::<String>())
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
    format!("<p><strong>{head}:</strong> {}.</p>", marked(sentence))
}

/// A paragraph in faint type.
pub fn faint(text: &str) -> String {
    format!("<p class=\"faint\">{}</p>", marked(text))
}

/// Sentences, each a paragraph.
pub fn paragraphs(texts: impl IntoIterator<Item = String>) -> String {
    texts.into_iter().map(|text| format!("<p>{}</p>", marked(&text))).collect()
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
