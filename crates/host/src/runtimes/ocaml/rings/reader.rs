//! The thread that copies rings: it notices at once when a program makes one, copies all
//! of them often enough, and notices when they end. Owns the schedule.
//!
//! At low priority a busy machine may delay it, so it aims at rings that are an eighth
//! full. If that was not enough, it gives up its low priority.

use super::copy::{Ring, Round};
use super::found::{self, Mapped, mapped_by};
use super::layout::{Judged, METADATA, RingLayout};
use super::pen::Pen;
use super::place;
use super::stream::StreamWriter;
use crate::capture::folder::{Folder, own_user};
use crate::capture::loss;
use crate::capture::store::is_disk_full;
use crate::privileges::opener::Ask;
use crate::system::clock;
use crate::system::procfs::Host;
use crate::system::ready::is_ready;
use crate::system::worker::{self as background, Shared, Worker};
use crate::target::{Process, ProcessFile, open_target};
use rtscope_model::{Loss, LossKind, Time};
use rustix::fs::inotify;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::Arc;

/// Shortest and longest time between two rounds.
const PERIOD_MIN_NS: u64 = 1_000_000;
const PERIOD_MAX_NS: u64 = 50_000_000;
/// No program was seen to write words faster, so a quiet ring is copied again
/// before it can be full.
const WORD_NS: u64 = 25;
/// Part of a ring that may fill between two rounds.
const FILL_SHARE: u64 = 8;
/// A ring that was filled this far before it was copied, or that fills in this short a
/// time: on a busy machine a low-priority thread comes too late.
const LATE_SHARE: u64 = 4;
const FILL_SOON_NS: u64 = 200_000_000;
/// Period of what need not be noticed at once: names, ends of processes.
const SLOW_PERIOD_NS: u64 = 100_000_000;
/// Interval of checking a file that its runtime is still making; after a while, less often.
const READY_PERIOD_NS: u64 = 1_000_000;
const READY_SOON_NS: u64 = 200_000_000;
const READY_LATE_PERIOD_NS: u64 = 20_000_000;
/// A file without rings for this long is not one.
const READY_MAX_NS: u64 = 10_000_000_000;
/// Generations between the program and a process that it started.
const ANCESTORS_MAX: usize = 64;
/// In the user's folder, a file left by an earlier process is rewritten within this time.
const STALE_NS: u64 = 2_000_000;
/// Room is reserved for this many of the largest rings at a time: otherwise any user that may make files
/// could have the whole disk reserved.
const RINGS_RESERVED_MAX: u64 = 4;
/// Searches of all processes for the writer of a ring.
const WIDE_LOOKS_MAX: u8 = 3;

#[derive(Debug)]
pub struct Config {
    pub host: Host,
    pub pid: u32,
    /// The capture's folder `rings`.
    pub folder: Folder,
    /// Folder in which programs make their files, if one is watched, and whether it is
    /// the recorder's own.
    pub watched: Option<(Folder, bool)>,
    /// Rings that a process already has.
    pub mapped: Vec<Mapped>,
}

/// A ring that is being copied.
#[derive(Debug)]
pub struct Copied {
    /// Path of its stream below the capture.
    pub name: String,
    /// Its process, 0 if it could not be found.
    pub pid: u32,
    pub program: Option<File>,
}

/// Results since the last request.
#[derive(Debug, Default)]
pub(crate) struct News {
    fresh: Vec<Copied>,
    losses: Vec<Loss>,
}

impl Shared<News> {
    /// Notes that a stream cannot be written.
    fn failed(&self, stream: &str, error: &io::Error) {
        let full = is_disk_full(error);
        // The first report covers all streams.
        if full && !self.fill_disk() {
            return;
        }
        let (kind, why) = match full {
            true => (LossKind::DiskFull, "the disk was full".to_owned()),
            false => (LossKind::RecorderLate, error.to_string()),
        };
        let note = format!(
            "events of OCaml programs could not be written ({why}): from then on there are none; the programs ran on"
        );
        self.lost(Loss { from: Some(clock::monotonic()), ..loss(stream, kind, 0, note) });
    }

    fn lost(&self, loss: Loss) {
        self.lock().losses.push(loss);
    }
}

/// A running reader: `news` is set when rings were found, and nothing more is copied once the disk is full.
pub(crate) type RingsReader = Worker<News>;

impl RingsReader {
    /// Starts it; when this returns, the folder is being watched. Errors: no watch, no thread.
    pub fn start(config: Config) -> io::Result<RingsReader> {
        let shared = Shared::new(News::default())?;
        let failures = Arc::clone(&shared);
        let pen = Pen::start(move |name, error| failures.failed(name, error))?;
        let mut state = RingsCopier::new(config, Arc::clone(&shared), pen)?;
        Worker::run(shared, "rings", background::use_batch_priority, move |_| state.run())
    }

    /// Rings that were found since the last call.
    pub fn fresh(&self) -> Vec<Copied> {
        self.news.clear();
        std::mem::take(&mut self.lock().fresh)
    }

    /// The disk is full: nothing more is copied; `stream` is one that this truncates.
    pub fn stop_copying(&self, stream: &str) {
        self.failed(stream, &io::ErrorKind::StorageFull.into());
    }

    /// Copies what is left and ends. Returns rings not reported yet and losses
    /// on the way to the streams.
    pub fn finish(mut self) -> (Vec<Copied>, Vec<Loss>, u64) {
        if !self.end() {
            let note = "the thread that copies rings did not end in time: their last events are missing";
            let late = loss("rings", LossKind::RecorderLate, 1, note);
            self.lost(Loss { from: Some(clock::monotonic()), ..late });
        }
        let News { fresh, losses } = std::mem::take(&mut *self.lock());
        (fresh, losses, self.written_bytes())
    }
}

/// A file in which the runtime has not begun to write events.
#[derive(Debug)]
struct Coming {
    name: String,
    file: File,
    since: Time,
    writer: Option<Writer>,
}

#[derive(Debug)]
struct Writer {
    pid: u32,
    program: Option<File>,
}

#[derive(Debug)]
struct Live {
    name: String,
    ring: Ring,
    stream: StreamWriter,
    pid: u32,
    /// Bytes that were reserved for it.
    room: u64,
    /// Readable when the process has ended.
    process: Option<OwnedFd>,
    /// The process when the file was last opened: possibly of another program.
    opened_by: Option<Writer>,
}

#[derive(Copy, Clone, Eq, PartialEq, Debug)]
enum Fate {
    GoesOn,
    /// Its runtime has removed the file.
    Ended,
    /// Its process is gone without that, or runs another program.
    Left,
}

struct RingsCopier {
    config: Config,
    watch: Option<OwnedFd>,
    shared: Arc<Shared<News>>,
    pen: Option<Pen>,
    coming: Vec<Coming>,
    live: Vec<Live>,
    streams: u32,
    last_round: Time,
    period_ns: u64,
    next_slow: Time,
    wide_looks: u8,
    /// Files that were gone before they could be opened.
    missed: BTreeSet<String>,
    /// Whether it has given up its low priority.
    raised: bool,
}

impl RingsCopier {
    fn new(mut config: Config, shared: Arc<Shared<News>>, pen: Pen) -> io::Result<RingsCopier> {
        let watch = match &config.watched {
            Some((folder, _)) => {
                let watch = inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK)?;
                let what = inotify::WatchFlags::CREATE | inotify::WatchFlags::OPEN | inotify::WatchFlags::DELETE;
                inotify::add_watch(&watch, folder.own_path(), what)?;
                Some(watch)
            }
            None => None,
        };
        let now = clock::monotonic();
        let mapped = std::mem::take(&mut config.mapped);
        let mut state = RingsCopier {
            config,
            watch,
            shared,
            pen: Some(pen),
            coming: Vec::new(),
            live: Vec::new(),
            streams: 0,
            last_round: now,
            period_ns: PERIOD_MAX_NS,
            next_slow: now.plus(SLOW_PERIOD_NS),
            wide_looks: WIDE_LOOKS_MAX,
            missed: BTreeSet::new(),
            raised: false,
        };
        for mapped in mapped {
            let Some(file) = mapped.open() else { continue };
            let name = mapped.path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
            let writer = Some(state.writer(mapped.process.pid()));
            state.coming.push(Coming { name, file, since: now, writer });
        }
        Ok(state)
    }

    fn run(&mut self) {
        while !self.shared.is_stopped() {
            let now = clock::monotonic();
            let opened = self.take_notices(now);
            self.look_at_coming(now);
            let full = self.pen.as_ref().is_some_and(Pen::is_full);
            if (opened || now.since(self.last_round) >= self.period_ns) && !full {
                self.round(now);
            }
            if now >= self.next_slow {
                self.slow_round(now);
            }
            if self.shared.disk_full() {
                // Nothing more is to be copied; only cleaning up is left.
                self.coming.clear();
                self.live.clear();
            }
            self.wait(clock::monotonic());
        }
        self.end();
    }

    fn wait(&self, now: Time) {
        let mut until = self.next_slow;
        if !self.live.is_empty() {
            until = until.min(self.last_round.plus(self.period_ns).max(now.plus(PERIOD_MIN_NS / 4)));
        }
        for coming in &self.coming {
            let soon = now.since(coming.since) < READY_SOON_NS;
            until = until.min(now.plus(if soon { READY_PERIOD_NS } else { READY_LATE_PERIOD_NS }));
        }
        if self.live.is_empty() && self.coming.is_empty() {
            until = now.plus(PERIOD_MAX_NS * 20);
        }
        let watch = self.watch.as_ref().map(AsFd::as_fd);
        self.shared.wait(watch.as_slice(), Some(until.since(now)));
    }

    /// Takes the events of the folder; true if a known file was opened again: its
    /// process may just be starting another program.
    fn take_notices(&mut self, now: Time) -> bool {
        let mut names = BTreeMap::<String, bool>::new();
        let mut lost = false;
        if let Some(watch) = &self.watch {
            let mut buffer = [MaybeUninit::uninit(); 4096];
            let mut events = inotify::Reader::new(watch.as_fd(), &mut buffer);
            while let Ok(event) = events.next() {
                lost |= event.events().contains(inotify::ReadFlags::QUEUE_OVERFLOW);
                let name = event.file_name().and_then(|name| name.to_str().ok()).unwrap_or_default();
                *names.entry(name.to_owned()).or_default() |= event.events().contains(inotify::ReadFlags::CREATE);
            }
        }
        if lost && let Some((folder, _)) = &self.config.watched {
            let found = folder.names().unwrap_or_default().into_iter();
            names.extend(found.filter_map(|name| Some((name.into_string().ok()?, false))));
        }
        let mut again = false;
        for (name, created) in names {
            again |= self.expect(name, created, now);
        }
        again
    }

    /// Opens a file that a runtime may be making; true if it is already being copied.
    fn expect(&mut self, name: String, created: bool, now: Time) -> bool {
        let Some((folder, _)) = &self.config.watched else { return false };
        let Some(number) = found::number(&name) else { return false };
        let inode = folder.look_at(&name).map(|file| file.st_ino).ok();
        let same = |file: &File| file.metadata().is_ok_and(|found| Some(found.ino()) == inode);
        // Determined now: the process may be gone when its ring is ready.
        let writer = (number == self.config.pid || self.is_below(number)).then(|| self.writer(number));
        let live = |live: &&mut Live| live.name == name && (inode.is_none() || same(&live.ring.file));
        if let Some(live) = self.live.iter_mut().find(live) {
            live.opened_by = writer.filter(|writer| writer.program.is_some()).or(live.opened_by.take());
            return true;
        }
        if self.coming.iter().any(|coming| coming.name == name && (inode.is_none() || same(&coming.file))) {
            return false;
        }
        match self.read(folder, &name) {
            Ok(file) => self.coming.push(Coming { name, file, since: now, writer }),
            Err(_) if created => _ = self.missed.insert(name),
            // It disappeared, as files of ended processes do.
            Err(_) => {}
        }
        false
    }

    /// Opens a file in the watched folder; one that another user made may need the opener.
    fn read(&self, folder: &Folder, name: &str) -> io::Result<File> {
        let read = folder.read(name);
        match (&read, self.config.host.opener()) {
            (Err(error), Some(opener)) if error.kind() == io::ErrorKind::PermissionDenied => {
                Ok(opener.open(None, Ask::Captured(std::path::Path::new("rings/live").join(name)))?)
            }
            _ => read,
        }
    }

    fn writer(&self, pid: u32) -> Writer {
        let process = Process::open(&self.config.host, pid).ok();
        Writer { pid, program: process.and_then(|process| open_target(&process, ProcessFile::Executable).ok()) }
    }

    /// Whether process `pid` descends from the program.
    fn is_below(&self, pid: u32) -> bool {
        self.config.host.ancestors(pid).take(ANCESTORS_MAX).any(|parent| parent == self.config.pid)
    }

    fn look_at_coming(&mut self, now: Time) {
        for coming in std::mem::take(&mut self.coming) {
            match ready(&coming.file) {
                Some(Judged::Ready(layout)) => self.begin(coming, layout, now),
                Some(Judged::NotYet) if now.since(coming.since) < READY_MAX_NS => self.coming.push(coming),
                _ => {}
            }
        }
    }

    /// Begins to copy, if a process writes the file: it may be left from an earlier one.
    fn begin(&mut self, coming: Coming, layout: RingLayout, now: Time) {
        let own = self.config.watched.as_ref().is_some_and(|(_, own)| *own);
        let Coming { name, file, since, writer } = coming;
        let mut ring = Ring::new(file, layout);
        let settled = own || now.since(since) >= STALE_NS;
        if !settled || !ring.has_begun().unwrap_or(false) {
            if now.since(since) < READY_MAX_NS {
                let file = ring.file;
                self.coming.push(Coming { name, file, since, writer });
            }
            return;
        }
        let writer = match writer {
            Some(writer) => writer,
            None => self.writer_of(&ring.file, &name),
        };
        if writer.pid == 0 && !own {
            return;
        }
        if own && !self.made(&ring.file, writer.pid) {
            return self.report_foreign(writer.pid);
        }
        let room = self.reserve(&ring, writer.pid);
        let file_name = format!("{}.ring", self.streams);
        let stream_name = format!("rings/{file_name}");
        let number = found::number(&name).unwrap_or(0);
        match StreamWriter::create(&self.config.folder, &file_name, &ring.layout, number, now) {
            Ok(stream) => {
                self.streams += 1;
                let Writer { pid, program } = writer;
                let process = Pid::from_raw(pid as i32).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
                self.live.push(Live { name, ring, stream, pid, process, room, opened_by: None });
                self.shared.lock().fresh.push(Copied { name: stream_name, pid, program });
                self.shared.news.ring();
                self.period_ns = PERIOD_MIN_NS;
            }
            Err(error) => self.shared.failed(&stream_name, &error),
        }
    }

    fn writer_of(&mut self, file: &File, name: &str) -> Writer {
        let everywhere = self.wide_looks > 0;
        let Some(pid) = found::writer(&self.config.host, file, name, everywhere) else {
            self.wide_looks = self.wide_looks.saturating_sub(1);
            return Writer { pid: 0, program: None };
        };
        self.writer(pid)
    }

    /// Whether process `pid` can have made a file: its user or the recorder owns it.
    /// For a process that is gone this is not known, and its files are never written to.
    fn made(&self, file: &File, pid: u32) -> bool {
        let Ok(found) = file.metadata() else { return false };
        found.uid() == own_user() || place::user_of(&self.config.host, pid).is_none_or(|user| user == found.uid())
    }

    fn report_foreign(&self, pid: u32) {
        let note = format!("a file of another user lies where process {pid} would write its rings: it was not copied");
        self.shared.lost(loss("rings", LossKind::SourceMissing, 1, note));
    }

    /// Reserves room for a file that its runtime has made itself; returns the bytes.
    fn reserve(&self, ring: &Ring, pid: u32) -> u64 {
        let Some((folder, true)) = &self.config.watched else { return 0 };
        let (Ok(found), Some(length)) = (ring.file.metadata(), ring.layout.end()) else { return 0 };
        let (room, held) = (place::room(folder), self.live.iter().map(|live| live.room).sum::<u64>());
        let has_room = found.blocks().saturating_mul(512) >= length;
        if has_room || length > room || held.saturating_add(length) > room.saturating_mul(RINGS_RESERVED_MAX) {
            return 0;
        }
        if place::take_room(&self.config.host, folder, &ring.file, length, pid) { length } else { 0 }
    }

    fn round(&mut self, now: Time) {
        let last = std::mem::replace(&mut self.last_round, now);
        let elapsed = now.since(last).max(1);
        let (mut period, mut late) = (PERIOD_MAX_NS, !self.missed.is_empty());
        for mut live in std::mem::take(&mut self.live) {
            match live.ring.copy(&mut live.stream, now) {
                Ok(Round::Copied(words)) => {
                    let size = live.ring.layout.words;
                    late |= words > size / LATE_SHARE || fills_soon(size, words, elapsed);
                    period = period.min(period_for(size, words, elapsed));
                    self.flush(&mut live, now, false);
                    self.live.push(live);
                }
                // Truncated or restarted: another program is making it.
                Ok(Round::Restarted) | Err(_) => self.begin_anew(live, now, last),
            }
        }
        if late && !self.raised {
            self.raised = true;
            background::restore_priority();
        }
        // The period shrinks at once and grows slowly.
        let period = period.min(self.period_ns.saturating_mul(2)).clamp(PERIOD_MIN_NS, PERIOD_MAX_NS);
        if period != self.period_ns {
            self.period_ns = period;
            background::wake_within(period / 4);
        }
    }

    /// Words that were not copied when a program called exec were overwritten by the
    /// new program's.
    fn begin_anew(&mut self, mut live: Live, now: Time, last: Time) {
        self.flush(&mut live, now, true);
        let note = "the program started another one in its place (exec), which used the ring anew: what was not copied \
                    before is lost";
        let lost = loss(&live.stream.name, LossKind::Unwritten, now.since(last), note);
        self.shared.lost(Loss { from: Some(last), to: Some(now), ..lost });
        let writer = live.opened_by.take().or_else(|| (live.pid != 0).then(|| self.writer(live.pid)));
        self.coming.push(Coming { name: live.name, file: live.ring.file, since: now, writer });
    }

    fn flush(&self, live: &mut Live, now: Time, all: bool) {
        if let Some(pen) = &self.pen {
            live.stream.flush(pen, now, all);
            self.shared.set_written(pen.written_bytes());
        }
    }

    fn slow_round(&mut self, now: Time) {
        self.next_slow = now.plus(SLOW_PERIOD_NS);
        for mut live in std::mem::take(&mut self.live) {
            let fate = self.fate(&live, false);
            if fate == Fate::GoesOn {
                let _ = live.ring.copy_names(&mut live.stream, now, false);
                self.live.push(live);
            } else {
                self.close(live, fate, now);
            }
        }
    }

    /// The fate of a ring. Whether its process runs another program needs a closer look.
    fn fate(&self, live: &Live, closer: bool) -> Fate {
        // In this order: a process removes its file before it ends.
        let gone = live.process.as_ref().is_some_and(is_ready);
        let Ok(found) = live.ring.file.metadata() else { return Fate::Left };
        if found.nlink() == 0 {
            return Fate::Ended;
        }
        let mapped = || mapped_by(&self.config.host, live.pid).iter().any(|mapped| mapped.inode == found.ino());
        if gone || (closer && live.pid != 0 && !mapped()) { Fate::Left } else { Fate::GoesOn }
    }

    /// Takes the last words of a ring. A file that its process left in the recorder's
    /// own folder is removed.
    fn close(&self, mut live: Live, fate: Fate, now: Time) {
        // A program started by exec may have restarted the ring: its words are not these.
        let _ = live.ring.copy(&mut live.stream, now);
        let _ = live.ring.copy_names(&mut live.stream, now, true);
        if fate == Fate::Ended {
            live.stream.end(now);
        }
        self.flush(&mut live, now, true);
        if let (Fate::Left, Some((folder, true))) = (fate, &self.config.watched) {
            place::remove_if_same(folder, &live.name, &live.ring.file);
        }
    }

    fn end(&mut self) {
        let now = clock::monotonic();
        self.take_notices(now);
        self.look_at_coming(now);
        self.round(now);
        self.look_at_coming(now);
        for live in std::mem::take(&mut self.live) {
            let fate = self.fate(&live, true);
            self.close(live, fate, now);
        }
        self.report_missed();
        if let Some(pen) = self.pen.take() {
            self.shared.set_written(pen.finish());
        }
    }

    fn report_missed(&self) {
        let count = self.missed.len() as u64;
        if count == 0 {
            return;
        }
        let note = format!("{count} processes of OCaml programs ended before their rings could be opened");
        self.shared.lost(loss("rings", LossKind::SourceMissing, count, note));
    }
}

/// When a ring of `ring` words has to be copied again, given `words` words in `elapsed`.
pub(super) fn period_for(ring: u64, words: u64, elapsed: u64) -> u64 {
    let by_rate = (u128::from(elapsed) * u128::from(ring / FILL_SHARE) / u128::from(words.max(1))).try_into();
    by_rate.unwrap_or(u64::MAX).min(ring.saturating_mul(WORD_NS))
}

/// Whether a ring of `ring` words fills soon at the rate of `words` in `elapsed`.
fn fills_soon(ring: u64, words: u64, elapsed: u64) -> bool {
    u128::from(words) * u128::from(FILL_SOON_NS) > u128::from(ring) * u128::from(elapsed)
}

pub(super) fn ready(file: &File) -> Option<Judged> {
    let length = file.metadata().ok()?.len();
    if length < METADATA as u64 {
        return Some(Judged::NotYet);
    }
    let mut metadata = [0; METADATA];
    file.read_exact_at(&mut metadata, 0).ok()?;
    Some(RingLayout::of(&metadata, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_come_before_rings_are_full() {
        // 11 million words a second, as at 115,000 collections: an eighth of 2^20 words.
        let period = period_for(1 << 20, 110_000, 10_000_000);
        assert!((11_000_000..12_500_000).contains(&period), "{period}");
        // A quiet ring is copied before the fastest program could fill it.
        assert_eq!(period_for(1 << 16, 0, 10_000_000), 65_536 * WORD_NS);
        assert!(period_for(1 << 24, 0, 10_000_000) > PERIOD_MAX_NS);
        assert!(fills_soon(1 << 20, 110_000, 10_000_000) && !fills_soon(1 << 20, 20_000, 10_000_000));
    }
}
