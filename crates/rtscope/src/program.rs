//! The program: reads the command line, does what it says, prints. The only
//! place that prints errors and the only one that decides the exit code.

use crate::cli::{Cli, Command, DoctorArgs, MachineArgs, ManArgs, ReportArgs};
use crate::{compare, doctor, explain, export, heap, machine, pack, record, stm, top};
use clap::{CommandFactory, Parser};
use clap_complete::Shell;
use rtscope_read::{input, pipeline};
use rtscope_report as report;
use rtscope_report::compared::{self, Compared};
use rtscope_report::pauses_json;
use rtscope_terminal::line::Line;
use rtscope_terminal::style::{self, Json, Style};
use rtscope_terminal::user_error::{UserError, WRONG, printed, say, write_to};
use rtscope_view as view;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

/// Does what the command line says.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    style::choose_colour(cli.color);
    let done = match cli.command {
        Command::Record(args) => return record::run(args),
        Command::Report(args) => run_report(&args),
        Command::Explain(args) => {
            explain::text(&args, &Style::of_stdout()).and_then(|text| print(&text)).map(|()| ExitCode::SUCCESS)
        }
        Command::View(args) => view::run(&args),
        Command::Export(args) => export::run(&args),
        Command::Pack(args) => pack::run(&args).map(|line| {
            say(&line);
            ExitCode::SUCCESS
        }),
        Command::Heap(args) => heap::run(&args),
        Command::Stm(args) => stm::run(&args),
        Command::Top(args) => top::run(&args),
        Command::Doctor(args) => run_doctor(&args),
        Command::Machine(args) => run_machine(&args),
        #[cfg(feature = "lab")]
        Command::Lab(command) => command.run(),
        Command::Completions(args) => print_completions(args.shell),
        Command::Man(args) => write_man_pages(&args),
    };
    done.unwrap_or_else(|error| {
        eprintln!("{error}");
        ExitCode::from(error.status)
    })
}

fn options(args: &ReportArgs, file: &Path) -> Result<pipeline::Options, UserError> {
    let usual = pipeline::Options::new(file);
    if let Some(unknown) = args.without.iter().find(|id| !rtscope_analyze::runtimes::is_rule(id)) {
        let error = UserError::new("wrong --without").because(format!("there is no rule `{unknown}`"));
        return Err(error.next("`rtscope report --json` lists rules under checked").ends_with(WRONG));
    }
    Ok(pipeline::Options {
        log: args.log,
        threads: args.threads.unwrap_or(usual.threads).max(1),
        version: args.version.checked()?,
        requests: args.requests.clone(),
        without: args.without.clone(),
        ..usual
    })
}

fn run_report(args: &ReportArgs) -> Result<ExitCode, UserError> {
    if let Some(after) = &args.compare {
        return run_compare(args, after);
    }
    let file = args.recording.path()?;
    let options = options(args, &file)?;
    let plots = report::html::read_plots(&args.plot)?;
    let input = input::open(&file, options.version.as_deref())?;
    let mut lines = args.pauses.then(|| BufWriter::new(Json(io::stdout().lock())));
    let mut broken = Ok(());
    let mut on_pause = |pause: &_, names: &_, symbols: &_| {
        if let (Some(lines), Ok(())) = (&mut lines, &broken) {
            broken = pauses_json::write(lines, pause, names, symbols);
        }
    };
    let analyse = if args.html.is_some() { pipeline::analyse_for_page } else { pipeline::analyse };
    // Lines of pauses appear while the recording is read.
    let mut line = Line::new(args.pauses);
    line.put(&format!("rtscope: reading {}", file.display()));
    let (results, names) = analyse(&input, &options, &mut on_pause)?;
    drop(line);
    let printed = broken.and_then(|()| match lines {
        Some(mut lines) => lines.flush(),
        None => {
            let render = if args.verbose { report::text::render } else { report::text::first_screen };
            print_as(args.json, |out| report::json::write(&results, out), |style| render(&results, style))
        }
    });
    printed_all(printed)?;
    if let Some(out) = &args.html {
        write_to(out, &report::html::page(&results, &names, &plots), "--html")?;
    }
    if let (Some(out), Some(svg)) = (&args.svg, report::drawings::requests_svg(&results)) {
        write_to(out, &svg, "--svg")?;
    }
    Ok(ExitCode::from(report::exit_code(&results)))
}

fn run_compare(args: &ReportArgs, after: &Path) -> Result<ExitCode, UserError> {
    let wrong = |error: UserError| error.ends_with(WRONG);
    let conditions = compared::conditions(&args.fail_if).map_err(wrong)?;
    let for_page = args.html.is_some();
    let before = args.recording.path()?;
    let a = compare::analyse(&before, &options(args, &before)?, for_page)?;
    let b = compare::analyse(after, &options(args, after)?, for_page)?;
    let compared = Compared::new(a, b, &conditions).map_err(wrong)?;
    let text = |style: &Style| report::text::compare::render(&compared, style);
    printed_all(print_as(args.json, |out| writeln!(out, "{}", report::compare::json(&compared)?), text))?;
    if let Some(out) = &args.html {
        write_to(out, &report::html::comparison(&compared), "--html")?;
    }
    Ok(ExitCode::from(compared.exit_code()))
}

/// Prints a document as it is written, or the text in its place.
fn print_as(
    json: bool,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    text: impl FnOnce(&Style) -> String,
) -> io::Result<()> {
    let mut out = io::stdout().lock();
    if json {
        let mut out = BufWriter::new(Json(out));
        write(&mut out)?;
        return out.flush();
    }
    out.write_all(text(&Style::of_stdout()).as_bytes())?;
    out.flush()
}

fn run_doctor(args: &DoctorArgs) -> Result<ExitCode, UserError> {
    let checks = rtscope_host::doctor::checks(Path::new("/"));
    print(&if args.json { doctor::json(&checks)? } else { doctor::text(&checks, args.all, &Style::of_stdout()) })?;
    Ok(ExitCode::from(doctor::exit_code(&checks)))
}

fn run_machine(args: &MachineArgs) -> Result<ExitCode, UserError> {
    let found = machine::inspect(&args.root, args.pid)?;
    let text = |style: &Style| machine::text(&found, style);
    printed_all(print_as(args.json, |out| machine::json(&found, out), text))?;
    if let Some(path) = &args.svg {
        write_to(path, &machine::svg(&found), "--svg")?;
    }
    Ok(ExitCode::SUCCESS)
}

fn print_completions(shell: Shell) -> Result<ExitCode, UserError> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "rtscope", &mut script);
    printed_all(io::stdout().lock().write_all(&script))?;
    Ok(ExitCode::SUCCESS)
}

fn write_man_pages(args: &ManArgs) -> Result<ExitCode, UserError> {
    let cannot = |error| UserError::unwritable(&args.folder, error).next("name another folder");
    std::fs::create_dir_all(&args.folder).map_err(cannot)?;
    clap_mangen::generate_to(Cli::command(), &args.folder).map_err(cannot)?;
    Ok(ExitCode::SUCCESS)
}

fn print(text: &str) -> Result<(), UserError> {
    printed_all(io::stdout().lock().write_all(text.as_bytes()))
}

fn printed_all(result: io::Result<()>) -> Result<(), UserError> {
    printed(result).map_err(|error| {
        UserError::new("cannot print the report").because(error).next("free the disk or print elsewhere")
    })
}
