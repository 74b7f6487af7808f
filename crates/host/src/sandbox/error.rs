//! System errors in a sandbox's answers: the number if there is one, else the message.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::io;

#[derive(Serialize, Deserialize)]
struct Sent {
    number: Option<i32>,
    words: String,
}

pub fn serialize<S: Serializer>(error: &io::Error, serializer: S) -> Result<S::Ok, S::Error> {
    Sent { number: error.raw_os_error(), words: error.to_string() }.serialize(serializer)
}

pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<io::Error, D::Error> {
    let Sent { number, words } = Sent::deserialize(deserializer)?;
    Ok(number.map_or_else(|| io::Error::other(words), io::Error::from_raw_os_error))
}
