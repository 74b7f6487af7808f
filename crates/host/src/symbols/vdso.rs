//! The code that the kernel gives to every process, which is in no file. Owns
//! reading this process's own copy; refuses nothing: all copies are equal.

use crate::system::procfs::Host;
use crate::target::mappings;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// A larger mapping is not a vDSO.
const BYTES_MAX: u64 = 1 << 20;

/// This process's vDSO image.
pub fn image() -> Result<Vec<u8>, String> {
    let unreadable = |error: std::io::Error| format!("cannot be read ({error})");
    let maps = Host::default().process_text(std::process::id(), "maps").unwrap_or_default();
    let found = mappings::parse(&maps).into_iter().find(|mapping| mapping.name == "[vdso]");
    let found = found.filter(|vdso| vdso.bytes() <= BYTES_MAX).ok_or("is not mapped in this process")?;
    let mut image = vec![0; found.bytes() as usize];
    let memory = File::open("/proc/self/mem").map_err(unreadable)?;
    memory.read_exact_at(&mut image, found.range.start).map_err(unreadable)?;
    Ok(image)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_image_is_an_elf_file() {
        match super::image() {
            Ok(image) => assert_eq!(image.get(..4), Some(&b"\x7fELF"[..])),
            Err(why) => eprintln!("not run: the vdso {why}"),
        }
    }
}
