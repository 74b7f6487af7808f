//! Names of the kernel's functions from `/proc/kallsyms`. Owns that file; refuses
//! the zeros that it shows to users that may not see addresses.

use crate::privileges::opener::Ask;
use crate::system::procfs::Host;
use rtscope_decode::code::Named;
use rtscope_model::CodeKind;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};

/// The functions around `addresses`; an error says why there are none.
pub fn look_up(host: &Host, addresses: &BTreeSet<u64>) -> Result<Vec<Named>, String> {
    const REMEDY: &str = "record as root with `sudo sysctl kernel.kptr_restrict=1`";
    if addresses.is_empty() {
        return Ok(Vec::new());
    }
    let text = read(host).map_err(|error| format!("/proc/kallsyms cannot be read ({error}); {REMEDY}"))?;
    let functions = functions(&text);
    if functions.iter().all(|(address, _)| *address == 0) {
        return Err(format!("/proc/kallsyms shows no addresses to this user; {REMEDY}"));
    }
    let mut names: Vec<Named> = Vec::new();
    for address in addresses {
        if names.last().is_some_and(|last| *address < last.to) {
            continue;
        }
        let next = functions.partition_point(|(start, _)| start <= address);
        let around = next.checked_sub(1).and_then(|index| functions.get(index));
        // Data follows the last function, or a module that has been unloaded.
        let (Some((from, name)), Some((to, _))) = (around, functions.get(next)) else { continue };
        let name = String::from_utf8_lossy(name).into_owned();
        names.push(Named { from: *from, to: *to, at: 0, name, kind: CodeKind::Kernel, source: None, purpose: None });
    }
    Ok(names)
}

fn read(host: &Host) -> io::Result<Vec<u8>> {
    // The process that opens it decides whether it shows addresses.
    let mut file = match host.opener() {
        Some(opener) => opener.open(None, Ask::KernelNames)?,
        None => File::open(host.path("/proc/kallsyms"))?,
    };
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    Ok(text)
}

/// Sorted by address, one name each. A kernel has a hundred thousand of them: none
/// is copied.
fn functions(text: &[u8]) -> Vec<(u64, &[u8])> {
    let mut functions: Vec<(u64, &[u8])> = text.split(|byte| *byte == b'\n').filter_map(function).collect();
    // Of several names for one address the first one stays, as the kernel itself does.
    functions.sort_by_key(|(address, _)| *address);
    functions.dedup_by_key(|(address, _)| *address);
    functions
}

/// Parses `ffffffff81000100 t __schedule`; a module follows after a tab.
fn function(line: &[u8]) -> Option<(u64, &[u8])> {
    let mut fields = line.split(|byte| matches!(byte, b' ' | b'\t'));
    let (address, kind, name) = (fields.next()?, fields.next()?, fields.next()?);
    let address = u64::from_str_radix(std::str::from_utf8(address).ok()?, 16).ok()?;
    matches!(kind, b"T" | b"t" | b"W" | b"w").then_some((address, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(kallsyms: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("proc")).unwrap();
        std::fs::write(root.path().join("proc/kallsyms"), kallsyms).unwrap();
        root
    }

    #[test]
    fn functions_around_addresses() {
        let root = tree(
            "ffffffff81000200 T schedule\nffffffff81000100 t __schedule\nffffffff81000180 d data\n\
             ffffffff81000300 W other\nffffffffc0000000 t in_module\t[module]\n",
        );
        let asked = [0xffff_ffff_8100_0110, 0xffff_ffff_8100_0120, 0xffff_ffff_8100_02ff, 0xffff_ffff_c000_0001];
        let found = look_up(&Host::at(root.path()), &asked.into()).unwrap();
        let names: Vec<_> = found.iter().map(|named| (named.name.as_str(), named.to - named.from)).collect();
        assert_eq!(names, [("__schedule", 0x100), ("schedule", 0x100)]);
    }

    #[test]
    fn hidden_addresses_are_reported() {
        let root = tree("0000000000000000 T schedule\n");
        assert!(look_up(&Host::at(root.path()), &[1].into()).unwrap_err().contains("kptr_restrict"));
        assert!(look_up(&Host::at("/nonexistent"), &[1].into()).unwrap_err().contains("kallsyms"));
        assert_eq!(look_up(&Host::at("/nonexistent"), &BTreeSet::new()), Ok(Vec::new()));
    }
}
