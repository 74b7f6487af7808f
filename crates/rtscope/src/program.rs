//! The program: reads the command line, does what it says, prints. The only
//! place that prints errors and the only one that decides the exit code.

use crate::cli::{Cli, Command, DoctorArgs, MachineArgs, ReportArgs};
use crate::report::pauses_json::PauseLines;
use crate::style::{Json, Style};
use crate::trouble::{Trouble, printed, write_to};
use crate::{
    bench, compare, doctor, export, heap, input, load, machine, pipeline, plan, record, report, run, stm, top, tune,
    view,
};
use clap::Parser;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

/// Does what the command line says.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match cli.command {
        Command::Record(args) => return record::run(args),
        Command::Report(args) => run_report(&args),
        Command::View(args) => view::run(&args),
        Command::Export(args) => export::run(&args),
        Command::Heap(args) => heap::run(&args),
        Command::Stm(args) => stm::run(&args),
        Command::Top(args) => top::run(&args),
        Command::Doctor(args) => run_doctor(&args),
        Command::Machine(args) => run_machine(&args),
        Command::Plan(args) => run_plan(&args),
        Command::Run(args) => return run::run(&args),
        Command::Tune(args) => tune::run(&args),
        Command::Load(args) => load::run(&args),
        Command::Bench(args) => bench::run(&args),
    };
    done.unwrap_or_else(|trouble| {
        eprintln!("{trouble}");
        ExitCode::from(trouble.status())
    })
}

fn options(args: &ReportArgs, file: &Path) -> Result<pipeline::Options, Trouble> {
    let usual = pipeline::Options::new(file);
    Ok(pipeline::Options {
        log: args.log,
        threads: args.threads.unwrap_or(usual.threads).max(1),
        version: args.version.checked()?,
        requests: args.requests.clone(),
        ..usual
    })
}

fn run_report(args: &ReportArgs) -> Result<ExitCode, Trouble> {
    if let Some(after) = &args.compare {
        return run_compare(args, after);
    }
    let options = options(args, &args.file)?;
    let plots = report::html::read_plots(&args.plot)?;
    let input = input::open(&args.file, options.version.as_deref())?;
    let mut lines = args.pauses.then(|| PauseLines::new(BufWriter::new(Json(io::stdout().lock()))));
    let mut broken = Ok(());
    let mut on_pause = |pause: &_, names: &_, symbols: &_| {
        if let (Some(lines), Ok(())) = (&mut lines, &broken) {
            broken = lines.write(pause, names, symbols);
        }
    };
    let analyse = if args.html.is_some() { pipeline::analyse_for_page } else { pipeline::analyse };
    let (results, names) = analyse(&input, &options, &mut on_pause)?;
    let printed = broken.and_then(|()| match lines {
        Some(lines) => lines.finish().map(drop),
        None => print_results(&results, args.json),
    });
    printed_all(printed)?;
    if let Some(out) = &args.html {
        write_to(out, &report::html::page_with(&results, &names, &plots), "--html")?;
    }
    if let (Some(out), Some(svg)) = (&args.svg, report::html::requests_svg(&results)) {
        write_to(out, &svg, "--svg")?;
    }
    Ok(ExitCode::from(report::exit_code(&results)))
}

fn run_compare(args: &ReportArgs, after: &Path) -> Result<ExitCode, Trouble> {
    let wrong = |trouble: Trouble| {
        eprintln!("{trouble}");
        Ok(ExitCode::from(2))
    };
    let conditions = match compare::conditions(&args.fail_if) {
        Ok(conditions) => conditions,
        Err(trouble) => return wrong(trouble),
    };
    let for_page = args.html.is_some();
    let a = compare::analyse(&args.file, &options(args, &args.file)?, for_page)?;
    let b = compare::analyse(after, &options(args, after)?, for_page)?;
    let compared = match compare::Compared::new(a, b, &conditions) {
        Ok(compared) => compared,
        Err(trouble) => return wrong(trouble),
    };
    let mut out = io::stdout().lock();
    let printed = if args.json {
        report::compare::write_json(&compared, &mut Json(&mut out))
    } else {
        out.write_all(report::text::compare::render(&compared, &Style::of_stdout()).as_bytes())
    };
    printed_all(printed.and_then(|()| out.flush()))?;
    if let Some(out) = &args.html {
        write_to(out, &report::html::comparison(&compared), "--html")?;
    }
    Ok(ExitCode::from(compared.exit_code()))
}

fn print_results(results: &rtscope_analyze::results::Results, json: bool) -> io::Result<()> {
    let mut out = io::stdout().lock();
    if json {
        let mut out = BufWriter::new(Json(out));
        report::json::write(results, false, &mut out)?;
        return out.flush();
    }
    out.write_all(report::text::render(results, &Style::of_stdout()).as_bytes())?;
    out.flush()
}

fn run_doctor(args: &DoctorArgs) -> Result<ExitCode, Trouble> {
    let checks = rtscope_host::doctor::checks(Path::new("/"));
    let rows: Vec<doctor::Row<'_>> = checks.iter().map(doctor::Row::from).collect();
    let mut out = io::stdout().lock();
    printed_all(if args.json {
        doctor::json(&rows, false, &mut Json(out))
    } else {
        out.write_all(doctor::text(&rows, &Style::of_stdout()).as_bytes())
    })?;
    Ok(ExitCode::from(doctor::exit_code(&rows)))
}

fn run_machine(args: &MachineArgs) -> Result<ExitCode, Trouble> {
    let found = machine::inspect(&args.root, args.pid)?;
    let mut out = io::stdout().lock();
    printed_all(if args.json {
        let mut out = BufWriter::new(Json(out));
        machine::json(&found, &mut out).and_then(|()| out.flush())
    } else {
        out.write_all(machine::text(&found, &Style::of_stdout()).as_bytes())
    })?;
    if let Some(path) = &args.svg {
        write_to(path, &machine::svg(&found), "--svg")?;
    }
    Ok(ExitCode::SUCCESS)
}

fn run_plan(args: &plan::PlanArgs) -> Result<ExitCode, Trouble> {
    let planned = plan::make(args)?;
    let text = plan::written(&planned, args, &Style::of_stdout());
    printed_all(io::stdout().lock().write_all(text.as_bytes()))?;
    if let Some(aside) = plan::aside(&planned, args) {
        eprintln!("rtscope: {}", crate::style::clean(&aside));
    }
    Ok(ExitCode::from(plan::exit_code(&planned)))
}

fn printed_all(result: io::Result<()>) -> Result<(), Trouble> {
    printed(result).map_err(|error| {
        Trouble::new("cannot print the report").because(error).next("free the disk or print elsewhere")
    })
}
