//! The cache for expensive results that checkouts share: compilers, compiled programs, rows of long
//! studies. Owns only the place; everything in it can be made again.

use anyhow::{Context, Result};
use std::fs;
use std::path::PathBuf;

/// `$RTSCOPE_CACHE`, else the user's cache folder.
pub fn cache() -> PathBuf {
    let from = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    from("RTSCOPE_CACHE").unwrap_or_else(|| {
        let home = || from("HOME").unwrap_or_else(|| "/var".into()).join(".cache");
        from("XDG_CACHE_HOME").unwrap_or_else(home).join("rtscope")
    })
}

/// A folder in the cache, created if needed.
///
/// # Errors
/// It cannot be made.
pub fn folder(name: &str) -> Result<PathBuf> {
    let folder = cache().join(name);
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    Ok(fs::canonicalize(folder)?)
}
