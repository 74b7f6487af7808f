//! What `--redact` removes from a manifest: the host's name, arguments, paths,
//! group names. A name is replaced by a hash, so that equal names stay equal
//! within one capture. It cannot change the program's own log, which contains
//! the arguments: the manifest says so.

use rtscope_model::manifest::Manifest;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::Path;

/// Replaces names; the key is random per recording, so hashes cannot be
/// compared with a list of guesses.
#[derive(Clone, Debug, Default)]
pub struct Redactor {
    key: RandomState,
}

impl Redactor {
    /// A stand-in for `text`.
    pub fn hide(&self, text: &str) -> String {
        let mut hasher = self.key.build_hasher();
        hasher.write(text.as_bytes());
        format!("redacted-{:08x}", hasher.finish() as u32)
    }

    /// The last component of a path stays, so that a report can name the program.
    fn name_only(path: &str) -> String {
        Path::new(path).file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned())
    }

    /// A copy of the manifest without anything that identifies places or people.
    pub fn manifest(&self, manifest: &Manifest) -> Manifest {
        let mut hidden = manifest.clone();
        hidden.machine.host = None;
        hidden.directory = self.hide(&manifest.directory);
        hidden.binary.path = Redactor::name_only(&manifest.binary.path);
        hidden.binary.note =
            manifest.binary.note.as_ref().map(|note| note.replace(&manifest.binary.path, &hidden.binary.path));
        for (index, word) in hidden.command.iter_mut().enumerate() {
            *word = if index == 0 { Redactor::name_only(word) } else { self.hide(word) };
        }
        for group in &mut hidden.groups {
            if group.path != "/" {
                group.path = format!("/{}", self.hide(&group.path));
            }
            group.quota_path = group.quota_path.as_ref().map(|path| Redactor::name_only(path));
        }
        for (_, value) in &mut hidden.environment {
            if value.contains('/') {
                *value = self.hide(value);
            }
        }
        hidden.added = vec!["runtime options that switch the eventlog on".to_owned()];
        hidden.notes.retain(|note| !note.contains('/'));
        hidden.notes.push(
            "redacted: host, arguments, paths, group names and the list of threads; not redacted, because they are kept \
             as they came: the eventlog, which holds the program's arguments, the kernel's records, which hold the names of \
             all processes that ran meanwhile (leave those out with --no-kernel), and the samples of code, which hold the \
             paths of executables and libraries (leave those out with --sample-code 0)"
                .to_owned(),
        );
        hidden
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::empty_manifest;

    #[test]
    fn no_name_of_a_place_is_left() {
        let mut manifest = empty_manifest();
        manifest.command = vec!["/home/anna/secret-prog".into(), "--token=hush".into()];
        manifest.directory = "/home/anna".into();
        manifest.machine.host = Some("annas-box".into());
        manifest.environment = vec![("TZ".into(), "/home/anna/tz".into())];
        manifest.added = vec!["GHCRTS: -l-ag -ol/home/anna/c/log".into()];
        manifest.notes = vec!["free space of /home/anna is low".into()];
        let text = serde_json::to_string(&Redactor::default().manifest(&manifest)).unwrap();
        for word in ["anna", "hush", "token"] {
            assert!(!text.contains(word), "{word} in {text}");
        }
        assert!(text.contains("secret-prog"));
    }
}
