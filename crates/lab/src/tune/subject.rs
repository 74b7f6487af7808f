//! What a study of a program is asked for: what to minimise, what must hold, what a trial does. Owns the
//! parsing of `--load`, which takes what `rtscope load` takes, and which options go together.

use super::args::TuneArgs;
use super::live::{READY, TIMEOUT, Way};
use super::objective::{Minimize, Objective};
use crate::load::{self, LoadArgs};
use crate::words;
use clap::Parser;
use rtscope_terminal::user_error::{UserError, WRONG};
use rtscope_tune::plan::Goal;

/// With fewer requests the slowest 1 % of them say little: the interval of p99 spans 20 ranks each way.
const REQUESTS_MIN: f64 = 10_000.0;

#[derive(Debug)]
pub struct Subject {
    pub way: Way,
    pub objective: Objective,
    /// Goal of the plan.
    pub goal: Goal,
    /// What the user should know in advance.
    pub notes: Vec<String>,
}

#[derive(Parser)]
#[command(name = "--load", no_binary_name = true, disable_help_flag = true)]
struct Loaded {
    #[command(flatten)]
    args: LoadArgs,
}

impl Subject {
    pub fn of(args: &TuneArgs) -> Result<Subject, UserError> {
        let wrong = |because: String| UserError::new("this cannot be tuned").because(because).ends_with(WRONG);
        let server = args.load.is_some();
        let usual = if server { "p99" } else { "time" };
        let minimize: Minimize = args.minimize.as_deref().unwrap_or(usual).parse().map_err(wrong)?;
        let limits = args.limit.iter().map(|limit| limit.parse()).collect::<Result<_, _>>().map_err(wrong)?;
        let objective = Objective::new(minimize, limits, server).map_err(wrong)?;
        let goal = args.goal.unwrap_or(if server { Goal::Latency } else { Goal::Throughput });
        let mut notes = Vec::new();
        let way = match &args.load {
            None => Way::Batch { timeout: args.timeout.unwrap_or(TIMEOUT) },
            Some(text) => {
                let load = loaded(text)?;
                let requests = load.profile.moments(0, 1).count() as f64;
                if requests < REQUESTS_MIN && minimize.0.name.starts_with("p9") {
                    notes.push(format!(
                        "a trial has {requests} requests; from 10,000 on p99 says more: a longer --for or a higher --rate"
                    ));
                }
                Way::Server { load: Box::new(load), ready: args.ready.unwrap_or(READY) }
            }
        };
        Ok(Subject { way, objective, goal, notes })
    }
}

fn loaded(text: &str) -> Result<rtscope_load::Load, UserError> {
    let wrong = |because: String| {
        UserError::new("--load cannot be read")
            .because(because)
            .next("write what `rtscope load` takes, in quotes: --load 'http://localhost:8080/ --rate 500 --for 20s'")
            .ends_with(WRONG)
    };
    let words = words::split(text).map_err(wrong)?;
    let parsed = Loaded::try_parse_from(words).map_err(|error| wrong(error.render().to_string().trim().to_owned()))?;
    let args = parsed.args;
    if args.requests.is_some() || args.html.is_some() || args.svg.is_some() || args.json {
        return Err(wrong("a trial writes no files of its load".to_owned()));
    }
    load::load(&args)
}
