//! What this machine permits rtscope to see, found by trying it.
//!
//! Owns the probes and their sentences; returns data and refuses to print, to
//! change anything, or to guess: a probe that could not be tried says so. The
//! parts that read files take a root; those that try system calls are about
//! this process.

mod check;
mod perf;
mod system;

pub use check::{Check, State};
use std::path::Path;

/// Runs all probes, in the order in which a person should read them. `root` is
/// `/` outside of tests.
pub fn checks(root: &Path) -> Vec<Check> {
    let mut checks = vec![perf::paranoid(root), perf::capabilities(root), perf::tracefs(root)];
    checks.extend(perf::tiers(root));
    checks.push(perf::code(root));
    checks.extend([system::locked_memory(root), system::open_files(root), system::foreign_memory(root)]);
    checks.extend(system::control_groups(root));
    checks.extend([system::pressure(root), system::steal(root), system::schedstat(root), system::clock(root)]);
    checks
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A root with these files.
    pub fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    #[test]
    fn every_fault_has_its_meaning() {
        for root in [Path::new("/"), tree(&[]).path()] {
            let checks = checks(root);
            assert!(checks.len() >= 14);
            for check in &checks {
                eprintln!("{check:?}");
                assert!(!check.found.is_empty() && check.means.ends_with('.'), "{check:?}");
                assert!(check.state != State::Ok || check.fix.is_none(), "{check:?}");
            }
            let names: std::collections::HashSet<_> = checks.iter().map(|check| check.name).collect();
            assert_eq!(names.len(), checks.len());
        }
    }
}
