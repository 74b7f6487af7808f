//! The runtime of OCaml 5: how its stop-the-world sections are recognised, which threads serve a
//! domain, waits to lead, slices of the old heap, what single domains cost the others.

pub mod answers;
pub mod domains;
pub mod leadership;
pub mod pauses;
pub mod slices;
