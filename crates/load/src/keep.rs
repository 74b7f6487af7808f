//! The file of requests (`docs/formats/requests.md`): its head, and how many requests are written or
//! left out. Owns the limit; the encoding of a request is in `model`.

use crate::document::Started;
use rtscope_model::request::{MAGIC, REQUEST_BYTES};
use serde_json::json;
use std::io::{self, Write};

/// The file while it is written.
pub(crate) struct Keeper<'w> {
    pub(crate) out: &'w mut dyn Write,
    room: u64,
    pub(crate) kept: u64,
    pub(crate) left_out: u64,
}

impl<'w> Keeper<'w> {
    /// Writes the head; the file will take `room` requests.
    pub(crate) fn new(out: &'w mut dyn Write, room: u64, url: &str, started: Started) -> io::Result<Keeper<'w>> {
        let head = json!({
            "schema": "rtscope/requests/1",
            "url": url,
            "clock": "CLOCK_MONOTONIC",
            "started_ns": started.monotonic_ns,
            "started_unix_ns": started.unix_ns,
            "request_bytes": REQUEST_BYTES,
        });
        let head = head.to_string();
        let length = u32::try_from(head.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
        out.write_all(&MAGIC)?;
        out.write_all(&length.to_le_bytes())?;
        out.write_all(head.as_bytes())?;
        Ok(Keeper { out, room, kept: 0, left_out: 0 })
    }

    /// Writes whole requests as long as there is room.
    pub(crate) fn write(&mut self, requests: &[u8]) -> io::Result<()> {
        let count = (requests.len() / REQUEST_BYTES) as u64;
        let taken = count.min(self.room - self.kept);
        let bytes = usize::try_from(taken).unwrap_or(usize::MAX).saturating_mul(REQUEST_BYTES);
        self.out.write_all(requests.get(..bytes).unwrap_or(requests))?;
        self.kept += taken;
        self.left_out += count - taken;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtscope_model::Time;
    use rtscope_model::request::Outcome;
    use rtscope_model::request::Request;

    #[test]
    fn the_file_is_bounded_and_identifies_itself() {
        let due = Time(7);
        let outcome = Outcome::Timeout;
        let request = Request { due, sent: None, done: due.plus(9000), outcome, connection: 1, warm_up: false };
        let mut buffer = Vec::new();
        for _ in 0..5 {
            buffer.extend(request.to_bytes());
        }
        let mut out = Vec::new();
        let mut keeper = Keeper::new(&mut out, 7, "http://a/", Started { monotonic_ns: 5, unix_ns: 6 }).unwrap();
        keeper.write(&buffer).unwrap();
        keeper.write(&buffer).unwrap();
        assert_eq!((keeper.kept, keeper.left_out), (7, 3));
        let length = u32::from_le_bytes(out[8..12].try_into().unwrap()) as usize;
        let head: serde_json::Value = serde_json::from_slice(&out[12..12 + length]).unwrap();
        assert_eq!((&head["started_ns"], &head["url"]), (&json!(5), &json!("http://a/")));
        let requests = &out[12 + length..];
        assert_eq!(requests.len(), 7 * REQUEST_BYTES);
        assert_eq!(Request::of_bytes(requests.last_chunk().unwrap()), Some(request));
    }
}
