//! Shared by tests: how rtscope is run, programs that it looks at, and what it should show. Owns no
//! assertion about a specific result; refuses to be used outside tests.

#![forbid(unsafe_code)]

pub mod account;
pub mod bindings;
pub mod blessed;
pub mod executable;
pub mod ground;
pub mod heaps;
pub mod hostile;
pub mod known_work;
pub mod manifests;
pub mod output;
pub mod recordings;
pub mod results;
pub mod rings;
pub mod sanitized;
pub mod starts;
pub mod tree;
pub mod truth;
pub mod tuning;

/// The text of a file in `workloads/`.
#[macro_export]
macro_rules! source {
    ($path:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../workloads/", $path))
    };
}

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The `target/tests` folder that Cargo built along with the running test.
fn built() -> PathBuf {
    let test = std::env::current_exe().expect("the path of this test");
    test.ancestors().nth(2).expect("tests lie in a folder of the build").to_owned()
}

/// The `rtscope` of this build. Cargo builds it before any test of its package.
pub fn rtscope() -> &'static str {
    static PATH: OnceLock<String> = OnceLock::new();
    PATH.get_or_init(|| {
        let path = built().join("rtscope");
        assert!(path.exists(), "no {}: `cargo build` the package rtscope", path.display());
        path.into_os_string().into_string().expect("a path in UTF-8")
    })
}

/// A folder for files that tests make, inside the build's folder.
pub fn made() -> PathBuf {
    built().parent().expect("a profile lies in the target folder").join("tmp")
}

/// Name of the running test executable: `unit`, `live`.
pub fn tier() -> String {
    let test = std::env::current_exe().expect("the path of this test");
    let name = test.file_name().unwrap_or_default().to_string_lossy().into_owned();
    name.split('-').next().unwrap_or_default().to_owned()
}

/// The source folder of the program's tests.
pub fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../rtscope/tests")
}
