//! Compiles OCaml programs with the compiler in a toolchain's tree. Owns the order of modules and the place
//! of object files; refuses to look at the sources.

use crate::compiled;
use crate::toolchain::Toolchain;
use anyhow::{Context, Result, ensure};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Compiles the modules and C files of all `sources` to `output`, to native code with debug information.
/// The compiler writes next to its sources, so it gets copies, in a folder next to `output`.
pub fn compile(toolchain: &Toolchain, sources: &[&Path], output: &Path) -> Result<()> {
    compiled::once(&["ocaml", &toolchain.identity()], sources, output, || compile_anew(toolchain, sources, output))
}

fn compile_anew(toolchain: &Toolchain, sources: &[&Path], output: &Path) -> Result<()> {
    let folder = output.parent().context("an output without a folder")?;
    let objects = output.with_extension("objects");
    if objects.exists() {
        fs::remove_dir_all(&objects)?;
    }
    fs::create_dir_all(&objects)?;
    let (mut modules, mut others) = (Vec::new(), Vec::new());
    for source in sources {
        for entry in fs::read_dir(source)? {
            let path = entry?.path();
            let ending = path.extension().and_then(OsStr::to_str).unwrap_or_default().to_owned();
            let kind = match &*ending {
                "ml" | "mli" => &mut modules,
                "c" => &mut others,
                _ => continue,
            };
            let name = PathBuf::from(path.file_name().context("a file without a name")?);
            fs::copy(&path, objects.join(&name)).with_context(|| path.display().to_string())?;
            kind.push(name);
        }
    }
    modules.sort();
    others.sort();
    let command = |program: &str| toolchain.command(OsStr::new(program), &objects, &[folder]);
    let mut sort = command("ocamldep");
    sort.arg("-sort").args(&modules);
    let sorted = run(sort, output)?;
    let mut depends = command("ocamldep");
    depends.arg("-modules").args(&modules);
    let mut compiler = command("ocamlopt");
    compiler.args(["-g", "-I", "+unix", "unix.cmxa"]);
    // Linking with threads adds a thread to the program, so only link them where they are used.
    if run(depends, output)?.split_whitespace().any(|module| module == "Thread") {
        compiler.args(["-I", "+threads", "threads.cmxa"]);
    }
    compiler.args(&others).args(sorted.split_whitespace());
    run(compiler.arg("-o").arg(output), output).map(drop)
}

/// The output of a tool.
fn run(mut command: impl std::borrow::BorrowMut<Command>, on: &Path) -> Result<String> {
    let done = command.borrow_mut().stdin(Stdio::null()).output().context("OCaml's tools cannot be run")?;
    let stderr = String::from_utf8_lossy(&done.stderr);
    ensure!(done.status.success(), "OCaml's compiler on {}: {stderr}", on.display());
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}
