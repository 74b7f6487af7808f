//! Descendants of the program: which they are, and recording on while some run after the program has ended.

use super::*;
use crate::kernel::streams::Streams;

/// Descendants that still run this long after the program's end are announced.
const ANNOUNCED_AFTER_NS: u64 = 200_000_000;
const LOOK_NS: u64 = 100_000_000;
const LOOK_REST: u64 = 20;
/// Process numbers listed in a sentence.
const NAMED_MAX: usize = 5;

/// State after the program has ended while its descendants run on.
#[derive(Debug)]
pub(super) struct Left {
    since: Time,
    /// When to check whether they still run.
    pub(super) next: Time,
    announced: bool,
}

impl Session<'_> {
    fn streams(&self) -> Vec<&Streams> {
        let kernel = self.kernel.as_ref().map(|kernel| &kernel.streams);
        kernel.into_iter().chain(self.code.as_ref().map(|code| &code.streams)).collect()
    }

    /// Starts following forks. Without perf only scans of `/proc` remain.
    pub(super) fn follow_family(&mut self) {
        self.look_at_family(false);
        self.streams().into_iter().for_each(|streams| streams.follow(&self.process_tree));
        if self.is_blind() && !self.attached() {
            self.manifest.notes.push(
                "forks are not recorded: a process that the program starts and leaves at once may be missed".to_owned(),
            );
        }
    }

    fn is_blind(&self) -> bool {
        self.streams().into_iter().all(|streams| streams.family(false).is_none())
    }

    pub(super) fn family_period_ns(&self) -> u64 {
        if self.is_blind() { FAMILY_PERIOD_BLIND_NS } else { FAMILY_PERIOD_NS }
    }

    /// `now`: including processes forked up to this moment.
    pub(super) fn look_at_family(&mut self, now: bool) {
        self.process_tree = family::look(&self.host, self.pid, &self.process_tree, &self.streams(), now);
    }

    /// Whether to continue because descendants of a started program still run. They are recorded too: a daemon may be
    /// what the user asked for.
    pub(super) fn goes_on(&mut self, started: bool, now: Time) -> bool {
        if !started {
            return false;
        }
        if self.left.as_ref().is_some_and(|left| now < left.next) {
            return true;
        }
        let before = clock::monotonic();
        self.look_at_family(self.left.is_none());
        let run: Vec<u32> = self.process_tree.iter().copied().filter(|pid| self.host.runs(*pid)).collect();
        let cost_ns = clock::monotonic().since(before);
        if run.is_empty() {
            return false;
        }
        let mut left = self.left.take().unwrap_or(Left { since: now, next: now, announced: false });
        left.next = now.plus(LOOK_NS.max(cost_ns.saturating_mul(LOOK_REST)));
        if now.since(left.since) >= ANNOUNCED_AFTER_NS && !left.announced {
            left.announced = true;
            self.report_left(&run);
        }
        self.left = Some(left);
        true
    }

    fn report_left(&mut self, run: &[u32]) {
        let mut named: Vec<String> = run.iter().take(NAMED_MAX).map(u32::to_string).collect();
        named.extend((run.len() > NAMED_MAX).then(|| "…".to_owned()));
        let processes = if run.len() == 1 { "process" } else { "processes" };
        self.note(format!(
            "the program has ended and left {} {processes} running ({}): recorded until they end or Ctrl-C",
            run.len(),
            named.join(", ")
        ));
        if self.writing.is_empty()
            && let Some(sampler) = &self.sampler
        {
            sampler.set_targets(run.to_vec());
        }
    }
}
