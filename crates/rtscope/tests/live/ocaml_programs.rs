//! Live: the programs below `workloads/ocaml` compile with every OCaml, and in each of their modes do the work
//! that they are asked for and report it. Owns nothing of what rtscope finds in them.

use std::ffi::OsStr;
use std::path::Path;
use xtask::cache::cache;
use xtask::runner::target_folder;
use xtask::toolchain::{ALL, Toolchain};
use xtask::workload::{self, Language, Workload};
use xtask::{missing, ocaml};

fn toolchains() -> Vec<Toolchain> {
    let with = ALL.iter().filter_map(|spec| spec.installed(&cache()));
    let with: Vec<_> = with.filter(|toolchain| toolchain.ocaml().is_some()).collect();
    if with.is_empty() {
        missing("OCaml: `cargo xtask toolchains`");
    }
    with
}

fn said(toolchain: &Toolchain, program: &str, words: &str) -> String {
    let builds = target_folder().join("workloads");
    std::fs::create_dir_all(&builds).unwrap();
    // Any workload of the language will do: only the program is built.
    let workload = Workload { program: Some(program.into()), ..workload::load("idle-domain").unwrap() };
    let binary = workload.build(toolchain, &builds).unwrap();
    let mut command = toolchain.command(binary.as_os_str(), &builds, &[&builds]);
    let done = command.args(words.split(' ')).output().unwrap();
    assert!(done.status.success(), "{program} {words}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

#[test]
fn live_programs_do_what_they_are_asked_for_in_each_way() {
    for toolchain in toolchains() {
        let on = Language::Ocaml.compiler(&toolchain).unwrap();
        for mode in ["processes", "domains", "main"] {
            for program in ["allocator", "solver", "keeper"] {
                let said = said(&toolchain, program, &format!("{mode} 2 3"));
                assert_eq!(said, "solves 6\n", "{program} {mode} on {on}");
            }
        }
        for (program, words, last) in [
            ("idle", "0 1", "solves 1\n"),
            ("idle", "2 1", "solves 1\n"),
            ("collector", "full 1 1", "solves 1, live 43690\n"),
            ("collector", "compact 1 1", "solves 1, live 43690\n"),
            ("collector", "never 1 1", "solves 1, live 43690\n"),
            ("forker", "library 1 2", "solves 16\n"),
            ("forker", "spawn 1 2", "solves 16\n"),
            ("forker", "fork 1 2", "solves 16\n"),
        ] {
            let said = said(&toolchain, program, words);
            assert!(said.ends_with(last), "{program} {words} on {on}: {said}");
        }
        for way in ["busy", "busy-released", "sleep", "sleep-released"] {
            let said = said(&toolchain, "held", &format!("{way} 1"));
            assert!(said.starts_with("solves 1, calls "), "{way} on {on}: {said}");
        }
    }
}

#[test]
fn live_the_solver_searches_alike_on_every_version() {
    let steps: Vec<String> = toolchains().iter().map(|toolchain| said(toolchain, "solver", "main 1 1 steps")).collect();
    assert!(steps.windows(2).all(|pair| pair[0] == pair[1]), "{steps:?}");
    for said in &steps {
        let steps: Vec<u32> = said.split_whitespace().map_while(|word| word.parse().ok()).collect();
        assert!(steps.len() == 16 && steps.iter().all(|steps| (2..=60).contains(steps)), "{said}");
    }
}

#[test]
fn live_what_does_not_compile_is_reported() {
    let Some(toolchain) = toolchains().pop() else { return };
    let folder = tempfile::tempdir_in(target_folder()).unwrap();
    std::fs::write(folder.path().join("main.ml"), "let () = print_int \"no number\"\n").unwrap();
    let output = folder.path().join("out");
    let error = ocaml::compile(&toolchain, &[folder.path()], &output.join("program")).unwrap_err().to_string();
    assert!(error.contains("main.ml") && error.contains("int"), "{error}");
    assert!(!output.join(OsStr::new("program")).exists() && Path::new(&output).exists());
}
