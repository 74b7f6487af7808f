//! What the program prints: colours and characters of a terminal, the layout of a screen, the content of a report as lines,
//! a line that changes, errors in one form, values of options. Refuses to know results.
#![forbid(unsafe_code)]

pub mod charts;
pub mod line;
pub mod markdown;
pub mod present;
pub mod screen;
pub mod style;
pub mod user_error;
pub mod values;
