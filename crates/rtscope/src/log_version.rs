//! Which version of its runtime wrote a log that does not say so itself: the one option of commands that
//! read logs which depends on a runtime. Owns the option; which versions there are the formats know.

use crate::trouble::UserError;
use rtscope_decode::formats;

/// The option.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct LogVersion {
    /// Which OCaml wrote the rings, where neither capture nor events tell: 5.3, 5.4.1
    #[arg(long = OPTION, value_name = "VERSION")]
    pub wrote: Option<String>,
}

const OPTION: &str = "ocaml-version";

impl LogVersion {
    /// The version, where the user named one.
    pub fn checked(&self) -> Result<Option<String>, UserError> {
        let wrong = |error| UserError::new(format!("wrong --{OPTION}")).because(error);
        let Some(version) = &self.wrote else { return Ok(None) };
        formats::check_version(version).map_err(wrong)?;
        Ok(Some(version.clone()))
    }
}
