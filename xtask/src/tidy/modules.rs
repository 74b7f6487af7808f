//! The modules of a crate as its files declare them, and which file uses which. Owns what counts as a use: a
//! `use` or a path to an item of another file; re-exports are followed to the item's own file. A file that
//! only declares and re-exports its children does not use them. Refuses tests: code under `#[cfg(test)]` is
//! not read.

use anyhow::{Context, Result, anyhow};
use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Names that lead from the crate's root to a module.
type Names = Vec<String>;

/// Longest chain of re-exports that is followed.
const FOLLOWED_MAX: usize = 16;

/// The uses between files, each with a path that shows it.
pub(super) type Uses = BTreeMap<(PathBuf, PathBuf), String>;

/// One crate: a library, or a program without one.
#[derive(Default)]
pub(super) struct Crate {
    modules: BTreeMap<Names, Module>,
}

/// The content of a module, which is a file or inline.
#[derive(Default)]
struct Module {
    file: PathBuf,
    items: BTreeSet<String>,
    imports: Vec<Import>,
    /// Paths of at least two names outside `use`.
    paths: BTreeSet<Names>,
    /// All names outside `use`, and all literals.
    words: BTreeSet<String>,
}

/// A leaf of a `use`.
struct Import {
    /// Its name in this module; `None`: a glob.
    name: Option<String>,
    path: Names,
    public: bool,
}

/// What a path leads to: a module itself, or an item in one.
#[derive(Debug, PartialEq)]
enum Target {
    Module(Names),
    Item(Names),
}

impl Crate {
    /// Reads the crate with the root `file`, and every file that it declares. Paths are relative to `root`.
    pub(super) fn read(root: &Path, file: &Path) -> Result<Crate> {
        let folder = file.parent().context("a file without a folder")?;
        let mut whole = Crate::default();
        whole.file(file, folder, &Names::new())?;
        for module in whole.modules.values_mut() {
            module.file = module.file.strip_prefix(root)?.to_owned();
        }
        Ok(whole)
    }

    pub(super) fn files(&self) -> impl Iterator<Item = &Path> {
        self.modules.values().map(|module| module.file.as_path())
    }

    /// All names and literals of the code, with their files.
    pub(super) fn words(&self) -> impl Iterator<Item = (&Path, &str)> {
        self.modules.values().flat_map(|module| {
            let imported = module.imports.iter().flat_map(|import| &import.path);
            module.words.iter().chain(imported).map(|word| (module.file.as_path(), word.as_str()))
        })
    }

    /// `folder` contains the files of its children.
    fn file(&mut self, file: &Path, folder: &Path, names: &Names) -> Result<()> {
        let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
        let tokens: TokenStream = text.parse().map_err(|error| anyhow!("{}: {error}", file.display()))?;
        self.module(tokens, file, folder, names)
    }

    fn module(&mut self, tokens: TokenStream, file: &Path, folder: &Path, names: &Names) -> Result<()> {
        let mut reader = Reader { module: Module { file: file.to_owned(), ..Module::default() }, children: Vec::new() };
        reader.tokens(&without_tests(tokens), true);
        self.modules.insert(names.clone(), reader.module);
        for (name, body) in reader.children {
            let mut inner = names.clone();
            inner.push(name.clone());
            let below = folder.join(&name);
            match body {
                Some(body) => self.module(body.stream(), file, &below, &inner)?,
                None => {
                    let candidates = [folder.join(format!("{name}.rs")), below.join("mod.rs")];
                    let found = candidates.iter().find(|path| path.exists());
                    let found = found.with_context(|| format!("{}: no file of module {name}", file.display()))?;
                    self.file(found, &below, &inner)?;
                }
            }
        }
        Ok(())
    }

    /// Which file uses which.
    pub(super) fn uses(&self) -> Uses {
        let mut uses = Uses::new();
        for (names, module) in &self.modules {
            let imports = module.imports.iter().filter(|import| self.is_use(names, module, import));
            for path in module.paths.iter().chain(imports.map(|import| &import.path)) {
                let Some(target) = self.resolve(names, path, FOLLOWED_MAX) else { continue };
                // A module that is only named is used when a path goes into it.
                let Target::Item(owner) = target else { continue };
                let Some(used) = self.modules.get(&owner).filter(|used| used.file != module.file) else { continue };
                uses.entry((module.file.clone(), used.file.clone())).or_insert_with(|| path.join("::"));
            }
        }
        uses
    }

    /// Whether an import is more than a re-export from a child.
    fn is_use(&self, names: &Names, module: &Module, import: &Import) -> bool {
        let inside = match self.resolve(names, &import.path, FOLLOWED_MAX) {
            Some(Target::Item(owner) | Target::Module(owner)) => owner.starts_with(names),
            None => false,
        };
        let is_used = import.name.as_ref().is_some_and(|name| module.words.contains(name));
        !(import.public && inside) || is_used
    }

    /// `None`: it leads out of the crate.
    fn resolve(&self, from: &Names, path: &[String], left: usize) -> Option<Target> {
        let left = left.checked_sub(1)?;
        let (first, rest) = path.split_first()?;
        let parent = |names: &Names| names.split_last().map(|(_, parent)| parent.to_vec());
        match first.as_str() {
            "crate" => self.inside(Names::new(), rest, left),
            "self" => self.inside(from.clone(), rest, left),
            "super" => match rest.first().map(String::as_str) {
                Some("super") => self.resolve(&parent(from)?, rest, left),
                _ => self.inside(parent(from)?, rest, left),
            },
            name => {
                let module = self.modules.get(from)?;
                let known = self.child(from, name).is_some() || module.import(name).is_some_and(|one| one.path != path);
                if known { self.inside(from.clone(), path, left) } else { None }
            }
        }
    }

    fn child(&self, names: &Names, name: &str) -> Option<Names> {
        let mut inner = names.clone();
        inner.push(name.to_owned());
        self.modules.contains_key(&inner).then_some(inner)
    }

    /// Follows `path` down from the module `names`.
    fn inside(&self, names: Names, path: &[String], left: usize) -> Option<Target> {
        let left = left.checked_sub(1)?;
        let Some((name, rest)) = path.split_first() else { return Some(Target::Module(names)) };
        if let Some(child) = self.child(&names, name) {
            return self.inside(child, rest, left);
        }
        let module = self.modules.get(&names)?;
        if !module.items.contains(name) {
            if let Some(import) = module.import(name) {
                let whole: Names = import.path.iter().chain(rest).cloned().collect();
                return self.resolve(&names, &whole, left).or(Some(Target::Item(names)));
            }
            let globs = module.imports.iter().filter(|import| import.name.is_none());
            for glob in globs {
                let Some(Target::Module(inner)) = self.resolve(&names, &glob.path, left) else { continue };
                if inner != names && self.modules.get(&inner).is_some_and(|module| module.has(name)) {
                    return self.inside(inner, path, left);
                }
            }
        }
        Some(Target::Item(names))
    }
}

impl Module {
    fn import(&self, name: &str) -> Option<&Import> {
        self.imports.iter().find(|import| import.name.as_deref() == Some(name))
    }

    fn has(&self, name: &str) -> bool {
        self.items.contains(name) || self.import(name).is_some()
    }
}

/// Collects the content of a module.
struct Reader {
    module: Module,
    /// Declared modules, with their bodies if they are inline.
    children: Vec<(String, Option<Group>)>,
}

impl Reader {
    /// `top`: not inside an item.
    fn tokens(&mut self, tokens: &[TokenTree], top: bool) {
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            let rest = tokens.get(at + 1..).unwrap_or_default();
            at += 1;
            match token {
                TokenTree::Group(group) => self.tokens(&without_tests(group.stream()), false),
                TokenTree::Literal(literal) => drop(self.module.words.insert(literal.to_string())),
                TokenTree::Punct(_) => {}
                TokenTree::Ident(ident) => match (ident.to_string().as_str(), rest) {
                    ("use", _) => {
                        let end = rest.iter().position(|token| is_punct(token, ';')).unwrap_or(rest.len());
                        // `+ use<'a>` in a type has no semicolon of its own.
                        if !rest.first().is_some_and(|token| is_punct(token, '<')) {
                            let public = is_public(tokens.get(..at - 1).unwrap_or_default());
                            self.imports(rest.get(..end).unwrap_or_default(), &Names::new(), public);
                            at += end;
                        }
                    }
                    ("mod", [TokenTree::Ident(name), TokenTree::Group(body), ..]) if top => {
                        self.children.push((name.to_string(), Some(body.clone())));
                        at += 2;
                    }
                    ("mod", [TokenTree::Ident(name), ..]) if top => {
                        self.children.push((name.to_string(), None));
                        at += 1;
                    }
                    (keyword, _) => {
                        let lifetime = tokens.get(at.wrapping_sub(2)).is_some_and(|before| is_punct(before, '\''));
                        if top && !lifetime && ITEMS.contains(&keyword) {
                            let name = rest.iter().find_map(|token| match token {
                                TokenTree::Ident(name) => Some(name.to_string()),
                                _ => None,
                            });
                            self.module.items.extend(name);
                        }
                        at += self.path(keyword, rest);
                    }
                },
            }
        }
    }

    /// A name and what follows it after `::`; returns how many more tokens were consumed.
    fn path(&mut self, first: &str, rest: &[TokenTree]) -> usize {
        let mut path = vec![first.to_owned()];
        let mut taken = 0;
        while let Some([colon, second, TokenTree::Ident(name)]) = rest.get(taken..taken + 3)
            && is_punct(colon, ':')
            && is_punct(second, ':')
        {
            path.push(name.to_string());
            taken += 3;
        }
        self.module.words.extend(path.iter().cloned());
        if path.len() > 1 {
            self.module.paths.insert(path);
        }
        taken
    }

    /// The leaves of `a::b::{c, d as e, self, f::*}` after `before`.
    fn imports(&mut self, tokens: &[TokenTree], before: &Names, public: bool) {
        for tree in tokens.split(|token| is_punct(token, ',')) {
            let mut path = before.clone();
            let mut name = None;
            let mut tokens = tree.iter().filter(|token| !is_punct(token, ':'));
            let mut leaf = !tree.is_empty();
            while let Some(token) = tokens.next() {
                match token {
                    TokenTree::Ident(ident) if ident == "as" => name = tokens.next().map(ToString::to_string),
                    TokenTree::Ident(ident) if ident == "self" && !path.is_empty() => {}
                    TokenTree::Ident(ident) => path.push(ident.to_string()),
                    TokenTree::Group(group) => {
                        let inner: Vec<_> = group.stream().into_iter().collect();
                        self.imports(&inner, &path, public);
                        leaf = false;
                    }
                    _ => {
                        self.module.imports.push(Import { name: None, path: path.clone(), public });
                        leaf = false;
                    }
                }
            }
            if leaf {
                let name = name.or_else(|| path.last().cloned());
                self.module.imports.push(Import { name, path, public });
            }
        }
    }
}

/// Keywords before the name of an item. `const fn f` also yields the name `fn`, which is harmless.
const ITEMS: [&str; 9] = ["fn", "struct", "enum", "trait", "type", "const", "static", "union", "macro_rules"];

fn is_punct(token: &TokenTree, sign: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == sign)
}

/// Whether `pub` or `pub(…)` comes directly before.
fn is_public(before: &[TokenTree]) -> bool {
    let last = before.iter().rev().find(|token| !matches!(token, TokenTree::Group(_)));
    matches!(last, Some(TokenTree::Ident(ident)) if ident == "pub")
}

/// The tokens without documentation and test code.
fn without_tests(tokens: TokenStream) -> Vec<TokenTree> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut kept = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let rest = tokens.get(at + 1..).unwrap_or_default();
        at += 1;
        let (group, taken) = match rest {
            [TokenTree::Group(group), ..] if is_punct(token, '#') => (group, 1),
            [inner, TokenTree::Group(group), ..] if is_punct(token, '#') && is_punct(inner, '!') => (group, 2),
            _ => {
                kept.push(token.clone());
                continue;
            }
        };
        at += taken;
        let attribute = group.stream().to_string();
        if is_for_tests(&attribute) {
            at += length_of_item(tokens.get(at..).unwrap_or_default());
        } else if !attribute.starts_with("doc ") {
            kept.push(TokenTree::Group(group.clone()));
        }
    }
    kept
}

fn is_for_tests(attribute: &str) -> bool {
    let plain: String = attribute.chars().filter(|c| !c.is_whitespace()).collect();
    plain.starts_with("cfg(test") || plain.starts_with("cfg(any(test,") || plain.starts_with("cfg(all(test,")
}

/// Number of tokens of the first item, statement or field.
fn length_of_item(tokens: &[TokenTree]) -> usize {
    const TO_SEMICOLON: [&str; 4] = ["use", "let", "static", "type"];
    const TO_BODY: [&str; 7] = ["fn", "struct", "enum", "trait", "impl", "mod", "macro_rules"];
    let has = |words: &[&str]| {
        tokens
            .iter()
            .take(6)
            .any(|token| matches!(token, TokenTree::Ident(ident) if words.iter().any(|word| ident == word)))
    };
    let (item, body) = (has(&TO_SEMICOLON) || has(&["const"]), has(&TO_BODY) && !has(&TO_SEMICOLON));
    let ends = |token: &TokenTree| match token {
        TokenTree::Group(group) => (body || !item) && group.delimiter() == Delimiter::Brace,
        token => is_punct(token, ';') || (!item && !body && is_punct(token, ',')),
    };
    tokens.iter().position(ends).map_or(tokens.len(), |at| at + 1)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A crate made of these files, in a temporary folder.
    pub(in crate::tidy) fn of(files: &[(&str, &str)]) -> Crate {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Crate::read(folder.path(), &folder.path().join("lib.rs")).unwrap()
    }

    fn uses(files: &[(&str, &str)]) -> Vec<String> {
        of(files).uses().keys().map(|(from, to)| format!("{} > {}", from.display(), to.display())).collect()
    }

    #[test]
    fn paths_and_imports_are_uses() {
        let lib = ("lib.rs", "mod a; mod b; mod c;");
        let c = ("c.rs", "pub struct C; pub fn f() {}");
        for a in [
            "use crate::c::C;",
            "use super::c::{self as other, C as D};",
            "fn g() { format!(\"{}\", crate::c::f()) }",
            "use super::c; fn g() { c::f() }",
            "fn g() { use crate::{b, c}; (c::f)() }",
            "mod inner { fn g() { super::super::c::f() } }",
        ] {
            assert_eq!(uses(&[lib, c, ("b.rs", ""), ("a.rs", a)]), ["a.rs > c.rs"], "{a}");
        }
        for a in ["use super::c;", "/// [`crate::c::f`]\nuse std::fmt::C;", "#[cfg(test)] mod t { use crate::c::f; }"] {
            assert_eq!(uses(&[lib, c, ("b.rs", ""), ("a.rs", a)]), [""; 0], "{a}");
        }
    }

    #[test]
    fn re_exports_are_followed_and_are_no_uses() {
        let lib = ("lib.rs", "mod a; mod b;");
        let both =
            |parent| uses(&[lib, ("a/mod.rs", parent), ("a/x.rs", "pub struct X;"), ("b.rs", "use crate::a::X;")]);
        assert_eq!(both("mod x; pub use x::X;"), ["b.rs > a/x.rs"]);
        assert_eq!(both("mod x; pub use self::x::*;"), ["b.rs > a/x.rs"]);
        assert_eq!(both("mod x; pub use x::X; fn f(x: X) {}"), ["a/mod.rs > a/x.rs", "b.rs > a/x.rs"]);
        assert_eq!(both("mod x; pub struct X; fn f() { x::g() }"), ["a/mod.rs > a/x.rs", "b.rs > a/mod.rs"]);
    }

    #[test]
    fn a_lifetime_is_no_item() {
        let x = ("a/mod.rs", "mod x; pub use x::X; static A: &'static X = &X;");
        assert_eq!(uses(&[("lib.rs", "mod a; use a::X;"), x, ("a/x.rs", "pub struct X;")])[1], "lib.rs > a/x.rs");
    }

    #[test]
    fn what_only_tests_have_is_left_out() {
        let code = "#[cfg(test)] use a::{b}; fn k() { #[cfg(test)] let x = S { y: 1 }; kept() } \
                    #[cfg(any(test, feature = \"testing\"))] pub mod t { fn gone() {} } fn l() {}";
        let whole = of(&[("lib.rs", code)]);
        let words: Vec<_> = whole.words().map(|(_, word)| word).collect();
        assert_eq!(words, ["fn", "k", "kept", "l"]);
    }
}
