//! The version of the runtime that wrote a log, if the log does not say so itself: the only runtime-specific
//! option of commands that read logs. Owns the option; the formats know which versions there are.

use rtscope_decode::formats;
use rtscope_terminal::user_error::UserError;

/// The option that names the version.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct LogVersion {
    /// Which OCaml wrote the rings, if neither capture nor events say so: 5.3, 5.4.1
    #[arg(long = OPTION, value_name = "VERSION")]
    pub wrote: Option<String>,
}

const OPTION: &str = "ocaml-version";

impl LogVersion {
    /// The version, if the user named one.
    pub fn checked(&self) -> Result<Option<String>, UserError> {
        let wrong = |error| UserError::new(format!("wrong --{OPTION}")).because(error);
        let Some(version) = &self.wrote else { return Ok(None) };
        formats::check_version(version).map_err(wrong)?;
        Ok(Some(version.clone()))
    }
}
