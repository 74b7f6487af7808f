//! `rtscope load URL`: HTTP load on a schedule. Owns the options, the line shown while it runs and the exit
//! status; `rtscope_load` sends and counts.

pub mod html;
mod sections;
pub mod svg;
pub(crate) mod text;
pub mod words;

use clap::Args;
use rtscope_load::document::{Document, Second};
use rtscope_load::limit::Limit;
use rtscope_load::target::{Protocol, Target, TargetError};
use rtscope_load::{Load, LoadError, Stop};
use rtscope_terminal::line::Line;
use rtscope_terminal::present;
use rtscope_terminal::screen::Screen;
use rtscope_terminal::style::{Style, Tone};
use rtscope_terminal::user_error::{self, UserError, WRONG, printed, write_to};
use rtscope_terminal::values::duration;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use words::Rate;

const STATUS: &str = "\
Exit status:
  0  done
  1  failed: nothing accepts connections at URL, or the output cannot be written
  2  wrong usage
  3  done, but the figures are not what was asked for: given up by --stop-when or Ctrl-C, no
     request answered, 1 % of them failed or more, or rtscope itself was late by 1 ms or more
     for 1 % of them

Examples:
  rtscope load http://localhost:8080/ --rate 1000 --for 60s --warm-up 10s
  rtscope load http://localhost:8080/ --rate '100..2000 in 60s' --stop-when 'p99 > 1s for 5s'
  rtscope load http://localhost:8080/ --rate '500 for 30s' --rate '500..1000 by 100 every 10s'";

/// Default number of connections: what servers expect of one client's pool, or of many clients without one.
const CONNECTIONS: usize = 100;

/// Requests that a file of requests has room for: 96 MiB.
const KEEP: u64 = 4 << 20;

/// Most connections, so that their slots fit into memory.
const MOST: u64 = 100_000;

/// Options of `rtscope load`.
#[derive(Args, Clone, Debug)]
#[command(after_help = STATUS)]
pub struct LoadArgs {
    /// http://HOST:PORT/PATH
    pub url: String,
    /// Requests per second: 1000, '1000 for 30s', a line '100..2000 in 60s', or stairs
    /// '100..1000 by 100 every 10s'. Several follow each other
    #[arg(long, value_name = "RATE", required = true, value_parser = words::rate)]
    pub rate: Vec<Rate>,
    /// How long a bare rate lasts
    #[arg(long = "for", value_name = "TIME", default_value = "30s", value_parser = duration)]
    pub lasts: Duration,
    /// Send for so long before, at the first rate, and do not count it
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub warm_up: Option<Duration>,
    /// HTTP/2 without TLS and without asking first
    #[arg(long)]
    pub http2: bool,
    /// The most connections; a request that finds none free waits, and that counts
    /// (default: 100, with --http2: 1 for each thread)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MOST))]
    pub connections: Option<u64>,
    /// With --http2: the most requests at a time on one connection
    #[arg(long, value_name = "N", default_value_t = 100, requires = "http2", value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub streams: u64,
    /// Threads that send
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=256))]
    pub threads: u64,
    /// From when a request is due until it has failed
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    pub timeout: Duration,
    /// Give up when a figure stays above a limit: 'errors > 5% for 10s', 'p99 > 500ms for
    /// 10s' (p50, p90, p99, p99.9, max); or `never`
    #[arg(long, value_name = "LIMIT", default_value = "errors > 50% for 10s", value_parser = words::limit)]
    pub stop_when: Vec<Option<Limit>>,
    /// The method
    #[arg(long, value_name = "METHOD", default_value = "GET")]
    pub method: String,
    /// A header: 'Name: value'
    #[arg(short = 'H', long, value_name = "HEADER")]
    pub header: Vec<String>,
    /// Send what this file holds with each request
    #[arg(long, value_name = "FILE")]
    pub body: Option<PathBuf>,
    /// Keep when each request was due, sent and answered
    #[arg(long, value_name = "FILE")]
    pub requests: Option<PathBuf>,
    /// Also write a page for a browser; it needs no network
    #[arg(long, value_name = "OUT.html")]
    pub html: Option<PathBuf>,
    /// Also write latency and rate over time as a drawing
    #[arg(long, value_name = "OUT.svg")]
    pub svg: Option<PathBuf>,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
    /// Say nothing while it runs
    #[arg(short, long)]
    pub quiet: bool,
}

/// What came of a load, as text.
fn text(document: &Document, style: &Style) -> String {
    let mut screen = Screen::new(style);
    screen.spread(Tone::Strong, &document.url, &format!("{} over {}", document.method, document.protocol));
    sections::all(document).iter().for_each(|section| present::section(&mut screen, section));
    screen.finish()
}

/// Sends the load and prints what came of it.
pub fn run(args: &LoadArgs) -> Result<ExitCode, UserError> {
    let load = load(args)?;
    let document = sent(&load, args)?;
    let text = if args.json { user_error::document(&document, true)? } else { text(&document, &Style::of_stdout()) };
    printed(io::stdout().lock().write_all(text.as_bytes()))
        .map_err(|error| UserError::new("cannot print the result").because(error))?;
    if let Some(out) = &args.html {
        write_to(out, &html::load(&document), "--html")?;
    }
    if let Some(out) = &args.svg {
        write_to(out, &svg::document(&document), "--svg")?;
    }
    Ok(ExitCode::from(if document.doubts.is_empty() { 0 } else { 3 }))
}

/// What the options ask for.
///
/// # Errors
/// They contradict each other, are no URL, header or profile (wrong usage), or a body cannot be read.
pub fn load(args: &LoadArgs) -> Result<Load, UserError> {
    let load = asked(args).map_err(|error| error.ends_with(WRONG))?;
    let Some(file) = &args.body else { return Ok(load) };
    let body = std::fs::read(file).map_err(|error| UserError::unreadable(file, error))?;
    Ok(Load { target: load.target.body(body), ..load })
}

fn asked(args: &LoadArgs) -> Result<Load, UserError> {
    let protocol = if args.http2 { Protocol::Http2 } else { Protocol::Http1 };
    let target = Target::new(&args.url, protocol).and_then(|target| target.method(&args.method));
    let with_headers = |target: Target| args.header.iter().try_fold(target, |target, header| target.header(header));
    let target = target.and_then(with_headers).map_err(UserError::new)?;
    let connections = args.connections.unwrap_or(if args.http2 { args.threads } else { CONNECTIONS as u64 });
    if args.threads > connections {
        return Err(UserError::new("a thread without a connection could send nothing")
            .next("give as many --connections as --threads, or more"));
    }
    Ok(Load {
        target,
        profile: words::profile(&args.rate, args.lasts).map_err(|why| UserError::new("--rate").because(why))?,
        warm_up: args.warm_up.unwrap_or_default(),
        connections: usize::try_from(connections).unwrap_or(usize::MAX),
        streams: usize::try_from(args.streams).unwrap_or(usize::MAX),
        threads: usize::try_from(args.threads).unwrap_or(1),
        timeout: args.timeout,
        limits: args.stop_when.iter().flatten().cloned().collect(),
        keep: KEEP,
    })
}

fn sent(load: &Load, args: &LoadArgs) -> Result<Document, UserError> {
    let cannot =
        |file: &Path, error: io::Error| UserError::unwritable(file, error).next("give another path with --requests");
    let file = args.requests.as_deref().map(|path| File::create(path).map_err(|error| cannot(path, error)));
    let mut file = file.transpose()?.map(BufWriter::new);
    let mut line = Line::new(args.quiet);
    let warm_up_ns = rtscope_host::clock::ns_of(load.warm_up);
    let mut show = |second: &Second| line.put(&text::live(second, warm_up_ns));
    let keep = file.as_mut().map(|file| file as &mut dyn Write);
    let done = rtscope_load::run(load, &Stop::by_sigint(), || (), keep, &mut show);
    drop(line);
    done.map_err(|error| match error {
        LoadError::Target(TargetError::Refused(address, source)) => {
            UserError::new(format!("nothing accepts connections at {address}"))
                .because(source)
                .next("start the server first, or give another URL")
        }
        LoadError::Keep(error) => cannot(args.requests.as_deref().unwrap_or(Path::new("")), error),
        error => UserError::new(error.to_string()),
    })
}
