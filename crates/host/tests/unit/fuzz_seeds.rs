//! Every seed and every crash that a fuzzer found, through the fuzzer's own checks; and the
//! known contents of the whole ones among them.

use rtscope_host::by_bytes;
use rtscope_host::core_file::CoreFile;

#[path = "../../../../fuzz/checks/host_core.rs"]
mod host_core;
#[path = "../../../../fuzz/checks/host_elf.rs"]
mod host_elf;
#[path = "../../../../fuzz/checks/host_memory.rs"]
mod host_memory;
#[path = "../../../../fuzz/checks/host_proc.rs"]
mod host_proc;
#[path = "../../../../fuzz/checks/host_threads.rs"]
mod host_threads;
#[path = "../../../../fuzz/checks/host_unwind.rs"]
mod host_unwind;
#[path = "../../../../fuzz/checks/inputs.rs"]
mod inputs;

use inputs::files;

#[test]
fn the_fuzzers_checks_hold_for_seeds_and_crashes() {
    type Check = fn(&[u8]);
    let targets = [
        ("host_core", host_core::check as Check),
        ("host_elf", host_elf::check as Check),
        ("host_memory", host_memory::check as Check),
        ("host_proc", host_proc::check as Check),
        ("host_unwind", host_unwind::check as Check),
        ("host_threads", host_threads::check as Check),
    ];
    for (target, check) in targets {
        let seeds = files(&format!("seeds/{target}"));
        assert!(seeds.len() >= 3, "the seeds are missing: {seeds:?}");
        for path in seeds.into_iter().chain(files(&format!("crashes/{target}"))) {
            println!("{}", path.display());
            check(&std::fs::read(path).expect("reads"));
        }
    }
}

fn seed(name: &str) -> Vec<u8> {
    let path =
        files(&format!("seeds/{}", name.split('/').next().unwrap())).into_iter().find(|path| path.ends_with(name));
    std::fs::read(path.expect("the seed is there")).expect("reads")
}

#[test]
fn seeds_of_threads_hold_threads() {
    use rtscope_host::by_bytes::waiting::ThreadsLook;
    let green = seed("host_threads/green");
    let threads = host_threads::green_of(&green).unwrap();
    assert!(
        matches!(&threads, ThreadsLook::Threads(threads) if threads.len() == 3 && threads[0].holder == Some(1)),
        "{threads:?}"
    );
    let asleep = host_threads::sleeping_of(&seed("host_threads/asleep"));
    assert_eq!(asleep.iter().map(|thread| thread.lane_holder).collect::<Vec<_>>(), [Some(2), None]);
    assert_eq!(asleep[0].frames.len(), 3, "{asleep:?}");
}

#[test]
fn whole_seeds_are_what_they_are_called() {
    let (found, _) = by_bytes::inspect(&seed("host_elf/ghc"));
    assert_eq!((found.is_ghc(), found.compiler, found.binary.way.as_deref()), (true, Some((9, 6, 6)), Some("thr")));
    assert!(found.symbols.has_buffers() && found.symbols.heap.address_space.is_some());
    let names = by_bytes::names(&seed("host_elf/ghc"), &[(0x1000, 7)]).unwrap();
    assert_eq!(names.len(), 1);
    let (found, _) = by_bytes::inspect(&seed("host_elf/ocaml"));
    assert_eq!((found.is_ocaml(), found.binary.version), (true, None), "two releases show");
    assert!(by_bytes::bytecode_runtime(&seed("host_elf/bytecode")).is_some());
    let core = CoreFile::of_bytes(seed("host_core/small")).unwrap();
    assert_eq!((core.mappings().len(), core.missing_bytes()), (3, 0));
    assert_eq!(core.mappings()[1].name, "/opt/program");
    let unwound = host_unwind::unwound(&seed("host_unwind/three-frames")).unwrap();
    assert_eq!((unwound.rules > 3, unwound.callers.len()), (true, 3), "{unwound:?}");
    assert!(CoreFile::of_bytes(seed("host_core/cut")).unwrap().missing_bytes() > 0);
}
