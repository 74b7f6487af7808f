//! The page server: HTTP/1.1 on the loopback address only, over `hyper`. Owns sockets, limits and headers; `guard`
//! admits requests, `api` answers them.

use super::api::{Reply, View};
use super::guard::Guard;
use super::peer::AllowedUsers;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::process::geteuid;
use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

/// Maximum connections at a time; a browser opens six.
const CONNECTIONS: usize = 64;
/// Time limit for receiving a request's head.
const HEAD_WITHIN: Duration = Duration::from_secs(10);
/// Maximum bytes of a request's head.
const HEAD_BYTES: usize = 16 << 10;
/// Threads that read tiles.
const READERS: usize = 4;

/// Only the page's own files run, and no other page embeds or reads it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
                      frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/// A server that takes connections but does not answer yet.
pub struct Server {
    listener: TcpListener,
    guard: Guard,
    allowed: AllowedUsers,
}

impl Server {
    /// Listens on `port` of the loopback address; 0: any free port.
    ///
    /// # Errors
    /// The port is in use, or the system gives no random bytes.
    pub fn bind(port: u16) -> io::Result<Server> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        listener.set_nonblocking(true)?;
        let guard = Guard::new(listener.local_addr()?.port()).map_err(io::Error::other)?;
        Ok(Server { listener, guard, allowed: AllowedUsers::of(geteuid().as_raw(), &|name| std::env::var(name).ok()) })
    }

    /// The page's address.
    pub fn url(&self) -> io::Result<String> {
        Ok(format!("http://127.0.0.1:{}/{}/", self.listener.local_addr()?.port(), self.guard.token))
    }

    /// Answers requests until `end` completes; calls `announce` once `end` is awaited.
    ///
    /// # Errors
    /// The async runtime cannot be started.
    pub fn run(self, view: View, end: impl Future<Output = ()>, announce: impl FnOnce()) -> io::Result<()> {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_all().max_blocking_threads(READERS).build()?;
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(self.listener)?;
            let shared = Arc::new((view, self.guard));
            let serve = async {
                announce();
                accept(listener, self.allowed, shared).await
            };
            tokio::pin!(serve, end);
            std::future::poll_fn(|context| {
                // `end` is polled first: it has to be awaited before `announce` runs.
                if end.as_mut().poll(context).is_ready() {
                    return std::task::Poll::Ready(());
                }
                serve.as_mut().poll(context).map(|never: Infallible| match never {})
            })
            .await;
            Ok(())
        })
    }
}

async fn accept(listener: tokio::net::TcpListener, allowed: AllowedUsers, shared: Arc<(View, Guard)>) -> Infallible {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok((stream, peer)) = listener.accept().await else {
            // No descriptor is left: other connections have to close theirs.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        // Another user's connection takes no place that the owner might need.
        if !stream.local_addr().is_ok_and(|here| allowed.takes(peer, here)) {
            continue;
        }
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else { continue };
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            let _ = stream.set_nodelay(true);
            let answer = service_fn(|request| answer(request, Arc::clone(&shared)));
            let mut http = http1::Builder::new();
            http.timer(TokioTimer::new()).header_read_timeout(HEAD_WITHIN).max_buf_size(HEAD_BYTES);
            // A client that disconnects is gone.
            let _ = http.serve_connection(TokioIo::new(stream), answer).await;
            drop(place);
        });
    }
}

async fn answer(request: Request<Incoming>, shared: Arc<(View, Guard)>) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, _) = request.into_parts();
    let path = match shared.1.admit(&head) {
        Err(status) => return Ok(refused(status)),
        Ok(path) => path.to_owned(),
    };
    let query = head.uri.query().unwrap_or_default().to_owned();
    let reply = tokio::task::spawn_blocking(move || shared.0.answer(&path, &query)).await;
    Ok(response(reply.unwrap_or_else(|_| Reply::refusal(StatusCode::INTERNAL_SERVER_ERROR))))
}

/// A refusal closes the connection: a client without a token keeps none open.
fn refused(status: StatusCode) -> Response<Full<Bytes>> {
    let mut response = response(Reply::refusal(status));
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    if status == StatusCode::METHOD_NOT_ALLOWED {
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    }
    response
}

fn response(reply: Reply) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(reply.body));
    *response.status_mut() = reply.status;
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_TYPE, reply.kind),
        (CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("content-security-policy"), POLICY),
        (HeaderName::from_static("x-content-type-options"), "nosniff"),
        (HeaderName::from_static("referrer-policy"), "no-referrer"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
