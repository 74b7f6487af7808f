//! Names of places in the code of one process, looked up as they are met. Owns which files are searched, and how
//! often: a table of symbols is read whole each time. Refuses to read such a file itself: its owner controls
//! its contents.

use crate::symbols::{self, elf};
use crate::system::clock;
use crate::target::mappings::Mapping;
use crate::target::{Process, open_target};
use rtscope_model::{Time, text};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;

/// Places that have a name or wait for one.
const PLACES_MAX: usize = 1 << 15;
/// The next naming waits this many times the CPU time of the last one, and twice as long each time: what a program
/// does often is named soon, and new places that keep coming cost less and less.
const REST: u64 = 200;
const REST_MAX_NS: u64 = 20_000_000_000;
/// Files kept open.
const FILES_MAX: usize = 64;
/// Longest name in letters.
const NAME_MAX: usize = 200;

#[derive(Clone, Eq, PartialEq, Debug)]
pub(super) struct PlaceName {
    /// The function; for code without a symbol, its module.
    pub name: String,
    /// The function that code without a symbol is local to: compilers place such code in front of that function.
    pub local_to: Option<String>,
    pub runtime: bool,
}

impl PlaceName {
    /// `None`: it cannot be named. Code between functions of one module belongs to that module; between two modules, to
    /// one of them.
    fn of(exact: elf::Exact) -> Option<PlaceName> {
        if let Some(name) = exact.name {
            return Some(PlaceName { name: cut(&name), local_to: None, runtime: exact.runtime });
        }
        let [before, next] = exact.between;
        let of = |name: &Option<String>| name.as_deref().and_then(module).map(str::to_owned);
        let name = match (of(&before), of(&next)) {
            (Some(before), Some(own)) if before == own => {
                let function = next?;
                let name = cut(&format!("{own} (local code before {})", function.get(own.len() + 1..)?));
                return Some(PlaceName { name, local_to: Some(cut(&function)), runtime: false });
            }
            (Some(before), Some(next)) => format!("{before} or {next}"),
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => return None,
        };
        let name = cut(&format!("{name} (a function without a name)"));
        Some(PlaceName { name, local_to: None, runtime: false })
    }
}

/// The module in `Module.function`, as languages with modules name code.
fn module(name: &str) -> Option<&str> {
    let (module, _) = name.rsplit_once('.')?;
    module.starts_with(|first: char| first.is_ascii_uppercase()).then_some(module)
}

fn cut(name: &str) -> String {
    text::clean(name).chars().take(NAME_MAX).collect()
}

#[derive(Debug, Default)]
pub(super) struct PlaceNames {
    known: HashMap<u64, Option<PlaceName>>,
    wanted: BTreeSet<u64>,
    mappings: Vec<Mapping>,
    /// By the path that mappings show.
    files: BTreeMap<String, File>,
    next: Time,
    rest: u64,
    /// Files in which names were searched, and whether at least one place has one.
    named: BTreeMap<String, bool>,
}

impl PlaceNames {
    /// Reads the process's mappings and opens its files while they can be opened.
    pub fn open(process: &Process) -> PlaceNames {
        let mut places = PlaceNames { mappings: process.mappings().unwrap_or_default(), ..PlaceNames::default() };
        for mapping in places.mappings.iter().filter(|mapping| mapping.executable) {
            let new = places.files.len() < FILES_MAX && !places.files.contains_key(&mapping.name);
            if let Some(file) = mapping.file().filter(|_| new)
                && let Ok(file) = open_target(process, file)
            {
                places.files.insert(mapping.name.clone(), file);
            }
        }
        places
    }

    pub fn want(&mut self, addresses: impl Iterator<Item = u64>) {
        for address in addresses {
            if self.known.len() + self.wanted.len() < PLACES_MAX && !self.known.contains_key(&address) {
                self.wanted.insert(address);
            }
        }
    }

    /// Whether no place waits for a name.
    pub fn is_complete(&self) -> bool {
        self.wanted.is_empty()
    }

    /// Whether names are to be looked up again.
    pub fn is_due(&self, now: Time) -> bool {
        !self.wanted.is_empty() && now >= self.next
    }

    /// The name of a place; `None` if it has none, or none yet.
    pub fn name(&self, address: u64) -> Option<&PlaceName> {
        self.known.get(&address)?.as_ref()
    }

    /// Whether no place in this file has a name so far, though some were searched.
    pub fn is_nameless(&self, path: &str) -> bool {
        self.named.get(path) == Some(&false)
    }

    pub fn look_up(&mut self) {
        let wanted = std::mem::take(&mut self.wanted);
        let mut asked: BTreeMap<String, Vec<(u64, u64)>> = BTreeMap::new();
        for address in &wanted {
            let mapping = self.mappings.iter().find(|mapping| mapping.range.contains(address));
            if let Some(mapping) = mapping.filter(|mapping| self.files.contains_key(&mapping.name)) {
                let offset = (address - mapping.range.start).saturating_add(mapping.offset);
                asked.entry(mapping.name.clone()).or_default().push((offset, *address));
            }
        }
        let mut cost_ns = 0_u64;
        for (path, places) in asked {
            let offsets: Vec<u64> = places.iter().map(|place| place.0).collect();
            let file = self.files.get(&path).and_then(|file| file.try_clone().ok());
            let Some(Ok((found, spent_ns))) = file.map(|file| symbols::exact(file, &offsets)) else { continue };
            cost_ns = cost_ns.saturating_add(spent_ns);
            let named: Vec<Option<PlaceName>> = found.into_iter().map(PlaceName::of).collect();
            *self.named.entry(path).or_default() |= named.iter().any(Option::is_some);
            self.known.extend(places.iter().map(|place| place.1).zip(named));
        }
        wanted.into_iter().for_each(|address| _ = self.known.entry(address).or_default());
        self.rest = self.rest.saturating_mul(2).max(REST);
        self.next = clock::monotonic().plus(cost_ns.saturating_mul(self.rest).min(REST_MAX_NS));
    }
}
