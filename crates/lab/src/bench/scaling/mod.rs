//! `rtscope bench scaling`: work per second against workers, one line for each way to run a program (processes,
//! domains, …). Owns the options; `experiment` runs commands in their order, `program` runs one, `results`
//! holds the results, `text` and `svg` show them.

mod experiment;
mod program;
mod results;
mod svg;
mod text;

use super::template::Template;
use clap::Args;
use rtscope_terminal::line::Line;
use rtscope_terminal::style::{Style, clean};
use rtscope_terminal::user_error::{UserError, WRONG};
use std::path::PathBuf;
use std::process::ExitCode;

const STATUS: &str = "\
A TEMPLATE is a command in which {workers} stands for the number of workers. Its words are
split at spaces; quotes keep some together. No shell is used. The program prints a line
`solves N` that says how much was done, or --work says it.

  rtscope bench scaling --workers 1,2,4 \\
    --series 'processes=./solver processes {workers} 500' \\
    --series 'domains=./solver domains {workers} 500'

Exit status:
  0  done
  1  failed: a program did not run, did not end well or did not say how much it did
  2  wrong usage";

/// Options of `bench scaling`.
#[derive(Args, Clone, Debug)]
#[command(after_help = STATUS)]
pub struct ScalingArgs {
    /// One line of the plot: a name and a command in which {workers} stands for a number
    #[arg(long, value_name = "NAME=TEMPLATE", required_unless_present = "template")]
    pub series: Vec<Template>,
    /// Numbers of workers
    #[arg(long, value_name = "N,N", value_delimiter = ',', default_values_t = [1, 2, 4], value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub workers: Vec<u32>,
    /// Runs of each, not counting one that is dropped
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub repeats: u32,
    /// The order's seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// How much each run does, where the program does not print `solves N`
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub work: Option<u64>,
    /// Also write scaling.txt, scaling.svg and scaling.json into this folder
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
    /// A single line of the plot: the command, after `--`
    #[arg(last = true, value_name = "TEMPLATE", conflicts_with = "series")]
    pub template: Vec<String>,
}

pub fn run(args: &ScalingArgs) -> Result<ExitCode, UserError> {
    let series = series(args).map_err(|error| error.ends_with(WRONG))?;
    let workers = super::print::rising(&args.workers);
    let plan = experiment::ScalingPlan { series, workers, repeats: args.repeats, seed: args.seed };
    let mut run = program::Programs { work: args.work };
    let mut line = Line::new(false);
    let mut progress = |done: usize, all: usize, what: &str| line.put(&format!("{done} of {all}: {}", clean(what)));
    let found = experiment::measure(&plan, &mut run, &mut progress)?;
    drop(line);
    let drawn = || vec![("scaling.svg".to_owned(), svg::draw(&found))];
    let text = |style: &Style| text::draw(&found, style);
    super::print::show((args.output.as_deref(), args.json), "scaling", &found, text, drawn)?;
    Ok(ExitCode::SUCCESS)
}

/// The lines of the plot, each with a unique name and a placeholder for the workers.
fn series(args: &ScalingArgs) -> Result<Vec<Template>, UserError> {
    let single = (!args.template.is_empty()).then(|| Template::unnamed(&args.template));
    let all: Vec<Template> = args.series.iter().cloned().chain(single).collect();
    for (index, series) in all.iter().enumerate() {
        if !series.has(experiment::PLACE) {
            return Err(UserError::new(format!("{} has no place for the number of workers", series.name))
                .next("write {workers} where it goes"));
        }
        if all.iter().take(index).any(|other| other.name == series.name) {
            return Err(UserError::new(format!("two series are called {}", series.name)).next("give one another name"));
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct ScalingCommand {
        #[command(flatten)]
        args: ScalingArgs,
    }

    fn args(words: &[&str]) -> Result<ScalingArgs, clap::Error> {
        ScalingCommand::try_parse_from(["scaling"].iter().chain(words)).map(|command| command.args)
    }

    #[test]
    fn a_series_needs_a_name_of_its_own_and_a_place() {
        let two = args(&["--series", "a=./x {workers}", "--series", "b=./y {workers} 5", "--workers", "4,1"]).unwrap();
        assert_eq!((series(&two).unwrap().len(), two.workers), (2, vec![4, 1]));
        let same = args(&["--series", "a=./x {workers}", "--series", "a=./y {workers}"]).unwrap();
        assert!(series(&same).unwrap_err().to_string().contains("two series are called a"));
        let fixed = args(&["--", "./x", "4"]).unwrap();
        assert!(series(&fixed).unwrap_err().to_string().contains("no place for the number of workers"));
        assert_eq!(series(&args(&["--", "./x", "{workers}"]).unwrap()).unwrap()[0].name, "x");
    }

    #[test]
    fn what_makes_no_sense_is_wrong_usage() {
        for words in [
            &["--workers", "1"][..],
            &["--series", "a"],
            &["--series", "=./x {workers}"],
            &["--series", "a="],
            &["--series", "a='./x {workers}"],
            &["--workers", "0", "--", "x"],
            &["--repeats", "0", "--", "x"],
            &["--work", "0", "--", "x"],
            &["--series", "a=./x {workers}", "--", "./x", "{workers}"],
        ] {
            assert!(args(words).is_err(), "{words:?}");
        }
    }
}
