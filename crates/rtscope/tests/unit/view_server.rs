//! The page server over real sockets: which requests are answered, whatever is sent and however slowly.

use rtscope_view::server::Server;
use rtscope_view::{ViewArgs, assets, open};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Where a server of a small log answers; it ends with the process.
struct Served {
    address: SocketAddr,
    token: String,
}

fn args(file: &str, port: u16) -> ViewArgs {
    let file = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../corpus")).join(file);
    ViewArgs { recording: file.into(), port, no_open: true, log: None, version: Default::default(), requests: None }
}

fn served() -> &'static Served {
    static SERVED: OnceLock<Served> = OnceLock::new();
    SERVED.get_or_init(|| {
        let server = Server::bind(0).expect("a free port");
        let part = |url: String| url.split('/').nth(3).expect("a token").to_string();
        let url = server.url().expect("an address");
        let address = url.split('/').nth(2).and_then(|host| host.parse().ok()).expect("an address");
        let view = open(&args("ghc-9.6/parallel.eventlog", 0), &|_| None).expect("the log is read");
        std::thread::spawn(move || server.run(view, std::future::pending(), || ()));
        Served { address, token: part(url) }
    })
}

struct Answer {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        let line = |line: &'_ str| line.split_once(':').is_some_and(|(key, _)| key.eq_ignore_ascii_case(name));
        self.head.lines().find(|one| line(one)).and_then(|line| line.split_once(':')).map(|(_, value)| value.trim())
    }

    fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).expect("JSON")
    }
}

/// Sends bytes and reads until the server closes.
fn send(bytes: &[u8]) -> Answer {
    let mut stream = TcpStream::connect(served().address).expect("the server takes connections");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
    // A server that has answered already may not read the rest.
    let _ = stream.write_all(bytes);
    let mut all = Vec::new();
    let _ = stream.read_to_end(&mut all);
    let end = all.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(all.len());
    let head = String::from_utf8_lossy(&all[..end]).into_owned();
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    Answer { status, head, body: all.get(end + 4..).unwrap_or_default().to_vec() }
}

fn request(method: &str, path: &str, headers: &str) -> Answer {
    send(format!("{method} {path} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n").as_bytes())
}

fn host() -> String {
    format!("Host: {}\r\n", served().address)
}

/// With the token, as the page asks.
fn get(path: &str) -> Answer {
    request("GET", &format!("/{}/{path}", served().token), &host())
}

#[test]
fn the_page_and_its_files_are_served() {
    for asset in assets::all() {
        let answer = get(asset.name);
        assert_eq!(answer.status, 200, "{}", asset.name);
        assert_eq!(answer.header("content-type"), Some(asset.kind));
        assert_eq!(answer.body, asset.text.as_bytes());
        let policy = answer.header("content-security-policy").expect("a policy");
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'"));
        assert!(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"));
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cache-control", "no-store"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            assert_eq!(answer.header(name), Some(value), "{}", asset.name);
        }
        assert_eq!(answer.header("access-control-allow-origin"), None);
    }
}

#[test]
fn without_the_token_nothing_is_answered() {
    let token = &served().token;
    let wrong = format!("{}{}", &token[..31], if token.ends_with('0') { '1' } else { '0' });
    for path in [
        "/".into(),
        "/session.json".into(),
        "/app/main.js".into(),
        format!("/{wrong}/"),
        format!("/{wrong}/session.json"),
        format!("/{}/session.json", token.to_uppercase() + "x"),
        format!("//{token}/session.json"),
        format!("/?token={token}"),
        format!("/{token}"),
        format!("/x/../{token}/session.json"),
    ] {
        for method in ["GET", "HEAD", "POST", "OPTIONS", "PUT"] {
            let answer = request(method, &path, &host());
            assert_eq!(answer.status, 404, "{method} {path}");
            assert!(!String::from_utf8_lossy(&answer.body).contains("rtscope"), "{method} {path}");
        }
    }
    assert_eq!(
        request("GET", "/", &format!("{}Authorization: Bearer {token}\r\nCookie: token={token}\r\n", host())).status,
        404
    );
}

/// DNS rebinding: a foreign name leads to this address; the browser then sends that name.
#[test]
fn no_other_host_name_is_answered() {
    let (path, port) = (format!("/{}/session.json", served().token), served().address.port());
    for name in [
        "evil.example".to_string(),
        format!("evil.example:{port}"),
        format!("127.0.0.1.evil.example:{port}"),
        format!("localhost.evil.example:{port}"),
        "127.0.0.1".into(),
        "localhost".into(),
        format!("127.0.0.1:{}", port.wrapping_add(1)),
        format!("0.0.0.0:{port}"),
        format!("[::1]:{port}"),
        format!("127.0.0.2:{port}"),
        String::new(),
    ] {
        let answer = request("GET", &path, &format!("Host: {name}\r\n"));
        assert!([400, 403].contains(&answer.status), "{name}: {}", answer.status);
        assert!(!String::from_utf8_lossy(&answer.body).contains("schema"), "{name}");
    }
    assert!([400, 403].contains(&request("GET", &path, "").status), "no host at all");
    let two = format!("{}Host: evil.example\r\n", host());
    assert!([400, 403].contains(&request("GET", &path, &two).status), "two hosts");
    assert_eq!(request("GET", &format!("http://evil.example{path}"), &host()).status, 403);
    assert_eq!(request("GET", &path, &format!("Host: localhost:{port}\r\n")).status, 200);
    assert!([0, 400, 403].contains(&send(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes()).status));
}

#[test]
fn no_other_origin_is_answered() {
    let (path, address) = (format!("/{}/session.json", served().token), served().address);
    let with = |header: &str| request("GET", &path, &format!("{}{header}\r\n", host())).status;
    for header in [
        "Origin: http://evil.example",
        "Origin: null",
        "Origin: https://localhost",
        "Origin: http://localhost",
        "Sec-Fetch-Site: cross-site",
        "Sec-Fetch-Site: same-site",
        "Sec-Fetch-Site: ",
    ] {
        assert_eq!(with(header), 403, "{header}");
    }
    assert_eq!(with(&format!("Origin: http://{address}")), 200);
    assert_eq!(with("Sec-Fetch-Site: same-origin"), 200);
    assert_eq!(with("Sec-Fetch-Site: none"), 200);
}

#[test]
fn no_path_leads_out_of_the_page() {
    for path in [
        "../session.json",
        "app/../../Cargo.toml",
        "app/%2e%2e/%2e%2e/etc/passwd",
        "app/..%2f..%2fetc/passwd",
        "/etc/passwd",
        "app/main.js/",
        "app//main.js",
        "app/main.js%00.css",
        "app/types.d.ts",
        "app",
        "app/",
        "App/Main.js",
        "index.html",
        ".",
        "..",
        "app\\main.js",
    ] {
        let answer = get(path);
        assert!([400, 404].contains(&answer.status), "{path}: {}", answer.status);
    }
}

#[test]
fn only_reading_is_possible() {
    let path = format!("/{}/session.json", served().token);
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"] {
        let answer = request(method, &path, &host());
        assert_eq!((answer.status, answer.header("allow")), (405, Some("GET, HEAD")), "{method}");
    }
    assert_eq!(request("GET", &path, &format!("{}Content-Length: 4\r\n", host())).status, 413);
    let (head, whole) = (request("HEAD", &path, &host()), request("GET", &path, &host()));
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert_eq!(head.header("content-length"), whole.header("content-length"));
    assert_eq!(head.header("content-security-policy"), whole.header("content-security-policy"));
}

#[test]
fn a_file_may_lead_to_the_page() {
    let fetch = "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n";
    let led = |path: &str| request("GET", path, &format!("{}{fetch}", host())).status;
    assert_eq!(led(&format!("/{}/", served().token)), 200);
    assert_eq!(led(&format!("/{}/session.json", served().token)), 403);
}

#[test]
fn too_large_requests_are_refused() {
    let long = "x".repeat(200_000);
    for bytes in [
        format!("GET /{}/?{long} HTTP/1.1\r\n{}\r\n", served().token, host()),
        format!("GET /{}/ HTTP/1.1\r\n{}X: {long}\r\n\r\n", served().token, host()),
        format!("GET /{}/ HTTP/1.1\r\n{}{}\r\n", served().token, host(), "A: b\r\n".repeat(5_000)),
        long.clone(),
        "\0\u{1}\u{2}\r\n\r\n".into(),
    ] {
        let status = send(bytes.as_bytes()).status;
        assert!([0, 400, 414, 431].contains(&status), "{status} for {:.40}", bytes);
    }
    assert_eq!(get("session.json").status, 200, "and the server goes on");
}

#[test]
fn slow_clients_delay_no_client_and_are_disconnected() {
    let mut slow: Vec<TcpStream> = (0..30)
        .map(|_| {
            let mut stream = TcpStream::connect(served().address).expect("the server takes connections");
            stream.write_all(b"GET /").expect("a beginning");
            stream
        })
        .collect();
    let began = Instant::now();
    assert_eq!(get("session.json").status, 200);
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    let one = slow.last_mut().expect("one of them");
    one.set_read_timeout(Some(Duration::from_secs(30))).expect("a timeout");
    let mut rest = Vec::new();
    // It is closed with or without a message.
    let _ = one.read_to_end(&mut rest);
    assert!(began.elapsed() < Duration::from_secs(25), "{:?}", began.elapsed());
    assert!(!String::from_utf8_lossy(&rest).contains(" 200 "));
}

#[test]
fn idle_connections_are_closed() {
    let began = Instant::now();
    let connect = || TcpStream::connect(served().address).expect("the server takes connections");
    let (silent, mut kept) = (connect(), connect());
    kept.write_all(format!("GET /{}/ HTTP/1.1\r\n{}\r\n", served().token, host()).as_bytes()).expect("a request");
    for mut stream in [silent, kept] {
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a timeout");
        let ended = stream.read_to_end(&mut Vec::new());
        assert!(ended.is_ok() && began.elapsed() < Duration::from_secs(25), "{ended:?} after {:?}", began.elapsed());
    }
}

#[test]
fn a_port_that_is_in_use_is_reported() {
    let error = Server::bind(served().address.port()).err().expect("it is in use");
    assert_eq!(error.kind(), std::io::ErrorKind::AddrInUse);
    let error = rtscope_view::run(&args("ghc-9.6/parallel.eventlog", served().address.port())).expect_err("in use");
    assert!(error.to_string().contains("--port"), "{error}");
}

#[test]
fn what_the_page_receives_agrees_with_the_report() {
    let (session, report) = (get("session.json").json(), get("report.json").json());
    assert_eq!(session["schema"], "rtscope/view/1");
    assert_eq!(report["schema"], "rtscope/report/1");
    assert_eq!(session["span_ns"], report["span_ns"]);
    assert_eq!(session["from_ns"], report["started"]);
    assert_eq!(session["findings"].as_array().map(Vec::len), report["findings"].as_array().map(Vec::len));
    let span = session["span_ns"].as_u64().expect("a length");
    let lines = get(&format!("pauses?from=0&to={}&limit=1000", span + 1));
    assert_eq!(lines.header("content-type"), Some("application/x-ndjson"));
    let pauses: Vec<serde_json::Value> =
        String::from_utf8_lossy(&lines.body).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(Some(pauses.len() as u64), report["pauses"]["count"].as_u64());
    let first = &pauses[0];
    let length = first["released_ns"].as_u64().expect("a moment") - first["requested_ns"].as_u64().expect("a moment");
    assert_eq!(Some(length), report["pauses"]["pause_ns"]["max"].as_u64(), "the longest comes first");
    assert_eq!(&get(&format!("pause?id={}", first["id"])).json(), first);
    let summary = get(&format!("summary?from=0&to={span}&tracks=")).json();
    assert_eq!(summary["pauses"]["count"], report["pauses"]["count"]);
    assert_eq!(summary["pauses"]["stood_ns"], report["pauses"]["total_ns"]);
}

/// Ids and lengths of nodes, without what only samples show.
fn lengths(nodes: &serde_json::Value) -> Vec<(String, u64)> {
    let one = |node: &serde_json::Value| (node["id"].to_string(), node["ns"].as_u64().expect("a length"));
    nodes.as_array().expect("nodes").iter().map(one).collect()
}

#[test]
fn the_account_of_all_of_it_is_the_reports_and_intervals_add_up() {
    let (session, report) = (get("session.json").json(), get("report.json").json());
    let span = session["span_ns"].as_u64().expect("a length");
    let of = |from: u64, to: u64| get(&format!("account?from={from}&to={to}")).json();
    let whole = of(0, span);
    assert_eq!(whole["whole_ns"], report["account"]["lanes_ns"]);
    let lanes = report["account"]["lanes"].as_array().map_or(0, Vec::len);
    assert!(
        whole["whole"].as_str().is_some_and(|text| text.ends_with(&format!(" of {lanes} capabilities"))),
        "{whole}"
    );
    let tops: serde_json::Value =
        whole["tops"].as_array().expect("tops").iter().map(|top| top["part"].clone()).collect();
    assert_eq!(lengths(&tops), lengths(&report["account"]["parts"]));
    let parts: u64 =
        (0..7).map(|part| of(part * span / 7, (part + 1) * span / 7)["whole_ns"].as_u64().expect("ns")).sum();
    assert_eq!(Some(parts), whole["whole_ns"].as_u64());
    assert_eq!(of(5, 5)["whole_ns"], 0);
}

#[test]
fn tiles_are_records_of_fixed_size_and_sum_up_to_the_session() {
    let session = get("session.json").json();
    let span = session["span_ns"].as_u64().expect("a length");
    let mut lanes = 0;
    for group in session["groups"].as_array().expect("groups") {
        for track in group["tracks"].as_array().expect("tracks") {
            let (id, top) = (track["id"].as_u64().expect("a number"), track["top"].as_u64().expect("a level"));
            let values = track["form"] == "values";
            let (one, several, size) = if values { ("values", "lines", 40) } else { ("tile", "tiles", 32) };
            let tile = get(&format!("{one}?track={id}&level={top}&tile=0"));
            assert_eq!((tile.status, tile.body.len() % size), (200, 0), "track {id}");
            let batch = get(&format!("{several}?level={top}&want={id}.0,{id}.1"));
            assert_eq!(batch.body.len(), tile.body.len() + 2 * 16 + if values { size } else { 0 }, "track {id}");
            assert_eq!(batch.body[16..16 + tile.body.len()], tile.body);
            if values || !track["name"].as_str().is_some_and(|name| name.contains("does")) {
                continue;
            }
            let summary = get(&format!("summary?from=0&to={span}&tracks={id}")).json();
            let kinds = summary["tracks"][0]["kinds"].as_array().expect("kinds");
            let sum: u64 = kinds.iter().filter_map(|kind| kind["ns"].as_u64()).sum();
            // It is made a little after the first event of the log and ends a little before the last.
            assert!(sum <= span && span - sum < 20_000, "a lane has a state at every moment: {sum} of {span}");
            lanes += 1;
        }
    }
    assert_eq!(lanes, 2);
}

#[test]
fn questions_that_make_no_sense_are_refused_in_words() {
    let session = get("session.json").json();
    let tracks = session["groups"].as_array().expect("groups").iter().flat_map(|group| group["tracks"].as_array());
    let spans = tracks.flatten().find(|track| track["form"] == "spans").expect("spans")["id"].clone();
    let of_spans = |path: &str| path.replace("track=S", &format!("track={spans}"));
    for path in [
        "tile",
        "tile?track=S&level=0",
        "tile?track=9999&level=0&tile=0",
        "tile?track=S&level=99&tile=0",
        "tile?track=S&level=-1&tile=0",
        "tile?track=S&level=0&tile=1e3",
        "tile?track=S&level=0&tile=99999999999999999999999",
        "values?track=S&level=0&tile=0",
        "tiles?level=0&want=0",
        "tiles?level=0&want=a.b",
        "pauses?from=0",
        "pauses?from=0&to=5&order=never",
        "find?tracks=0",
        "find?kind=1&detail=2&tracks=0",
        "summary?from=0&to=5&tracks=1",
        "pause?id=",
    ] {
        let answer = get(&of_spans(path));
        assert_eq!(answer.status, 400, "{path}: {}", String::from_utf8_lossy(&answer.body));
        assert!(answer.body.len() > 8 && answer.body.ends_with(b"\n"), "{path}");
    }
    let many = (0..100).map(|tile| format!("0.{tile}")).collect::<Vec<_>>().join(",");
    assert_eq!(get(&format!("tiles?level=0&want={many}")).status, 400);
    assert_eq!(get("pause?id=123456789").status, 404);
    assert_eq!(
        get(&of_spans("tile?track=S&level=0&tile=18446744073709551615")).status,
        200,
        "behind the end there is nothing"
    );
    assert!(get("pauses?from=5&to=5").body.is_empty());
}

#[test]
fn every_kind_of_log_makes_a_session() {
    let mut found = 0;
    for file in [
        "ghc-9.0/sequential.eventlog",
        "ghc-9.10/all-classes.eventlog",
        "ghc-9.6/non-threaded.eventlog",
        "ghc-9.6/heap-profile.eventlog",
        "ocaml-5.3/whole.events",
        "ocaml-5.4/overwritten.events",
    ] {
        let view = open(&args(file, 0), &|_| None).unwrap_or_else(|error| panic!("{file}: {error}"));
        let session = view.session();
        assert!(session.span_ns > 0 && !session.groups.is_empty() && session.runtime.is_some(), "{file}");
        assert!(!session.missing.is_empty(), "{file}: a log on its own has no kernel side");
        for finding in &session.findings {
            assert!(session.tracks().any(|track| Some(track.id) == finding.track), "{file}: no row shows {finding:?}");
            found += 1;
        }
    }
    assert!(found > 0);
}
