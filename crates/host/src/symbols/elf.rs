//! Names in an ELF file: which function an offset of the file lies in. Owns the
//! symbol tables and the sections; refuses to name what lies in no function.

use super::names::{Library, Names, Owner, kind};
use super::spins;
use crate::binary::Bounded;
use crate::runtimes::known;
use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use object::{Endianness, Object, ObjectSection, ObjectSymbol, ReadRef, SectionFlags, SymbolKind, elf};
use rtscope_decode::code::{Named, NamedRole, SPINNING};
use rtscope_model::{CodeKind, PurposeClass, PurposeId, Role};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Cursor;
use std::ops::Range;

/// No known file has as many functions.
const FUNCTIONS_MAX: usize = 1 << 21;

/// Names in one file for some of its places.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct FoundNames {
    /// Names of the places that have one, by offset in the file, disjoint.
    pub names: Vec<Named>,
    /// The linker's mark of this build, hexadecimal.
    pub build_id: Option<String>,
    /// Whether the file has no symbol table of its own, only exported symbols.
    pub stripped: bool,
    /// Whether all code in the file has one known owner, with names or without.
    pub single_owner: bool,
    /// Places in it that have no name.
    pub unnamed: usize,
    /// How to get names for the program's code, if some requested places in it have none.
    pub names_by: Option<String>,
}

/// The kind of all code in a file: the runtime's, for its library, or another language's, for a library of
/// that. `None`: a program, or a library with code of a language with a runtime, where names decide.
pub type Content = Option<CodeKind>;

/// A requested place: offset in the file, and the address at which it was sampled.
pub type Asked = (u64, u64);

/// Looks up `asked`, sorted by offset, in the file called `name`. The error says
/// why nothing in it can have a name.
pub fn look_up(file: File, name: &str, asked: &[Asked]) -> Result<FoundNames, String> {
    look_up_in(&Bounded::new(file), name, asked)
}

pub fn look_up_image(image: &[u8], name: &str, asked: &[Asked]) -> Result<FoundNames, String> {
    look_up_in(&Bounded::new(Cursor::new(image)), name, asked)
}

fn look_up_in<'data, R: ReadRef<'data>>(data: R, name: &str, asked: &[Asked]) -> Result<FoundNames, String> {
    let elf = ElfFile64::<Endianness, R>::parse(data).map_err(|_| "is no 64-bit ELF file".to_owned())?;
    let functions = Functions::read(&elf)?;
    let loads = Loads::of(&elf);
    let library = known::all().find_map(|known| known.library(name));
    let content = match library {
        Some(Library::Runtime) => Some(CodeKind::Runtime),
        None if name.contains(".so") && !functions.proved => Some(CodeKind::Foreign),
        _ => None,
    };
    let build_id = elf.build_id().ok().flatten().map(|id| id.iter().map(|byte| format!("{byte:02x}")).collect());
    let (stripped, single_owner) = (functions.stripped, content.is_some());
    let mut found = FoundNames { build_id, stripped, single_owner, ..FoundNames::default() };
    let mut nameless = false;
    for (offset, at) in asked {
        if found.names.last().is_some_and(|last: &Named| *offset < last.to) {
            continue;
        }
        let named = loads.address(*offset).and_then(|address| functions.name(address, *offset, *at, content));
        nameless |=
            named.as_ref().is_some_and(|named| named.kind == CodeKind::Program && named.name.ends_with(NAMELESS));
        found.unnamed += usize::from(named.is_none());
        match named {
            Some(named) => found.names.extend(pieces(named, data).into_iter().filter(|piece| is_asked(piece, asked))),
            None => found.names.push(unnamed(name, (*offset, *at), content)),
        }
    }
    found.names_by = functions.language.unnamed().filter(|_| nameless).map(str::to_owned);
    Ok(found)
}

/// Whether one of `asked`, sorted, lies in it.
fn is_asked(named: &Named, asked: &[Asked]) -> bool {
    let first = asked.partition_point(|(offset, _)| *offset < named.from);
    asked.get(first).is_some_and(|(offset, _)| *offset < named.to)
}

/// Splits a runtime function where it spins: the purpose of such a loop is another one.
fn pieces<'data, R: ReadRef<'data>>(named: Named, data: R) -> Vec<Named> {
    let waits = named.purpose.as_ref().and_then(waiting);
    let size = named.to.checked_sub(named.from).filter(|size| *size <= FUNCTION_BYTES_MAX);
    let code = waits.as_ref().and_then(|_| data.read_bytes_at(named.from, size?).ok());
    let (Some(waits), Some(code)) = (waits, code) else { return vec![named] };
    let piece = |from: u64, to: u64, spins: bool| Named {
        from: named.from + from,
        to: named.from + to,
        at: named.at.wrapping_add(from),
        name: if spins { format!("{}{SPINNING}", named.name) } else { named.name.clone() },
        purpose: if spins { Some(waits.clone()) } else { named.purpose.clone() },
        ..named.clone()
    };
    let (mut pieces, mut from) = (Vec::new(), 0);
    for spin in spins::loops(code) {
        let (start, end) = (spin.start as u64, spin.end as u64);
        pieces.extend((start > from).then(|| piece(from, start, false)));
        pieces.push(piece(start, end, true));
        from = end;
    }
    let to = named.to - named.from;
    pieces.extend((from < to).then(|| piece(from, to, false)));
    pieces
}

/// The purpose of a function with this role while it spins: it waits for other collectors, or for a lock.
fn waiting(role: &NamedRole) -> Option<NamedRole> {
    let of_collector = PurposeId::of(&role.own)?.get().part != PurposeClass::Serving;
    let own = if of_collector { WAITS_FOR_COLLECTORS } else { WAITS_FOR_LOCKS };
    Some(NamedRole { own: own.to_owned(), calls: role.calls.clone(), leads: role.leads })
}

/// What one file shows about one code address, without inference.
#[derive(Clone, Eq, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Exact {
    /// The function around it, by that function's size; `None`: there is none with a name.
    pub name: Option<String>,
    pub runtime: bool,
    /// If it lies in none: the functions that begin before it and after it.
    pub between: [Option<String>; 2],
}

/// The functions around `asked`, offsets in the file. Errors: why nothing in it can have a name.
pub fn exact(file: File, asked: &[u64]) -> Result<Vec<Exact>, String> {
    let data = Bounded::new(file);
    let elf = ElfFile64::<Endianness, _>::parse(&data).map_err(|_| "is no 64-bit ELF file".to_owned())?;
    let functions = Functions::read(&elf)?;
    let loads = Loads::of(&elf);
    let at = |offset: &u64| loads.address(*offset).map(|address| functions.exact(address)).unwrap_or_default();
    Ok(asked.iter().map(at).collect())
}

/// A place without a name, as an address in its module. Code in another language's library
/// is still that language's, and in the runtime's library the runtime's.
pub fn unnamed(module: &str, (offset, at): Asked, content: Content) -> Named {
    let kind = content.unwrap_or(CodeKind::Unknown);
    let name = format!("{module}+{offset:#x}");
    Named { from: offset, to: offset.saturating_add(1), at, name, kind, source: None, purpose: None }
}

/// The loaded parts of a file: the offsets of each segment, in order, and its link-time address.
struct Loads(Vec<(Range<u64>, u64)>);

impl Loads {
    fn of<'data, R: ReadRef<'data>>(elf: &ElfFile64<'data, Endianness, R>) -> Loads {
        let endian = elf.endian();
        let headers = elf.elf_header().program_headers(endian, elf.data()).unwrap_or_default();
        let loads = headers.iter().filter(|header| header.p_type(endian) == elf::PT_LOAD).map(|header| {
            let from = header.p_offset(endian);
            (from..from.saturating_add(header.p_filesz(endian)), header.p_vaddr(endian))
        });
        let mut loads: Vec<_> = loads.filter(|(offsets, _)| !offsets.is_empty()).collect();
        loads.sort_by_key(|(offsets, _)| offsets.start);
        Loads(loads)
    }

    /// The link-time address of an offset in the file.
    fn address(&self, offset: u64) -> Option<u64> {
        let (offsets, address) = before(&self.0, |(offsets, _)| offsets.start <= offset)?;
        offsets.contains(&offset).then(|| address.wrapping_add(offset - offsets.start))
    }
}

/// The last element of the prefix of `sorted` for which `comes` holds.
fn before<T>(sorted: &[T], comes: impl Fn(&T) -> bool) -> Option<&T> {
    sorted.get(sorted.partition_point(comes).checked_sub(1)?)
}

#[derive(Clone, Debug)]
struct Function<'data> {
    address: u64,
    size: u64,
    name: &'data str,
    global: bool,
    owner: Owner,
}

/// A section with code.
#[derive(Copy, Clone, Debug)]
struct Text {
    from: u64,
    to: u64,
    /// Whether it has the linker's stubs that lead to functions of libraries: most have no names of their own.
    stubs: bool,
}

/// Name of the linker's stubs; ends with [`rtscope_decode::code::STUB`].
const STUBS: &str = "stub that leads to a library (.plt)";

/// No function of a runtime is larger: the largest interpret bytecode.
const FUNCTION_BYTES_MAX: u64 = 1 << 20;

/// Purposes of code that spins.
const WAITS_FOR_COLLECTORS: &str = "waiting-for-collectors";
const WAITS_FOR_LOCKS: &str = "locks";

/// Name of code of which at most the module is known.
const NAMELESS: &str = "code without a name";

struct At {
    name: String,
    kind: CodeKind,
    purpose: Option<Role>,
    from: u64,
    to: u64,
}

/// All functions of a file, by address.
struct Functions<'data> {
    list: Vec<Function<'data>>,
    /// Indices in the list of functions that others can call.
    globals: Vec<usize>,
    /// By address.
    texts: Vec<Text>,
    stripped: bool,
    /// How they are named, and whether one of them proves it.
    language: &'static dyn Names,
    proved: bool,
}

impl<'data> Functions<'data> {
    fn read<R: ReadRef<'data>>(elf: &ElfFile64<'data, Endianness, R>) -> Result<Functions<'data>, String> {
        let texts = texts(elf);
        let stripped = elf.symbols().next().is_none();
        let mut list: Vec<Function<'data>> = elf
            .symbols()
            .chain(elf.dynamic_symbols().filter(|_| stripped))
            .filter(|symbol| symbol.is_definition() || matches!(symbol.kind(), SymbolKind::Unknown | SymbolKind::Label))
            .filter(|symbol| text_of(&texts, symbol.address()).is_some())
            .filter_map(|symbol| {
                let name = symbol.name().ok().filter(|name| is_function(name))?;
                let (address, size, global) = (symbol.address(), symbol.size(), symbol.is_global());
                Some(Function { address, size, name, global, owner: Owner::Other })
            })
            .take(FUNCTIONS_MAX + 1)
            .collect();
        if list.len() > FUNCTIONS_MAX {
            return Err(format!("has more than {FUNCTIONS_MAX} functions"));
        }
        let (own, proved) = known::names_of(list.iter().map(|function| function.name));
        list.retain(|function| !own.is_label(function.name));
        list.iter_mut().for_each(|function| function.owner = own.owner(function.name));
        // Of several names for one address the best one comes last.
        list.sort_by(|a, b| a.address.cmp(&b.address).then_with(|| preference(own, a).cmp(&preference(own, b))));
        list.dedup_by(|later, earlier| {
            let same = later.address == earlier.address;
            if same {
                std::mem::swap(later, earlier);
            }
            same
        });
        Ok(Functions::of(list, texts, stripped, (own, proved)))
    }

    fn of(
        list: Vec<Function<'data>>,
        texts: Vec<Text>,
        stripped: bool,
        (language, proved): (&'static dyn Names, bool),
    ) -> Self {
        let globals = list.iter().enumerate().filter(|(_, function)| function.global).map(|(index, _)| index).collect();
        Functions { list, globals, texts, stripped, language, proved }
    }

    /// The name of the function around `address`, for its whole range.
    fn name(&self, address: u64, offset: u64, at: u64, content: Content) -> Option<Named> {
        let text = text_of(&self.texts, address)?;
        let of_stubs = || {
            let kind = content.unwrap_or(CodeKind::Foreign);
            text.stubs.then(|| At { name: STUBS.to_owned(), kind, purpose: None, from: text.from, to: text.to })
        };
        let found = self.function_at(address, text, content).or_else(of_stubs)?;
        Some(Named {
            from: offset.checked_sub(address - found.from)?,
            to: offset.checked_add(found.to - address)?,
            at: at.wrapping_sub(address - found.from),
            name: found.name,
            kind: found.kind,
            source: None,
            purpose: found.purpose.map(NamedRole::from),
        })
    }

    /// The function around `address` in `text`, or the gap between two.
    fn function_at(&self, address: u64, text: Text, content: Content) -> Option<At> {
        let after = self.list.partition_point(|function| function.address <= address);
        let before = after.checked_sub(1).filter(|index| self.address(*index) >= Some(text.from));
        let next = Some(after).filter(|index| self.address(*index).is_some_and(|next| next < text.to));
        let limit = next.and_then(|index| self.address(index)).unwrap_or(text.to);
        // Hand-written code often lacks a size. Code after it may come from a compiler that leaves out names.
        let nameless =
            next.and_then(|next| self.list.get(next)).is_some_and(|next| self.language.module(next.name).is_some());
        let end = before.and_then(|index| self.list.get(index)).map_or(text.from, |function| match function.size {
            0 if function.owner == Owner::Other && nameless => function.address,
            0 => limit,
            size => function.address.saturating_add(size).min(limit),
        });
        if address >= end {
            let (name, kind) = self.gap(before, next)?;
            return Some(At { name, kind: content.unwrap_or(kind), purpose: None, from: end, to: limit });
        }
        let owner = before?;
        let function = self.list.get(owner)?;
        let by_name = || kind(self.language, function.owner, || self.neighbours(owner).collect());
        let kind = content.unwrap_or_else(by_name);
        let purpose = (kind == CodeKind::Runtime).then(|| self.language.purpose(function.name)).flatten();
        Some(At { name: self.language.readable(function.name), kind, purpose, from: function.address, to: end })
    }

    /// The function around `address`, by its size. A function without a size, as in assembly, proves nothing, unless
    /// the runtime's own code is written so.
    fn exact(&self, address: u64) -> Exact {
        let after = self.list.partition_point(|function| function.address <= address);
        let index = after.checked_sub(1);
        let before = index.and_then(|index| self.list.get(index));
        let next = self.list.get(after);
        let readable = |function: &Function<'_>| self.language.readable(function.name);
        let inside = |function: &&Function<'_>| match function.size {
            0 => function.owner == Owner::Runtime,
            size => address - function.address < size,
        };
        match index.zip(before.filter(inside)) {
            Some((index, own)) => {
                let kind = kind(self.language, own.owner, || self.neighbours(index).collect());
                let (runtime, name) = (kind == CodeKind::Runtime, Some(readable(own)));
                Exact { name, runtime, ..Exact::default() }
            }
            None => Exact { between: [before, next].map(|function| function.map(readable)), ..Exact::default() },
        }
    }

    fn address(&self, index: usize) -> Option<u64> {
        self.list.get(index).map(|function| function.address)
    }

    /// The owner of code between one function's end and the next one's start: never either's name. A compiler
    /// that drops the names of local functions places their code in front of the function that they are local to, so
    /// it belongs to that one's module; the rest belongs to the owner of the one before.
    fn gap(&self, before: Option<usize>, next: Option<usize>) -> Option<(String, CodeKind)> {
        if self.stripped {
            return None;
        }
        let module = |index: Option<usize>| self.language.module(self.list.get(index?)?.name);
        let owner = before.and_then(|index| self.list.get(index)).map(|one| one.owner);
        let of_next = module(next).filter(|next| module(before).is_none_or(|before| before == *next));
        let of_before = || module(before).filter(|_| owner == Some(Owner::Program));
        match (of_next.or_else(of_before), owner) {
            (Some(module), _) => {
                Some((format!("{}: {NAMELESS}", self.language.readable_module(module)), CodeKind::Program))
            }
            (None, Some(Owner::Program)) => Some((format!("program {NAMELESS}"), CodeKind::Program)),
            (None, Some(Owner::Runtime)) => Some((format!("runtime {NAMELESS}"), CodeKind::Runtime)),
            _ => None,
        }
    }

    /// The owners of the nearest functions on both sides that others can call.
    fn neighbours(&self, index: usize) -> impl Iterator<Item = Owner> {
        let after = self.globals.partition_point(|global| *global <= index);
        let before = self.globals.partition_point(|global| *global < index).checked_sub(1);
        let places = [before, Some(after)].into_iter().flatten();
        places.filter_map(|place| Some(self.list.get(*self.globals.get(place)?)?.owner))
    }
}

/// The sections with code, by address.
fn texts<'data, R: ReadRef<'data>>(elf: &ElfFile64<'data, Endianness, R>) -> Vec<Text> {
    let code = |flags| matches!(flags, SectionFlags::Elf { sh_flags } if sh_flags & u64::from(elf::SHF_EXECINSTR) != 0);
    let sections = elf.sections().filter(|section| section.size() > 0 && code(section.flags()));
    let text = sections.map(|section| Text {
        from: section.address(),
        to: section.address().saturating_add(section.size()),
        stubs: section.name().is_ok_and(|name| name.starts_with(".plt")),
    });
    let mut texts: Vec<Text> = text.collect();
    texts.sort_by_key(|text| text.from);
    texts
}

/// The section around `address`; if several overlap, as no linker lays them out, the last.
fn text_of(texts: &[Text], address: u64) -> Option<Text> {
    before(texts, |text| text.from <= address).filter(|text| address < text.to).copied()
}

fn is_function(name: &str) -> bool {
    !name.is_empty() && !name.starts_with(['.', '$'])
}

/// Ranks names of one address by how well people know them. The program's own, else
/// global, with few underscores, short.
fn preference(
    names: &dyn Names,
    function: &Function<'_>,
) -> (bool, bool, std::cmp::Reverse<usize>, std::cmp::Reverse<usize>) {
    let underscores = function.name.len() - function.name.trim_start_matches('_').len();
    let own = function.owner == Owner::Program && names.is_best(function.name);
    (own, function.global, std::cmp::Reverse(underscores), std::cmp::Reverse(function.name.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtimes::ghc::Ghc;

    /// Functions of a text section from 0x1000 to 0x2000.
    fn functions<'n>(list: &[(u64, u64, &'n str)]) -> Functions<'n> {
        let function = |(address, size, name): &(u64, u64, &'n str)| Function {
            address: *address,
            size: *size,
            name,
            global: true,
            owner: Ghc.owner(name),
        };
        let texts =
            vec![Text { from: 0x1000, to: 0x2000, stubs: false }, Text { from: 0x4000, to: 0x4100, stubs: true }];
        Functions::of(list.iter().map(function).collect(), texts, false, (&Ghc, true))
    }

    fn at(functions: &Functions<'_>, address: u64) -> Option<(String, CodeKind, u64, u64)> {
        let named = functions.name(address, address - 0x1000, address + 0x5000, None)?;
        assert_eq!(named.at, named.from + 0x6000);
        Some((named.name, named.kind, named.from, named.to))
    }

    #[test]
    fn what_lies_in_no_function_has_no_functions_name() {
        let functions = functions(&[
            (0x1080, 0, "frame_dummy"),
            (0x1100, 0x50, "c_busy"),
            (0x1180, 0, "crt_of_size_0"),
            (0x1200, 0x50, "Main_work_info"),
            (0x1300, 0x50, "Main_main1_info"),
            (0x1400, 0x50, "base_GHCziBase_map_info"),
            (0x1500, 0, "stg_ap_0_fast"),
        ]);
        let named = |name: &str, kind, from, to| Some((name.to_owned(), kind, from, to));
        assert_eq!(at(&functions, 0x1110), named("c_busy", CodeKind::Foreign, 0x100, 0x150));
        assert_eq!(at(&functions, 0x1010), None, "in front of another language's code");
        let nameless = "Main: code without a name";
        assert_eq!(at(&functions, 0x1090), named("frame_dummy", CodeKind::Foreign, 0x80, 0x100));
        assert_eq!(at(&functions, 0x1160), None, "behind another language's code");
        assert_eq!(at(&functions, 0x1190), named(nameless, CodeKind::Program, 0x180, 0x200));
        assert_eq!(at(&functions, 0x1210), named("Main.work", CodeKind::Program, 0x200, 0x250));
        assert_eq!(at(&functions, 0x1260), named(nameless, CodeKind::Program, 0x250, 0x300));
        assert_eq!(at(&functions, 0x1360), named(nameless, CodeKind::Program, 0x350, 0x400));
        assert_eq!(at(&functions, 0x1460), named("GHC.Base: code without a name", CodeKind::Program, 0x450, 0x500));
        assert_eq!(at(&functions, 0x1fff), named("stg_ap_0_fast", CodeKind::Runtime, 0x500, 0x1000));
        assert_eq!(at(&functions, 0x2000), None);
    }

    #[test]
    fn a_static_function_is_the_runtimes_where_it_lies_among_others_of_it() {
        let with = |neighbour| {
            functions(&[(0x1100, 0x50, neighbour), (0x1200, 0x50, "giveCapabilityToTask.constprop.0")]).exact(0x1210)
        };
        assert_eq!(
            with("releaseCapability"),
            Exact { name: Some("giveCapabilityToTask.constprop.0".into()), runtime: true, ..Exact::default() }
        );
        assert!(!with("c_busy").runtime);
    }

    #[test]
    fn what_a_stripped_file_exports_ends_with_its_size() {
        let functions =
            Functions { stripped: true, ..functions(&[(0x1100, 0x50, "c_busy"), (0x1200, 0x50, "Main_work_info")]) };
        assert!(at(&functions, 0x1110).is_some());
        assert_eq!(at(&functions, 0x1160), None);
        assert_eq!(at(&functions, 0x1260), None);
    }

    #[test]
    fn a_function_of_the_runtime_is_cut_where_it_spins() {
        let code = [&[0x90; 16][..], &[0x90, 0xf3, 0x90, 0x48, 0x75, 0xfb, 0xc3], &[0xcc; 9]].concat();
        let cut = |name: &str| {
            let purpose = Ghc.purpose(name).map(NamedRole::from);
            let kind = CodeKind::Runtime;
            let named = Named { from: 16, to: 23, at: 0x1010, name: name.to_owned(), kind, source: None, purpose };
            let of = |piece: Named| (piece.from, piece.to, piece.at, piece.name, piece.purpose.map(|role| role.own));
            pieces(named, &code[..]).into_iter().map(of).collect::<Vec<_>>()
        };
        let piece =
            |from: u64, to, name: &str, own: &str| (from, to, 0x1000 + from, name.to_owned(), Some(own.to_owned()));
        assert_eq!(
            cut("GarbageCollect"),
            [
                piece(16, 17, "GarbageCollect", "collection-control"),
                piece(17, 22, "GarbageCollect (spinning)", "waiting-for-collectors"),
                piece(22, 23, "GarbageCollect", "collection-control"),
            ]
        );
        assert_eq!(cut("stmReadTVar")[1], piece(17, 22, "stmReadTVar (spinning)", "locks"));
        assert_eq!(cut("c_busy").len(), 1);
    }

    #[test]
    fn stubs_that_lead_to_libraries_are_called_that() {
        let functions = functions(&[(0x1100, 0x50, "c_busy")]);
        assert_eq!(at(&functions, 0x4010), Some((STUBS.to_owned(), CodeKind::Foreign, 0x3000, 0x3100)));
    }

    #[inline(never)]
    fn marked(number: u64) -> u64 {
        std::hint::black_box(number) + 1
    }

    #[test]
    fn a_function_of_this_very_file_is_found() {
        let address = marked as fn(u64) -> u64 as usize as u64;
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let number = |text: &str| u64::from_str_radix(text, 16).unwrap();
        let map = maps.lines().find_map(|line| {
            let mut fields = line.split_ascii_whitespace();
            let (from, to) = fields.next()?.split_once('-')?;
            let offset = number(fields.nth(1)?);
            (number(from)..number(to)).contains(&address).then(|| address - number(from) + offset)
        });
        let file = File::open(std::env::current_exe().unwrap()).unwrap();
        let found = look_up(file, "this", &[(map.unwrap(), address), (u64::MAX - 1, 7)]).unwrap();
        let [named, nowhere] = &found.names[..] else { panic!("{found:?}") };
        assert!(named.name.contains("marked") && named.at <= address, "{named:?}");
        assert_eq!((nowhere.kind, found.unnamed), (CodeKind::Unknown, 1));
        assert!(look_up(File::open("/proc/self/maps").unwrap(), "maps", &[]).is_err());
    }
}
