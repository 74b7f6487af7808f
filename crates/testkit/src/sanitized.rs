//! C code of the link-in libraries, compiled with sanitizers: any warning, out-of-bounds access or
//! undefined operation fails a test. Owns how it is compiled.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use xtask::missing;

/// Compiles `sources` into a program in the build's folder; `None` without a compiler (a message was
/// printed). Each call compiles again.
pub fn compiled(program: &str, sources: &[PathBuf]) -> Option<PathBuf> {
    let folder = crate::made().join("sanitized");
    fs::create_dir_all(&folder).unwrap();
    let output = folder.join(program);
    let mut cc = Command::new("cc");
    cc.args(["-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-Wpedantic", "-Wshadow", "-Wvla"]);
    cc.args(["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-o"]).arg(&output).args(sources);
    let Ok(done) = cc.output() else {
        missing("cc (package gcc)");
        return None;
    };
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Some(output)
}
