//! The description of a study of a program, as stored with its trials. Owns what a study needs to continue: the
//! same program, options and machine.

use super::args::{TuneArgs, word};
use super::space::Gathered;
use super::subject::Subject;
use crate::plan::text::about;
use rtscope_tune::study::{Description, Design, StudyKind};

/// Describes a study of `names`, of which number `default` is what runs today.
pub fn of(args: &TuneArgs, gathered: &Gathered, subject: &Subject, names: Vec<String>, kind: StudyKind) -> Description {
    let mut words = args.command.iter().map(|word| word.to_string_lossy().into_owned());
    let program = words.next().unwrap_or_default();
    let plan =
        gathered.offer.plan.and_then(|plan| gathered.offer.configurations.get(plan)).map(|words| words.join(" "));
    let mut argv: Vec<String> = words.collect();
    // What a trial is changes what it measures.
    argv.extend(args.load.iter().map(|load| format!("(load: {load})")));
    argv.extend(args.same.then(|| "(all the same)".to_owned()));
    Description {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        program,
        argv,
        default: names.iter().position(String::is_empty).unwrap_or_default(),
        plan: plan.and_then(|plan| names.iter().position(|name| *name == plan)),
        names,
        design: Design::new(args.trials as usize, args.seed),
        objective: subject.objective.minimize.0.word().to_owned(),
        limits: args.limit.clone(),
        proposer: word(args.proposer),
        machine: about(&gathered.planned.resources),
        kind,
    }
}
