//! How much room a capture may take: a maximum size, and a share of the disk that stays free. Owns when this is
//! checked and what is reported when the room is used up; refuses to delete anything.

use crate::capture::folder::Folder;
use rtscope_model::{Time, units};
use rustix::fs::FileType;

/// Default share of the disk that stays free, in per cent.
const KEEP_PERCENT: u8 = 5;
/// Bytes written after the end: names of code, the rings' contents, the last manifest.
const LAST_BYTES: u64 = 1 << 20;
/// Time between two checks, in nanoseconds; never shorter than their cost allows.
const LOOK_MIN_NS: u64 = 10_000_000;
const LOOK_MAX_NS: u64 = 500_000_000;
const LOOK_REST: u64 = 50;
/// How late a check may be when CPUs are busy: the capture's growth in that time does not count
/// as room.
const LATE_NS: u64 = 50_000_000;
/// How fast a log that has not grown yet may suddenly grow: a runtime writes buffers of megabytes.
const BYTES_PER_SECOND: u64 = 256 << 20;

/// The bounds of a capture.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Default)]
pub struct Bounds {
    /// Maximum size in bytes.
    pub max_bytes: Option<u64>,
    /// Per cent of the disk that stay free; `None`: five, or half of what is free if that is less.
    pub keep_percent: Option<u8>,
}

#[derive(Debug)]
pub(super) struct Room {
    folder: Folder,
    max_bytes: Option<u64>,
    keep_bytes: u64,
    /// Time of the next check.
    pub next: Time,
    last: Option<(Time, u64)>,
}

/// Why there is no room.
#[derive(Clone, Eq, PartialEq, Debug)]
pub(super) struct Full(pub String);

impl Room {
    /// The room of the capture `folder`, with a sentence if less
    /// stays free than requested. Errors: there is no room at all.
    pub(super) fn of(folder: &Folder, bounds: Bounds) -> Result<(Room, Option<String>), Full> {
        let (total, free) = folder.disk().unwrap_or((0, u64::MAX));
        let keep = |percent: u8| total / 100 * u64::from(percent);
        let mut note = None;
        let keep_bytes = match bounds.keep_percent {
            Some(percent) if free <= keep(percent).saturating_add(LAST_BYTES) && percent > 0 => {
                return Err(Full(format!(
                    "only {} are free where the capture is written, and {percent} % of the disk ({}) are to stay free; \
                     choose another place with -o or a smaller --keep-free",
                    units::bytes(free),
                    units::bytes(keep(percent))
                )));
            }
            Some(percent) => keep(percent),
            None if keep(KEEP_PERCENT) < free / 2 => keep(KEEP_PERCENT),
            None => {
                note = Some(format!(
                    "only {} are free where the capture is written: the recording ends when half of that is left; choose \
                     another place with -o, or the share that stays free with --keep-free",
                    units::bytes(free)
                ));
                free / 2
            }
        };
        let (folder, max_bytes) = (folder.clone(), bounds.max_bytes);
        Ok((Room { folder, max_bytes, keep_bytes, next: Time(0), last: None }, note))
    }

    /// Checks the room, and schedules the next check before the rest can be used up.
    pub(super) fn look(&mut self, now: Time) -> Result<(), Full> {
        let before = crate::system::clock::monotonic();
        let free = self.folder.disk().map_or(u64::MAX, |(_, free)| free).saturating_sub(self.keep_bytes);
        let size = self.max_bytes.map_or(0, |_| size(&self.folder));
        let left = self.max_bytes.map_or(u64::MAX, |max| max.saturating_sub(size)).min(free);
        let ahead = self.ahead(now, left);
        let cost_ns = crate::system::clock::monotonic().since(before);
        self.next = now.plus(self.pause_ns(now, left).max(cost_ns.saturating_mul(LOOK_REST)));
        self.last = Some((now, left));
        match self.max_bytes {
            Some(max) if size.saturating_add(LAST_BYTES.min(max / 8)).saturating_add(ahead) >= max => {
                Err(Full(format!("the capture has reached {} (--max-size)", units::bytes(max))))
            }
            _ if free <= ahead => Err(Full(format!(
                "the disk is full up to the {} that stay free (--keep-free)",
                units::bytes(self.keep_bytes)
            ))),
            _ => Ok(()),
        }
    }

    /// Bytes that may still be written.
    pub(super) fn left(&self) -> u64 {
        self.last.map_or(u64::MAX, |(_, left)| left)
    }

    /// Bytes by which the capture grows while a check is late, at the rate since the last one.
    fn ahead(&self, now: Time, left: u64) -> u64 {
        let Some((before, had)) = self.last else { return 0 };
        let passed = now.since(before).max(LOOK_MIN_NS);
        let ahead = u128::from(had.saturating_sub(left)) * u128::from(LATE_NS) / u128::from(passed);
        u64::try_from(ahead).unwrap_or(u64::MAX)
    }

    fn pause_ns(&self, now: Time, left: u64) -> u64 {
        let Some((before, had)) = self.last else { return LOOK_MIN_NS };
        let used = u128::from(had.saturating_sub(left)).max(1);
        // At twice the rate so far, half of what is left would be used.
        let pause = u128::from(now.since(before)) * u128::from(left) / used / 4;
        let pause = pause.min(u128::from(left) * 1_000_000_000 / u128::from(BYTES_PER_SECOND));
        u64::try_from(pause).unwrap_or(u64::MAX).clamp(LOOK_MIN_NS, LOOK_MAX_NS)
    }
}

/// The disk space that a capture's files take.
pub(super) fn size(capture: &Folder) -> u64 {
    size_below(capture, 2)
}

/// The disk space that the files of a folder take, down to `deep` levels of sub-folders.
fn size_below(folder: &Folder, deep: u8) -> u64 {
    let entry = |name: std::ffi::OsString| -> Option<u64> {
        let found = folder.look_at(&name).ok()?;
        Some(match FileType::from_raw_mode(found.st_mode) {
            FileType::Directory if deep > 0 => size_below(&folder.folder(&name).ok()?, deep - 1),
            FileType::Directory => 0,
            _ => u64::try_from(found.st_blocks).unwrap_or(0).saturating_mul(512),
        })
    };
    folder.names().map_or(0, |names| names.into_iter().filter_map(entry).fold(0, u64::saturating_add))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    #[test]
    fn a_size_is_met_with_what_lies_in_folders() {
        let folder = tempfile::tempdir().unwrap();
        let bounds = Bounds { max_bytes: Some(8 << 20), keep_percent: Some(0) };
        let (mut room, note) = Room::of(&Folder::open(folder.path()).unwrap(), bounds).unwrap();
        assert_eq!(note, None);
        assert_eq!(room.look(Time(1)), Ok(()));
        fs::create_dir_all(folder.path().join("rings/live")).unwrap();
        fs::write(folder.path().join("rings/live/1.events"), vec![1; 4 << 20]).unwrap();
        assert_eq!(room.look(Time(1_000_000_001)), Ok(()));
        assert!(room.left() <= 4 << 20);
        fs::write(folder.path().join("samples.jsonl"), vec![1; 3 << 20]).unwrap();
        assert_eq!(room.look(Time(2_000_000_001)), Err(Full("the capture has reached 8.0 MiB (--max-size)".into())));
    }

    /// 2 MiB in 20 ms are 5 MiB in 50 ms: the 4 that are left may be gone before the next check.
    #[test]
    fn what_grows_fast_ends_before_its_room_does() {
        let folder = tempfile::tempdir().unwrap();
        let bounds = Bounds { max_bytes: Some(8 << 20), keep_percent: Some(0) };
        let (mut room, _) = Room::of(&Folder::open(folder.path()).unwrap(), bounds).unwrap();
        fs::write(folder.path().join("a"), vec![1; 2 << 20]).unwrap();
        assert_eq!(room.look(Time(1)), Ok(()));
        fs::write(folder.path().join("b"), vec![1; 2 << 20]).unwrap();
        assert!(room.look(Time(20_000_001)).is_err());
    }

    #[test]
    fn what_cannot_be_kept_free_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let refused =
            Room::of(&Folder::open(folder.path()).unwrap(), Bounds { keep_percent: Some(100), max_bytes: None })
                .unwrap_err();
        assert!(refused.0.contains("-o"), "{refused:?}");
        assert!(Room::of(&Folder::open(folder.path()).unwrap(), Bounds::default()).is_ok());
    }

    #[test]
    fn the_faster_it_grows_the_sooner_it_is_looked_at() {
        let room = Room {
            folder: Folder::open(Path::new("/")).unwrap(),
            max_bytes: None,
            keep_bytes: 0,
            next: Time(0),
            last: None,
        };
        assert_eq!(room.pause_ns(Time(0), 5), LOOK_MIN_NS);
        let room = Room { last: Some((Time(0), 1000 << 20)), ..room };
        // 100 MiB in 100 ms: 900 MiB last 900 ms.
        assert_eq!(room.pause_ns(Time(100_000_000), 900 << 20) / 1_000_000, 225);
        assert_eq!(room.pause_ns(Time(100_000_000), 1000 << 20), LOOK_MAX_NS);
        let room = Room { last: Some((Time(0), 16 << 20)), ..room };
        assert_eq!(room.pause_ns(Time(100_000_000), 16 << 20) / 1_000_000, 62);
    }
}
