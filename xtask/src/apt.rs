//! The machine's package manager: its mirror, its keys, the versions that it would install. Owns reading
//! apt's two source formats; names no host of its own.

use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The mirror that this machine's apt uses for Debian itself.
pub fn mirror() -> Result<String> {
    mirror_at(Path::new("/etc/apt"))
        .context("no Debian mirror in /etc/apt: installing compilers takes a Debian machine with its sources set")
}

fn mirror_at(apt: &Path) -> Option<String> {
    let mut files = vec![apt.join("sources.list")];
    let listed = fs::read_dir(apt.join("sources.list.d")).into_iter().flatten().flatten();
    let mut more: Vec<_> = listed.map(|entry| entry.path()).collect();
    more.sort();
    files.extend(more);
    let texts = files.iter().filter_map(|file| {
        let text = fs::read_to_string(file).ok()?;
        let deb822 = file.extension().is_some_and(|ending| ending == "sources");
        Some(if deb822 { from_deb822(&text) } else { from_list(&text) })
    });
    // There may be other archives; Debian's has a `debian` path and the component `main`.
    texts.flatten().find(|uri| uri.trim_end_matches('/').ends_with("/debian"))
}

/// Addresses of `deb` stanzas with component `main`.
fn from_deb822(text: &str) -> Vec<String> {
    let stanzas = text.split("\n\n").filter(|stanza| {
        let has = |key: &str, word: &str| field(stanza, key).is_some_and(|value| value.split(' ').any(|w| w == word));
        has("Types", "deb") && has("Components", "main") && !has("Enabled", "no")
    });
    stanzas.filter_map(|stanza| field(stanza, "URIs")?.split(' ').next().map(str::to_owned)).collect()
}

fn field<'a>(stanza: &'a str, key: &str) -> Option<&'a str> {
    stanza.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':')).map(str::trim)
}

/// Addresses of one-line sources with component `main`.
fn from_list(text: &str) -> Vec<String> {
    let lines = text.lines().filter_map(|line| {
        let line = line.trim().strip_prefix("deb ")?.trim_start();
        let line = match line.strip_prefix('[') {
            Some(options) => options.split_once(']')?.1,
            None => line,
        };
        let mut words = line.split_whitespace();
        let uri = words.next()?;
        words.any(|word| word == "main").then(|| uri.to_owned())
    });
    lines.collect()
}

/// Debian's keyring, if it is installed.
pub fn keyring() -> Option<PathBuf> {
    Some(PathBuf::from("/usr/share/keyrings/debian-archive-keyring.gpg")).filter(|path| path.exists())
}

/// The version of `package` that would be installed.
pub fn candidate(package: &str) -> Option<String> {
    let done = Command::new("apt-cache").args(["policy", package]).env("LC_ALL", "C").output().ok()?;
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    let version = text.lines().find_map(|line| line.trim().strip_prefix("Candidate:"))?.trim().to_owned();
    (version != "(none)").then_some(version)
}

/// Installs the missing ones of `packages`.
pub fn install(packages: &[&str]) -> Result<()> {
    let missing: Vec<_> = packages.iter().copied().filter(|package| !is_installed(package)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    if missing.iter().any(|package| candidate(package).is_none()) {
        get(&["update"], &[], Path::new("/"))?;
    }
    get_fresh(&["install", "-y", "--no-install-recommends"], &missing, Path::new("/"))
}

/// Downloads `package` into `folder`; returns its file.
pub fn download(package: &str, folder: &Path) -> Result<PathBuf> {
    // The user that apt downloads as cannot enter root's folders.
    get_fresh(&["-o", "APT::Sandbox::User=root", "download"], &[package], folder)?;
    let entries = fs::read_dir(folder)?.flatten().map(|entry| entry.path());
    let archive = entries.into_iter().find(|path| path.extension().is_some_and(|ending| ending == "deb"));
    archive.with_context(|| format!("apt-get download {package} left no file"))
}

/// The direct dependencies of `package`.
pub fn depends(package: &str) -> Result<Vec<String>> {
    let text = ask(&["depends", "--important", package])?;
    Ok(text.lines().filter_map(|line| line.trim().strip_prefix("Depends: ")).map(str::to_owned).collect())
}

/// Names of packages that match `expression`, sorted.
pub fn names(expression: &str) -> Result<Vec<String>> {
    let text = ask(&["search", "--names-only", expression])?;
    let mut names: Vec<_> = text.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect();
    names.sort();
    Ok(names)
}

fn ask(arguments: &[&str]) -> Result<String> {
    let done =
        Command::new("apt-cache").args(arguments).env("LC_ALL", "C").output().context("apt-cache cannot be run")?;
    let stderr = String::from_utf8_lossy(&done.stderr);
    ensure!(done.status.success(), "apt-cache {}: {}", arguments.join(" "), stderr.trim());
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

/// The package lists may be older than the mirror: on failure, updates them and tries once more.
fn get_fresh(arguments: &[&str], packages: &[&str], folder: &Path) -> Result<()> {
    let Err(first) = get(arguments, packages, folder) else { return Ok(()) };
    get(&["update"], &[], folder)?;
    if get(arguments, packages, folder).is_err() {
        bail!(first);
    }
    Ok(())
}

fn get(arguments: &[&str], packages: &[&str], folder: &Path) -> Result<()> {
    let mut command = Command::new("apt-get");
    command.args(["-o", "DPkg::Lock::Timeout=300", "-q"]).args(arguments).args(packages).current_dir(folder);
    let done = command.env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null()).output();
    let done = done.context("apt-get cannot be run")?;
    let stderr = String::from_utf8_lossy(&done.stderr);
    ensure!(done.status.success(), "apt-get {}: {}", arguments.join(" "), stderr.trim());
    Ok(())
}

fn is_installed(package: &str) -> bool {
    let query = Command::new("dpkg-query").args(["-W", "-f", "${Status}", package]).stderr(Stdio::null()).output();
    query.is_ok_and(|done| String::from_utf8_lossy(&done.stdout).contains("install ok installed"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debian_s_own_mirror_is_found_in_both_formats() {
        let apt = tempfile::tempdir().unwrap();
        fs::create_dir(apt.path().join("sources.list.d")).unwrap();
        assert_eq!(mirror_at(apt.path()), None);
        let sources = "Types: deb\nURIs: http://other.example/node\nComponents: main\n\n\
                       Types: deb\n# a comment\nURIs: http://mirror.example/debian\nSuites: a b\nComponents: main\n";
        fs::write(apt.path().join("sources.list.d/debian.sources"), sources).unwrap();
        assert_eq!(mirror_at(apt.path()).as_deref(), Some("http://mirror.example/debian"));
        let list = "# deb http://no.example/debian x main\n\
                    deb [arch=amd64 signed-by=/k] http://list.example/debian/ x main contrib\n";
        fs::write(apt.path().join("sources.list"), list).unwrap();
        assert_eq!(mirror_at(apt.path()).as_deref(), Some("http://list.example/debian/"));
    }
}
