//! Who may ask: the rules by which a request is refused before anything is looked up. The page shows what
//! a program did, so no other page in the same browser, no name that was led to this address and no
//! other user of the machine may read it. Owns the rules; refuses nothing else.

use hyper::header::{CONTENT_LENGTH, HOST, HeaderName, ORIGIN, TRANSFER_ENCODING};
use hyper::http::request::Parts;
use hyper::{Method, StatusCode};
use std::sync::atomic::{AtomicBool, Ordering};

/// Random bytes of a token.
const TOKEN_BYTES: usize = 16;

/// What a request has to have.
pub struct Guard {
    token: String,
    ticket: String,
    ticket_used: AtomicBool,
    hosts: [String; 2],
}

/// A request that may be answered.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Admitted<'r> {
    /// What is asked for below the token, without its first slash.
    Path(&'r str),
    /// The ticket: to be led to the page.
    Ticket,
}

impl Guard {
    /// For a server on that port of this machine, with a token of its own.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub fn new(port: u16) -> Result<Guard, getrandom::Error> {
        Ok(Guard {
            token: random()?,
            ticket: random()?,
            ticket_used: AtomicBool::new(false),
            hosts: [format!("127.0.0.1:{port}"), format!("localhost:{port}")],
        })
    }

    /// What the page's address has in it.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// What an address has in it that leads to the page once: command lines are seen by every user of the
    /// machine, and a browser is started with one.
    pub fn ticket(&self) -> &str {
        &self.ticket
    }

    /// What is asked for, if it may be.
    ///
    /// # Errors
    /// The status to refuse it with.
    pub fn admit<'r>(&self, request: &'r Parts) -> Result<Admitted<'r>, StatusCode> {
        if !self.is_ours(request) {
            return Err(StatusCode::FORBIDDEN);
        }
        let path = request.uri.path().strip_prefix('/').ok_or(StatusCode::NOT_FOUND)?;
        let (first, rest) = path.split_once('/').ok_or(StatusCode::NOT_FOUND)?;
        let admitted = if same(first, &self.token) {
            Admitted::Path(rest)
        } else if same(first, &self.ticket) && rest.is_empty() && !self.ticket_used.swap(true, Ordering::Relaxed) {
            Admitted::Ticket
        } else {
            return Err(StatusCode::NOT_FOUND);
        };
        if request.method != Method::GET && request.method != Method::HEAD {
            return Err(StatusCode::METHOD_NOT_ALLOWED);
        }
        let length = request.headers.get(CONTENT_LENGTH).is_some_and(|length| length.as_bytes() != b"0");
        if length || request.headers.contains_key(TRANSFER_ENCODING) {
            return Err(StatusCode::PAYLOAD_TOO_LARGE);
        }
        Ok(admitted)
    }

    /// Whether it is meant for this server and comes from its own page, or from nobody's.
    fn is_ours(&self, request: &Parts) -> bool {
        let host = single(request, &HOST);
        let named = host.is_ok_and(|host| host.is_some_and(|host| self.hosts.iter().any(|ours| ours == host)));
        let addressed = request.uri.authority().is_none_or(|to| self.hosts.iter().any(|ours| ours == to.as_str()));
        let origin = single(request, &ORIGIN).is_ok_and(|origin| {
            origin.is_none_or(|origin| {
                origin.strip_prefix("http://").is_some_and(|from| self.hosts.iter().any(|ours| ours == from))
            })
        });
        let site = single(request, &HeaderName::from_static("sec-fetch-site"))
            .is_ok_and(|site| site.is_none_or(|site| site == "same-origin" || site == "none"));
        named && addressed && origin && site
    }
}

/// The value of a header that may be there once.
fn single<'r>(request: &'r Parts, name: &HeaderName) -> Result<Option<&'r str>, ()> {
    let mut values = request.headers.get_all(name).iter();
    let first = values.next().map(|value| value.to_str().map_err(|_| ())).transpose()?;
    if values.next().is_some() { Err(()) } else { Ok(first) }
}

fn random() -> Result<String, getrandom::Error> {
    let mut bytes = [0; TOKEN_BYTES];
    getrandom::fill(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Takes as long whatever is wrong.
fn same(given: &str, wanted: &str) -> bool {
    let differing = given.bytes().zip(wanted.bytes()).fold(0, |sum, (one, other)| sum | (one ^ other));
    std::hint::black_box(differing) == 0 && given.len() == wanted.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::Request;

    fn guard() -> Guard {
        Guard::new(4000).unwrap()
    }

    fn asked(method: &str, path: &str, headers: &[(&str, &str)]) -> Parts {
        let request = headers
            .iter()
            .fold(Request::builder().method(method).uri(path), |request, (name, value)| request.header(*name, *value));
        request.body(()).unwrap().into_parts().0
    }

    fn status(guard: &Guard, method: &str, path: &str, headers: &[(&str, &str)]) -> u16 {
        guard.admit(&asked(method, path, headers)).map_or_else(|status| status.as_u16(), |_| 200)
    }

    #[test]
    fn tokens_are_long_and_new() {
        let (one, other) = (guard(), guard());
        assert_eq!(one.token().len(), 32);
        assert!(one.token() != other.token() && one.token() != one.ticket());
    }

    #[test]
    fn only_the_token_opens_anything() {
        let guard = guard();
        let host = [("host", "127.0.0.1:4000")];
        let page = format!("/{}/", guard.token());
        assert_eq!(guard.admit(&asked("GET", &page, &host)), Ok(Admitted::Path("")));
        assert_eq!(guard.admit(&asked("HEAD", &format!("{page}a/b?c=d"), &host)), Ok(Admitted::Path("a/b")));
        let short = &guard.token()[..31];
        for path in ["/", "/x/", "*", &format!("/{short}/"), &format!("/{}0/", guard.token()), &page[..33], "//"] {
            assert_eq!(status(&guard, "GET", path, &host), 404, "{path}");
            assert_eq!(status(&guard, "DELETE", path, &host), 404, "{path}");
        }
        assert_eq!(status(&guard, "POST", &page, &host), 405);
        assert_eq!(status(&guard, "GET", &page, &[host[0], ("content-length", "5")]), 413);
        assert_eq!(status(&guard, "GET", &page, &[host[0], ("transfer-encoding", "chunked")]), 413);
        assert_eq!(status(&guard, "GET", &page, &[host[0], ("content-length", "0")]), 200);
    }

    #[test]
    fn no_other_host_and_no_other_origin() {
        let guard = guard();
        let page = format!("/{}/session.json", guard.token());
        let ours = ("host", "localhost:4000");
        for (wanted, headers) in [
            (200, vec![ours]),
            (403, vec![]),
            (403, vec![("host", "evil.example:4000")]),
            (403, vec![("host", "127.0.0.1")]),
            (403, vec![("host", "127.0.0.1:4001")]),
            (403, vec![("host", "localhost:4000.evil.example")]),
            (403, vec![ours, ours]),
            (200, vec![ours, ("origin", "http://localhost:4000")]),
            (403, vec![ours, ("origin", "https://localhost:4000")]),
            (403, vec![ours, ("origin", "http://evil.example")]),
            (403, vec![ours, ("origin", "null")]),
            (200, vec![ours, ("sec-fetch-site", "same-origin")]),
            (200, vec![ours, ("sec-fetch-site", "none")]),
            (403, vec![ours, ("sec-fetch-site", "cross-site")]),
            (403, vec![ours, ("sec-fetch-site", "same-site")]),
        ] {
            assert_eq!(status(&guard, "GET", &page, &headers), wanted, "{headers:?}");
        }
        assert_eq!(status(&guard, "GET", &format!("http://evil.example{page}"), &[ours]), 403);
    }

    #[test]
    fn a_ticket_is_good_for_once() {
        let guard = guard();
        let (path, host) = (format!("/{}/", guard.ticket()), [("host", "127.0.0.1:4000")]);
        assert_eq!(status(&guard, "GET", &format!("{path}session.json"), &host), 404);
        assert_eq!(guard.admit(&asked("GET", &path, &host)), Ok(Admitted::Ticket));
        assert_eq!(status(&guard, "GET", &path, &host), 404);
    }
}
