//! One request of a load, stored for joining it with the server's activity. Owns the fields and their 24 bytes
//! (`docs/formats/requests.md`); refuses to read files.

use crate::time::Time;

/// First bytes of a file of requests.
pub const MAGIC: [u8; 8] = *b"RTSREQ01";

/// Size of one request in a file, in bytes.
pub const REQUEST_BYTES: usize = 24;

/// Stands for "never" in fields of microseconds.
const NEVER: u32 = u32::MAX;

const WARM_UP: u8 = 1;

/// How a request ended.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug)]
pub enum Outcome {
    /// An answer with this status, read to its end.
    Answered(u16),
    /// No connection could be made for it.
    Connect,
    /// Its connection was closed before the answer's end.
    Closed,
    /// The response was not valid in the requested protocol.
    Protocol,
    /// The answer did not come in time.
    Timeout,
}

impl Outcome {
    /// Whether it is an answer whose status is not an error (400 and above).
    pub fn is_fine(self) -> bool {
        matches!(self, Outcome::Answered(status) if status < 400)
    }

    fn code(self) -> (u8, u16) {
        match self {
            Outcome::Answered(status) => (0, status),
            Outcome::Connect => (1, 0),
            Outcome::Closed => (2, 0),
            Outcome::Protocol => (3, 0),
            Outcome::Timeout => (4, 0),
        }
    }

    fn of_code(code: u8, status: u16) -> Option<Outcome> {
        match code {
            0 => Some(Outcome::Answered(status)),
            1 => Some(Outcome::Connect),
            2 => Some(Outcome::Closed),
            3 => Some(Outcome::Protocol),
            4 => Some(Outcome::Timeout),
            _ => None,
        }
    }
}

/// A request and its times, on `CLOCK_MONOTONIC`.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Request {
    /// When it was scheduled to be sent. Latency counts from here.
    pub due: Time,
    /// When it was given to a connection; `None`: never.
    pub sent: Option<Time>,
    /// When its answer had been read, or when it failed.
    pub done: Time,
    /// How it ended.
    pub outcome: Outcome,
    /// Number of the connection that served it; reused after the connection has closed.
    pub connection: u32,
    /// Whether it was due during the warm-up, which no figure includes.
    pub warm_up: bool,
}

impl Request {
    /// From its scheduled time until it was done, in nanoseconds.
    pub fn latency_ns(&self) -> u64 {
        self.done.since(self.due)
    }

    /// Encodes the request. Times after `due` are truncated to microseconds.
    pub fn to_bytes(&self) -> [u8; REQUEST_BYTES] {
        let after = |moment: Time| u32::try_from(moment.since(self.due) / 1000).unwrap_or(NEVER).min(NEVER - 1);
        let (code, status) = self.outcome.code();
        let mut bytes = [0; REQUEST_BYTES];
        let (due, rest) = bytes.split_at_mut(8);
        due.copy_from_slice(&self.due.0.to_le_bytes());
        let words = [self.sent.map_or(NEVER, after), after(self.done), self.connection];
        for (place, word) in rest.chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        let [low, high] = status.to_le_bytes();
        let flags = if self.warm_up { WARM_UP } else { 0 };
        if let Some(place) = rest.last_chunk_mut() {
            *place = [low, high, code, flags];
        }
        bytes
    }

    /// Decodes a request; `None`: its outcome is not known.
    pub fn of_bytes(bytes: &[u8; REQUEST_BYTES]) -> Option<Request> {
        let word = |at: usize| {
            let four = bytes.get(at..)?.first_chunk()?;
            Some(u32::from_le_bytes(*four))
        };
        let due = Time(u64::from_le_bytes(*bytes.first_chunk()?));
        let after = |us: u32| due.plus(u64::from(us) * 1000);
        let (sent, done) = (word(8)?, word(12)?);
        let [low, high, code, flags] = *bytes.last_chunk()?;
        Some(Request {
            due,
            sent: (sent != NEVER).then(|| after(sent)),
            done: after(done),
            outcome: Outcome::of_code(code, u16::from_le_bytes([low, high]))?,
            connection: word(16)?,
            warm_up: flags & WARM_UP != 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_comes_back() {
        for outcome in [Outcome::Answered(204), Outcome::Connect, Outcome::Closed, Outcome::Protocol, Outcome::Timeout]
        {
            for (sent, warm_up) in [(None, true), (Some(Time(5_000_003_000)), false)] {
                let done = Time(6_000_000_000);
                let request = Request { due: Time(5_000_000_000), sent, done, outcome, connection: 77, warm_up };
                assert_eq!(Request::of_bytes(&request.to_bytes()), Some(request));
            }
        }
    }

    #[test]
    fn bounds_are_kept_and_unknown_outcomes_refused() {
        let request = Request {
            due: Time(0),
            sent: None,
            done: Time(u64::MAX),
            outcome: Outcome::Timeout,
            connection: u32::MAX,
            warm_up: false,
        };
        let mut bytes = request.to_bytes();
        let back = Request::of_bytes(&bytes).unwrap();
        assert_eq!((back.sent, back.done), (None, Time((u64::from(u32::MAX) - 1) * 1000)));
        bytes[22] = 9;
        assert_eq!(Request::of_bytes(&bytes), None);
    }

    #[test]
    fn answers_that_report_an_error_are_no_fine_ones() {
        assert!(Outcome::Answered(200).is_fine() && Outcome::Answered(399).is_fine());
        assert!(!Outcome::Answered(400).is_fine() && !Outcome::Timeout.is_fine());
    }
}
