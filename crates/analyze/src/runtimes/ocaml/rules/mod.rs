//! The rules that apply only to programs of OCaml's runtime, and its additions to general ones. Owns their list.
//! Refuses rules for any runtime: see `findings`.

mod collecting;
mod custom_memory;
mod domain_lock;
mod explicit_gc;
mod fork_pause;
mod idle_domain;
mod leadership_contention;
mod overhead;
mod oversubscribed;
mod seen;
mod short_lived_domains;
mod small_minor_heap;

use crate::findings::Rule;

pub static RULES: [&Rule; 17] = [
    &idle_domain::RULE,
    &domain_lock::RULE,
    &fork_pause::RULE,
    &short_lived_domains::RULE,
    &oversubscribed::RULE,
    &small_minor_heap::RULE,
    &leadership_contention::RULE,
    &explicit_gc::RULE,
    &overhead::RULE,
    &collecting::SURVIVORS,
    &collecting::STACKS,
    &collecting::REMEMBERED_SET,
    &collecting::EPHEMERONS,
    &custom_memory::RULE,
    &collecting::MAJOR_WORK,
    &collecting::COLLECTING,
    &collecting::STANDING_STILL,
];
