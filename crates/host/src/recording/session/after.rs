//! What a session does after its recording has ended while the program runs on: it waits for the program and returns
//! its status, passes signals on, and keeps the program's log from filling the disk.

use super::*;

/// Longest time between two checks.
const LOOK_MAX: Duration = Duration::from_secs(1);
/// Longest time between checks while logs are cut: others may be opened.
const LOOK_CUT: Duration = Duration::from_millis(100);

impl Session<'_> {
    /// Ends the recording because there is no more room.
    pub(super) fn stop_for_want_of_room(&mut self, Full(why): &Full, now: Time) {
        (self.notify)(&format!("{why}: recording stopped, what was recorded is kept, the program runs on"));
        let note = format!("{why}: nothing was recorded from then on; the program ran on");
        self.manifest.losses.push(Loss { from: Some(now), ..loss("samples", LossKind::DiskFull, 0, note) });
        match Cut::start() {
            Ok(cut) => self.cut = Some(cut),
            Err(error) => return self.note(format!("the program's log goes on growing: {error}")),
        }
        for log in self.cut_logs(false) {
            let note = "what its program wrote after that was given back to the disk".to_owned();
            self.manifest.losses.push(Loss { from: Some(now), ..loss(&log, LossKind::DiskFull, 0, note) });
        }
    }

    /// Cuts open logs at their end (`whole`: at their start) and gives later bytes back. Returns their names.
    fn cut_logs(&mut self, whole: bool) -> Vec<String> {
        let mut paths: Vec<std::path::PathBuf> = Vec::new();
        self.each_source(|source, _, _| paths.extend(source.open_logs()));
        let (folder, Some(cut)) = (self.store.folder(), &self.cut) else { return Vec::new() };
        paths.retain(|path| cut.add(folder, path, whole));
        paths.iter().filter_map(|path| Some(path.strip_prefix(folder.path()).ok()?.display().to_string())).collect()
    }

    /// Waits for a program that outlives the recording: its status is ours. Also waits for its descendants whose logs
    /// must not fill the disk.
    pub(super) fn stay(&mut self, exit: Option<Exit>, mut child: Option<Child>, signals: &Signals) -> Option<Exit> {
        if child.is_none() && self.cut.as_ref().is_none_or(Cut::is_empty) || self.attached() {
            return exit;
        }
        let pidfd = Pid::from_raw(self.pid as i32).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        let mut exit = exit;
        loop {
            let pause = self.keep_room();
            if let Some(Ok(Some(status))) = child.as_mut().map(Child::try_wait) {
                exit = Some(Exit { code: status.code(), signal: status.signal(), oom_killed: false });
                child = None;
            }
            let guards = self.cut.as_ref().is_some_and(|cut| !cut.is_empty());
            if child.is_none() {
                self.look_at_family(false);
            }
            let others = guards && self.process_tree.iter().any(|pid| self.host.runs(*pid));
            if child.is_none() && !others {
                break;
            }
            let pidfd = pidfd.as_ref().filter(|_| child.is_some());
            self.wait(pidfd, signals, clock::ns_of(pause));
            let arrived: Vec<i32> = signals.take();
            if child.is_some() {
                arrived.into_iter().for_each(|signal| signals::pass_on(&self.host, self.pid, signal));
            } else if !arrived.is_empty() {
                return exit;
            }
        }
        if let Some(cut) = self.cut.take() {
            cut.finish();
        }
        exit
    }

    pub(super) fn attached(&self) -> bool {
        matches!(self.options.target, crate::recording::RecordTarget::Attach(_))
    }

    /// Checks that there is room for what the program still writes. Returns the time until the next check.
    fn keep_room(&mut self) -> Duration {
        if self.take_opened() {
            self.each_source(|source, around, _| source.identify(around, true));
            // Logs that were opened after the end belong to no recording.
            let _ = self.cut_logs(true);
        }
        let now = clock::monotonic();
        if self.cut.is_none()
            && now >= self.room.next
            && let Err(full) = self.room.look(now)
        {
            self.stop_for_want_of_room(&full, now);
            self.write_manifest(true);
        }
        let Some(cut) = &self.cut else { return Duration::from_nanos(self.room.next.since(now)).min(LOOK_MAX) };
        if let Some(error) = cut.failed() {
            self.note(format!("the program's log goes on growing: its disk takes nothing back ({error})"));
            self.write_manifest(true);
            self.cut = None;
            self.room.next = Time(u64::MAX);
        }
        LOOK_CUT
    }
}
