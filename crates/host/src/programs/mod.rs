//! The user's programs: starting and holding them, probing which flags they accept, trials,
//! signals, the terminal. Refuses to record them.

pub mod launch;
pub mod probe;
pub mod signals;
pub mod spawn;
pub mod terminal;
pub mod trial;
