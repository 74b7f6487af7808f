//! The only room with system calls and `unsafe`: `/proc`, control groups,
//! spawning, reading a process's memory, sampling, and writing a capture.
//!
//! Owns what touches the machine and the recorded program, under one rule: the
//! program's behaviour and result never change. Refuses decoding (that is
//! `decode`), judging (that is `analyze`) and printing (that is the program).

pub mod background;
pub mod binary;
pub mod by_bytes;
pub mod cgroup;
pub mod clock;
pub mod core_file;
pub mod cpu_list;
pub mod doctor;
pub mod folder;
pub mod handover;
pub mod heap;
pub mod kernel;
pub mod launch;
pub mod live;
pub mod machine;
pub mod mappings;
pub mod memory;
pub(crate) mod minder;
pub mod open_files;
pub mod options;
pub mod own_cost;
pub mod privileges;
pub mod probe;
pub mod procfs;
pub mod reading;
pub(crate) mod ready;
pub mod recording;
pub mod redact;
pub mod resources;
pub mod rings;
pub mod sampler;
pub mod sandbox;
pub mod signals;
pub mod spawn;
pub mod stm;
pub mod stop;
pub mod store;
pub mod symbols;
pub mod taken;
pub mod target;
pub mod terminal;
pub mod trial;
pub mod unflushed;
