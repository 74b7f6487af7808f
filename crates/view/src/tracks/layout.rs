//! The groups and names of tracks. Owns the order, from the top: pauses, memory, the program's own values, each lane
//! with the threads that served it, other threads, the machine.

use super::details::NameSource;
use super::sheet::{CounterKey, Key};
use super::{Tracks, draw_thread};
use crate::session::{AccountTrack, AccountTracks, Form, MEMORY, PAUSES, SessionParts, Track, TrackGroup, WAITED_FOR};
use rtscope_analyze::results::Results;
use rtscope_analyze::{AccountPart, path_of};
use rtscope_levels::Writer;
use rtscope_model::{Account, LaneId, Names, RuntimeInfo, Tid, units};
use rtscope_report::kinds::SpanKind;
use std::collections::BTreeMap;
use std::io::{self, Write};

impl<W: Write + Send + 'static> Tracks<W> {
    /// Ends all tracks. Returns the writer, which the caller has to finish, and what the tracks add to the session.
    /// `results` and `names` are what the analysis found.
    ///
    /// # Errors
    /// The first write error.
    pub fn finish(mut self, results: &Results, names: &Names) -> io::Result<(Writer<W>, SessionParts)> {
        let end = results.started.plus(results.span_ns);
        let (sheet, details) = (&mut self.sheet, &mut self.details);
        if let Some(threads) = &mut self.threads {
            threads.finish(end, &mut |tid, line| draw_thread(sheet, details, names, tid, &line));
        }
        // The name was looked up when the span began.
        self.own.finish(end, &mut |lane, line| {
            let detail = details.name(NameSource::User, line.state, || "");
            sheet.span(Key::OwnSpans(lane), line.from, line.to, SpanKind::Own.id(), detail);
        });
        self.concurrent.finish(end, &mut |line| sheet.span(Key::Concurrent, line.from, line.to, line.state, 0));
        grouped(self, results, names)
    }
}

/// Threads of a lane that are shown with it. OCaml gives a lane new threads with each domain that is started in the
/// place of one that has ended.
const THREADS_SHOWN: usize = 3;
/// More threads that serve no lane are folded, where there are lanes.
const OTHERS_SHOWN: usize = 8;

/// Sorts tracks into groups.
fn grouped<W: Write + Send + 'static>(
    tracks: Tracks<W>,
    results: &Results,
    names: &Names,
) -> io::Result<(Writer<W>, SessionParts)> {
    let missing = missing(&tracks);
    let of = |(key, _)| lane_of(&tracks, results, key);
    let lanes_of: BTreeMap<Tid, LaneId> = tracks.sheet.tracks().filter_map(of).collect();
    let mut shelf = Shelf { program: kernel_name(results), ..Shelf::default() };
    for (key, id) in tracks.sheet.tracks() {
        shelf.put(&tracks, key, id, &lanes_of);
    }
    let mut groups = shelf.groups(results, &tracks);
    let account = account(&tracks, results, names);
    let kinds = tracks.sheet.kinds().map(rtscope_report::kinds::described).collect();
    let Tracks { sheet, details, .. } = tracks;
    let writer = sheet.pen.finish()?;
    groups.iter_mut().flat_map(|group| &mut group.tracks).for_each(|track| track.top = writer.top());
    Ok((writer, SessionParts { kinds, groups, details: details.strings(), account, missing }))
}

/// The program's name as the kernel keeps it: without folders, and 15 bytes at most.
fn kernel_name(results: &Results) -> String {
    let command = results.program.as_ref().and_then(|program| program.command.first());
    let name = command.and_then(|path| path.rsplit('/').next()).unwrap_or("");
    name.get(..15).unwrap_or(name).to_owned()
}

/// What a thread's name says beyond the program's: nothing where it never named itself, "w" of "program:w".
fn own_name<'n>(name: &'n str, program: &str) -> &'n str {
    match name.rsplit_once(':') {
        _ if name == program => "",
        Some((before, own)) if !before.is_empty() && program.starts_with(before) => own,
        _ => name,
    }
}

/// The tracks of lane time, and what their kinds stand for.
fn account<W: Write + Send + 'static>(tracks: &Tracks<W>, results: &Results, names: &Names) -> AccountTracks {
    // The parts were drawn before it was known that the kernel's events do not fit the log.
    let void = results.account.as_ref().is_some_and(Account::lacks_kernel);
    let of = |part: &AccountPart| path_of(if void { part.without_kernel() } else { *part }, names);
    let mut numbered: Vec<_> = tracks.parts.iter().map(|(part, number)| (*number, of(part))).collect();
    numbered.sort_by_key(|(number, _)| *number);
    let track = |(key, id): (Key, u32)| {
        let Key::Account(_, top) = key else { return None };
        let part = tracks.parts.keys().find(|part| part.top() == top)?;
        Some(AccountTrack { id, top: of(part).into_iter().next()? })
    };
    AccountTracks {
        tracks: tracks.sheet.tracks().filter_map(track).collect(),
        lanes: results.account.as_ref().map_or(0, |account| account.lanes.len()),
        parts: numbered.into_iter().map(|(_, path)| path).collect(),
    }
}

/// The lane that a thread served most in pauses; else the only lane that lists the thread.
fn lane_of<W>(tracks: &Tracks<W>, results: &Results, key: Key) -> Option<(Tid, LaneId)> {
    let Key::Thread(tid) = key else { return None };
    let most = |lanes: &BTreeMap<LaneId, u64>| lanes.iter().max_by_key(|(_, count)| **count).map(|(lane, _)| *lane);
    if let Some(lane) = tracks.served.get(&tid).and_then(most) {
        return Some((tid, lane));
    }
    let mut has = results
        .lanes
        .iter()
        .filter(|lane| lane.tids.contains(&tid.0) || lane.threads.iter().any(|thread| thread.tid == tid.0));
    match (has.next(), has.next()) {
        (Some(lane), None) => Some((tid, LaneId(lane.id))),
        _ => None,
    }
}

fn missing<W: Write + Send + 'static>(tracks: &Tracks<W>) -> Vec<String> {
    let mut missing = Vec::new();
    let RuntimeInfo { name, lane: (lane, lanes), posts, .. } = tracks.runtime;
    if tracks.runtime.posts.runs && tracks.lanes && !tracks.runs {
        missing.push(format!(
            "the log has no runs of threads: that a {lane} has nothing to do cannot be distinguished from the program's work (record with \
             `--detail full`)"
        ));
    }
    if tracks.runtime.is_known() && !posts.idle {
        missing.push(format!("{name} does not say when a {lane} waits in the system: that looks like the program"));
    }
    if tracks.not_shown {
        missing.push("the log's clock could not be joined to the kernel's: threads and samples are not shown".into());
    }
    if tracks.sheet.too_many || tracks.threads.as_ref().is_some_and(|threads| threads.too_many()) {
        missing.push(format!("there are more threads or {lanes} than are shown"));
    }
    missing
}

/// Tracks of one lane, by what they show.
#[derive(Default)]
struct OfLane {
    own: Vec<Track>,
    /// Tracks of threads, with how often each served a lane.
    threads: Vec<(u64, Track)>,
}

#[derive(Default)]
struct Shelf {
    /// What the kernel calls the program.
    program: String,
    above: Vec<Track>,
    memory: Vec<Track>,
    own_values: Vec<Track>,
    lanes: BTreeMap<LaneId, OfLane>,
    others: Vec<Track>,
    machine: Vec<Track>,
}

impl Shelf {
    fn lane(&mut self, lane: LaneId) -> &mut OfLane {
        self.lanes.entry(lane).or_default()
    }

    fn put<W>(&mut self, tracks: &Tracks<W>, key: Key, id: u32, lanes_of: &BTreeMap<Tid, LaneId>) {
        let track =
            |name: String, form, unit: Option<&str>| Track { id, name, form, unit: unit.map(Into::into), top: 0 };
        let spans = |name: &str| track(name.into(), Form::Spans, None);
        match key {
            Key::Pauses => self.above.push(spans("pauses")),
            Key::Account(..) => {}
            Key::Causes => self.above.push(spans(WAITED_FOR)),
            Key::Concurrent => self.above.push(spans("concurrent collector")),
            Key::Line(line) => {
                let (name, unit) = line_name(tracks, line);
                let machine =
                    matches!(line, CounterKey::GroupMemory(_) | CounterKey::Throttled(_) | CounterKey::Stolen(_));
                let place = if machine { &mut self.machine } else { &mut self.memory };
                place.push(track(name, Form::Values, Some(unit)));
            }
            Key::Lane(lane) => self.lane(lane).own.push(spans("what it does")),
            Key::OwnSpans(lane) => self.lane(lane).own.push(spans("the program's own spans")),
            Key::Marks(lane) => self.lane(lane).own.push(track("marks".into(), Form::Marks, None)),
            Key::Thread(tid) => {
                let name = tracks.names.get(&tid).map_or("", |(_, name)| own_name(name, &self.program));
                let track = spans(format!("thread {tid} {name}").trim_end());
                match lanes_of.get(&tid) {
                    Some(lane) => {
                        let often = tracks.served.get(&tid).map_or(0, |lanes| lanes.values().sum());
                        self.lane(*lane).threads.push((often, track));
                    }
                    None => self.others.push(track),
                }
            }
            Key::OwnValue(name) => {
                let called = tracks.own_values.get(&name).cloned().unwrap_or_default();
                self.own_values.push(track(called, Form::Values, None));
            }
        }
    }

    fn groups<W>(self, results: &Results, tracks: &Tracks<W>) -> Vec<TrackGroup> {
        let group = |name: String, tracks: Vec<Track>| TrackGroup { name, sub: None, tracks, folded: false };
        let noun = tracks.runtime.lane.0;
        let known =
            |lane: LaneId| results.lanes.iter().find(|known| known.id == lane.0).map(|known| known.name.clone());
        let lanes = self.lanes.into_iter().flat_map(|(lane, mut of)| {
            let name = match lane.is_some() {
                true => known(lane).unwrap_or_else(|| format!("{noun} {lane}")),
                false => "the program".into(),
            };
            // The thread that served it most is next to it.
            of.threads.sort_by_key(|(often, _)| std::cmp::Reverse(*often));
            let mut threads: Vec<Track> = of.threads.into_iter().map(|(_, track)| track).collect();
            let more = threads.split_off(threads.len().min(THREADS_SHOWN));
            let rest = (!more.is_empty()).then(|| {
                let many = units::counted(more.len() as u64, "more thread", "more threads");
                TrackGroup { folded: true, ..group(format!("{name}, {many}"), more) }
            });
            [group(name, of.own.into_iter().chain(threads).collect())].into_iter().chain(rest)
        });
        let mut groups = vec![
            group(PAUSES.into(), self.above),
            group(MEMORY.into(), self.memory),
            group("Own values".into(), self.own_values),
        ];
        groups.extend(lanes);
        let others = if groups.len() > 3 { "Other threads" } else { "Threads" };
        // Its first row shows the group's name, so the track's own name is shown next to that.
        let sub = self.others.first().map(|track| track.name.trim_start_matches("thread ").to_owned());
        let folded = groups.len() > 3 && self.others.len() > OTHERS_SHOWN;
        groups.push(TrackGroup { sub, folded, ..group(others.into(), self.others) });
        groups.push(group("Machine".into(), self.machine));
        groups.retain(|group| !group.tracks.is_empty());
        groups
    }
}

fn line_name<W>(tracks: &Tracks<W>, line: CounterKey) -> (String, &'static str) {
    let of_group = |group: rtscope_model::GroupId| {
        tracks.groups.get(usize::from(group.0)).map_or_else(|| group.to_string(), |group| group.path.clone())
    };
    match line {
        CounterKey::Resident => ("resident".into(), "bytes"),
        CounterKey::Heap => ("heap held".into(), "bytes"),
        CounterKey::Blocks => ("blocks".into(), "bytes"),
        CounterKey::Live => ("live".into(), "bytes"),
        CounterKey::Large => ("large blocks".into(), "bytes"),
        CounterKey::Copied => ("copied by collections".into(), "bytes"),
        CounterKey::GroupMemory(group) => (format!("memory of {}", of_group(group)), "bytes"),
        CounterKey::Throttled(group) => (format!("throttled, {}", of_group(group)), "ns"),
        CounterKey::Stolen(cpu) => (format!("taken by the host, CPU {cpu}"), "ns"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_programs_own_name_is_not_repeated() {
        let own = |name| own_name(name, "oversubscribed");
        assert_eq!(
            [own("oversubscribed"), own("oversubscribe:w"), own("ghc_ticker"), own(":x")],
            ["", "w", "ghc_ticker", ":x"]
        );
    }
}
