//! Files of an experiment, in a folder of its own.

use crate::trouble::Trouble;
use std::fs;
use std::path::Path;

/// Writes files, each a name and what is in it, into a folder that is made.
pub(super) fn write(folder: &Path, files: &[(String, &str)]) -> Result<(), Trouble> {
    for (name, content) in files {
        let path = folder.join(name);
        fs::create_dir_all(folder).and_then(|()| fs::write(&path, content)).map_err(|error| {
            Trouble::new(format!("cannot write {}", path.display()))
                .because(error)
                .next("give another folder with --output")
        })?;
    }
    Ok(())
}
