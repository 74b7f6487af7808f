//! Tests of the reader and of importing other tools' traces.

mod damage;
mod others;
mod records;
