//! Prepares a file of requests for joining with a capture. Owns the messages for what does not fit together;
//! the format is `decode`'s, the join `analyze`'s.

use rtscope_analyze::Context;
use rtscope_analyze::recording::requests::{Join, Requests};
use rtscope_decode::requests::RequestStream;
use rtscope_model::Time;
use rtscope_model::manifest::Manifest;
use rtscope_model::units::duration;
use rtscope_terminal::user_error::UserError;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

/// Largest difference between two readings of one machine's clocks, nanoseconds: `CLOCK_REALTIME` is set in
/// steps, but seldom by so much. Another machine, or another boot, has entirely different clocks.
const CLOCKS_APART_NS: u64 = 2_000_000_000;

/// Reads `file` for the recording that `context` and `manifest` describe.
///
/// # Errors
/// It cannot be read, or cannot have been sent while this was recorded.
pub fn load(file: &Path, context: &Context, manifest: &Manifest) -> Result<Join, UserError> {
    let failure = || UserError::new(format!("cannot join {} with this capture", file.display()));
    let opened = File::open(file).map_err(|error| UserError::unreadable(file, error))?;
    let mut stream = RequestStream::open(BufReader::new(opened))
        .map_err(|error| UserError::unreadable(file, error).next("give what `rtscope load --requests FILE` wrote"))?;
    if !context.clock.is_monotonic() {
        let why = "the clock of its log could not be joined to the machine's, so when its pauses were is not known";
        return Err(failure().because(why).next("record with `rtscope record -- PROGRAM`"));
    }
    let (Some(started), Some(ended)) = (context.started, context.ended) else {
        return Err(failure().because("its manifest does not say when it was made"));
    };
    let head = stream.head().clone();
    if other_clock(head.started, head.started_unix_ns, manifest.realtime_offset_ns) {
        return Err(failure()
            .because("the clocks differ: they were made on two machines, or the machine was started anew in between")
            .next("run `rtscope load` on the machine that records"));
    }
    let mut requests = Requests::new(head.url, (started, ended));
    stream.by_ref().for_each(|request| requests.push(&request));
    requests.damaged(stream.damaged().map_err(|error| UserError::unreadable(file, error))?);
    let span = requests.span();
    requests.ready().ok_or_else(|| {
        let why = span.map_or("it holds no request".to_owned(), |span| no_overlap(span, (started, ended)));
        failure().because(why).next("give the capture that was being made while the requests were sent")
    })
}

/// Whether the two were made with different clocks; false if a file does not say.
fn other_clock(started: Time, unix_ns: Option<u64>, realtime_offset_ns: i64) -> bool {
    let Some(unix_ns) = unix_ns.filter(|_| realtime_offset_ns != 0) else { return false };
    let offset = i128::from(unix_ns) - i128::from(started.0);
    offset.abs_diff(i128::from(realtime_offset_ns)) > u128::from(CLOCKS_APART_NS)
}

/// Why no request of a load over `span` is entirely within the recording.
fn no_overlap(span: (Time, Time), recorded: (Time, Time)) -> String {
    if span.0 >= recorded.1 {
        return format!("the load began {} after the recording ended", duration(span.0.since(recorded.1)));
    }
    if span.1 <= recorded.0 {
        return format!("the load ended {} before the recording began", duration(recorded.0.since(span.1)));
    }
    "no request lies whole inside the recording, the warm-up apart".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_machine_s_clock_is_distinguished_from_a_clock_that_was_set() {
        let other = |unix_ns| other_clock(Time(5_000_000_000), unix_ns, 1_700_000_000_000_000_000);
        assert!(!other(Some(1_700_000_005_000_000_000)) && !other(Some(1_700_000_006_500_000_000)));
        assert!(other(Some(1_700_000_009_000_000_000)) && other(Some(0)) && other(Some(u64::MAX)));
        assert!(!other(None) && !other_clock(Time(0), Some(7), 0), "neither is known");
    }

    #[test]
    fn a_load_outside_the_recording_is_reported_with_its_side() {
        let recorded = (Time(1_000_000_000), Time(5_000_000_000));
        assert!(no_overlap((Time(7_000_000_000), Time(9_000_000_000)), recorded).contains("2.00 s after"));
        assert!(no_overlap((Time(0), Time(500_000_000)), recorded).contains("500 ms before"));
        assert!(no_overlap((Time(0), Time(9_000_000_000)), recorded).contains("no request"));
    }
}
