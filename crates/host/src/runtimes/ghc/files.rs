//! What GHC leaves in the files of its programs: the note section `.debug-ghc-link-info` of its
//! linker step (options of the link), `.comment` (the compiler's version), the runtime's variables.
//! Owns the conclusions for a log; refuses to guess at what is not there.

use crate::binary::{FileContents, Inspected, RuntimeSymbols};
use crate::runtimes::files::RuntimeFiles;
use rtscope_model::runtime::RuntimeInfo;
use rtscope_model::runtimes::GHC;
use rtscope_model::{Rtsopts, Version};
use std::sync::LazyLock;

/// The section in which the linker step leaves its options.
pub(crate) const LINK_INFO: &str = ".debug-ghc-link-info";
/// Larger sections of these names are not GHC's.
pub(crate) const SECTION_MAX: u64 = 4 << 20;

#[derive(Debug)]
pub struct Ghc;

impl RuntimeFiles for Ghc {
    fn info(&self) -> &'static RuntimeInfo {
        &GHC
    }

    fn wanted(&self) -> &'static str {
        static WANTED: LazyLock<String> = LazyLock::new(|| SYMBOLS.map(|(names, _)| names).join(" "));
        &WANTED
    }

    fn detect(&self, file: &FileContents<'_, '_>, found: &mut Inspected) -> bool {
        found.symbols.find(file);
        let comment = file.section(".comment", SECTION_MAX).unwrap_or_default();
        let link = file.section(LINK_INFO, SECTION_MAX).and_then(LinkInfo::parse);
        found.compiler = ghc_version(comment).or_else(|| link.as_ref()?.version_from_base());
        if link.is_none() && found.compiler.is_none() && !found.symbols.has_buffers() {
            return false;
        }
        if let Some(link) = link {
            found.binary.way = link.way;
            found.binary.with_rtsopts = link.with_rtsopts;
            found.binary.rtsopts = Some(link.rtsopts.name().to_owned());
        }
        judge(found);
        true
    }
}

impl Inspected {
    /// Whether this is a GHC program, as far as the file shows.
    pub fn is_ghc(&self) -> bool {
        self.binary.family.as_deref() == Some(GHC.id)
    }
}

/// The field that stores a symbol's address.
type SymbolField = fn(&mut RuntimeSymbols) -> &mut Option<u64>;

/// Symbols of the runtime, and the field that stores each address. If a field has several names, the first that a file
/// has is used.
const SYMBOLS: [(&str, SymbolField); 20] = [
    ("capEventBuf", |of| &mut of.cap_event_buf),
    ("eventBuf", |of| &mut of.event_buf),
    ("start_init_elapsed", |of| &mut of.start_init_elapsed),
    ("n_capabilities enabled_capabilities", |of| &mut of.n_capabilities),
    ("generations", |of| &mut of.heap.generations),
    ("oldest_gen", |of| &mut of.heap.oldest),
    ("nurseries", |of| &mut of.heap.nurseries),
    ("n_nurseries", |of| &mut of.heap.n_nurseries),
    ("capabilities", |of| &mut of.heap.capabilities),
    ("n_capabilities enabled_capabilities", |of| &mut of.heap.n_capabilities),
    ("mblocks_allocated", |of| &mut of.heap.megablocks),
    ("n_alloc_blocks", |of| &mut of.heap.blocks),
    ("free_list_head", |of| &mut of.heap.given_back),
    ("mblock_high_watermark", |of| &mut of.heap.high_watermark),
    ("mblock_address_space", |of| &mut of.heap.address_space),
    ("next_thread_id", |of| &mut of.heap.next_thread),
    ("stmStartTransaction", |of| &mut of.stm.start),
    ("max_commits", |of| &mut of.stm.max_commits),
    ("token_locked", |of| &mut of.stm.token_locked),
    ("rtscope_stm", |of| &mut of.stm.block),
];

impl RuntimeSymbols {
    fn find(&mut self, file: &FileContents<'_, '_>) {
        for (names, kept) in SYMBOLS {
            *kept(self) = names.split(' ').find_map(|name| file.address(name));
        }
        self.stm.capabilities_bytes = file.bytes("capabilities");
    }

    /// The addresses, moved by the load offset of their module.
    pub(crate) fn moved(mut self, bias: u64) -> RuntimeSymbols {
        for (_, kept) in SYMBOLS {
            let address = kept(&mut self);
            *address = address.map(|address| address.wrapping_add(bias));
        }
        self.lowest_load = self.lowest_load.wrapping_add(bias);
        self
    }
}

/// The link's options as GHC wrote them.
#[derive(Clone, Eq, PartialEq, Debug)]
pub(crate) struct LinkInfo {
    pub way: Option<String>,
    pub with_rtsopts: Option<String>,
    pub rtsopts: Rtsopts,
    base: Option<(u32, u32)>,
}

impl LinkInfo {
    pub fn parse(bytes: &[u8]) -> Option<LinkInfo> {
        let text = String::from_utf8_lossy(bytes);
        let at = text.rfind(",RtsOpts")?;
        let (before, after) = (text.get(..at)?, text.get(at + ",RtsOpts".len()..)?);
        let rtsopts = match after.split(',').next()? {
            "None" => Rtsopts::None,
            "SafeOnly" => Rtsopts::Some,
            "All" => Rtsopts::All,
            "Ignore" => Rtsopts::Ignore,
            "IgnoreAll" => Rtsopts::IgnoreAll,
            _ => return None,
        };
        // Not a package whose name merely begins so, as those of this repository do.
        let libraries = text.split("\"-lHSrts").skip(1).filter_map(|rest| rest.split('"').next());
        let runtime = |rest: &&str| match rest.strip_prefix('-') {
            Some(version) => version.starts_with(|first: char| first.is_ascii_digit()),
            None => rest.is_empty() || rest.starts_with('_'),
        };
        let way = libraries.filter(runtime).map(way_of).next();
        let base = text.split_once("\"-lHSbase-").and_then(|(_, version)| {
            let mut parts = version.split_once('"')?.0.split(['.', '-']);
            Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
        });
        Some(LinkInfo { way, with_rtsopts: last_just(before), rtsopts, base })
    }

    /// The GHC version, from the `base` library: every release ships a different one.
    pub fn version_from_base(&self) -> Option<Version> {
        let minor = match self.base? {
            (4, base @ 10..=15) => return Some((if base == 15 { 9 } else { 8 }, (base - 10) * 2 % 10, 0)),
            (4, base @ 16..) => (base - 16) * 2 + 2,
            _ => return None,
        };
        Some((9, minor, 0))
    }
}

/// `-1.0.2_thr`, `_thr_l`, `-1.0.2_thr-ghc9.6.6`, `` → `thr`, `thr_l`, `thr`, ``.
fn way_of(library: &str) -> String {
    let library = library.split("-ghc").next().unwrap_or(library);
    library.split_once('_').map_or(String::new(), |(_, way)| way.to_owned())
}

/// `…,Just "TEXT"` → TEXT unescaped; `…,Nothing` → none.
fn last_just(before: &str) -> Option<String> {
    let quoted = before.strip_suffix('"')?;
    let start = quoted.rfind(",Just \"")? + ",Just \"".len();
    let mut text = String::new();
    let mut letters = quoted.get(start..)?.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => text.extend(letters.next().map(|escaped| match escaped {
                'n' => '\n',
                't' => '\t',
                other => other,
            })),
            other => text.push(other),
        }
    }
    Some(text)
}

/// `GHC 9.0.2` in `.comment`.
pub(crate) fn ghc_version(comment: &[u8]) -> Option<Version> {
    let text = String::from_utf8_lossy(comment);
    let entry = text.split('\0').find_map(|entry| entry.strip_prefix("GHC "))?;
    let mut parts = entry.trim().split('.').map(|part| part.parse::<u32>().ok());
    Some((parts.next()??, parts.next()??, parts.next().flatten().unwrap_or(0)))
}

/// Decides whether the program can log, and notes what is missing.
fn judge(found: &mut Inspected) {
    let binary = &mut found.binary;
    let logging_way = binary.way.as_deref().map(|way| way.split('_').any(|part| matches!(part, "l" | "debug" | "p")));
    binary.can_log = match (found.compiler, logging_way) {
        (Some(version), _) if version >= (9, 4, 0) => Some(true),
        (_, Some(true)) => Some(true),
        (Some(_), Some(false)) => Some(false),
        _ => None,
    };
    binary.note = match (binary.can_log, binary.rtsopts.as_deref()) {
        (Some(false), _) => Some(
            "this program cannot write an eventlog: it was linked by GHC 9.2 or older without it; relink with \
             `-eventlog` (add it to ghc-options), or with GHC 9.4 or later"
                .to_owned(),
        ),
        (_, Some(mode @ ("none" | "ignore" | "ignoreAll"))) => Some(format!(
            "this program takes no runtime options from outside (-rtsopts={mode}), so no eventlog can be switched on; \
             relink with `-rtsopts=some` (GHC's default), or with `-with-rtsopts=-l-ag`"
        )),
        (None, _) => Some(
            "the binary is stripped, so whether it can log is unknown; record an unstripped build, or link with \
             GHC 9.4 or later, where every program can log"
                .to_owned(),
        ),
        _ if !binary.symbols => Some(
            "the binary has no symbols: the log's clock is paired to one microsecond only, and if the program is \
             killed its last buffers are lost; keep the symbol table (no `strip`, no `-s`)"
                .to_owned(),
        ),
        _ => None,
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbols::names::base;
    use rtscope_model::manifest::Binary;

    fn note(tail: &str, rts: &str) -> Vec<u8> {
        format!("\x0e\0\0\0{{\r\0\0\0\0\0\0GHC link info\0\0\0(([\"-lHSbase-4.15.1.0\",\"-lHSrts{rts}\"],[],[]),[],{tail},False,[],[])\0")
            .into_bytes()
    }

    #[test]
    fn link_options_are_read_from_the_note() {
        let info = LinkInfo::parse(&note("Just \"-N2 \\\"-A8m\",RtsOptsSafeOnly", "-1.0.2_thr")).unwrap();
        assert_eq!(info.with_rtsopts.as_deref(), Some("-N2 \"-A8m"));
        assert_eq!(info.rtsopts, Rtsopts::Some);
        assert_eq!(info.way.as_deref(), Some("thr"));
        assert_eq!(info.version_from_base(), Some((9, 0, 0)));
    }

    #[test]
    fn packages_that_are_called_like_the_runtime_are_not_it() {
        let way = |rts: &str| {
            let others = format!("cope-stm-0.1.0-F3_l\",\"-lHSrts-like-1.0_p\",\"-lHSrts{rts}");
            LinkInfo::parse(&note("Nothing,RtsOptsAll", &others)).unwrap().way
        };
        assert_eq!(way("_thr").as_deref(), Some("thr"));
        assert_eq!(way("-1.0.2_thr_l-ghc9.6.6").as_deref(), Some("thr_l"));
        assert_eq!(way("").as_deref(), Some(""));
    }

    #[test]
    fn every_mode_and_way_has_its_name() {
        for (text, mode) in
            [("None", "none"), ("SafeOnly", "some"), ("All", "all"), ("Ignore", "ignore"), ("IgnoreAll", "ignoreAll")]
        {
            let info = LinkInfo::parse(&note(&format!("Nothing,RtsOpts{text}"), "_thr_l-ghc9.0.2")).unwrap();
            assert_eq!(info.rtsopts.name(), mode);
            assert_eq!(info.with_rtsopts, None);
            assert_eq!(info.way.as_deref(), Some("thr_l"));
        }
        assert_eq!(LinkInfo::parse(&note("Nothing,RtsOptsNew", "")), None);
        assert_eq!(LinkInfo::parse(b"cut"), None);
    }

    #[test]
    fn base_gives_the_version_where_the_comment_does_not() {
        let of = |base| {
            LinkInfo { way: None, with_rtsopts: None, rtsopts: Rtsopts::Some, base: Some(base) }.version_from_base()
        };
        assert_eq!(of((4, 12)), Some((8, 4, 0)));
        assert_eq!(of((4, 14)), Some((8, 8, 0)));
        assert_eq!(of((4, 15)), Some((9, 0, 0)));
        assert_eq!(of((4, 18)), Some((9, 6, 0)));
        assert_eq!(of((4, 20)), Some((9, 10, 0)));
        assert_eq!(of((3, 20)), None);
    }

    fn judged(ghc: Option<Version>, way: Option<&str>, rtsopts: Option<&str>) -> Inspected {
        let binary = Binary {
            family: Some("ghc".into()),
            way: way.map(Into::into),
            rtsopts: rtsopts.map(Into::into),
            symbols: true,
            ..Binary::default()
        };
        let mut found = Inspected { binary, compiler: ghc, ..Inspected::default() };
        judge(&mut found);
        found
    }

    #[test]
    fn what_can_log_follows_version_and_way() {
        assert_eq!(judged(Some((9, 0, 2)), Some("thr_l"), Some("some")).binary.can_log, Some(true));
        assert_eq!(judged(Some((9, 0, 2)), Some("thr"), Some("some")).binary.can_log, Some(false));
        assert_eq!(judged(Some((9, 6, 6)), Some("thr"), Some("some")).binary.can_log, Some(true));
        assert_eq!(judged(Some((9, 6, 6)), None, None).binary.can_log, Some(true));
        assert_eq!(judged(Some((9, 0, 2)), None, None).binary.can_log, None);
        assert!(judged(Some((9, 6, 6)), Some("thr"), Some("none")).binary.note.unwrap().contains("-rtsopts=none"));
        assert!(judged(Some((9, 0, 2)), Some("thr"), Some("all")).binary.note.unwrap().contains("-eventlog"));
    }

    #[test]
    fn suffixes_of_local_symbols_are_dropped() {
        assert_eq!(base("start_init_elapsed.lto_priv.0"), "start_init_elapsed");
        assert_eq!(ghc_version(b"GCC: (Debian)\0GHC 9.10.3\0"), Some((9, 10, 3)));
        assert_eq!(ghc_version(b"GCC: GHC 9\0"), None);
    }
}
