//! Two analysed runs, compared, and the conditions of `--fail-if`. Owns their outcome and the exit code; `analyze`
//! decides what differs.

use rtscope_analyze::compare::condition::{Asks, Bound, Condition, Holds, Values, beyond};
use rtscope_analyze::compare::judge::Compared as Judged;
use rtscope_analyze::compare::sample::Samples;
use rtscope_analyze::compare::{Comparison, Side, compare};
use rtscope_analyze::results::{Results, RuleOutcome};
use rtscope_model::Names;
use rtscope_model::manifest::Manifest;
use rtscope_terminal::user_error::UserError;
use serde::Serialize;
use serde_json::Value;

/// The exit status if a condition of `--fail-if` holds.
const CONDITION_HOLDS: u8 = 4;

/// One analysed run.
pub struct Analysed {
    /// Its report.
    pub results: Results,
    /// Its pauses.
    pub samples: Samples,
    /// Names that the causes of its longest pauses refer to.
    pub names: Names,
    /// Its manifest, if it has one.
    pub manifest: Option<Manifest>,
}

impl Analysed {
    /// A run that was made by hand, or read elsewhere.
    pub fn new(results: Results, samples: Samples, manifest: Option<Manifest>) -> Analysed {
        Analysed { results, samples, names: Names::default(), manifest }
    }

    fn side(&self) -> Side<'_> {
        Side { results: &self.results, samples: &self.samples, manifest: self.manifest.as_ref() }
    }
}

/// Outcome of a condition.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConditionOutcome {
    /// It holds.
    Holds,
    /// It does not.
    DoesNotHold,
    /// The change is that large, but not real: the condition does not hold.
    NotReal,
    /// The figure is null, so the outcome is unknown.
    Unknown,
}

/// A condition and its outcome.
#[derive(Clone, Debug, Serialize)]
pub struct Evaluated {
    /// The condition as given.
    pub condition: String,
    /// Its outcome.
    pub outcome: ConditionOutcome,
    /// The figure in the run before.
    pub before: Option<f64>,
    /// The figure in the run after.
    pub after: Option<f64>,
    /// Why the outcome is unknown, or what it is based on.
    pub note: Option<String>,
}

/// Two runs, compared.
pub struct Compared {
    /// The run before.
    pub a: Analysed,
    /// The run after.
    pub b: Analysed,
    /// What differs between them.
    pub comparison: Comparison,
    /// Conditions, in the order given.
    pub conditions: Vec<Evaluated>,
}

impl Compared {
    /// Compares, and evaluates `conditions`. Fails if one of them names no key.
    pub fn new(a: Analysed, b: Analysed, conditions: &[Condition]) -> Result<Compared, UserError> {
        let comparison = compare(&a.side(), &b.side());
        let documents = (crate::json::document(&a.results), crate::json::document(&b.results));
        let evaluate = |condition: &Condition| match &condition.asks {
            Asks::Finding(id) => evaluate_finding(condition, id, &b.results),
            Asks::Figure { path, above, bound } => {
                let values = [&documents.0, &documents.1].map(|document| lookup(document, path));
                evaluate_figure(condition, path, values, (*above, *bound), comparison.figure(path))
            }
        };
        let conditions = conditions.iter().map(evaluate).collect::<Result<_, _>>()?;
        Ok(Compared { a, b, comparison, conditions })
    }

    /// 4 if a condition holds, 3 if one is unknown or losses change the answer, otherwise 0.
    pub fn exit_code(&self) -> u8 {
        let any = |outcome: ConditionOutcome| self.conditions.iter().any(|condition| condition.outcome == outcome);
        if any(ConditionOutcome::Holds) {
            CONDITION_HOLDS
        } else if any(ConditionOutcome::Unknown) {
            3
        } else {
            crate::exit_code(&self.a.results).max(crate::exit_code(&self.b.results))
        }
    }
}

/// Parses the conditions of a command line.
pub fn conditions(texts: &[String]) -> Result<Vec<Condition>, UserError> {
    let read = |text: &String| {
        text.parse::<Condition>().map_err(|error| {
            UserError::new(format!("cannot read the condition {text:?}"))
                .because(error)
                .next("write it like 'pauses.time_to_stop_ns.p99 > +20%' or 'finding cpu-throttled'")
        })
    };
    texts.iter().map(read).collect()
}

fn evaluate_finding(condition: &Condition, id: &str, after: &Results) -> Result<Evaluated, UserError> {
    let Some(rule) = after.checked.iter().find(|checked| checked.id == id) else {
        let known: Vec<&str> = after.checked.iter().map(|checked| checked.id).collect();
        return Err(UserError::new(format!("cannot ask {:?}", condition.text))
            .because(format!("there is no finding {id}"))
            .next(format!("ask for one of {}", known.join(", "))));
    };
    let (outcome, note) = match rule.outcome {
        RuleOutcome::Found => (ConditionOutcome::Holds, None),
        RuleOutcome::Clear => (ConditionOutcome::DoesNotHold, None),
        RuleOutcome::CouldNotLook | RuleOutcome::NotAsked => (ConditionOutcome::Unknown, rule.why.clone()),
    };
    Ok(Evaluated { condition: condition.text.clone(), outcome, before: None, after: None, note })
}

fn evaluate_figure(
    condition: &Condition,
    path: &str,
    values: [Option<&Value>; 2],
    (above, bound): (bool, Bound),
    judged: Option<&Judged>,
) -> Result<Evaluated, UserError> {
    if values == [None, None] {
        return Err(UserError::new(format!("cannot ask {:?}", condition.text))
            .because(format!("{path} is no figure of `rtscope report --json`"))
            .next("docs/report-json.md names every key"));
    }
    let [before, after] = values.map(|value| value.and_then(Value::as_f64));
    let compared = judged.map_or((before, after), |judged| (judged.a, judged.b));
    let real = judged.and_then(|judged| judged.real);
    let values = Values { before, after, compared, real };
    let (outcome, note) = match beyond(&values, above, bound) {
        Holds::Yes => (ConditionOutcome::Holds, None),
        Holds::No => (ConditionOutcome::DoesNotHold, None),
        Holds::ByChance => (ConditionOutcome::NotReal, Some("two runs of the same program differ by as much".into())),
        Holds::Unknown => (ConditionOutcome::Unknown, Some(format!("{path} is null"))),
    };
    let unjudged = || judged.and_then(|judged| judged.why_not.clone());
    let note = note.or_else(|| {
        (outcome == ConditionOutcome::Holds).then(unjudged).flatten().map(|why| format!("not judged: {why}"))
    });
    Ok(Evaluated { condition: condition.text.clone(), outcome, before, after, note })
}

/// Keys below a distribution and below a level, for those that are null as a whole.
const PARTS: [&str; 11] = ["count", "sum", "mean", "min", "p50", "p90", "p99", "p999", "max", "last", "period_ns"];

/// The figure at `path` of a report (keys, and positions in lists), which may be null; `None` if there is no such key.
fn lookup<'d>(document: &'d Value, path: &str) -> Option<&'d Value> {
    let mut value = document;
    let mut keys = path.split('.').peekable();
    while let Some(key) = keys.next() {
        value = match value {
            Value::Object(members) => members.get(key)?,
            Value::Array(list) => match list.get(key.parse::<usize>().ok()?) {
                Some(element) => element,
                // The list is too short: this run has no such figure.
                None => return Some(&Value::Null),
            },
            _ => return None,
        };
        if value.is_null() {
            return keys.peek().is_none_or(|part| PARTS.contains(part)).then_some(value);
        }
    }
    value.is_number().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn figures_are_found_by_their_keys() {
        let document = json!({
            "span_ns": 7, "memory": {"rss_bytes": null}, "lanes": [{"id": 0, "idle_ns": null}], "source": {"kind": "x"}
        });
        assert_eq!(lookup(&document, "span_ns"), Some(&json!(7)));
        assert_eq!(lookup(&document, "memory.rss_bytes.max"), Some(&Value::Null));
        assert_eq!(lookup(&document, "memory.rss_bytes.maximum"), None);
        assert_eq!(lookup(&document, "lanes.0.id"), Some(&json!(0)));
        assert_eq!(lookup(&document, "lanes.0.idle_ns"), Some(&Value::Null));
        assert_eq!(lookup(&document, "lanes.5.id"), Some(&Value::Null));
        for path in ["lanes.x.id", "source.kind", "memory", "span", "span_ns.p99", "lanes.0.name"] {
            assert_eq!(lookup(&document, path), None, "{path}");
        }
    }
}
