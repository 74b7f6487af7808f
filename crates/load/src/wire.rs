//! Connections: opening them, and one exchange on them, in either protocol. Owns how `hyper` is used
//! and how its errors are named; refuses to choose a connection.

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::{TrySendError, http1, http2};
use hyper::rt::Executor;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rtscope_model::request::Outcome;
use std::cell::Cell;
use std::error::Error;
use std::io;
use std::net::SocketAddr;
use tokio::net::TcpStream;
use tokio::sync::Mutex;

type Body = Full<Bytes>;

/// What can go wrong in an exchange.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub(crate) enum Fault {
    /// The connection was closed before anything was sent: another one may be tried.
    Unsent,
    /// The connection was closed before the end of the answer.
    Closed,
    /// The answer did not follow the protocol.
    Protocol,
}

impl Fault {
    /// The outcome of a request that is not retried.
    pub(crate) fn outcome(self) -> Outcome {
        match self {
            Fault::Unsent | Fault::Closed => Outcome::Closed,
            Fault::Protocol => Outcome::Protocol,
        }
    }
}

/// A connection, or a share of one, that serves one request at a time.
pub(crate) enum ClientLine {
    /// The line has a connection of its own.
    One(http1::SendRequest<Body>),
    /// The line shares a connection with others.
    Shared(http2::SendRequest<Body>),
}

impl ClientLine {
    /// Opens a connection for one line.
    pub(crate) async fn one(address: SocketAddr, opened: &Cell<u64>) -> Result<ClientLine, Fault> {
        let stream = connect(address, opened).await?;
        let (line, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(|error| fault(&error))?;
        // The user of the line sees how the connection ends.
        tokio::task::spawn_local(async move { drop(connection.await) });
        Ok(ClientLine::One(line))
    }

    /// Waits until it can take a request; false if the connection is closed.
    pub(crate) async fn ready(&mut self) -> bool {
        match self {
            ClientLine::One(line) => line.ready().await.is_ok(),
            ClientLine::Shared(line) => line.ready().await.is_ok(),
        }
    }

    /// Whether the connection cannot be used again after a fault or a timeout.
    pub(crate) fn is_spent(&self) -> bool {
        match self {
            ClientLine::One(_) => true,
            ClientLine::Shared(line) => line.is_closed(),
        }
    }

    /// Sends a request, reads the whole answer and returns its status.
    pub(crate) async fn exchange(&mut self, request: Request<Body>) -> Result<u16, Fault> {
        let answer = match self {
            ClientLine::One(line) => line.try_send_request(request).await.map_err(|error| unsent(&error))?,
            ClientLine::Shared(line) => line.try_send_request(request).await.map_err(|error| unsent(&error))?,
        };
        read(answer).await.map_err(|error| fault(&error))
    }
}

async fn read(answer: Response<Incoming>) -> hyper::Result<u16> {
    let status = answer.status().as_u16();
    let mut body = answer.into_body();
    while let Some(frame) = body.frame().await {
        frame?;
    }
    Ok(status)
}

/// A connection that many lines share; the first line that needs it opens it.
pub(crate) struct Trunk {
    address: SocketAddr,
    open: Mutex<Option<http2::SendRequest<Body>>>,
}

impl Trunk {
    pub(crate) fn new(address: SocketAddr) -> Trunk {
        Trunk { address, open: Mutex::new(None) }
    }

    /// A line on it; waits while it is being opened.
    pub(crate) async fn line(&self, opened: &Cell<u64>) -> Result<ClientLine, Fault> {
        let mut open = self.open.lock().await;
        if let Some(line) = open.as_ref().filter(|line| !line.is_closed()) {
            return Ok(ClientLine::Shared(line.clone()));
        }
        let stream = TokioIo::new(connect(self.address, opened).await?);
        let (line, connection) = http2::handshake(Here, stream).await.map_err(|error| fault(&error))?;
        tokio::task::spawn_local(async move { drop(connection.await) });
        *open = Some(line.clone());
        Ok(ClientLine::Shared(line))
    }
}

/// Runs a connection's tasks in this thread.
#[derive(Copy, Clone)]
struct Here;

impl<F: Future + 'static> Executor<F> for Here {
    fn execute(&self, future: F) {
        tokio::task::spawn_local(async move { drop(future.await) });
    }
}

async fn connect(address: SocketAddr, opened: &Cell<u64>) -> Result<TcpStream, Fault> {
    let stream = TcpStream::connect(address).await.map_err(|_| Fault::Unsent)?;
    // Requests are written whole; waiting for more of them would add rtscope's own delay.
    stream.set_nodelay(true).map_err(|_| Fault::Unsent)?;
    opened.set(opened.get() + 1);
    Ok(stream)
}

fn unsent(error: &TrySendError<Request<Body>>) -> Fault {
    if error.message().is_some() { Fault::Unsent } else { fault(error.error()) }
}

/// Distinguishes a closed connection from an invalid answer.
fn fault(error: &hyper::Error) -> Fault {
    if error.is_parse() {
        return Fault::Protocol;
    }
    let mut source = error.source();
    while let Some(inner) = source {
        if inner.is::<io::Error>() {
            return Fault::Closed;
        }
        if let Some(inner) = inner.downcast_ref::<h2::Error>() {
            let ended = inner.is_io() || inner.is_remote();
            return if ended { Fault::Closed } else { Fault::Protocol };
        }
        source = inner.source();
    }
    Fault::Closed
}
