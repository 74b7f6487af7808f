//! Tests that need root, one at a time. Owns the list of its files; `scripts/test` checks that none is left out.
#![forbid(unsafe_code)]

mod faults;
mod hostile;
mod machine;
mod room;
mod store;
mod targets;
mod user;
mod view;
