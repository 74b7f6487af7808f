//! The files of the page, as they are in `web/`. Owns the table; refuses every name that is not in it, so that no
//! name is ever used as a path.

use include_dir::{Dir, include_dir};
use std::iter;
use std::sync::LazyLock;

/// A file that is served.
#[derive(Copy, Clone, Debug)]
pub struct Asset {
    /// Path below the token.
    pub name: &'static str,
    /// Content type.
    pub kind: &'static str,
    /// Content of the file.
    pub text: &'static str,
}

static FOLDER: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../web/app");

static ALL: LazyLock<Vec<Asset>> = LazyLock::new(|| {
    let page = include_str!("../../../web/index.html");
    let page = Asset { name: "", kind: "text/html; charset=utf-8", text: page };
    let files = FOLDER.files().filter_map(|file| {
        let name = file.path().to_str()?;
        let kind = match name.rsplit_once('.')?.1 {
            "js" => "text/javascript; charset=utf-8",
            "css" => "text/css; charset=utf-8",
            _ => return None,
        };
        Some(Asset { name: format!("app/{name}").leak(), kind, text: file.contents_utf8()? })
    });
    iter::once(page).chain(files).collect()
});

/// The file called `name`, or the page itself for an empty name.
pub fn find(name: &str) -> Option<&'static Asset> {
    all().find(|asset| asset.name == name)
}

/// All files that are served.
pub fn all() -> impl Iterator<Item = &'static Asset> {
    ALL.iter()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_file_of_the_page_is_served_and_no_other() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/app");
        let there: BTreeSet<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| format!("app/{}", entry.unwrap().file_name().to_string_lossy()))
            .filter(|name| !name.ends_with(".d.ts"))
            .collect();
        let served: BTreeSet<String> =
            all().map(|asset| asset.name.to_string()).filter(|name| !name.is_empty()).collect();
        assert_eq!(served, there);
    }

    #[test]
    fn modules_import_only_what_is_served() {
        for asset in all() {
            for line in asset.text.lines().filter(|line| line.starts_with("import ")) {
                let name = line.rsplit("from ").next().unwrap_or("").trim_matches(['"', ';', ' ']);
                let name = name.strip_prefix("./").unwrap_or_else(|| panic!("{}: {line}", asset.name));
                assert!(find(&format!("app/{name}")).is_some(), "{}: {line}", asset.name);
            }
        }
    }

    #[test]
    fn the_page_has_nothing_inline_and_names_no_other_place() {
        let page = find("").unwrap().text;
        for word in [" style=", " onclick=", " onload=", "javascript:", "<style", "<script>"] {
            assert!(!page.contains(word), "{word}");
        }
        for asset in all() {
            let places = asset.text.matches("://").count() - asset.text.matches("http://www.w3.org/2000/svg").count();
            assert_eq!(places, 0, "{}", asset.name);
            assert!(!asset.text.contains("innerHTML") && !asset.text.contains("eval("), "{}", asset.name);
        }
    }
}
