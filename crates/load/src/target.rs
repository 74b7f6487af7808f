//! Where the load is sent and what is sent: a parsed and checked URL, and a request to repeat. Owns
//! the refusals; refuses to connect, except for a first try.

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{HOST, HeaderName, HeaderValue};
use hyper::http::uri::Scheme;
use hyper::{HeaderMap, Method, Request, Uri, Version};
use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;
use thiserror::Error;

/// The protocol of the load.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Protocol {
    /// HTTP/1.1: a connection serves one request at a time.
    Http1,
    /// HTTP/2 without TLS, with prior knowledge: a connection serves many.
    Http2,
}

/// Why a target cannot be reached.
#[derive(Debug, Error)]
pub enum TargetError {
    /// The host has no address.
    #[error("{0} has no address: {1}")]
    Name(String, #[source] io::Error),
    /// The last address that was tried refuses connections.
    #[error("nothing accepts connections at {0}: {1}")]
    Refused(SocketAddr, #[source] io::Error),
}

/// A URL and the request that is sent there.
#[derive(Clone, Debug)]
pub struct Target {
    pub(crate) uri: Uri,
    /// The URL as its protocol sends it.
    sent: Uri,
    host: String,
    port: u16,
    pub(crate) method: Method,
    headers: HeaderMap,
    body: Bytes,
    pub(crate) protocol: Protocol,
}

impl Target {
    /// A `GET` request for `url`.
    ///
    /// # Errors
    /// `url` is not an `http://` URL with a host. The text gives the reason.
    pub fn new(url: &str, protocol: Protocol) -> Result<Target, String> {
        let wrong = |why| format!("{url:?} is no URL: {why}");
        const FORM: &str = "write http://HOST:PORT/PATH";
        let uri: Uri = url.parse().map_err(|_| wrong(FORM))?;
        if uri.scheme() == Some(&Scheme::HTTPS) {
            return Err(format!("{url} asks for TLS, which load does not speak: give http://"));
        }
        if uri.scheme() != Some(&Scheme::HTTP) {
            return Err(wrong(FORM));
        }
        let authority = uri.authority().ok_or_else(|| wrong(FORM))?;
        if authority.as_str().contains('@') {
            return Err(wrong("a name and password go into a header, not here"));
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        // The URL parser ignores a port that is no number; it is still in the text.
        let rest = authority.as_str().strip_prefix(authority.host()).unwrap_or_default();
        let port = match rest.strip_prefix(':') {
            None => 80,
            Some(text) => text.parse().ok().filter(|port| *port > 0).ok_or_else(|| wrong("its port is no port"))?,
        };
        if host.is_empty() {
            return Err(wrong(FORM));
        }
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_str(authority.as_str()).map_err(|_| wrong(FORM))?);
        let sent = match protocol {
            Protocol::Http1 => {
                let path = uri.path_and_query().map_or("/", |path| path.as_str());
                path.parse().map_err(|_| wrong(FORM))?
            }
            Protocol::Http2 => uri.clone(),
        };
        Ok(Target { uri, sent, host, port, method: Method::GET, headers, body: Bytes::new(), protocol })
    }

    /// Sets the method.
    ///
    /// # Errors
    /// HTTP does not allow it.
    pub fn method(mut self, method: &str) -> Result<Target, String> {
        self.method = method.parse().map_err(|_| format!("{method:?} is no method of HTTP"))?;
        Ok(self)
    }

    /// Adds a header, `Name: value`; `Host` replaces the URL's host.
    ///
    /// # Errors
    /// HTTP does not allow it.
    pub fn header(mut self, line: &str) -> Result<Target, String> {
        let wrong = || format!("{line:?} is no header: write 'Name: value'");
        let (name, value) = line.split_once(':').ok_or_else(wrong)?;
        let name: HeaderName = name.trim().parse().map_err(|_| wrong())?;
        let value = HeaderValue::from_str(value.trim()).map_err(|_| wrong())?;
        if name == HOST {
            if self.protocol == Protocol::Http2 {
                let mut parts = self.sent.into_parts();
                parts.authority = Some(value.as_bytes().try_into().map_err(|_| wrong())?);
                self.sent = Uri::from_parts(parts).map_err(|_| wrong())?;
            }
            self.headers.insert(name, value);
        } else {
            self.headers.append(name, value);
        }
        Ok(self)
    }

    /// Sets the body.
    pub fn body(mut self, body: Vec<u8>) -> Target {
        self.body = body.into();
        self
    }

    /// The first of its addresses that accepts a connection, which is closed again.
    ///
    /// # Errors
    /// The name has no address, or no address accepts connections.
    pub fn find(&self, timeout: Duration) -> Result<SocketAddr, TargetError> {
        let name = |source| TargetError::Name(self.host.clone(), source);
        let mut last = None;
        for address in (self.host.as_str(), self.port).to_socket_addrs().map_err(name)? {
            match TcpStream::connect_timeout(&address, timeout) {
                Ok(_) => return Ok(address),
                Err(source) => last = Some(TargetError::Refused(address, source)),
            }
        }
        Err(last.unwrap_or_else(|| name(io::ErrorKind::NotFound.into())))
    }

    /// The request to send.
    pub(crate) fn request(&self) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(self.body.clone()));
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = self.sent.clone();
        *request.headers_mut() = self.headers.clone();
        if self.protocol == Protocol::Http2 {
            *request.version_mut() = Version::HTTP_2;
            // The URL already gives the host.
            request.headers_mut().remove(HOST);
        }
        request
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(url: &str) -> String {
        Target::new(url, Protocol::Http1).unwrap_err().to_string()
    }

    #[test]
    fn urls_are_taken_apart() {
        for (url, host, port) in [
            ("http://localhost:8080/a?b=c", "localhost", 8080),
            ("http://example.org", "example.org", 80),
            ("http://[::1]:9/", "::1", 9),
        ] {
            let target = Target::new(url, Protocol::Http1).unwrap();
            assert_eq!((target.host.as_str(), target.port), (host, port), "{url}");
        }
    }

    #[test]
    fn what_is_no_url_is_refused_in_words() {
        for url in ["", "localhost:8080", "/path", "ftp://a/", "http://", "http:///a", "http://:80/", "http://a b/"] {
            assert!(refusal(url).contains("write http://HOST"), "{url}: {}", refusal(url));
        }
        for url in ["http://a:99999/", "http://a:0/", "http://a:/"] {
            assert!(refusal(url).contains("port") || refusal(url).contains("write"), "{url}: {}", refusal(url));
        }
        assert!(refusal("https://a/").contains("TLS"));
        assert!(refusal("http://user:word@a/").contains("header"));
    }

    #[test]
    fn requests_have_the_form_of_their_protocol() {
        let target = Target::new("http://a:8/b?c", Protocol::Http1).unwrap();
        let target = target.method("POST").unwrap().header("X-Y:  z").unwrap().body(vec![1]);
        let request = target.request();
        assert_eq!(request.uri().to_string(), "/b?c");
        assert_eq!(request.headers()["host"], "a:8");
        assert_eq!(request.method(), Method::POST);
        assert_eq!(request.headers()["x-y"], "z");
        let target = Target::new("http://a:8/b?c", Protocol::Http2).unwrap();
        assert_eq!(target.request().uri().to_string(), "http://a:8/b?c");
        let request = target.header("Host: d").unwrap().request();
        assert_eq!(request.uri().to_string(), "http://d/b?c");
        assert!(!request.headers().contains_key("host"));
    }

    #[test]
    fn headers_and_methods_are_checked() {
        let target = Target::new("http://a/", Protocol::Http1).unwrap();
        for line in ["none", "a b: c", ": x", "a: \u{1}"] {
            assert!(target.clone().header(line).is_err(), "{line}");
        }
        assert_eq!(target.clone().header("Host: b").unwrap().headers["host"], "b");
        assert!(target.method("A B").is_err());
    }
}
