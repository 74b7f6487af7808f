//! The page of a load. Refuses to compute figures.

use super::sections;
use rtscope_draw::escape::escape;
use rtscope_draw::page::Page;
use rtscope_load::document::Document;

/// The page; `rtscope-data` holds the document of `load --json`, if it fits.
pub fn load(load: &Document) -> String {
    let how = escape(&format!("{} over {}", load.method, load.protocol)).into_owned();
    let mut page = Page::new(format!("<header><h1>{}</h1><p>{how}</p></header>\n", escape(&load.url)));
    for section in sections::all(load) {
        page.section(&section);
    }
    page.with_document(&load.url, load, None)
}
