//! `waits.jsonl`: what threads of the program waited for, one JSON object per look. Written and read here, so that the
//! format is defined once. `t` is nanoseconds of `CLOCK_MONOTONIC`, `p` the process; one more key says what was found:
//!
//! | key | value |
//! |---|---|
//! | `w` | `[threads, awake, left_out, [group, …]]` |
//! | `o` | `[bytes, thunk_bytes, [[number, bytes], …]]`: a sample of old objects; the unevaluated thunks among them, and the places that make most of them |
//! | `m` | threads created since the program began |
//! | `x` | `[number, text]`: a thread or a place; a later text of a number replaces the one before |
//! | `no` | why there are no looks from now on |
//! | `missed` | looks without result since the last line |
//!
//! A group is `[kind, count, object, place, holder, doing, at, callee, at_callee]`: a word of [`WaitKind`]; the
//! number of threads; an address or null; a text's number or null; the holder's text or null; the word for what the
//! holder does; the text of the place where it does that, or null; the text of the foreign function that the place
//! called, or null; and that of the function that the holder's place called. The last two are missing in older files.
//! Unknown keys are skipped. The file is append-only and may be truncated anywhere.

use super::lines::{self, Damaged, JsonLines, OfLine};
use rtscope_model::{Doing, Holder, OldObjects, TextId, Time, WaitGroup, WaitKind, WaitLine, WaitLook, WaitSeen};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Limit of groups in one look.
pub const GROUPS_MAX: usize = 256;
/// Limit of a text, in bytes.
pub const TEXT_MAX: usize = 512;

/// Appends one line. The caller limits a look to [`GROUPS_MAX`] groups.
pub fn write_line(out: &mut Vec<u8>, line: &WaitLine) {
    let mut written = WrittenWait { t: line.time.0, p: line.pid, ..WrittenWait::default() };
    match &line.seen {
        WaitSeen::Look(look) => {
            let groups = look.groups.iter().take(GROUPS_MAX).map(WrittenGroup::from).collect();
            written.w = Some((look.threads, look.awake, look.left_out, groups));
        }
        WaitSeen::Old(old) => written.o = Some((old.bytes, old.thunk_bytes, Cow::Borrowed(&old.thunks))),
        WaitSeen::Made(made) => written.m = Some(*made),
        WaitSeen::Text(number, text) => written.x = Some((*number, Cow::Borrowed(cut(text)))),
        WaitSeen::Not(why) => written.no = Some(Cow::Borrowed(cut(why))),
        WaitSeen::Missed(count) => written.missed = Some(*count),
    }
    lines::write(out, &written);
}

fn cut(text: &str) -> &str {
    let fits = (0..=TEXT_MAX.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    fits.and_then(|end| text.get(..end)).unwrap_or_default()
}

/// Places that make thunks, with the bytes of each.
type Thunks<'t> = Cow<'t, [(TextId, u64)]>;

#[derive(Default, Serialize, Deserialize)]
struct WrittenWait<'t> {
    t: u64,
    p: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    w: Option<(u32, u32, u32, Vec<WrittenGroup<'t>>)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    o: Option<(u64, u64, Thunks<'t>)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    m: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    x: Option<(TextId, Cow<'t, str>)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    no: Option<Cow<'t, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    missed: Option<u32>,
}

/// A group, as described in the module documentation.
#[derive(Serialize, Deserialize)]
struct WrittenGroup<'t>(
    Cow<'t, str>,
    u32,
    Option<u64>,
    Option<TextId>,
    Option<TextId>,
    Option<Cow<'t, str>>,
    Option<TextId>,
    #[serde(default)] Option<TextId>,
    #[serde(default)] Option<TextId>,
);

impl From<&WaitGroup> for WrittenGroup<'static> {
    fn from(group: &WaitGroup) -> Self {
        let holder = group.holder;
        let doing = holder.map(|holder| Cow::Borrowed(holder.doing.word()));
        let kind = Cow::Borrowed(group.kind.word());
        let (at, called) = (holder.and_then(|holder| holder.place), holder.and_then(|holder| holder.callee));
        let thread = holder.map(|holder| holder.thread);
        WrittenGroup(kind, group.count, group.object, group.place, thread, doing, at, group.callee, called)
    }
}

impl WrittenGroup<'_> {
    /// A kind that only a later recorder knows becomes unknown.
    fn read(self) -> WaitGroup {
        let WrittenGroup(kind, count, object, place, thread, doing, at, callee, called) = self;
        let doing = doing.and_then(|doing| Doing::of(&doing)).unwrap_or_default();
        let holder = thread.map(|thread| Holder { thread, doing, place: at, callee: called });
        WaitGroup { kind: WaitKind::of(&kind).unwrap_or_default(), object, holder, place, callee, count }
    }
}

impl WrittenWait<'_> {
    /// The content of the line; `None`: something that a later recorder writes.
    fn seen(self) -> Result<Option<WaitSeen>, Damaged> {
        if let Some((threads, awake, left_out, groups)) = self.w {
            if groups.len() > GROUPS_MAX {
                return Err(Damaged);
            }
            let groups = groups.into_iter().map(WrittenGroup::read).collect();
            return Ok(Some(WaitSeen::Look(WaitLook { groups, threads, awake, left_out })));
        }
        if let Some((bytes, thunk_bytes, thunks)) = self.o {
            let thunks = thunks.into_owned();
            return Ok(Some(WaitSeen::Old(OldObjects { bytes, thunk_bytes, thunks })));
        }
        let text = self.x.map(|(number, text)| WaitSeen::Text(number, text.into_owned()));
        let not = self.no.map(|why| WaitSeen::Not(why.into_owned()));
        Ok(text.or(not).or(self.m.map(WaitSeen::Made)).or(self.missed.map(WaitSeen::Missed)))
    }
}

/// The lines of `waits.jsonl`.
pub type WaitStream<R> = JsonLines<R, WaitLine>;

impl OfLine for WaitLine {
    const FILE: &'static str = "waits";
    /// [`GROUPS_MAX`] groups take less.
    const BYTES_MAX: u64 = 64 << 10;

    fn of_line(line: &[u8]) -> Result<Option<Self>, Damaged> {
        let line: WrittenWait<'_> = serde_json::from_slice(line)?;
        let (time, pid) = (Time(line.t), line.p);
        Ok(line.seen()?.map(|seen| WaitLine { time, pid, seen }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<WaitLine> {
        let holder = Holder { thread: 7, doing: Doing::Waits(WaitKind::ForeignCall), place: Some(3), callee: Some(4) };
        let held = WaitGroup {
            kind: WaitKind::Lock,
            object: Some(u64::MAX),
            holder: Some(holder),
            place: Some(2),
            callee: None,
            count: 18,
        };
        let groups = vec![held, WaitGroup { kind: WaitKind::Time, count: 1, callee: Some(5), ..WaitGroup::default() }];
        let seen = [
            WaitSeen::Text(2, "Desk.\"withDesk\" ü\n".into()),
            WaitSeen::Look(WaitLook { groups, threads: 21, awake: 2, left_out: 0 }),
            WaitSeen::Old(OldObjects { bytes: 900, thunk_bytes: 400, thunks: vec![(2, 300), (7, u64::MAX)] }),
            WaitSeen::Made(u64::MAX),
            WaitSeen::Missed(3),
            WaitSeen::Not("gone".into()),
        ];
        let line = |(index, seen)| WaitLine { time: Time(index as u64), pid: 12, seen };
        seen.into_iter().enumerate().map(line).collect()
    }

    fn written() -> Vec<u8> {
        let mut bytes = Vec::new();
        all().iter().for_each(|line| write_line(&mut bytes, line));
        bytes
    }

    #[test]
    fn what_is_written_is_read() {
        let bytes = written();
        let mut stream = WaitStream::new(&bytes[..]);
        assert_eq!(stream.by_ref().collect::<Vec<_>>(), all());
        assert!(stream.losses().is_empty());
    }

    #[test]
    fn a_cut_at_every_byte_gives_the_lines_before_it() {
        let bytes = written();
        for end in 0..bytes.len() {
            let mut stream = WaitStream::new(&bytes[..end]);
            let whole = bytes[..end].iter().filter(|byte| **byte == b'\n').count();
            let read = stream.by_ref().count();
            assert!(read == whole || (read == whole + 1 && bytes[end] == b'\n'), "{end}");
            assert!(stream.losses().is_empty());
        }
    }

    #[test]
    fn damage_is_counted_and_what_is_new_is_skipped_or_unknown() {
        let mut bytes = b"{\"t\":1,\"p\":2,\"missed\":3}\n\xff\n{\"t\":1,\"p\":2,\"new\":[]}\n\n".to_vec();
        bytes.extend(b"{\"t\":1,\"p\":2,\"w\":[1,1]}\n");
        bytes.extend(b"{\"t\":5,\"p\":2,\"w\":[4,1,0,[[\"tea\",3,null,null,1,\"naps\",null]]]}\n");
        let mut stream = WaitStream::new(&bytes[..]);
        let read: Vec<_> = stream.by_ref().map(|line| line.seen).collect();
        let holder = Some(Holder { thread: 1, doing: Doing::Unknown, place: None, callee: None });
        let group = WaitGroup { holder, count: 3, ..WaitGroup::default() };
        let look = WaitLook { groups: vec![group], threads: 4, awake: 1, left_out: 0 };
        assert_eq!(read, [WaitSeen::Missed(3), WaitSeen::Look(look)]);
        assert_eq!(stream.losses().first().map(|loss| loss.count), Some(2));
    }

    #[test]
    fn more_groups_than_a_look_has_are_damage_and_the_largest_look_fits_a_line() {
        let numbers = Some(TextId::MAX);
        let group =
            WaitGroup { object: Some(u64::MAX), place: numbers, callee: numbers, count: u32::MAX, ..all_lock() };
        let look =
            |count| WaitLook { groups: vec![group; count], threads: u32::MAX, awake: u32::MAX, left_out: u32::MAX };
        let mut bytes = Vec::new();
        let line = WaitLine { time: Time(u64::MAX), pid: u32::MAX, seen: WaitSeen::Look(look(GROUPS_MAX + 9)) };
        write_line(&mut bytes, &line);
        assert!((bytes.len() as u64) < WaitLine::BYTES_MAX, "{}", bytes.len());
        let read: Vec<_> = WaitStream::new(&bytes[..]).map(|line| line.seen).collect();
        assert_eq!(read, [WaitSeen::Look(look(GROUPS_MAX))]);
        let many = String::from_utf8(bytes).unwrap().replacen("[[", "[[\"lock\",1,null,null,null,null,null],[", 1);
        let mut stream = WaitStream::new(many.as_bytes());
        assert_eq!((stream.next(), stream.losses().len()), (None, 1));
    }

    fn all_lock() -> WaitGroup {
        let (doing, number) = (Doing::Waits(WaitKind::RuntimeLock), Some(TextId::MAX));
        let holder = Holder { thread: TextId::MAX, doing, place: number, callee: number };
        WaitGroup { kind: WaitKind::RuntimeLock, holder: Some(holder), ..WaitGroup::default() }
    }
}
