//! The rules by which a request is refused before anything is looked up. The page shows what a program did, so it
//! must not be readable by other pages in the same browser, under other names that were made to point to this
//! address, or by other users of the machine. Owns the rules; refuses nothing else.

use hyper::header::{CONTENT_LENGTH, HOST, HeaderName, ORIGIN, TRANSFER_ENCODING};
use hyper::http::request::Parts;
use hyper::{Method, StatusCode};

/// Random bytes of a token.
const TOKEN_BYTES: usize = 16;

/// What a request must have to be admitted.
pub struct Guard {
    /// The secret in the page's address.
    pub token: String,
    hosts: [String; 2],
}

impl Guard {
    /// For a server on `port` of this machine, with a new token.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub fn new(port: u16) -> Result<Guard, getrandom::Error> {
        Ok(Guard { token: random()?, hosts: [format!("127.0.0.1:{port}"), format!("localhost:{port}")] })
    }

    /// The path below the token, without its first slash, if the request is admitted.
    ///
    /// # Errors
    /// The status to refuse it with.
    pub fn admit<'r>(&self, request: &'r Parts) -> Result<&'r str, StatusCode> {
        if !self.is_ours(request) {
            return Err(StatusCode::FORBIDDEN);
        }
        let path = request.uri.path().strip_prefix('/').ok_or(StatusCode::NOT_FOUND)?;
        let (first, rest) = path.split_once('/').ok_or(StatusCode::NOT_FOUND)?;
        if !same(first, &self.token) {
            return Err(StatusCode::NOT_FOUND);
        }
        if !rest.is_empty() && !from_page_or_user(request) {
            return Err(StatusCode::FORBIDDEN);
        }
        if request.method != Method::GET && request.method != Method::HEAD {
            return Err(StatusCode::METHOD_NOT_ALLOWED);
        }
        let length = request.headers.get(CONTENT_LENGTH).is_some_and(|length| length.as_bytes() != b"0");
        if length || request.headers.contains_key(TRANSFER_ENCODING) {
            return Err(StatusCode::PAYLOAD_TOO_LARGE);
        }
        Ok(rest)
    }

    /// Whether the request is meant for this server and comes from its own page, or from no page.
    fn is_ours(&self, request: &Parts) -> bool {
        let ours = |host: &str| self.hosts.iter().any(|ours| ours == host);
        let named = single(request, &HOST).is_ok_and(|host| host.is_some_and(ours));
        let addressed = request.uri.authority().is_none_or(|to| ours(to.as_str()));
        let from_ours = |origin: &str| origin.strip_prefix("http://").is_some_and(ours);
        let origin = single(request, &ORIGIN).is_ok_and(|origin| origin.is_none_or(from_ours));
        named && addressed && origin && (from_page_or_user(request) || goes_there(request))
    }
}

/// Whether the browser says that the request comes from the page or from its user, or says nothing about it.
fn from_page_or_user(request: &Parts) -> bool {
    single(request, &HeaderName::from_static("sec-fetch-site"))
        .is_ok_and(|site| site.is_none_or(|site| site == "same-origin" || site == "none"))
}

/// Whether the browser shows the answer as a page of its own: the file that leads to it has another origin, and
/// cannot read it.
fn goes_there(request: &Parts) -> bool {
    let says = |name, wanted| single(request, &HeaderName::from_static(name)).is_ok_and(|value| value == Some(wanted));
    says("sec-fetch-mode", "navigate") && says("sec-fetch-dest", "document")
}

/// The value of a header that may occur at most once.
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

/// Compares in the same time wherever they differ.
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
        assert_eq!(one.token.len(), 32);
        assert!(one.token != other.token);
    }

    #[test]
    fn only_the_token_opens_anything() {
        let guard = guard();
        let host = [("host", "127.0.0.1:4000")];
        let page = format!("/{}/", guard.token);
        assert_eq!(guard.admit(&asked("GET", &page, &host)), Ok(""));
        assert_eq!(guard.admit(&asked("HEAD", &format!("{page}a/b?c=d"), &host)), Ok("a/b"));
        let short = &guard.token[..31];
        for path in ["/", "/x/", "*", &format!("/{short}/"), &format!("/{}0/", guard.token), &page[..33], "//"] {
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
        let page = format!("/{}/session.json", guard.token);
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
    fn a_file_may_lead_to_the_page_and_to_nothing_below_it() {
        let guard = guard();
        let page = format!("/{}/", guard.token);
        let led = |mode, dest| {
            let fetch = [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", mode), ("sec-fetch-dest", dest)];
            [&[("host", "127.0.0.1:4000")][..], &fetch].concat()
        };
        assert_eq!(status(&guard, "GET", &page, &led("navigate", "document")), 200);
        assert_eq!(status(&guard, "GET", "/", &led("navigate", "document")), 404);
        assert_eq!(status(&guard, "GET", &format!("{page}session.json"), &led("navigate", "document")), 403);
        for (mode, dest) in [("navigate", "iframe"), ("no-cors", "document"), ("cors", "empty"), ("no-cors", "script")]
        {
            assert_eq!(status(&guard, "GET", &page, &led(mode, dest)), 403, "{mode} {dest}");
        }
    }
}
