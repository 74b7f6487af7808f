//! Kernels and hypervisors for guests, from Debian's packages, stored in the cache. Owns which package
//! has them and where they are.

use super::PACKAGES;
use crate::apt;
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The images that a guest boots.
#[derive(Clone, Debug)]
pub struct Images {
    /// The kernel.
    pub kernel: PathBuf,
    /// The hypervisor to run the kernel on, if any.
    pub hypervisor: Option<PathBuf>,
}

impl Images {
    /// The small cloud kernel, without a hypervisor.
    pub fn plain(cache: &Path) -> Result<Images> {
        apt::install(&PACKAGES)?;
        Ok(Images { kernel: kernel(cache, "linux-image-cloud-amd64")?, hypervisor: None })
    }

    /// Xen, and a kernel that can run as its first domain.
    pub fn with_hypervisor(cache: &Path) -> Result<Images> {
        apt::install(&PACKAGES)?;
        let package = apt::names("^xen-hypervisor-[0-9.]*-amd64$")?.pop().context("Debian has no Xen hypervisor")?;
        let boot = unpacked(cache, &package)?.join("boot");
        let packed = find(&boot, "xen-", ".gz")?;
        let plain = packed.with_extension("");
        // qemu's loader needs an ELF file.
        if !plain.exists() {
            let done = Command::new("gzip").args(["-d", "-c"]).arg(&packed).output()?;
            ensure!(done.status.success(), "{} cannot be unpacked", packed.display());
            fs::write(&plain, done.stdout)?;
        }
        Ok(Images { kernel: kernel(cache, "linux-image-amd64")?, hypervisor: Some(plain) })
    }
}

/// The kernel that `newest`, a package without files of its own, depends on.
fn kernel(cache: &Path, newest: &str) -> Result<PathBuf> {
    let package = apt::depends(newest)?.into_iter().find(|name| name.starts_with("linux-image-"));
    let package = package.with_context(|| format!("{newest} depends on no kernel"))?;
    find(&unpacked(cache, &package)?.join("boot"), "vmlinuz-", "")
}

/// The folder with the unpacked files of `package`.
fn unpacked(cache: &Path, package: &str) -> Result<PathBuf> {
    let folder = cache.join("guests").join(package);
    if folder.join("boot").exists() {
        return Ok(folder);
    }
    let partial = cache.join("guests").join(format!("{package}.{}", std::process::id()));
    fs::create_dir_all(&partial)?;
    let archive = apt::download(package, &partial)?;
    let done = Command::new("dpkg-deb").arg("-x").arg(&archive).arg(&partial).output()?;
    ensure!(done.status.success(), "dpkg-deb {}: {}", package, String::from_utf8_lossy(&done.stderr).trim());
    fs::remove_file(archive)?;
    // Another process may have finished first; its folder is just as good.
    if fs::rename(&partial, &folder).is_err() {
        fs::remove_dir_all(&partial)?;
    }
    Ok(folder)
}

fn find(folder: &Path, start: &str, end: &str) -> Result<PathBuf> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let names = entries.flatten().map(|entry| entry.path());
    let wanted = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with(start) && name.ends_with(end)
    };
    names.into_iter().find(wanted).with_context(|| format!("{} has no {start}*{end}", folder.display()))
}
