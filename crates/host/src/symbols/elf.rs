//! Names in an ELF file: which function an offset of the file lies in. Owns the
//! symbol tables and the sections; refuses to name what lies in no function.

use super::ghc::{self, Owner};
use crate::binary::InChunks;
use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use object::{Endianness, Object, ObjectSection, ObjectSymbol, ReadCache, ReadRef, SectionFlags, SymbolKind, elf};
use rtscope_decode::code::Named;
use rtscope_model::CodeKind;
use std::fs::File;

/// What one file says of some of its places.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Found {
    /// Names of the places that have one, by offset in the file, disjoint.
    pub names: Vec<Named>,
    /// The linker's mark of this build, hexadecimal.
    pub build_id: Option<String>,
    /// Whether the file has no symbol table of its own, only what it exports.
    pub stripped: bool,
    /// Whether it is a library of another language.
    pub foreign: bool,
    /// Places in it that have no name.
    pub unnamed: usize,
}

/// What kind of file it is, as far as that tells whose code is in it.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
enum Content {
    /// A program, or a library that holds Haskell code or the runtime: names tell.
    Program,
    /// A library of another language.
    Library,
}

/// A place that is asked for: offset in the file, and the address at which it was
/// seen.
pub type Asked = (u64, u64);

/// Looks up `asked`, sorted by offset, in the file called `name`. The error says
/// why nothing in it can have a name.
pub fn look_up(file: File, name: &str, asked: &[Asked]) -> Result<Found, String> {
    let cache = ReadCache::new(file);
    look_up_in(InChunks(&cache), name, asked)
}

/// As [`look_up`], in an image in memory.
pub fn look_up_image(image: &[u8], name: &str, asked: &[Asked]) -> Result<Found, String> {
    look_up_in(image, name, asked)
}

/// A place in a file that could not be asked.
pub fn nameless(name: &str, (offset, at): Asked) -> Named {
    unnamed(name, offset, at, Content::Program)
}

fn look_up_in<'data, R: ReadRef<'data>>(data: R, name: &str, asked: &[Asked]) -> Result<Found, String> {
    let elf = ElfFile64::<Endianness, R>::parse(data).map_err(|_| "is no 64-bit ELF file".to_owned())?;
    let functions = Functions::read(&elf);
    let content = match functions.haskell || name.starts_with("libHS") || !name.contains(".so") {
        true => Content::Program,
        false => Content::Library,
    };
    let build_id = elf.build_id().ok().flatten().map(|id| id.iter().map(|byte| format!("{byte:02x}")).collect());
    let foreign = content == Content::Library;
    let mut found = Found { build_id, stripped: functions.stripped, foreign, ..Found::default() };
    for (offset, at) in asked {
        if found.names.last().is_some_and(|last: &Named| *offset < last.to) {
            continue;
        }
        let named = address_of(&elf, *offset).and_then(|address| functions.name(address, *offset, *at, content));
        found.unnamed += usize::from(named.is_none());
        found.names.push(named.unwrap_or_else(|| unnamed(name, *offset, *at, content)));
    }
    Ok(found)
}

/// A place without a name, as an address in its module. A library of another
/// language is another language's code all the same.
fn unnamed(module: &str, offset: u64, at: u64, content: Content) -> Named {
    let kind = if content == Content::Library { CodeKind::Foreign } else { CodeKind::Unknown };
    Named { from: offset, to: offset + 1, at, name: format!("{module}+{offset:#x}"), kind, source: None }
}

/// The link-time address of an offset in the file.
fn address_of<'data, R: ReadRef<'data>>(elf: &ElfFile64<'data, Endianness, R>, offset: u64) -> Option<u64> {
    let endian = elf.endian();
    let headers = elf.elf_header().program_headers(endian, elf.data()).ok()?;
    headers.iter().filter(|header| header.p_type(endian) == elf::PT_LOAD).find_map(|header| {
        let into = offset.checked_sub(header.p_offset(endian))?;
        (into < header.p_filesz(endian)).then(|| header.p_vaddr(endian).wrapping_add(into))
    })
}

/// One function.
#[derive(Clone, Debug)]
struct Function {
    address: u64,
    size: u64,
    global: bool,
    name: String,
    owner: Owner,
}

/// A section with code.
#[derive(Copy, Clone, Debug)]
struct Text {
    from: u64,
    to: u64,
}

/// All functions of a file, by address.
struct Functions {
    list: Vec<Function>,
    texts: Vec<Text>,
    stripped: bool,
    haskell: bool,
}

impl Functions {
    fn read<'data, R: ReadRef<'data>>(elf: &ElfFile64<'data, Endianness, R>) -> Functions {
        let code =
            |flags| matches!(flags, SectionFlags::Elf { sh_flags } if sh_flags & u64::from(elf::SHF_EXECINSTR) != 0);
        let texts: Vec<Text> = elf
            .sections()
            .filter(|section| code(section.flags()))
            .map(|section| Text { from: section.address(), to: section.address().saturating_add(section.size()) })
            .collect();
        let stripped = elf.symbols().next().is_none();
        let mut list: Vec<Function> = elf
            .symbols()
            .chain(elf.dynamic_symbols().filter(|_| stripped))
            .filter(|symbol| symbol.is_definition() || matches!(symbol.kind(), SymbolKind::Unknown | SymbolKind::Label))
            .filter(|symbol| texts.iter().any(|text| (text.from..text.to).contains(&symbol.address())))
            .filter_map(|symbol| {
                let name = symbol.name().ok().filter(|name| is_function(name))?;
                Some(Function {
                    address: symbol.address(),
                    size: symbol.size(),
                    global: symbol.is_global(),
                    name: name.to_owned(),
                    owner: ghc::owner(name),
                })
            })
            .collect();
        // Of several names for one address the best one comes last.
        list.sort_by(|a, b| a.address.cmp(&b.address).then_with(|| preference(a).cmp(&preference(b))));
        list.dedup_by(|later, earlier| {
            let same = later.address == earlier.address;
            if same {
                std::mem::swap(later, earlier);
            }
            same
        });
        // What merely shares a name with a static function of the runtime proves nothing.
        let haskell = list.iter().any(|function| matches!(function.owner, Owner::Haskell))
            || list.iter().any(|function| function.name == "hs_main" || function.name == "hs_init_ghc");
        Functions { list, texts, stripped, haskell }
    }

    /// The name of the function around `address`, for all of it.
    fn name(&self, address: u64, offset: u64, at: u64, content: Content) -> Option<Named> {
        let text = self.texts.iter().find(|text| (text.from..text.to).contains(&address))?;
        let next = self.list.partition_point(|function| function.address <= address);
        let index = next.checked_sub(1)?;
        let function = self.list.get(index).filter(|function| function.address >= text.from)?;
        let following = self.list.get(next).map_or(text.to, |next| next.address.min(text.to));
        let sized = function.address.saturating_add(function.size).min(following);
        // GHC drops the names of a function's later blocks, which lie behind what it
        // says is the function's size. Others mean their sizes.
        let end = match (function.owner, function.size, self.stripped) {
            (Owner::Haskell | Owner::Runtime, _, false) | (_, 0, false) => following,
            _ => sized,
        };
        if address >= end {
            return None;
        }
        let kind = match content {
            Content::Program => ghc::kind(function.owner, self.neighbours(index)),
            Content::Library => CodeKind::Foreign,
        };
        let into = address - function.address;
        Some(Named {
            from: offset.checked_sub(into)?,
            to: offset.checked_add(end - address)?,
            at: at.wrapping_sub(into),
            name: ghc::readable(&function.name),
            kind,
            source: None,
        })
    }

    /// The owners of the nearest functions on both sides that others can call.
    fn neighbours(&self, index: usize) -> impl Iterator<Item = Owner> {
        let before = self.list.iter().take(index).rev().find(|function| function.global);
        let behind = self.list.iter().skip(index + 1).find(|function| function.global);
        [before, behind].into_iter().flatten().map(|function| function.owner)
    }
}

fn is_function(name: &str) -> bool {
    !name.is_empty() && !name.starts_with(['.', '$'])
}

/// Among names of one address: what is longest known to people. Haskell's own, else
/// global, with few underscores, short.
fn preference(function: &Function) -> (bool, bool, std::cmp::Reverse<usize>, std::cmp::Reverse<usize>) {
    let underscores = function.name.len() - function.name.trim_start_matches('_').len();
    let haskell = function.owner == Owner::Haskell && function.name.ends_with("_info");
    (haskell, function.global, std::cmp::Reverse(underscores), std::cmp::Reverse(function.name.len()))
}
