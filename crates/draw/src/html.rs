//! The writer of pages: each form of content as HTML. Owns the markup; refuses to know results.

use crate::escape::{escape, marked};
use crate::present::{
    Block, Card, Cell, Change, Chart, Command, Name, Picture, Row, Section, Seen, Table, Text, TextForm, Verdict,
};
use crate::tree::{Top, Tree, basis};
use rtscope_model::{Node, units};
use std::fmt::Write as _;

/// Maximum rows of any table, items of any list, and findings; the rest is counted.
const ROWS_MAX: usize = 64;
const ITEMS_MAX: usize = 50;
const CARDS_MAX: usize = 20;
/// Maximum lines of a text to paste.
const LINES_MAX: usize = 40;
/// A part of a part gets a row if it has at least this share of the whole.
const PART_SHARE: f64 = 0.005;
/// That in words.
const LEFT_OUT: &str = "Parts below 0.5 % of the whole are left out: `rtscope report --json` has them.";
/// Maximum parts of a part with a row of their own.
const PARTS_MAX: usize = 8;
/// Width of a tree's bar for the whole.
const TREE_WIDTH: f64 = 320.0;

/// What stands below a section's heading, which is the topic of a list that stands there first.
pub(crate) fn blocks(section: &Section<'_>) -> String {
    match section.blocks.split_first() {
        Some((Block::Text(Text { sentences, form: TextForm::List, .. }), rest)) => {
            list(sentences) + &rest.iter().map(block).collect::<String>()
        }
        _ => section.blocks.iter().map(block).collect(),
    }
}

/// A block; empty if there is nothing to show.
pub fn block(block: &Block<'_>) -> String {
    match block {
        Block::Text(text) => self::text(text),
        Block::Verdict(found) => verdict(found),
        Block::Findings(all) => cards(all),
        Block::Table(all) => table(all),
        Block::Tree(all) => tree(all),
        Block::Chart(chart) => picture(chart),
        Block::Commands(all) => commands(all),
    }
}

fn text(text: &Text) -> String {
    let Text { topic, sentences, form } = text;
    let head = if topic.is_empty() { String::new() } else { format!("<strong>{}:</strong> ", escape(topic)) };
    match (form, sentences.as_slice()) {
        (TextForm::List, items) if topic.is_empty() => list(items),
        (TextForm::List, items) => format!("<h4>{}</h4>{}", escape(topic), list(items)),
        (TextForm::Plain, [one]) if !topic.is_empty() => format!("<p>{head}{}.</p>", marked(one.trim_end_matches('.'))),
        (TextForm::Plain, all) => head_and(&head, all, |text| format!("<p>{}</p>", marked(text))),
        (TextForm::Strong, all) => head_and(&head, all, |text| format!("<p><strong>{}</strong></p>", marked(text))),
        (TextForm::Faint, all) => all.iter().map(|text| faint(text)).collect(),
    }
}

fn head_and(head: &str, all: &[String], one: impl Fn(&str) -> String) -> String {
    let head = if head.is_empty() { String::new() } else { format!("<p>{head}</p>") };
    head + &all.iter().map(|text| one(text)).collect::<String>()
}

/// A paragraph in faint type.
pub fn faint(text: &str) -> String {
    format!("<p class=\"faint\">{}</p>", marked(text))
}

/// A list; what stands between backticks is code.
fn list(items: &[String]) -> String {
    let shown: String = items.iter().take(ITEMS_MAX).map(|item| format!("<li>{}</li>", marked(item))).collect();
    let more = items.len().saturating_sub(ITEMS_MAX) as u64;
    let more = if more > 0 { format!("<li>and {} more</li>", units::count(more)) } else { String::new() };
    format!("<ul>{shown}{more}</ul>")
}

fn verdict(found: &Verdict) -> String {
    let class = serde_json::to_value(found.grade).ok().and_then(|grade| Some(grade.as_str()?.to_owned()));
    let text = if found.text.is_empty() { String::new() } else { format!("<p>{}</p>", marked(&found.text)) };
    let doubts: String =
        found.doubts.iter().map(|doubt| format!("<p><strong>{}</strong></p>", marked(doubt))).collect();
    let head = marked(&found.head);
    format!("<article class=\"finding {}\"><h3>{head}</h3>{text}{doubts}</article>", class.unwrap_or_default())
}

fn cards(all: &[Card]) -> String {
    let mut out: String = all.iter().take(CARDS_MAX).map(card).collect();
    if let Some(more) = all.len().checked_sub(CARDS_MAX).filter(|more| *more > 0) {
        let _ = write!(out, "<p>and {more} more, see <code>rtscope report --json</code></p>");
    }
    out
}

fn card(card: &Card) -> String {
    let [cost, share] = card.cost.each_ref().map(|text| escape(text));
    let way =
        |[anchor, words]: &[String; 2]| format!(" &middot; <a href=\"#{}\">{}</a>", escape(anchor), escape(words));
    let mut out = format!(
        "<article class=\"finding {severity}\"><h3>{}</h3><p class=\"faint\"><strong>costs {cost}, {share}</strong> &middot; \
         {severity} &middot; confidence {} &middot; <code>rtscope explain {}</code>{}</p>",
        marked(&card.claim),
        card.confidence,
        escape(&card.id),
        card.shown.as_ref().map_or_else(String::new, way),
        severity = escape(&card.severity),
    );
    out += &titled("Seen", card.seen.iter().map(seen));
    out += &titled("Change", card.changes.iter().map(change));
    out + "</article>"
}

/// A list with its heading; empty without items.
fn titled(title: &str, items: impl Iterator<Item = String>) -> String {
    let items: String = items.map(|item| format!("<li>{item}</li>")).collect();
    if items.is_empty() { items } else { format!("<h4>{title}</h4><ul>{items}</ul>") }
}

fn seen(seen: &Seen) -> String {
    let when = seen.when.as_ref().map(|when| format!(" <span class=\"faint\">({})</span>", escape(when)));
    marked(&seen.text) + &when.unwrap_or_default()
}

fn change(change: &Change) -> String {
    let mut out = marked(&format!("{}{}", if change.alternative { "Or " } else { "" }, change.text));
    out.extend(change.paste.as_ref().map(|text| paste(text)));
    if !change.verify.is_empty() {
        let _ = write!(out, " <span class=\"faint\">Verify: {}</span>", marked(&change.verify));
    }
    out
}

/// The element that holds a text to paste.
pub(crate) const PASTE: &str = "<div class=\"paste\">";

fn paste(text: &str) -> String {
    let lines: Vec<_> = text.lines().take(LINES_MAX).map(escape).collect();
    format!("{PASTE}<pre><code>{}</code></pre></div>", lines.join("\n"))
}

fn commands(all: &[Command]) -> String {
    all.iter().map(|Command { what, text }| faint(what) + &paste(text)).collect()
}

/// The start of a table. It can have the focus, so that the arrow keys scroll a wide one. Heads are HTML.
pub fn begin<'h>(heads: impl IntoIterator<Item = &'h str>) -> String {
    let heads: String = heads.into_iter().map(|head| format!("<th scope=\"col\">{head}</th>")).collect();
    let around = "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Table\"><table><thead><tr>";
    format!("{around}{heads}</tr></thead><tbody>")
}

fn table(table: &Table) -> String {
    let any = |is: fn(&Cell) -> bool| -> Vec<bool> {
        let column = |index| table.rows.iter().any(|row| row.cells.get(index).is_some_and(is));
        (0..table.columns.len()).map(column).collect()
    };
    let drawn = any(|cell| !bar(cell).is_empty());
    let mut heads = vec![escape(&table.topic).into_owned()];
    for ((column, drawn), is_note) in table.columns.iter().zip(&drawn).zip(any(|cell| matches!(cell, Cell::Note(_)))) {
        let head = escape(&column.head);
        heads.push(if is_note { format!("<span>{head}</span>") } else { head.into_owned() });
        heads.extend(drawn.then(String::new));
    }
    let mut out = begin(heads.iter().map(String::as_str));
    for Row { name, cells, .. } in table.rows.iter().take(ROWS_MAX) {
        let _ = write!(out, "<tr><th scope=\"row\">{}</th>", self::name(name));
        for (cell, drawn) in cells.iter().zip(&drawn) {
            let _ = write!(out, "<td>{}</td>", self::cell(cell));
            if *drawn {
                let _ = write!(out, "<td>{}</td>", bar(cell));
            }
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div>");
    let more = table.rows.len().saturating_sub(ROWS_MAX) as u64;
    if more > 0 {
        let more = units::count(more);
        let _ = write!(out, "<p class=\"faint\">and {more} more, see <code>rtscope report --json</code></p>");
    }
    out
}

fn name(name: &Name) -> String {
    let text = escape(&name.text);
    let text = if name.code { format!("<code>{text}</code>") } else { text.into_owned() };
    let text = if name.depth > 0 { format!("<span class=\"part-{}\">{text}</span>", name.depth.min(3)) } else { text };
    if name.mark.is_empty() { text } else { swatch(name.mark) + &text }
}

fn cell(cell: &Cell) -> String {
    match cell {
        Cell::Figure(text) | Cell::Interval { text, .. } => escape(text).into_owned(),
        Cell::Share(share) => escape(&units::percent(*share)).into_owned(),
        Cell::Note(text) => format!("<span class=\"faint\">{}</span>", escape(text)),
    }
}

/// What a cell has drawn in a column next to it.
fn bar(cell: &Cell) -> String {
    match cell {
        Cell::Share(share) if share.is_finite() && *share > 0.0 => {
            let width = (share * 120.0).clamp(0.5, 120.0);
            small(&format!("<rect width=\"{width:.1}\" height=\"10\" class=\"bar\"/>"))
        }
        Cell::Interval { low, high, differs, .. } => interval(*low, *high, *differs),
        _ => String::new(),
    }
}

/// An interval relative to no change, on a scale of its own.
fn interval(low: f64, high: f64, differs: bool) -> String {
    let (from, to) = (low.min(0.0), high.max(0.0));
    if to <= from || !(to - from).is_finite() {
        return String::new();
    }
    let x = |value: f64| 4.0 + 112.0 * (value - from) / (to - from);
    let class = if differs { "differs" } else { "may-be-chance" };
    small(&format!(
        "<rect x=\"{:.1}\" y=\"2\" width=\"{:.1}\" height=\"6\" class=\"{class}\"/><line x1=\"{zero:.1}\" y1=\"0\" \
         x2=\"{zero:.1}\" y2=\"10\" class=\"axis\"/>",
        x(low),
        (x(high) - x(low)).max(1.0),
        zero = x(0.0)
    ))
}

fn small(shapes: &str) -> String {
    format!("<svg class=\"share\" viewBox=\"0 0 120 10\" aria-hidden=\"true\">{shapes}</svg>")
}

fn picture(chart: &Chart<'_>) -> String {
    match &chart.picture {
        Picture::Svg(svg) => svg().map_or_else(String::new, |svg| figure(&svg, "")),
        Picture::Html(html) => html().unwrap_or_default(),
    }
}

/// A drawing with its caption, which is HTML.
pub fn figure(svg: &str, caption: &str) -> String {
    let caption = if caption.is_empty() { String::new() } else { format!("<figcaption>{caption}</figcaption>") };
    format!("<figure>{svg}{caption}</figure>")
}

/// A small square in the colour of `class`, drawn so that it needs no script
/// and no style attribute.
pub fn swatch(class: &str) -> String {
    format!(
        "<svg class=\"swatch\" viewBox=\"0 0 10 10\" aria-hidden=\"true\"><rect width=\"10\" height=\"10\" class=\"{class}\"/></svg> "
    )
}

/// A legend: classes with their words, which are HTML.
pub fn legend(entries: impl IntoIterator<Item = (String, String)>) -> String {
    let entry = |(class, words): (String, String)| format!("<span>{}{words}</span> ", swatch(&class));
    format!("<p class=\"legend\">{}</p>", entries.into_iter().map(entry).collect::<String>())
}

fn tree(tree: &Tree<'_>) -> String {
    let mut rows = String::new();
    let mut from = 0;
    for (Top { role, part }, share) in tree.tops.iter().zip(tree.percents()) {
        let branch = Branch { whole_ns: tree.whole_ns.max(1), class: format!("fill-{role}") };
        branch.write(part, (0, from), &share, &mut rows);
        from = from.saturating_add(part.ns);
    }
    let table = begin(["", "", "share", "time", "<span>based on</span>"]) + &rows + "</tbody></table></div>";
    let whole = faint(&tree.whole);
    match tree.folded {
        true => format!("<details><summary>{}</summary>{whole}{table}</details>", escape(&tree.head)),
        false => whole + &table + &faint(LEFT_OUT),
    }
}

struct Branch {
    whole_ns: u64,
    class: String,
}

impl Branch {
    /// The row of a part that begins at `from`, and those of its parts.
    fn write(&self, part: &Node, (depth, from): (usize, u64), share: &str, rows: &mut String) {
        let name = name(&Name { depth, ..Name::from(part.name.as_str()) });
        let based = [basis(part), part.why.clone()].into_iter().flatten().collect::<Vec<_>>().join("; ");
        let _ = write!(
            rows,
            "<tr><th scope=\"row\">{name}</th><td>{}</td><td>{}</td><td>{}</td><td><span class=\"faint\">{}</span></td></tr>",
            self.bar(from, part.ns, depth),
            escape(share),
            units::duration(part.ns),
            escape(&based)
        );
        let long = |part: &&Node| part.ns as f64 >= PART_SHARE * self.whole_ns as f64;
        let mut from = from;
        for part in part.parts.iter().take(PARTS_MAX).take_while(long) {
            self.write(part, (depth + 1, from), &units::percent(part.ns as f64 / self.whole_ns as f64), rows);
            from = from.saturating_add(part.ns);
        }
    }

    fn bar(&self, from: u64, ns: u64, depth: usize) -> String {
        let [x, width] = [from, ns].map(|ns| TREE_WIDTH * ns as f64 / self.whole_ns as f64);
        let (y, height) = if depth == 0 { (0.0, 12.0) } else { (3.0, 6.0) };
        format!(
            "<svg class=\"part\" viewBox=\"0 0 {TREE_WIDTH} 12\" aria-hidden=\"true\"><rect x=\"{x:.1}\" y=\"{y}\" \
             width=\"{:.1}\" height=\"{height}\" class=\"{}\"/></svg>",
            width.max(0.75),
            self.class
        )
    }
}
