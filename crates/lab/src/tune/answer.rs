//! How every kind of study ends: what it prints, its exit status without an answer, and what to do if it cannot
//! be stored.

use rtscope_store::StoreError;
use rtscope_terminal::user_error::{UserError, WRONG, print_results};
use std::path::Path;
use std::process::ExitCode;

pub(super) fn show(text: &str) -> Result<ExitCode, UserError> {
    print_results(text).map(|()| ExitCode::SUCCESS)
}

pub(super) const NO_ANSWER: u8 = 3;

/// The error for a budget with which nothing can be compared.
pub(super) fn too_small(why: impl std::fmt::Display, next: &str) -> UserError {
    UserError::new("the budget is too small").because(why).next(next).ends_with(WRONG)
}

pub(super) fn cannot_keep(path: &Path, error: &StoreError) -> UserError {
    let next = match error {
        StoreError::Full => "free the disk and call it again: it goes on",
        StoreError::InUse => "wait for it, or give another place with --output or --store",
        StoreError::Differs(_) => "give another place with --output or --store, or the options that it was begun with",
        _ => "give another place with --output or --store",
    };
    UserError::new(format!("cannot keep the study in {}", path.display())).because(error).next(next)
}
