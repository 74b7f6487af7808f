//! Programs of the user's own: starting and holding them, asking them what they take, trials,
//! signals, the terminal. Refuses to record them.

pub mod launch;
pub mod probe;
pub mod signals;
pub mod spawn;
pub mod terminal;
pub mod trial;
