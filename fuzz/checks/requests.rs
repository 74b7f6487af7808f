//! Any bytes as a file of requests: it is refused or read to its last whole request, losses are counted,
//! and writing and reading a request again gives the same.

use rtscope_decode::requests::RequestStream;
use rtscope_model::request::{REQUEST_BYTES, Request};

/// # Panics
/// If a check fails.
pub fn check(bytes: &[u8]) {
    let Ok(mut stream) = RequestStream::open(bytes) else { return };
    let head = bytes.get(8..12).and_then(|four| four.try_into().ok()).map(u32::from_le_bytes);
    let whole = (bytes.len() - 12 - head.expect("an opened file has a length") as usize) / REQUEST_BYTES;
    let read: Vec<Request> = stream.by_ref().collect();
    let lost = stream.damaged().expect("bytes cannot fail");
    assert_eq!(read.len() as u64 + lost, whole as u64);
    for request in read {
        // A moment near the end of time is cut to it, and stays that way.
        let again = Request::of_bytes(&request.to_bytes()).expect("what was written is known");
        assert_eq!((again.due, again.outcome, again.warm_up), (request.due, request.outcome, request.warm_up));
        assert!(again.done <= request.done && again.latency_ns() <= request.latency_ns());
    }
}
