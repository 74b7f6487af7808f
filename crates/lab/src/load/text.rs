//! A load's result for people, and the line shown while it runs. Owns the words; the figures are the document's.

use rtscope_load::document::{Document, Doubt, Ended, Second};
use rtscope_model::units::{count, counted, duration, duration_or_dash, percent, rate};
use std::fmt::Write as _;

/// Requests from which a 99th percentile means much: its rank is then known to within a fifth.
const ENOUGH: u64 = 10_000;

/// What happened in a second, short enough for a terminal; the warm-up shows no figures.
pub fn live(second: &Second, warm_up_ns: u64) -> String {
    let at = duration(second.from_ns + second.lasts_ns);
    if second.from_ns + second.lasts_ns <= warm_up_ns {
        return format!("{at}: warming up");
    }
    let ended = second.fine + second.failed;
    let [p50, p99] = [second.p50_ns, second.p99_ns].map(duration_or_dash);
    let errors = counted(second.failed, "error", "errors");
    let mut line = format!("{at}: {}/s, p50 {p50}, p99 {p99}, {errors}", count(ended));
    if second.waiting > 0 {
        let _ = write!(line, ", {} waiting for a connection", count(second.waiting));
    }
    if ended == 0 && second.oldest_ns > 0 {
        let _ = write!(line, ", no answer for {}", duration(second.oldest_ns));
    }
    line
}

/// The result in one line.
pub fn headline(load: &Document) -> String {
    let requests = &load.requests;
    let failed = match requests.failed {
        0 => "none failed".to_owned(),
        failed => format!("{} failed ({})", count(failed), percent(load.error_share())),
    };
    let per_second = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), rate);
    format!(
        "{} in {}, {} due and {} answered each second, {failed}",
        counted(requests.due, "request", "requests"),
        duration(load.took_ns.saturating_sub(load.warm_up_ns)),
        per_second(load.rate.due),
        per_second(load.rate.fine),
    )
}

/// Further notes on the result.
pub fn notes(load: &Document) -> Vec<String> {
    let mut notes = Vec::new();
    let all = &load.latency.all;
    if let Some([low, high]) = all.p99_interval_ns {
        let few = if all.count < ENOUGH { "; 10,000 requests or more would narrow it" } else { "" };
        notes.push(format!("p99 lies between {} and {} (95 %){few}", duration(low), duration(high)));
    } else if all.count > 0 {
        notes.push(format!("{} are too few to say how sure p99 is", counted(all.count, "request", "requests")));
    }
    if load.errors.count() > 0 {
        notes.push(format!("failed: {}", failures(load).join(", ")));
    }
    notes.push(format!("{} opened, {} at most", counted(load.opened, "connection", "connections"), load.connections));
    if load.requests.warm_up > 0 {
        let failed = load.requests.warm_up_failed;
        let failed = if failed > 0 { format!(", {} failed", count(failed)) } else { String::new() };
        notes.push(format!("warm-up, not counted: {}{failed}", counted(load.requests.warm_up, "request", "requests")));
    }
    if let Some(kept) = load.kept.filter(|kept| kept.left_out > 0) {
        notes.push(format!("kept: {} requests; {} had no room", count(kept.requests), count(kept.left_out)));
    }
    notes
}

fn failures(load: &Document) -> Vec<String> {
    let errors = &load.errors;
    let kinds = [
        (errors.timeout, "not answered in time"),
        (errors.connect, "without a connection"),
        (errors.closed, "closed before the answer's end"),
        (errors.protocol, "with what is no answer of this protocol"),
    ];
    let kinds = kinds.into_iter().filter(|(failed, _)| *failed > 0);
    let kinds = kinds.map(|(failed, how)| format!("{} {how}", count(failed)));
    kinds.chain(errors.status.iter().map(|(status, failed)| format!("{} with {status}", count(*failed)))).collect()
}

pub fn doubted(doubt: Doubt, load: &Document) -> String {
    match (doubt, load.ended) {
        (Doubt::GivenUp, Ended::Interrupted) => format!(
            "interrupted; {} had not ended and are not counted",
            counted(load.requests.unfinished, "request", "requests")
        ),
        (Doubt::GivenUp, _) => format!(
            "given up: {} ({} had not ended and are not counted)",
            load.limit.as_deref().unwrap_or("a limit"),
            counted(load.requests.unfinished, "request", "requests")
        ),
        (Doubt::NoAnswer, _) => "no request was answered".to_owned(),
        (Doubt::Errors, _) => {
            let h2 = load.protocol == "h2c" && load.errors.protocol > 0;
            let hint = if h2 { "; does the server speak HTTP/2 without TLS?" } else { "" };
            format!(
                "{} of the requests failed, so latency is not that of a server that works{hint}",
                percent(load.error_share())
            )
        }
        (Doubt::Late, _) => format!(
            "rtscope itself was late by {} for one request in a hundred: it had too little CPU; \
             try more --threads, or another machine",
            duration_or_dash(load.latency.late.p99_ns)
        ),
    }
}
