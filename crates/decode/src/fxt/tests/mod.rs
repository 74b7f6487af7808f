//! Tests of the reader and of what other tools' traces become.

mod damage;
mod others;
mod records;
