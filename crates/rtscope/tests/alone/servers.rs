//! Servers with known behaviour, for loads: one thread each, on a port of its own. Own no assertion.

use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper::{Request, Response};
use std::cell::Cell;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::sync::Notify;
use tokio::task::{LocalSet, spawn_local};

/// How a server behaves.
#[derive(Copy, Clone, Debug)]
pub enum Way {
    /// Answers at once.
    Fine,
    /// Answers at once, but does nothing at all for the first of every second duration.
    Stalls(Duration, Duration),
    /// Takes this long for each request, however many there are.
    Takes(Duration),
    /// Answers with this status.
    Says(u16),
    /// Takes requests and never answers.
    Silent,
    /// Answers with something that is not HTTP.
    Garbage,
    /// Closes each connection after an answer without announcing it.
    Hangs,
    /// Goes away after this many answers.
    Leaves(u64),
}

/// Starts an HTTP/1.1 server that runs until the test ends, or leaves; gives its address.
pub fn http1(way: Way) -> SocketAddr {
    start(move |listener| async move {
        let (began, answers, left) = (Instant::now(), Rc::new(Cell::new(0)), Rc::new(Notify::new()));
        let accept = async {
            while let Ok((stream, _)) = listener.accept().await {
                spawn_local(serve(stream, way, began, Rc::clone(&answers), Rc::clone(&left)));
            }
        };
        tokio::select! {
            () = accept => {}
            () = left.notified() => {}
        }
    })
}

/// Starts an HTTP/2 server without TLS that answers at once; gives its address.
pub fn http2() -> SocketAddr {
    start(|listener| async move {
        while let Ok((stream, _)) = listener.accept().await {
            let answer = |_: Request<Incoming>| async {
                Ok::<_, Infallible>(Response::new(http_body_util::Full::new(Bytes::from_static(b"fine"))))
            };
            let io = hyper_util::rt::TokioIo::new(stream);
            let connection =
                http2::Builder::new(hyper_util::rt::TokioExecutor::new()).serve_connection(io, service_fn(answer));
            spawn_local(async move { drop(connection.await) });
        }
    })
}

/// When `serve` returns, all its connections are closed.
fn start<F: Future<Output = ()>>(serve: impl FnOnce(TcpListener) -> F + Send + 'static) -> SocketAddr {
    let (say, said) = channel();
    thread::spawn(move || {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        LocalSet::new().block_on(&runtime, async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            say.send(listener.local_addr().unwrap()).unwrap();
            serve(listener).await;
        });
    });
    said.recv().unwrap()
}

async fn serve(mut stream: TcpStream, way: Way, began: Instant, answers: Rc<Cell<u64>>, left: Rc<Notify>) {
    let _ = stream.set_nodelay(true);
    let mut bytes = Vec::new();
    loop {
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
            match stream.read_buf(&mut bytes).await {
                Ok(0) | Err(_) => return,
                Ok(_) => continue,
            }
        };
        bytes.drain(..end + 4);
        let answer = match way {
            Way::Silent => continue,
            Way::Garbage => "these are no words of HTTP\r\n\r\n".to_owned(),
            Way::Says(status) => format!("HTTP/1.1 {status} Said\r\nContent-Length: 0\r\n\r\n"),
            _ => "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine".to_owned(),
        };
        match way {
            Way::Stalls(stall, every) => {
                let into = Duration::from_nanos((began.elapsed().as_nanos() % every.as_nanos()) as u64);
                // Like a collector: nothing else runs meanwhile.
                thread::sleep(stall.saturating_sub(into));
            }
            Way::Takes(time) => tokio::time::sleep(time).await,
            _ => {}
        }
        if stream.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
        answers.set(answers.get() + 1);
        match way {
            Way::Hangs => return,
            Way::Leaves(after) if answers.get() >= after => left.notify_one(),
            _ => {}
        }
    }
}
