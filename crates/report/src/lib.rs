//! `rtscope report`: results shown as text, JSON, JSON lines and a page. Owns the content and its order. Refuses to
//! compute figures, to read captures and to print.
#![forbid(unsafe_code)]

mod account;
pub mod code;
pub mod compare;
pub mod compared;
pub mod drawings;
pub mod further;
pub mod heap;
pub mod html;
pub mod json;
pub mod kinds;
mod no_findings;
pub mod pauses_json;
pub mod requests;
pub mod sections;
mod seen;
pub mod shows;
pub mod stm;
pub mod text;
pub mod waits;
pub mod words;

/// Maximum evidence and remedies that a page shows of one finding.
pub const EVIDENCE_MAX: usize = 8;
/// Maximum remedies of one finding.
pub const REMEDIES_MAX: usize = 4;

pub use rtscope_model::units;
pub use seen::exit_code;
