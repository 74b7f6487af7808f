//! How a program was started, and what its link determines, as far as a recording shows. Refuses to judge what
//! it accepts.

use crate::results::ProgramRuntime;
use rtscope_model::manifest::{Binary, Manifest};
use rtscope_model::options::AtLink;
use rtscope_model::{Link, RuntimeInfo, Version};

/// What is known about the start of a program.
#[derive(Clone, Debug, Default)]
pub struct Start {
    /// The program's file; `None`: only a log.
    pub binary: Option<Binary>,
    /// Environment variables that its user set.
    pub environment: Vec<(String, String)>,
}

impl Start {
    /// The start according to the manifest of a recording.
    pub fn of(manifest: &Manifest) -> Start {
        Start { binary: Some(manifest.binary.clone()), environment: manifest.environment.clone() }
    }

    /// The program's file, if it is of `runtime`: a script that starts the program is not.
    pub fn binary_of(&self, runtime: &RuntimeInfo) -> Option<&Binary> {
        self.binary.as_ref().filter(|binary| binary.family.as_deref() == Some(runtime.id))
    }

    /// Options of `runtime` in the environment that its user set.
    pub fn variable(&self, runtime: &RuntimeInfo) -> &str {
        let held = |name: &&str| self.environment.iter().find(|(of, _)| of == name).map(|(_, value)| value.as_str());
        runtime.spelling.variables.iter().find_map(held).unwrap_or_default()
    }

    /// Options of `runtime` that hold before those of the command line: those of the link, then of the environment.
    pub fn options(&self, runtime: &RuntimeInfo) -> impl Iterator<Item = &str> {
        let linked = self.binary_of(runtime).and_then(|binary| binary.with_rtsopts.as_deref()).unwrap_or_default();
        linked.split_ascii_whitespace().chain(self.variable(runtime).split_ascii_whitespace())
    }
}

/// What is known about the link of a program of `runtime`, from its file and its log.
pub fn link(at: &AtLink, binary: Option<&Binary>, threaded: Option<bool>, runtime: &ProgramRuntime) -> Link {
    let link = binary.map(at.of).unwrap_or_default();
    Link { version: runtime.version.as_deref().and_then(version), threaded: link.threaded.or(threaded), ..link }
}

/// Parses "9.6.6".
fn version(text: &str) -> Option<Version> {
    let mut parts = text.split('.').map(|part| part.parse().ok());
    Some((parts.next()??, parts.next()??, parts.next().flatten().unwrap_or(0)))
}
