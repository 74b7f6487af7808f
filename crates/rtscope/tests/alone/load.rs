//! Live: `rtscope load` against servers whose behaviour is known. Owns assertions about
//! counts, and about times to the order of magnitude only.

use crate::servers;

use rtscope_model::request::{MAGIC, Outcome, REQUEST_BYTES, Request};
use serde_json::Value;
use servers::Way;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const MS: u64 = 1_000_000;

fn load(url: &str, arguments: &[&str]) -> Output {
    Command::new(testkit::rtscope()).arg("load").arg(url).args(arguments).output().unwrap()
}

fn at(address: SocketAddr) -> String {
    format!("http://{address}/quiz?id=1")
}

/// The document, and the exit status.
fn document(way: Way, arguments: &[&str]) -> (Value, Option<i32>) {
    read(&load(&at(servers::http1(way)), &[arguments, &["--json"]].concat()))
}

fn read(output: &Output) -> (Value, Option<i32>) {
    let document = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    (document, output.status.code())
}

fn ns(document: &Value, path: &str) -> u64 {
    document.pointer(path).and_then(Value::as_u64).unwrap_or_else(|| panic!("{path} of {document}"))
}

#[test]
fn live_a_load_is_what_was_asked_for() {
    let (done, status) =
        document(Way::Fine, &["--rate", "200 for 1s", "--rate", "200..600 in 1s", "--warm-up", "500ms"]);
    assert_eq!((&done["schema"], &done["ended"]), (&"rtscope/load/1".into(), &"as-planned".into()));
    assert_eq!((ns(&done, "/requests/due"), ns(&done, "/requests/fine")), (600, 600), "{done}");
    assert_eq!((ns(&done, "/requests/warm_up"), ns(&done, "/requests/failed")), (100, 0));
    let seconds = done["seconds"].as_array().unwrap();
    assert_eq!(seconds.iter().map(|second| ns(second, "/fine")).sum::<u64>(), 600);
    assert!(ns(&done, "/latency/all/p50_ns") < 500 * MS);
    // Lateness here is the machine's: the status may be either of two.
    assert!(matches!(status, Some(0 | 3)), "{status:?}");
}

/// Latencies that a client sees which sends its next request after the answer to the last.
fn closed_loop(address: SocketAddr, lasts: Duration) -> Vec<u64> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    let (mut latencies, began) = (Vec::new(), Instant::now());
    while began.elapsed() < lasts {
        let sent = Instant::now();
        stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        let mut answer = [0; 512];
        let mut got = 0;
        while !answer[..got].ends_with(b"fine") {
            got += stream.read(&mut answer[got..]).unwrap();
        }
        latencies.push(sent.elapsed().as_nanos() as u64);
    }
    latencies.sort_unstable();
    latencies
}

#[test]
fn live_a_server_that_stalls_shows_in_the_open_loop() {
    let (stall, every) = (Duration::from_millis(300), Duration::from_secs(3));
    let address = servers::http1(Way::Stalls(stall, every));
    let (done, _) = read(&load(&at(address), &["--rate", "500 for 6s", "--json"]));
    let open = ns(&done, "/latency/all/p99_ns");
    // A tenth arrives in a stall, evenly: one in a hundred waits nine tenths of it.
    assert!((150 * MS..600 * MS).contains(&open), "p99 {open}: {done}");
    let closed = closed_loop(address, 2 * every);
    let hidden = closed[closed.len() * 99 / 100];
    println!("open loop p99 {open} ns, closed loop p99 {hidden} ns of {}", closed.len());
    assert!(hidden * 10 < open, "closed loop p99 {hidden}, open loop {open}");
}

#[test]
fn live_requests_wait_for_a_connection_and_that_counts() {
    // Two connections of 50 ms serve 40 a second; 80 are due: a queue grows to a second.
    let way = Way::Takes(Duration::from_millis(50));
    let (done, _) = document(way, &["--rate", "80 for 2s", "--connections", "2"]);
    assert_eq!((ns(&done, "/requests/fine"), ns(&done, "/opened")), (160, 2), "{done}");
    assert!(ns(&done, "/latency/all/max_ns") > 1000 * MS && ns(&done, "/latency/queued/max_ns") > 900 * MS);
    assert!(ns(&done, "/latency/service/p50_ns") < 500 * MS);
}

#[test]
fn live_http2_shares_one_connection() {
    let address = servers::http2();
    let (done, _) = read(&load(&at(address), &["--http2", "--rate", "500 for 1s", "--json"]));
    assert_eq!((ns(&done, "/requests/fine"), ns(&done, "/opened")), (500, 1), "{done}");
    assert_eq!(done["protocol"], "h2c");
    // A server that speaks only HTTP/1.1 is reported as such.
    let refused = load(&at(servers::http1(Way::Says(400))), &["--http2", "--rate", "50 for 1s"]);
    let text = String::from_utf8_lossy(&refused.stdout).into_owned();
    assert_eq!(refused.status.code(), Some(3), "{text}");
    assert!(text.contains("no request was answered"), "{text}");
}

#[test]
fn live_answers_that_are_errors_are_counted_as_such() {
    let (done, status) = document(Way::Says(503), &["--rate", "100 for 1s"]);
    assert_eq!((ns(&done, "/errors/status/503"), status), (100, Some(3)), "{done}");
    // A busy machine may add another one.
    let doubts = done["doubts"].as_array().unwrap();
    assert_eq!(doubts[..2], ["no-answer", "errors"], "{done}");
    let (done, status) = document(Way::Garbage, &["--rate", "100 for 1s"]);
    assert_eq!((ns(&done, "/errors/protocol"), status), (100, Some(3)), "{done}");
}

#[test]
fn live_an_unanswered_request_costs_the_whole_timeout() {
    let arguments = ["--rate", "40 for 1s", "--timeout", "300ms", "--connections", "4"];
    let (done, status) = document(Way::Silent, &arguments);
    assert_eq!((ns(&done, "/errors/timeout"), ns(&done, "/requests/unfinished"), status), (40, 0, Some(3)), "{done}");
    assert!(ns(&done, "/latency/failed/min_ns") >= 299 * MS, "{done}");
    assert!(ns(&done, "/latency/all/p99_ns") >= 299 * MS);
}

#[test]
fn live_connections_that_are_closed_are_opened_again() {
    let (done, _) = document(Way::Hangs, &["--rate", "100 for 1s"]);
    assert_eq!(ns(&done, "/requests/fine") + ns(&done, "/requests/failed"), 100, "{done}");
    assert!(ns(&done, "/requests/fine") >= 90, "{done}");
    assert!(ns(&done, "/opened") >= 90);
}

#[test]
fn live_a_server_that_leaves_ends_the_load() {
    let arguments = ["--rate", "100 for 60s", "--stop-when", "errors > 50% for 2s"];
    let (done, status) = document(Way::Leaves(50), &arguments);
    assert_eq!((&done["ended"], &done["limit"], status), (&"limit".into(), &"errors > 50% for 2s".into(), Some(3)));
    assert!((50..100).contains(&ns(&done, "/requests/fine")), "{done}");
    assert!(ns(&done, "/errors/connect") > 100, "{done}");
}

#[test]
fn live_latency_ends_a_load_too() {
    let arguments = ["--rate", "20 for 60s", "--stop-when", "p99 > 100ms for 1s", "--timeout", "30s"];
    let (done, status) = document(Way::Silent, &arguments);
    assert_eq!((&done["ended"], status), (&"limit".into(), Some(3)), "{done}");
    assert!(ns(&done, "/requests/unfinished") > 0);
}

#[test]
fn live_what_cannot_be_is_reported_before_anything_is_sent() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for (url, arguments, status, says) in [
        (at(free).as_str(), &["--rate", "10"][..], 1, "nothing accepts connections at 127.0.0.1:"),
        ("http://no-such-host.invalid/", &["--rate", "10"], 1, "no-such-host.invalid has no address"),
        ("localhost:80", &["--rate", "10"], 2, "write http://HOST:PORT/PATH"),
        ("https://localhost/", &["--rate", "10"], 2, "TLS"),
        ("http://localhost/", &["--rate", "0"], 2, "above 0"),
        ("http://localhost/", &["--rate", "10", "--connections", "0"], 2, "connections"),
        ("http://localhost/", &["--rate", "10", "--connections", "1", "--threads", "2"], 2, "--connections"),
        ("http://localhost/", &["--rate", "10", "-H", "nothing"], 2, "Name: value"),
        ("http://localhost/", &["--rate", "10", "--stop-when", "errors"], 2, "errors > 5%"),
        ("http://localhost/", &["--rate", "10", "--body", "/no/such/file"], 1, "/no/such/file"),
    ] {
        let output = load(url, arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(status), "{url} {arguments:?}: {said}");
        assert!(said.contains(says), "{url} {arguments:?}: {said}");
    }
}

#[test]
fn live_requests_are_kept_with_their_moments() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("requests");
    let address = servers::http1(Way::Fine);
    let arguments = ["--rate", "100 for 1s", "--warm-up", "500ms", "--json", "--requests", file.to_str().unwrap()];
    let (done, _) = read(&load(&at(address), &arguments));
    let bytes = std::fs::read(&file).unwrap();
    assert_eq!(bytes[..8], MAGIC);
    let length = u32::from_le_bytes(bytes[8..12].try_into().unwrap()) as usize;
    let head: Value = serde_json::from_slice(&bytes[12..12 + length]).unwrap();
    assert_eq!(head["started_ns"], done["started"]["monotonic_ns"]);
    let (kept, rest) = bytes[12 + length..].as_chunks::<REQUEST_BYTES>();
    assert!(rest.is_empty());
    let mut kept: Vec<Request> = kept.iter().map(|bytes| Request::of_bytes(bytes).unwrap()).collect();
    kept.sort_unstable_by_key(|request| request.due);
    assert_eq!((kept.len(), kept.iter().filter(|request| request.warm_up).count()), (150, 50));
    let start = ns(&head, "/started_ns");
    for (number, request) in kept.iter().enumerate() {
        assert_eq!(request.due.0, start + number as u64 * 10 * MS);
        assert_eq!(request.outcome, Outcome::Answered(200));
        assert!(request.sent.is_some_and(|sent| sent >= request.due && sent <= request.done));
    }
    assert_eq!(ns(&done, "/kept/requests"), 150);
}

#[test]
fn live_an_interrupt_gives_the_result_so_far() {
    let address = servers::http1(Way::Fine);
    let mut child = Command::new(testkit::rtscope());
    child.args(["load", &at(address), "--rate", "100", "--json"]).stdout(Stdio::piped());
    let child = child.spawn().unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let (done, status) = read(&child.wait_with_output().unwrap());
    assert_eq!((&done["ended"], status), (&"interrupted".into(), Some(3)), "{done}");
    assert!(ns(&done, "/requests/fine") > 0);
}
