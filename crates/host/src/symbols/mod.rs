//! Names of the places in a capture's code samples: `code/symbols.json`,
//! made at the end of a recording, or by the reader if a killed recorder left
//! none and the files are still unchanged.
//!
//! Owns which files are searched and what is reported about unusable ones. Refuses
//! names from any file but the very one that was mapped.

pub(crate) mod elf;
mod files;
mod kernel;
pub(crate) mod names;
mod spins;
mod vdso;

pub use files::Files;
pub(crate) use vdso::image as vdso;

use crate::capture::folder::Folder;
use crate::runtimes::known;
use crate::sandbox::{self, ONE_FILE};
use elf::Asked;
use rtscope_decode::ReadAt;
use rtscope_decode::capture::content;
use rtscope_decode::code::{Module, ModuleNames, Names, Origin, Place, Samples};
use rtscope_model::manifest::Code;
use rtscope_model::{Role, Time, units};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::Arc;

/// The purpose of the function `name` in the runtime with this id; `None`: it is not known.
pub fn purpose(runtime: &str, name: &str) -> Option<Role> {
    known::all().find(|known| known.info().id == runtime)?.purpose(name)
}

/// Distinct places and call chains that are named; no real program has more.
const PLACES_MAX: usize = 1 << 20;
const CHAINS_MAX: usize = 1 << 16;
/// Largest change by setting the clock within one boot.
const BOOT_SLACK_NS: u64 = 60_000_000_000;
const ANOTHER_BOOT: &str = "the machine was started anew since the recording, or this is another one";

/// Names for the samples of the capture in `folder`. `realtime_offset_ns` is the
/// manifest's; `files` knows what was open while the program ran.
pub fn names(folder: &Folder, code: &Code, files: &Files, realtime_offset_ns: i64) -> Result<Names, String> {
    let open = |name: &String| {
        let (inside, file) = name.rsplit_once('/').ok_or_else(|| format!("{name}: it lies in no folder"))?;
        let file = folder.folder(inside).and_then(|folder| folder.read(file));
        file.and_then(|file| content(name, file)).map_err(|error| format!("{name}: {error}"))
    };
    names_in(code.streams.iter().map(open).collect::<Result<_, _>>()?, code, files, realtime_offset_ns)
}

/// Like [`names`], for streams that are open.
pub fn names_in(
    streams: Vec<Arc<dyn ReadAt>>,
    code: &Code,
    files: &Files,
    realtime_offset_ns: i64,
) -> Result<Names, String> {
    let seen = SampledPlaces::read(streams, code)?;
    let mut names = Names::default();
    let same_boot = same_boot(realtime_offset_ns);
    let found = match same_boot {
        true => kernel::look_up(&files.host, &seen.kernel_addresses()),
        false => Err(ANOTHER_BOOT.to_owned()),
    };
    match found {
        Ok(kernel) => names.kernel = kernel,
        Err(why) if !seen.chains.is_empty() => {
            names.missing.push(format!("The kernel's functions have no names: {why}."))
        }
        Err(_) => {}
    }
    names.enter(seen.chains.iter().map(|(chain, waits)| (&**chain, *waits)));
    for (index, places) in &seen.places {
        let Some((module, mapped)) = seen.modules.get(*index as usize) else { continue };
        let asked: Vec<Asked> = places.iter().map(|(offset, at)| (*offset, *at)).collect();
        let mapped = files::on_the_wall(*mapped, realtime_offset_ns);
        match module.origin() {
            Origin::File => names.modules.push(of_file(module, mapped, files, &asked)),
            Origin::Vdso => names.modules.push(of_vdso(module, same_boot, &asked)),
            Origin::Memory => {}
        }
    }
    let sentences: Vec<String> = names.modules.iter().filter_map(sentence).collect();
    names.missing.extend(sentences);
    if seen.at_run_time > 0 {
        let samples = units::counted(seen.at_run_time, "sample lies", "samples lie");
        names.missing.push(format!("{samples} in code that was made at run time, which has no names."));
    }
    if seen.unmapped > 0 {
        let samples = units::counted(seen.unmapped, "sample lies", "samples lie");
        names.missing.push(format!("{samples} where nothing was mapped as far as was seen."));
    }
    Ok(names)
}

/// Whether this kernel is the recorded one: each boot has another distance between the
/// real-time clock and the monotonic one.
fn same_boot(realtime_offset_ns: i64) -> bool {
    crate::system::clock::realtime_offset().offset_ns.abs_diff(realtime_offset_ns) < BOOT_SLACK_NS
}

fn sentence(module: &ModuleNames) -> Option<String> {
    let name = module.path.rsplit('/').next().unwrap_or_default().trim_end_matches(" (deleted)");
    match (&module.missing, &module.names_by) {
        (Some(why), _) => Some(format!("Code in {name} has no names: the file {why}.")),
        (None, Some(how)) => Some(format!("Local functions of {name} have no names. To get them: {how}.")),
        (None, None) => None,
    }
}

fn of_file(module: &Module, mapped: Option<i64>, files: &Files, asked: &[Asked]) -> ModuleNames {
    let mut names =
        ModuleNames { path: module.path.clone(), device: module.device, inode: module.inode, ..ModuleNames::default() };
    let file = match files.open(module, mapped) {
        Ok(file) => file,
        Err(why) => return without(names, module, asked, why),
    };
    if let Ok(metadata) = file.metadata() {
        names.size = Some(metadata.len());
        names.modified_ns = Some(files::modified_ns(&metadata));
    }
    match look_up(file, module.name(), asked) {
        Ok(found) => {
            // System libraries ship without symbol tables, and their owner is known.
            if found.unnamed > 0 && found.stripped && !found.single_owner {
                names.missing = Some("is stripped: it has no symbol table; keep it (no `strip`, no `-s`)".to_owned());
            }
            names.names_by = found.names_by;
            (names.build_id, names.names) = (found.build_id, found.names);
            names
        }
        Err(why) => without(names, module, asked, why),
    }
}

/// Like [`elf::look_up`], in a process of its own: the file's owner controls its contents.
pub(crate) fn look_up(file: File, name: &str, asked: &[Asked]) -> Result<elf::FoundNames, String> {
    let keep = [file.as_raw_fd()];
    let found = sandbox::run(&ONE_FILE, &keep, || elf::look_up(file, name, asked));
    found.map_err(|died| format!("gives none: {died}"))?.value
}

/// Like [`elf::exact`], in a process of its own; with its CPU time in nanoseconds.
pub(crate) fn exact(file: File, asked: &[u64]) -> Result<(Vec<elf::Exact>, u64), String> {
    let keep = [file.as_raw_fd()];
    let done =
        sandbox::run(&ONE_FILE, &keep, || elf::exact(file, asked)).map_err(|died| format!("gives none: {died}"))?;
    Ok((done.value?, done.cpu_ns))
}

/// Names that are only addresses, and the reason.
fn without(mut names: ModuleNames, module: &Module, asked: &[Asked], why: String) -> ModuleNames {
    names.names = asked.iter().map(|place| elf::unnamed(module.name(), *place, None)).collect();
    names.missing = Some(why);
    names
}

fn of_vdso(module: &Module, same_boot: bool, asked: &[Asked]) -> ModuleNames {
    let names = ModuleNames { path: module.path.clone(), ..ModuleNames::default() };
    let image = if same_boot { vdso::image() } else { Err(format!("is not the same any more: {ANOTHER_BOOT}")) };
    let found = image.and_then(|image| elf::look_up_image(&image, module.name(), asked));
    match found {
        Ok(found) => ModuleNames { build_id: found.build_id, names: found.names, ..names },
        Err(why) => without(names, module, asked, why),
    }
}

/// Everything that the samples of a capture point to.
#[derive(Default)]
struct SampledPlaces {
    /// With the moment when each was first mapped.
    modules: Vec<(Module, Time)>,
    /// By module: offset → an address at which it was sampled.
    places: BTreeMap<u32, BTreeMap<u64, u64>>,
    /// The kernel's call chains, and whether they belong to waits.
    chains: HashSet<(Box<[u64]>, bool)>,
    at_run_time: u64,
    unmapped: u64,
}

impl SampledPlaces {
    fn read(streams: Vec<Arc<dyn ReadAt>>, code: &Code) -> Result<SampledPlaces, String> {
        let mut samples = Samples::open(code, streams).map_err(|error| error.to_string())?;
        let mut seen = SampledPlaces::default();
        let mut count = 0;
        while let Some(sample) = samples.next() {
            let outside = [Some(sample.leaf), sample.user].into_iter().flatten();
            for place in
                outside.chain(sample.callers.iter().copied().filter(|place| in_file(*place, samples.modules())))
            {
                count += usize::from(count < PLACES_MAX && seen.place(place, samples.modules()));
            }
            if !sample.chain.is_empty() && seen.chains.len() < CHAINS_MAX {
                let waits = sample.source == rtscope_model::manifest::CodeSource::Waits;
                seen.chains.insert((sample.chain, waits));
            }
        }
        seen.modules = samples.modules().iter().cloned().zip(samples.mapped().iter().copied()).collect();
        Ok(seen)
    }

    /// Notes a place; returns whether it is new.
    fn place(&mut self, place: Place, modules: &[Module]) -> bool {
        match place {
            Place::Module { module, offset, ip } => {
                let origin = modules.get(module as usize).map(Module::origin);
                if origin == Some(Origin::Memory) {
                    self.at_run_time += 1;
                    return false;
                }
                let places = self.places.entry(module).or_default();
                let new = !places.contains_key(&offset);
                places.entry(offset).or_insert(ip);
                new
            }
            Place::Unmapped => {
                self.unmapped += 1;
                false
            }
            Place::Kernel(_) | Place::Unknown => false,
        }
    }

    fn kernel_addresses(&self) -> BTreeSet<u64> {
        self.chains.iter().flat_map(|(chain, _)| chain.iter().copied()).collect()
    }
}

/// Whether a caller's place can have a name. The others are not samples, and are not counted as such.
fn in_file(place: Place, modules: &[Module]) -> bool {
    let Place::Module { module, .. } = place else { return false };
    modules.get(module as usize).is_some_and(|module| module.origin() != Origin::Memory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::procfs::Host;
    use rtscope_decode::code::Names;

    #[test]
    fn another_boots_kernel_gives_no_names() {
        // One wait, at an address that every kernel uses.
        let sample_type = 0x100a7;
        let words = |words: &[u64]| words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<u8>>();
        let ip = 0xffff_ffff_8100_0000u64;
        let body = words(&[7, ip, 5 << 32 | 5, 100, 0, 2, -128i64 as u64, ip]);
        let size = (8 + body.len()) as u16;
        let record = [&9u32.to_ne_bytes()[..], &1u16.to_ne_bytes(), &size.to_ne_bytes(), &body].concat();
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("code")).unwrap();
        std::fs::write(folder.path().join("code/cpu0.perf"), record).unwrap();
        let what = rtscope_model::manifest::CodeSource::Timer;
        let events = vec![rtscope_model::manifest::CodeEvent { ids: vec![7], what }];
        let code = Code { streams: vec!["code/cpu0.perf".into()], sample_type, events, ..Code::default() };
        let files = Files::new(Host::default());
        let other: Names = names(&Folder::open(folder.path()).unwrap(), &code, &files, 12_345).unwrap();
        assert!(other.kernel.is_empty());
        assert!(other.missing.iter().any(|text| text.contains("started anew")), "{:?}", other.missing);
        let own = names(
            &Folder::open(folder.path()).unwrap(),
            &code,
            &files,
            crate::system::clock::realtime_offset().offset_ns,
        )
        .unwrap();
        assert!(!own.missing.iter().any(|text| text.contains("started anew")), "{:?}", own.missing);
    }
}
