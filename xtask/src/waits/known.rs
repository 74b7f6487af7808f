//! What a program reports of its own threads (`workloads/LANGUAGE/known-waits`), and what a capture's
//! `waits.jsonl` says about them. Owns both formats, as documented; refuses to judge one by the other.

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};

/// What one thread of a program waits for, as the program itself reports.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
pub struct KnownWait {
    /// Its phase: the threads of a phase wait at the same time.
    pub phase: u32,
    /// Its number: the runtime's for a green thread, else the system's.
    pub thread: u64,
    /// Name of its test case.
    pub case: String,
    /// Its kind of wait, in the terms of `waits.jsonl`.
    pub kind: String,
    /// The function on top of its stack.
    pub place: String,
    /// The object that it waits for; threads that wait for the same object have the same text.
    pub object: Option<String>,
    /// The thread that holds the object.
    pub holder: Option<u64>,
    /// What the holder does: any of these is right.
    pub doing: Vec<String>,
    /// The function that it called, if it is in foreign code.
    pub callee: Option<String>,
}

/// What a program reports.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Truth {
    /// All its threads.
    pub threads: Vec<KnownWait>,
    /// The period for which a phase's report holds, nanoseconds of `CLOCK_MONOTONIC`.
    pub phases: BTreeMap<u32, (u64, u64)>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum TruthLine {
    Thread(KnownWait),
    Times { phase: u32, from: u64, to: u64 },
}

impl Truth {
    /// Parses the output of the program.
    ///
    /// # Errors
    /// A line is invalid, or there is none.
    pub fn read(text: &str) -> Result<Truth> {
        let mut truth = Truth::default();
        for line in text.lines() {
            match serde_json::from_str(line).with_context(|| format!("the program printed {line:?}"))? {
                TruthLine::Thread(known) => truth.threads.push(known),
                TruthLine::Times { phase, from, to } => _ = truth.phases.insert(phase, (from, to)),
            }
        }
        let is_stated = truth.threads.iter().all(|known| truth.phases.contains_key(&known.phase));
        ensure!(is_stated && !truth.threads.is_empty(), "the program says not when its threads wait");
        Ok(truth)
    }
}

/// Threads that a look found waiting for one object at one place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Waiters {
    pub kind: String,
    pub count: u32,
    pub object: Option<u64>,
    pub place: Option<String>,
    pub callee: Option<String>,
    pub holder: Option<LookHolder>,
}

/// The thread that holds what they wait for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LookHolder {
    pub thread: u64,
    pub doing: String,
}

/// One look.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Look {
    pub time: u64,
    pub groups: Vec<Waiters>,
}

/// The looks at one process in a capture's `waits.jsonl`; `text` is a complete file.
///
/// # Errors
/// A line is not an object.
pub fn looks(text: &str) -> Result<Vec<Look>> {
    let (mut texts, mut looks) = (HashMap::new(), Vec::new());
    for line in text.lines() {
        let line: Value = serde_json::from_str(line)?;
        if let (Some(number), Some(text)) = (line["x"][0].as_u64(), line["x"][1].as_str()) {
            texts.insert(number, text.to_owned());
        }
        if let Some(groups) = line["w"][3].as_array() {
            let groups = groups.iter().map(|group| read(group, &texts)).collect();
            looks.push(Look { time: line["t"].as_u64().context("a look without a time")?, groups });
        }
    }
    Ok(looks)
}

fn read(group: &Value, texts: &HashMap<u64, String>) -> Waiters {
    let text = |at: usize| group[at].as_u64().and_then(|number| texts.get(&number)).cloned();
    // `33 "name"`: number and name.
    let thread = |text: String| text.split(' ').next().and_then(|number| number.parse().ok());
    let doing = group[5].as_str().unwrap_or_default().to_owned();
    Waiters {
        kind: group[0].as_str().unwrap_or_default().to_owned(),
        count: group[1].as_u64().and_then(|count| u32::try_from(count).ok()).unwrap_or(0),
        object: group[2].as_u64(),
        place: text(3),
        callee: text(7),
        holder: text(4).and_then(thread).map(|thread| LookHolder { thread, doing }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_programs_output_is_read_and_anything_else_is_refused() {
        let thread = r#"{"phase":1,"thread":7,"case":"lock","kind":"lock","place":"take","object":"a","holder":3,"doing":["runs","ready"],"callee":null}"#;
        let times = r#"{"phase":1,"from":5,"to":9}"#;
        let truth = Truth::read(&format!("{thread}\n{times}\n")).unwrap();
        assert_eq!((truth.threads[0].holder, truth.threads[0].doing.len(), truth.phases[&1]), (Some(3), 2, (5, 9)));
        for wrong in [thread, times, "", "hello", &format!("{thread}\nhello\n{times}")] {
            assert!(Truth::read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn looks_have_the_texts_that_were_written_before_them() {
        let text = concat!(
            "{\"t\":1,\"p\":2,\"x\":[0,\"take\"]}\n{\"t\":1,\"p\":2,\"x\":[1,\"3 \\\"a b\\\"\"]}\n",
            "{\"t\":5,\"p\":2,\"missed\":1}\n",
            "{\"t\":9,\"p\":2,\"w\":[4,1,0,[[\"lock\",3,64,0,1,\"runs\",null],[\"time\",1,null,null,null,null,null,0]]]}\n"
        );
        let found = looks(text).unwrap();
        let [lock, time] = &found[0].groups[..] else { panic!("{found:?}") };
        assert_eq!((found.len(), found[0].time, lock.count, lock.object), (1, 9, 3, Some(64)));
        assert_eq!(
            (lock.place.as_deref(), &lock.holder),
            (Some("take"), &Some(LookHolder { thread: 3, doing: "runs".into() }))
        );
        assert_eq!((time.callee.as_deref(), &time.holder), (Some("take"), &None));
    }
}
