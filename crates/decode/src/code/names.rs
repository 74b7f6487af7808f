//! `code/symbols.json`: names of the places that the samples of a capture point to, so that the capture can be read
//! on a machine without the executables. Owns the file's format and the table made from it; refuses to find a name
//! that is not in it.

use super::CodeError;
use super::kernel_names::{entered_by, entry_of, fault_of, is_waiting};
use super::maps::{Module, Origin, Place};
use rtscope_model::code::PAGE_FAULT;
use rtscope_model::purpose::{self, Frame};
use rtscope_model::{CodeKind, PurposeId, Role, Symbol, SymbolId, Symbols};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};

/// The schema that this code writes.
pub const SCHEMA: &str = "rtscope/symbols/1";

const RUN_TIME: &str = "code made at run time";
const UNMAPPED: &str = "an address where nothing was mapped";
const KERNEL: &str = "[kernel]";
/// Suffix of the names of stubs that lead to libraries.
pub const STUB: &str = "(.plt)";

/// The content of `code/symbols.json`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Names {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// Executables and libraries.
    pub modules: Vec<ModuleNames>,
    /// The kernel's functions, by address.
    pub kernel: Vec<Named>,
    /// How functions of the kernel (by their start) were entered: `page fault` (with what it followed from), or the
    /// name of a system call.
    pub entered: Vec<(u64, String)>,
    /// What has no names, and why: one sentence each.
    pub missing: Vec<String>,
}

impl Default for Names {
    fn default() -> Self {
        Names {
            schema: SCHEMA.to_owned(),
            modules: Vec::new(),
            kernel: Vec::new(),
            entered: Vec::new(),
            missing: Vec::new(),
        }
    }
}

/// Names in one executable or library.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ModuleNames {
    /// Path as the process saw it.
    pub path: String,
    /// Major and minor number of the file's device.
    pub device: (u32, u32),
    /// Inode of the file.
    pub inode: u64,
    /// The linker's id of this build, hexadecimal.
    pub build_id: Option<String>,
    /// Size of the file in bytes.
    pub size: Option<u64>,
    /// When it was last changed, nanoseconds of the real-time clock.
    pub modified_ns: Option<i64>,
    /// Why its places have no names, if they have none.
    pub missing: Option<String>,
    /// How local functions of the program get names, if some that were seen have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names_by: Option<String>,
    /// Names by offset in the file.
    pub names: Vec<Named>,
}

/// A named range of code.
#[derive(Clone, Eq, PartialEq, Debug, Serialize, Deserialize)]
pub struct Named {
    /// First byte: an offset in the module's file, or an address in the kernel.
    pub from: u64,
    /// End of the range, exclusive.
    pub to: u64,
    /// Address of `from` in the process in which it was first seen; 0: in the kernel.
    #[serde(default)]
    pub at: u64,
    /// The name for display.
    pub name: String,
    /// Whose code it is.
    pub kind: CodeKind,
    /// File and span in the source, where the binary has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Its purpose, for known functions of a runtime.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<NamedRole>,
}

/// A [`Role`] in `code/symbols.json`. A later version may have more purposes.
#[derive(Clone, Eq, PartialEq, Debug, Serialize, Deserialize)]
pub struct NamedRole {
    /// Id of its own purpose.
    pub own: String,
    /// Id of the purpose of what it calls; absent where it serves its callers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<String>,
    /// A function that it calls keeps its own purpose, if it serves many but has one by itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub leads: bool,
}

impl From<Role> for NamedRole {
    fn from(role: Role) -> NamedRole {
        let id = |purpose: PurposeId| purpose.get().id.to_owned();
        NamedRole { own: id(role.own), calls: role.calls.map(id), leads: role.leads }
    }
}

impl NamedRole {
    /// The role; `None`: a purpose that this version does not know.
    fn role(&self) -> Option<Role> {
        let calls = self.calls.as_deref().map(PurposeId::of);
        if calls == Some(None) {
            return None;
        }
        Some(Role { own: PurposeId::of(&self.own)?, calls: calls.flatten(), leads: self.leads })
    }
}

impl Named {
    /// Address of `to`, given that `from` is at `at`.
    fn end_at(&self) -> u64 {
        self.at.saturating_add(self.to.saturating_sub(self.from))
    }
}

/// The name that a program's own log gives the code at an address (GHC's info provenance).
#[derive(Clone, Eq, PartialEq, Debug)]
pub struct Ipe {
    /// Address of the code.
    pub address: u64,
    /// `Main.spin`; empty where the log has only a location.
    pub name: String,
    /// File and span in the source; empty where the log has none.
    pub source: String,
}

impl Names {
    /// Addresses for which the program's log may have names: sorted ranges.
    pub fn ranges(&self) -> Vec<(u64, u64)> {
        let named = self.modules.iter().flat_map(|module| &module.names);
        let of_program = named.filter(|named| named.kind == CodeKind::Program);
        let mut ranges: Vec<(u64, u64)> = of_program.map(|named| (named.at, named.end_at())).collect();
        ranges.sort_unstable();
        ranges
    }

    /// Reads `code/symbols.json`.
    pub fn parse(json: &[u8]) -> Result<Names, CodeError> {
        let damaged = |error: serde_json::Error| CodeError::Names { line: error.line(), column: error.column() };
        let names: Names = serde_json::from_slice(json).map_err(damaged)?;
        if names.schema == SCHEMA { Ok(names) } else { Err(CodeError::NamesSchema { schema: names.schema }) }
    }

    /// Adds to [`Names::entered`] how each of `chains` (kernel call chains, innermost first) entered the kernel, for
    /// the function that names it as a wait and as running code. Uses [`Names::kernel`] as it is.
    pub fn enter<'c>(&mut self, chains: impl Iterator<Item = (&'c [u64], bool)>) {
        let kernel = Ranges::new(&self.kernel, |named| named.clone());
        let mut entered: Vec<(u64, String)> = chains
            .filter_map(|(chain, waits)| {
                let leaf = kernel.leaf(chain, waits, |named| is_waiting(&named.name))?.from;
                let entry = entered_by(chain.iter().rev().filter_map(|ip| entry_of(&kernel.find(*ip)?.name)))?;
                let label = entry_point(entry, chain.iter().filter_map(|ip| fault_of(&kernel.find(*ip)?.name)));
                Some((leaf, label.to_owned()))
            })
            .collect();
        entered.sort();
        entered.dedup();
        self.entered = entered;
    }
}

/// How a thread came into the kernel: `entry`, or for a page fault what it followed from, where one of
/// `faults` shows it.
fn entry_point(entry: &str, mut faults: impl Iterator<Item = &'static str>) -> &str {
    if entry == PAGE_FAULT { faults.next().unwrap_or(entry) } else { entry }
}

/// Disjoint ranges of addresses with their values.
#[derive(Clone, Debug)]
struct Ranges<T> {
    by_start: BTreeMap<u64, (u64, T)>,
}

impl<T> Ranges<T> {
    fn new<'n>(names: &'n [Named], mut make: impl FnMut(&'n Named) -> T) -> Ranges<T> {
        Ranges { by_start: names.iter().map(|named| (named.from, (named.to, make(named)))).collect() }
    }

    /// Gives the part of a range from `address` on the value `value`.
    fn cut(&mut self, address: u64, value: T) {
        let Some((_, (end, _))) = self.by_start.range_mut(..=address).next_back() else { return };
        if address < *end {
            let to = std::mem::replace(end, address);
            self.by_start.insert(address, (to, value));
        }
    }

    fn find(&self, address: u64) -> Option<&T> {
        let (_, (end, value)) = self.by_start.range(..=address).next_back()?;
        (address < *end).then_some(value)
    }

    /// The function that names a chain: the innermost one of running code, for a wait the innermost that does
    /// more than wait.
    fn leaf(&self, chain: &[u64], waits: bool, is_waiting: impl Fn(&T) -> bool) -> Option<&T> {
        let mut known = chain.iter().filter_map(|ip| self.find(*ip));
        if !waits {
            return self.find(*chain.first()?);
        }
        let innermost = known.clone().next();
        known.find(|found| !is_waiting(found)).or(innermost)
    }
}

/// A kernel function.
#[derive(Clone, Debug)]
struct Function {
    start: u64,
    id: SymbolId,
    waiting: bool,
    entry: Option<String>,
    fault: Option<&'static str>,
}

/// Names by place.
#[derive(Clone, Debug)]
pub struct SymbolTable {
    /// All symbols.
    pub symbols: Symbols,
    kernel: Ranges<Function>,
    entered: HashMap<u64, HashMap<String, SymbolId>>,
    modules: HashMap<Module, Ranges<SymbolId>>,
    some_kernel: SymbolId,
    run_time: SymbolId,
    unmapped: SymbolId,
}

impl SymbolTable {
    /// Makes the table of `names`, with the names of `ipe` where they are for the same code.
    pub fn new(names: &Names, ipe: &[Ipe]) -> SymbolTable {
        let mut symbols = Symbols::default();
        let mut plain = |name: &str, module: &str, kind| {
            symbols.add(Symbol { name: name.into(), module: module.into(), kind, ..Symbol::default() })
        };
        let some_kernel = plain(KERNEL, KERNEL, CodeKind::Kernel);
        let run_time = plain(RUN_TIME, "", CodeKind::Unknown);
        let unmapped = plain(UNMAPPED, "", CodeKind::Unknown);
        let ipe: BTreeMap<u64, &Ipe> = ipe.iter().map(|ipe| (ipe.address, ipe)).collect();
        let kernel = Ranges::new(&names.kernel, |named| Function {
            start: named.from,
            id: symbols.add(symbol(named, KERNEL, None)),
            waiting: is_waiting(&named.name),
            entry: entry_of(&named.name).map(str::to_owned),
            fault: fault_of(&named.name),
        });
        let mut entered: HashMap<u64, HashMap<String, SymbolId>> = HashMap::new();
        for (start, entry) in &names.entered {
            let Some(function) = kernel.find(*start) else { continue };
            let source = Some(entry.clone());
            let id = symbols.add(Symbol { source, ..symbols.get(function.id).clone() });
            entered.entry(function.start).or_default().insert(entry.clone(), id);
        }
        let mut modules = HashMap::new();
        for module in &names.modules {
            let key = Module { path: module.path.clone(), device: module.device, inode: module.inode };
            let name = key.name().to_owned();
            let mut pieces = Pieces::default();
            let mut ranges = Ranges::new(&module.names, |named| pieces.symbol(named, &name, &mut symbols));
            for named in
                module.names.iter().filter(|named| named.kind == CodeKind::Program && named.at < named.end_at())
            {
                // The log names what has no name in the symbol table: a local function.
                for (address, of_log) in ipe.range(named.at..named.end_at()) {
                    let id = symbols.add(symbol(named, &name, Some(of_log)));
                    ranges.cut(named.from + (address - named.at), id);
                }
            }
            modules.insert(key, ranges);
        }
        SymbolTable { symbols, kernel, entered, modules, some_kernel, run_time, unmapped }
    }

    /// The symbol of a place.
    pub fn place(&self, place: Place, modules: &[Module]) -> SymbolId {
        match place {
            Place::Kernel(ip) => self.kernel(&[ip], false),
            Place::Unmapped => self.unmapped,
            Place::Unknown => SymbolId::default(),
            Place::Module { module, offset, .. } => {
                let Some(module) = modules.get(module as usize) else { return SymbolId::default() };
                let named = self.modules.get(module).and_then(|names| names.find(offset)).copied();
                let unnamed = if module.origin() == Origin::Memory { self.run_time } else { SymbolId::default() };
                named.unwrap_or(unnamed)
            }
        }
    }

    /// The purpose of the code at `leaf`, in user space, called from `callers`.
    pub fn purpose(&self, leaf: SymbolId, callers: &[Place], modules: &[Module]) -> Option<PurposeId> {
        let callers = callers.iter().map(|place| self.place(*place, modules));
        purpose::of_chain(std::iter::once(leaf).chain(callers).map(|id| frame(self.symbols.get(id))))
    }

    /// The symbol that names a kernel call chain.
    pub fn kernel(&self, chain: &[u64], waits: bool) -> SymbolId {
        let Some(leaf) = self.kernel.leaf(chain, waits, |function| function.waiting) else { return self.some_kernel };
        let Some(entry_points) = self.entered.get(&leaf.start) else { return leaf.id };
        let entry = entered_by(chain.iter().rev().filter_map(|ip| self.kernel.find(*ip)?.entry.as_deref()));
        let label = entry.map(|entry| entry_point(entry, chain.iter().filter_map(|ip| self.kernel.find(*ip)?.fault)));
        // Names of older captures say only that it was a fault, not what it followed from.
        label.and_then(|label| entry_points.get(label)).or_else(|| entry_points.get(entry?)).copied().unwrap_or(leaf.id)
    }
}

/// Appended to a function's name where it spins.
pub const SPINNING: &str = " (spinning)";

fn function(name: &str) -> &str {
    name.strip_suffix(SPINNING).unwrap_or(name)
}

/// Symbols of the pieces of one function, which follow each other. Pieces with the same name are one place.
#[derive(Default)]
struct Pieces<'n> {
    known: Vec<(&'n str, SymbolId)>,
}

impl<'n> Pieces<'n> {
    fn symbol(&mut self, named: &'n Named, module: &str, symbols: &mut Symbols) -> SymbolId {
        let of_it = |(known, _): &(&str, SymbolId)| function(known) == function(&named.name);
        if !self.known.iter().all(of_it) {
            self.known.clear();
        }
        if let Some((_, id)) = self.known.iter().find(|(name, _)| *name == named.name) {
            return *id;
        }
        let id = symbols.add(symbol(named, module, None));
        self.known.push((&named.name, id));
        id
    }
}

fn symbol(named: &Named, module: &str, of_log: Option<&Ipe>) -> Symbol {
    let source = of_log.map(|ipe| ipe.source.clone()).filter(|source| !source.is_empty());
    let name = of_log.map(|ipe| &ipe.name).filter(|name| !name.is_empty());
    Symbol {
        name: name.unwrap_or(&named.name).clone(),
        module: module.to_owned(),
        kind: named.kind,
        source: source.or_else(|| named.source.clone()),
        purpose: named.purpose.as_ref().and_then(NamedRole::role),
    }
}

/// Prefixes of the file names of libraries that work for their callers.
const SERVING: [&str; 8] = ["libc.", "libc-", "libm.", "libm-", "libpthread", "ld-linux", "libzstd.", "[vdso]"];

fn frame(symbol: &Symbol) -> Frame {
    let serves = || symbol.name.ends_with(STUB) || SERVING.iter().any(|name| symbol.module.starts_with(name));
    match (symbol.kind, symbol.purpose) {
        (CodeKind::Runtime, Some(role)) => Frame::Runtime(role),
        (CodeKind::Foreign, _) if serves() => Frame::Serving,
        _ => Frame::Program,
    }
}
