//! `rtscope view`: a recording as a timeline in a browser. Owns the options and the output on the terminal; `guard`
//! decides which requests are answered, `api` answers them, and the page itself is in `web/`.
#![forbid(unsafe_code)]

pub mod api;
mod args;
pub mod assets;
mod drawing;
mod guard;
mod keep;
pub mod pauses;
mod peer;
pub mod server;
pub mod session;
mod sums;
pub mod tracks;

pub use args::ViewArgs;

use api::View;
use drawing::Drawing;
use keep::{Keep, Making};
use rtscope_read::{input, pipeline};
use rtscope_report as report;
use rtscope_terminal::line::Line;
use rtscope_terminal::user_error::{UserError, say};
use server::Server;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use tempfile::NamedTempFile;

/// Serves the page until Ctrl-C.
///
/// # Errors
/// What cannot be read or served, in words.
pub fn run(args: &ViewArgs) -> Result<ExitCode, UserError> {
    // A port that is taken is reported before hours of reading.
    let server = Server::bind(args.port).map_err(|error| cannot_serve(args.port, &error))?;
    let view = open(args, &|name| std::env::var_os(name).map(PathBuf::from))?;
    let cannot = |error: io::Error| cannot_serve(args.port, &error);
    let url = server.url().map_err(cannot)?;
    // Removed when the server ends.
    let mut page = None;
    let announce = || {
        let mut out = io::stdout().lock();
        // The reader of the address may be gone; the page is served all the same.
        let _ = writeln!(out, "{url}").and_then(|()| out.flush());
        drop(out);
        say("shown on this machine only, to you and root, under this address; Ctrl-C ends it");
        page = (!args.no_open && io::stdout().is_terminal()).then(|| open_browser(&url)).flatten();
    };
    server.run(view, async { drop(tokio::signal::ctrl_c().await) }, announce).map_err(cannot)?;
    drop(page);
    Ok(ExitCode::SUCCESS)
}

/// Loads what is kept of the recording, else makes it. `var` reads the environment.
///
/// # Errors
/// The recording cannot be read, or its data cannot be written.
pub fn open(args: &ViewArgs, var: &dyn Fn(&str) -> Option<PathBuf>) -> Result<View, UserError> {
    let file = args.recording.path()?;
    let keep = Keep::of(args, var);
    if let Some(view) = keep.as_ref().and_then(Keep::load) {
        return Ok(view);
    }
    if let Some(Err(why)) = keep.as_ref().map(Keep::is_safe) {
        say(&format!("what the page is drawn from is not kept: {why}; point XDG_CACHE_HOME elsewhere"));
    }
    let mut line = Line::new(false);
    line.put(&format!(
        "rtscope: indexing {} (the first time only)",
        rtscope_terminal::style::clean(&file.display().to_string())
    ));
    make(args, &file, keep)
}

fn make(args: &ViewArgs, file: &Path, keep: Option<Keep>) -> Result<View, UserError> {
    let version = args.version.checked()?;
    let input = input::open(file, version.as_deref())?;
    let requests = args.requests.clone();
    let options = pipeline::Options { log: args.log, version, requests, ..pipeline::Options::new(file) };
    let cannot = |error: io::Error| {
        UserError::new("cannot keep what the page asks for")
            .because(error)
            .next("free the disk, or point TMPDIR elsewhere")
    };
    let making = Making::begin(keep).map_err(cannot)?;
    let mut drawing = Drawing::new(making.levels().map_err(cannot)?, making.book().map_err(cannot)?).map_err(cannot)?;
    let (results, names) = pipeline::watch(&input, &options, &mut drawing)?;
    drawing.finish(&results, &names).map_err(cannot)?;
    let mut json = Vec::new();
    report::json::write(&results, &mut json).map_err(cannot)?;
    making.finish(&json).map_err(cannot)
}

fn cannot_serve(port: u16, error: &io::Error) -> UserError {
    if error.kind() == io::ErrorKind::AddrInUse {
        return UserError::new(format!("port {port} is in use"))
            .next("give another with --port, or none: then any free one is taken");
    }
    UserError::new("cannot serve the page").because(error).next("give another port with --port")
}

/// Opens the page if there is a desktop. All users of the machine can read the browser's command line, so it gets a
/// file that leads to the page.
fn open_browser(url: &str) -> Option<NamedTempFile> {
    let desktop = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some());
    let page = desktop.then(|| leading_to(url).ok()).flatten()?;
    let (mut browser, none) = (Command::new("xdg-open"), Stdio::null);
    let started = browser.arg(page.path()).stdin(none()).stdout(none()).stderr(none()).spawn();
    if let Ok(mut child) = started {
        std::thread::spawn(move || child.wait());
    }
    Some(page)
}

/// A page that leads to `url`, in a file of mode 0600.
fn leading_to(url: &str) -> io::Result<NamedTempFile> {
    let mut page = tempfile::Builder::new().prefix("rtscope-").suffix(".html").tempfile()?;
    writeln!(
        page,
        "<!doctype html><meta charset=\"utf-8\"><title>rtscope</title>\
         <meta http-equiv=\"refresh\" content=\"0; url={url}\"><a href=\"{url}\">The page of rtscope</a>"
    )?;
    page.flush()?;
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_file_that_leads_to_the_page_is_its_users_alone() {
        let page = leading_to("http://127.0.0.1:4000/00ff/").unwrap();
        assert_eq!(page.as_file().metadata().unwrap().permissions().mode() & 0o7777, 0o600);
        let text = std::fs::read_to_string(page.path()).unwrap();
        assert!(text.contains("http-equiv=\"refresh\" content=\"0; url=http://127.0.0.1:4000/00ff/\""), "{text}");
        let path = page.path().to_owned();
        assert!(!path.display().to_string().contains("00ff"));
        drop(page);
        assert!(!path.exists(), "it goes with the server");
    }
}
