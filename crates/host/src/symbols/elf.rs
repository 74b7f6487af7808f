//! Names in an ELF file: which function an offset of the file lies in. Owns the
//! symbol tables and the sections; refuses to name what lies in no function.

use super::names::{Library, Names, Owner, kind};
use crate::binary::Bounded;
use crate::runtimes::known;
use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use object::{Endianness, Object, ObjectSection, ObjectSymbol, ReadRef, SectionFlags, SymbolKind, elf};
use rtscope_decode::code::Named;
use rtscope_model::CodeKind;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Cursor;
use std::ops::Range;

/// No file that is known has as many functions.
const FUNCTIONS_MAX: usize = 1 << 21;

/// What one file says of some of its places.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Found {
    /// Names of the places that have one, by offset in the file, disjoint.
    pub names: Vec<Named>,
    /// The linker's mark of this build, hexadecimal.
    pub build_id: Option<String>,
    /// Whether the file has no symbol table of its own, only what it exports.
    pub stripped: bool,
    /// Whether everything in it is one party's code, with a name or without.
    pub told: bool,
    /// Places in it that have no name.
    pub unnamed: usize,
}

/// The kind of all code in a file: the runtime's, where that is a library of its own, and another language's, in a
/// library of that. `None`: a program, or a library that holds code of a language with a runtime, where names tell.
pub type Content = Option<CodeKind>;

/// A place that is asked for: offset in the file, and the address at which it was
/// seen.
pub type Asked = (u64, u64);

/// Looks up `asked`, sorted by offset, in the file called `name`. The error says
/// why nothing in it can have a name.
pub fn look_up(file: File, name: &str, asked: &[Asked]) -> Result<Found, String> {
    look_up_in(&Bounded::new(file), name, asked)
}

/// As [`look_up`], in an image in memory.
pub fn look_up_image(image: &[u8], name: &str, asked: &[Asked]) -> Result<Found, String> {
    look_up_in(&Bounded::new(Cursor::new(image)), name, asked)
}

fn look_up_in<'data, R: ReadRef<'data>>(data: R, name: &str, asked: &[Asked]) -> Result<Found, String> {
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
    let (stripped, told) = (functions.stripped, content.is_some());
    let mut found = Found { build_id, stripped, told, ..Found::default() };
    for (offset, at) in asked {
        if found.names.last().is_some_and(|last: &Named| *offset < last.to) {
            continue;
        }
        let named = loads.address(*offset).and_then(|address| functions.name(address, *offset, *at, content));
        found.unnamed += usize::from(named.is_none());
        found.names.push(named.unwrap_or_else(|| unnamed(name, (*offset, *at), content)));
    }
    Ok(found)
}

/// What one file says of one address of code, nothing of it inferred.
#[derive(Clone, Eq, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Exact {
    /// The function that it lies in, by that one's size; `None`: it lies in none that has a name.
    pub name: Option<String>,
    /// That is the runtime's.
    pub runtime: bool,
    /// Where it lies in none: the functions that begin before it and after it.
    pub between: [Option<String>; 2],
}

/// The functions that `asked`, offsets in the file, lie in.
///
/// # Errors
/// Why nothing in it can have a name.
pub fn exact(file: File, asked: &[u64]) -> Result<Vec<Exact>, String> {
    let data = Bounded::new(file);
    let elf = ElfFile64::<Endianness, _>::parse(&data).map_err(|_| "is no 64-bit ELF file".to_owned())?;
    let functions = Functions::read(&elf)?;
    let loads = Loads::of(&elf);
    let at = |offset: &u64| loads.address(*offset).map(|address| functions.exact(address)).unwrap_or_default();
    Ok(asked.iter().map(at).collect())
}

/// A place without a name, as an address in its module. A library of another
/// language is another language's code all the same, and the runtime's the runtime's.
pub fn unnamed(module: &str, (offset, at): Asked, content: Content) -> Named {
    let kind = content.unwrap_or(CodeKind::Unknown);
    Named { from: offset, to: offset.saturating_add(1), at, name: format!("{module}+{offset:#x}"), kind, source: None }
}

/// What of a file is loaded: the offsets of each segment, in order, and its link-time address.
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

/// The last of those that come first in `sorted`.
fn before<T>(sorted: &[T], comes: impl Fn(&T) -> bool) -> Option<&T> {
    sorted.get(sorted.partition_point(comes).checked_sub(1)?)
}

/// One function.
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
    /// The linker's stubs that lead to functions of libraries: most have no names of their own.
    stubs: bool,
}

/// What the linker's stubs are called.
const STUBS: &str = "stub that leads to a library (.plt)";

/// All functions of a file, by address.
struct Functions<'data> {
    list: Vec<Function<'data>>,
    /// Places in the list of those that others can call.
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

    /// The name of the function around `address`, for all of it.
    fn name(&self, address: u64, offset: u64, at: u64, content: Content) -> Option<Named> {
        let text = text_of(&self.texts, address)?;
        let of_stubs =
            || text.stubs.then(|| (STUBS.to_owned(), content.unwrap_or(CodeKind::Foreign), text.from, text.to));
        let (name, kind, from, to) = self.function_at(address, text, content).or_else(of_stubs)?;
        Some(Named {
            from: offset.checked_sub(address - from)?,
            to: offset.checked_add(to - address)?,
            at: at.wrapping_sub(address - from),
            name,
            kind,
            source: None,
        })
    }

    /// The function around `address` in `text`: its name, whose it is, where it begins and ends.
    fn function_at(&self, address: u64, text: Text, content: Content) -> Option<(String, CodeKind, u64, u64)> {
        let behind = self.list.partition_point(|function| function.address <= address);
        let before = behind.checked_sub(1).filter(|index| self.address(*index) >= Some(text.from));
        let next = Some(behind).filter(|index| self.address(*index).is_some_and(|next| next < text.to));
        let limit = next.and_then(|index| self.address(index)).unwrap_or(text.to);
        let end = before.and_then(|index| self.list.get(index)).map_or(text.from, |function| match function.size {
            0 => limit,
            size => function.address.saturating_add(size).min(limit),
        });
        let (owner, from, to) = match address < end {
            true => (before?, self.address(before?)?, end),
            false => (self.owner_of_gap(before, next)?, end, limit),
        };
        let function = self.list.get(owner)?;
        let by_name = || kind(self.language, function.owner, || self.neighbours(owner).collect());
        let kind = content.unwrap_or_else(by_name);
        Some((self.language.readable(function.name), kind, from, to))
    }

    /// The function that `address` lies in by its size. One without a size, as assembly has them, proves nothing, unless
    /// the runtime's own code is written so.
    fn exact(&self, address: u64) -> Exact {
        let behind = self.list.partition_point(|function| function.address <= address);
        let before = behind.checked_sub(1).and_then(|index| self.list.get(index));
        let next = self.list.get(behind);
        let readable = |function: &Function<'_>| self.language.readable(function.name);
        let inside = |function: &&Function<'_>| match function.size {
            0 => function.owner == Owner::Runtime,
            size => address - function.address < size,
        };
        match before.filter(inside) {
            Some(own) => {
                let runtime = own.owner == Owner::Runtime;
                Exact { name: Some(readable(own)), runtime, ..Exact::default() }
            }
            None => Exact { between: [before, next].map(|function| function.map(readable)), ..Exact::default() },
        }
    }

    fn address(&self, index: usize) -> Option<u64> {
        self.list.get(index).map(|function| function.address)
    }

    /// Whose code it is that lies behind one function's end and before the next one.
    /// GHC drops the names of local functions, and puts their code in front of the
    /// function that they are local to. What is left over goes to the one before.
    fn owner_of_gap(&self, before: Option<usize>, next: Option<usize>) -> Option<usize> {
        let module = |index: Option<usize>| self.language.module(self.list.get(index?)?.name);
        let of_next = module(next).is_some() && module(before).is_none_or(|before| Some(before) == module(next));
        if self.stripped {
            return None;
        }
        if of_next {
            return next;
        }
        before.filter(|index| {
            self.list.get(*index).is_some_and(|one| matches!(one.owner, Owner::Program | Owner::Runtime))
        })
    }

    /// The owners of the nearest functions on both sides that others can call.
    fn neighbours(&self, index: usize) -> impl Iterator<Item = Owner> {
        let behind = self.globals.partition_point(|global| *global <= index);
        let before = self.globals.partition_point(|global| *global < index).checked_sub(1);
        let places = [before, Some(behind)].into_iter().flatten();
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

/// The one in which `address` lies; where several overlap, as no linker lays them, the last.
fn text_of(texts: &[Text], address: u64) -> Option<Text> {
    before(texts, |text| text.from <= address).filter(|text| address < text.to).copied()
}

fn is_function(name: &str) -> bool {
    !name.is_empty() && !name.starts_with(['.', '$'])
}

/// Among names of one address: what is longest known to people. The program's own, else
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
    fn what_lies_in_no_function_goes_where_ghc_puts_local_ones() {
        let functions = functions(&[
            (0x1100, 0x50, "c_busy"),
            (0x1200, 0x50, "Main_work_info"),
            (0x1300, 0x50, "Main_main1_info"),
            (0x1400, 0x50, "base_GHCziBase_map_info"),
            (0x1500, 0, "stg_ap_0_fast"),
        ]);
        let named = |name: &str, kind, from, to| Some((name.to_owned(), kind, from, to));
        assert_eq!(at(&functions, 0x1110), named("c_busy", CodeKind::Foreign, 0x100, 0x150));
        assert_eq!(at(&functions, 0x1010), None, "in front of another language's code");
        assert_eq!(at(&functions, 0x1160), named("Main.work", CodeKind::Program, 0x150, 0x200));
        assert_eq!(at(&functions, 0x1210), named("Main.work", CodeKind::Program, 0x200, 0x250));
        assert_eq!(at(&functions, 0x1260), named("Main.main1", CodeKind::Program, 0x250, 0x300));
        assert_eq!(at(&functions, 0x1360), named("Main.main1", CodeKind::Program, 0x350, 0x400));
        assert_eq!(at(&functions, 0x1460), named("GHC.Base.map", CodeKind::Program, 0x450, 0x500));
        assert_eq!(at(&functions, 0x1fff), named("stg_ap_0_fast", CodeKind::Runtime, 0x500, 0x1000));
        assert_eq!(at(&functions, 0x2000), None);
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
