//! Requests as `rtscope load --requests` writes them (`docs/formats/requests.md`). Owns the head of the file and
//! detecting damage; the encoding of a request is `model`'s. Reads request by request, so the size of the file
//! does not matter.

use rtscope_model::Time;
use rtscope_model::request::{MAGIC, REQUEST_BYTES, Request};
use serde::Deserialize;
use std::io::{self, Read};
use thiserror::Error;

/// Limit of the head in bytes: every server refuses a URL of 64 KiB.
const HEAD_MAX: u32 = 1 << 17;

/// Why a file of requests cannot be read.
#[derive(Debug, Error)]
#[allow(missing_docs)]
pub enum RequestsError {
    #[error("this is no file of requests: it begins with something else")]
    Another,
    #[error("it ends inside its head")]
    Cut,
    #[error("its head is damaged: it claims to have {0} bytes")]
    Length(u32),
    #[error("its head is damaged: {0}")]
    Head(serde_json::Error),
    #[error("this version does not know its format, `{0}`")]
    Schema(String),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The head of a file.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub struct Head {
    schema: String,
    request_bytes: usize,
    clock: String,
    /// URL that the requests were sent to.
    pub url: String,
    /// When the schedule began.
    #[serde(rename = "started_ns")]
    pub started: Time,
    /// `started` in nanoseconds since 1970; distinguishes boots and machines.
    #[serde(default)]
    pub started_unix_ns: Option<u64>,
}

/// The requests of a file, in file order. Invalid requests are skipped and counted.
#[derive(Debug)]
pub struct RequestStream<R> {
    input: R,
    head: Head,
    damaged: u64,
    failed: Option<io::Error>,
}

impl<R: Read> RequestStream<R> {
    /// Reads the head; `input` should be buffered.
    ///
    /// # Errors
    /// It is not a file of requests, or of a later version.
    pub fn open(mut input: R) -> Result<RequestStream<R>, RequestsError> {
        let mut magic = [0; MAGIC.len()];
        let mut length = [0; 4];
        if !filled(&mut input, &mut magic)? || magic != MAGIC {
            return Err(RequestsError::Another);
        }
        if !filled(&mut input, &mut length)? {
            return Err(RequestsError::Cut);
        }
        let length = u32::from_le_bytes(length);
        if length > HEAD_MAX {
            return Err(RequestsError::Length(length));
        }
        let mut head = Vec::new();
        input.by_ref().take(u64::from(length)).read_to_end(&mut head)?;
        if head.len() as u64 != u64::from(length) {
            return Err(RequestsError::Cut);
        }
        let head: Head = serde_json::from_slice(&head).map_err(RequestsError::Head)?;
        if head.schema != "rtscope/requests/1" || head.request_bytes != REQUEST_BYTES {
            return Err(RequestsError::Schema(head.schema));
        }
        if head.clock != "CLOCK_MONOTONIC" {
            return Err(RequestsError::Schema(format!("{} with {}", head.schema, head.clock)));
        }
        Ok(RequestStream { input, head, damaged: 0, failed: None })
    }

    /// The head of the file.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// Number of requests skipped so far; complete once the iterator has ended. An incomplete last request was
    /// truncated, which is not damage.
    ///
    /// # Errors
    /// The file could not be read to its end.
    pub fn damaged(self) -> Result<u64, RequestsError> {
        self.failed.map_or(Ok(self.damaged), |error| Err(error.into()))
    }
}

impl<R: Read> Iterator for RequestStream<R> {
    type Item = Request;

    fn next(&mut self) -> Option<Request> {
        let mut bytes = [0; REQUEST_BYTES];
        while self.failed.is_none() {
            match filled(&mut self.input, &mut bytes) {
                Ok(true) => match Request::of_bytes(&bytes) {
                    Some(request) => return Some(request),
                    None => self.damaged += 1,
                },
                Ok(false) => return None,
                Err(error) => self.failed = Some(error),
            }
        }
        None
    }
}

/// Fills `bytes`; false: there were not enough.
fn filled(input: &mut impl Read, bytes: &mut [u8]) -> io::Result<bool> {
    match input.read_exact(bytes) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        read => read.map(|()| true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rtscope_model::request::Outcome;

    const HEAD: &str = r#"{"schema":"rtscope/requests/1","url":"http://a/","clock":"CLOCK_MONOTONIC","started_ns":7,"request_bytes":24}"#;

    fn request(number: u64) -> Request {
        let due = Time(1_000 * number);
        let outcome = Outcome::Answered(200);
        Request { due, sent: Some(due), done: due.plus(5_000), outcome, connection: 1, warm_up: number == 0 }
    }

    fn file(head: &str, requests: u64) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend((head.len() as u32).to_le_bytes());
        bytes.extend(head.as_bytes());
        (0..requests).for_each(|number| bytes.extend(request(number).to_bytes()));
        bytes
    }

    fn refused(bytes: &[u8]) -> String {
        RequestStream::open(bytes).unwrap_err().to_string()
    }

    #[test]
    fn a_file_is_read_to_its_last_whole_request() {
        let bytes = file(HEAD, 3);
        for cut in 0..REQUEST_BYTES {
            let mut stream = RequestStream::open(&bytes[..bytes.len() - cut]).unwrap();
            let whole = if cut == 0 { 3 } else { 2 };
            let read: Vec<Request> = stream.by_ref().collect();
            assert_eq!(read, (0..whole).map(request).collect::<Vec<_>>());
            assert_eq!(stream.damaged().unwrap(), 0);
        }
        let stream = RequestStream::open(&bytes[..]).unwrap();
        let head = stream.head();
        assert_eq!((head.url.as_str(), head.started, head.started_unix_ns), ("http://a/", Time(7), None));
        let later = HEAD.replace("\"url\"", "\"more\":[1],\"started_unix_ns\":9,\"url\"");
        assert_eq!(RequestStream::open(&file(&later, 0)[..]).unwrap().head().started_unix_ns, Some(9));
    }

    #[test]
    fn what_is_no_request_is_skipped_and_counted() {
        let mut bytes = file(HEAD, 3);
        let second = bytes.len() - 2 * REQUEST_BYTES;
        bytes[second + 22] = 9;
        let mut stream = RequestStream::open(&bytes[..]).unwrap();
        assert_eq!(stream.by_ref().collect::<Vec<_>>(), [request(0), request(2)]);
        assert_eq!(stream.damaged().unwrap(), 1);
    }

    #[test]
    fn what_is_none_is_refused_in_words() {
        let whole = file(HEAD, 0);
        for end in 0..whole.len() {
            let reason = refused(&whole[..end]);
            assert!(
                reason.contains(if end < 8 { "no file of requests" } else { "inside its head" }),
                "{end}: {reason}"
            );
        }
        assert!(refused(b"# eventlog").contains("no file of requests"));
        assert!(refused(&[&MAGIC[..], &[255; 4]].concat()).contains("4294967295 bytes"));
        assert!(refused(&file("[", 0)).contains("damaged"));
        assert!(refused(&file("{}", 0)).contains("damaged"));
        for (from, to) in [("requests/1", "requests/2"), ("24", "32"), ("MONOTONIC", "REALTIME")] {
            assert!(refused(&file(&HEAD.replace(from, to), 0)).contains("does not know"), "{to}");
        }
    }

    #[test]
    fn a_file_that_breaks_off_with_an_error_reports_it() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("gone"))
            }
        }
        let bytes = file(HEAD, 1);
        let mut stream = RequestStream::open(bytes.chain(Broken)).unwrap();
        assert_eq!(stream.by_ref().count(), 1);
        assert!(stream.damaged().unwrap_err().to_string().contains("gone"));
    }
}
