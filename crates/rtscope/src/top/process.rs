//! A running process: its log's buffers or rings, the kernel's records and counters, all read by this loop. Owns what
//! is read and when; nothing is written, nothing is stopped.

use super::source::{Live, Looked, MOST, Source};
use super::transactions::Transactions;
use rtscope_analyze::Context;
use rtscope_analyze::results::Program;
use rtscope_host::binary::Inspected;
use rtscope_host::cgroup::{self, Groups};
use rtscope_host::live::{Life, ObservedProcess};
use rtscope_host::live_log::{self, LiveLog, Tap};
use rtscope_host::procfs::Host;
use rtscope_host::{clock, kernel, machine, sampler, stm};
use rtscope_model::manifest::{Kernel, Tier};
use rtscope_model::{ClockMap, Pid, Tid, Time};
use rtscope_terminal::user_error::UserError;
use std::collections::HashMap;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// Interval between two looks at everything, and at quotas if there are any, nanoseconds.
const LOOK_NS: u64 = 100_000_000;
const QUOTA_NS: u64 = 20_000_000;
/// Interval between two checks that it still runs the same program, nanoseconds.
const LIFE_NS: u64 = 500_000_000;
/// How long after its start a program may not have opened its log yet, in nanoseconds, and how often to check.
const START_NS: u64 = 1_000_000_000;
const START_STEP: Duration = Duration::from_millis(50);

pub(super) struct Running {
    process: ObservedProcess,
    inspected: Inspected,
    command: Vec<String>,
    groups: Groups,
    cpus: (Vec<u16>, u32),
    /// Where the bytes of its log come from.
    tap: Option<Box<dyn Tap>>,
    kernel: Option<kernel::Manual>,
    sampler: sampler::Manual,
    next_life: Time,
    ended: Option<String>,
}

impl Running {
    /// Opens process `pid`. `tier` is the richest way to see the kernel that is tried; `None` for none.
    pub(super) fn open(host: &Host, pid: u32, tier: Option<Tier>, now: Time) -> Result<(Running, Live), UserError> {
        let process = ObservedProcess::open(host, pid).ok_or_else(|| {
            UserError::new(format!("there is no process {pid}")).next("`pgrep -a NAME` shows what runs")
        })?;
        let inspected = process.inspect();
        let found = await_log(host, &process, &inspected, now);
        let groups = cgroup::of_process(host, pid);
        let machine = machine::snapshot(host, pid);
        let kernel = tier.map(|tier| kernel::Manual::start(kernel::KernelTarget::Attached(Pid(pid)), Some(tier)));
        let sampler = sampler::Manual::new(sampler::Config {
            host: host.clone(),
            pid,
            levels: groups.levels.clone(),
            period_ns: period_ns(&groups),
            transactions: Some(stm::StmOutput { capture: None, redact: false }),
        });
        // Inspecting a large binary takes a while, in which nothing is counted.
        let nothing = (Kernel::default(), HashMap::new());
        let seen = kernel.as_ref().map_or((&nothing.0, &nothing.1, None), |by_hand| {
            (&by_hand.kernel, &by_hand.formats, Some(by_hand.threads.as_slice()))
        });
        let mut live = Live::new(clock::monotonic(), seen, Transactions::new(None));
        if kernel.is_none() {
            let why = "The kernel's scheduling is not looked at (--no-kernel): causes are guesses.";
            live.notes.push(why.to_owned());
        }
        let mut tap = None;
        match found {
            Ok(LiveLog { log, clock, tap: from }) => (tap, live.log) = (Some(from), Some((log, clock))),
            Err(why) => live.notes.insert(0, why),
        }
        let running = Running {
            command: host.command(pid).unwrap_or_default(),
            process,
            inspected,
            cpus: (machine.cpus_allowed, machine.cpus_online),
            groups,
            tap,
            kernel,
            sampler,
            next_life: now,
            ended: None,
        };
        Ok((running, live))
    }

    /// Returns in how many nanoseconds the next look should come.
    fn look_at_log(&mut self, now: Time, live: &mut Live) -> u64 {
        let (Some(tap), Some((log, _))) = (&mut self.tap, &mut live.log) else { return LOOK_NS };
        match tap.look(log.as_mut(), MOST, now) {
            Ok(looked) => {
                if looked.left_out {
                    live.log_left_out(now);
                }
                looked.due_ns.map_or(LOOK_NS, |due| due.min(LOOK_NS))
            }
            Err(why) => {
                if self.ended.is_none() && self.process.life() == Life::Runs {
                    live.notes.push(why.to_owned());
                    self.tap = None;
                }
                LOOK_NS
            }
        }
    }
}

/// Interval between two looks at its counters, nanoseconds.
fn period_ns(groups: &Groups) -> u64 {
    if groups.quota_cpus().is_some() { QUOTA_NS } else { LOOK_NS }
}

impl Source for Running {
    fn look(&mut self, now: Time, live: &mut Live) -> Looked {
        self.sampler.look();
        let due_ns = self.look_at_log(now, live).min(period_ns(&self.groups));
        let mut records = Vec::new();
        self.kernel.iter_mut().for_each(|kernel| kernel.take(&mut records));
        live.add(records, &self.sampler.take(), &self.sampler.take_transactions());
        // The last bytes of a buffer at this look are delivered at the next.
        let until = if self.tap.as_ref().is_some_and(|tap| tap.gives_late()) { live.looked } else { now };
        Looked { until, due_ns }
    }

    fn context(&self, live: &Live) -> Context {
        let pid = self.process.held.pid();
        let mut context = Context {
            program: Some(Program { command: self.command.clone(), ..Program::default() }),
            program_pid: Some(Pid(pid)),
            program_tids: vec![Tid(pid)],
            groups: self.groups.manifest(),
            cpus_allowed: self.cpus.0.clone(),
            cpus_online: self.cpus.1,
            kernel: Some(self.kernel.as_ref().map_or_else(Kernel::default, |kernel| kernel.kernel.clone())),
            started: Some(live.started),
            sample_period_ns: Some(period_ns(&self.groups)),
            // Without a log, thread states are shown all the same.
            clock: ClockMap::MONOTONIC,
            ..Context::default()
        };
        context.runtime.family.clone_from(&self.inspected.binary.family);
        context.runtime.version.clone_from(&self.inspected.binary.version);
        live.describe(&mut context);
        context
    }

    fn over(&mut self) -> Option<String> {
        let now = clock::monotonic();
        let due = now >= self.next_life;
        if self.ended.is_none() && (due || self.process.has_ended()) {
            self.next_life = now.plus(LIFE_NS);
            let pid = self.process.held.pid();
            self.ended = match self.process.life() {
                Life::Runs => None,
                Life::Ended => Some(format!("process {pid} has ended")),
                Life::Other(program) => Some(format!("process {pid} runs another program now: {}", program.display())),
            };
        }
        self.ended.clone()
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.process.held.descriptor()
    }
}

/// The log that a process writes, or why there is none. A program that has just started may not have opened its log
/// yet: it gets some time.
fn await_log(host: &Host, process: &ObservedProcess, inspected: &Inspected, now: Time) -> Result<LiveLog, String> {
    let begun = clock::monotonic();
    let may_log = inspected.runtime().is_known();
    loop {
        let found = live_log::find(host, process, inspected, now);
        let young = process.age_ns() < START_NS && clock::monotonic().since(begun) < START_NS;
        if found.is_ok() || !may_log || !young || process.has_ended() {
            return found;
        }
        std::thread::sleep(START_STEP);
    }
}
