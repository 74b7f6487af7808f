//! C code of the link-in libraries compiled with sanitizers: any warning, any access out of bounds
//! and any undefined operation ends a test. Owns how it is compiled.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use xtask::missing;

/// Compiles these sources into a program; `None` where nothing compiles them (said by then). It
/// lies below the build's own folder and is made anew.
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
