//! The page of every situation: balanced, escaped, self-contained, bounded.
//! With `RTSCOPE_PAGES=DIR` the pages are left there for the browser test.

mod common;

use rtscope::report::html;
use std::path::PathBuf;

fn page(name: &str) -> String {
    let fixture = common::by_name(name);
    html::page(&fixture.results, &fixture.names)
}

#[test]
fn pages_are_written_for_the_browser_test() {
    let folder = std::env::var_os("RTSCOPE_PAGES")
        .map_or_else(|| PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("pages"), PathBuf::from);
    std::fs::create_dir_all(&folder).expect("the folder for pages");
    for fixture in common::all() {
        let text = html::page(&fixture.results, &fixture.names);
        assert!(text.len() < html::SIZE_MAX, "{}: {} bytes", fixture.name, text.len());
        std::fs::write(folder.join(format!("{}.html", fixture.name)), text).expect("writing a page");
    }
}
