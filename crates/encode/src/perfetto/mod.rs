//! A recording as a trace in Perfetto's own format: a stream of protocol buffer packets.
//!
//! Owns the tracks (`TrackDescriptor`), their spans, marks and lines (`TrackEvent`), and names, which are written
//! once and then referred to. Scheduling is in `sched`, code samples are in `code`, the wire format is in `wire`; the
//! states of lanes come from [`crate::timeline`]. `docs/guide/exporting.md` lists what the format cannot express.

mod code;
mod field;
mod sched;
mod sequence;
mod wire;

use crate::timeline::fact::{About, Fact};
use crate::timeline::pause::{self, Edge, Key, What};
use crate::timeline::state::FIXED;
use crate::timeline::threads::Threads;
use crate::timeline::{Closed, Line, Mark, Sink, State, Timeline, Track, Unit};
use crate::{Export, Tables, program};
use field::{PACKET, annotation, clock, event, interned, packet, system, track, tree};
use rtscope_analyze::basis::compose::Segment;
use rtscope_analyze::lanes::timeline::Doing;
use rtscope_model::{Body, CausePiece, CodeSample, Event, Exported, Found, LaneId, Loss, Names, Pause, Symbols, Time};
use sequence::{MAIN, On, PAUSE_ROLE, REFERS, SequenceIndex, Sequences, pair};
use std::collections::BTreeMap;
use std::io::{self, Write};
use wire::{Short, Wire};

/// Numbers of tracks. Those of the whole runtime come first.
const PROCESS: u64 = 1;
const PAUSES: u64 = 2;
const CONCURRENT: u64 = 3;
const LOSSES: u64 = 4;
/// Three for each lane: its states, events that the program posts, phases of the runtime.
const LANES: u64 = 16;
const LINES: u64 = LANES + (3 << 16);
/// Limit of distinct lines, so that a hostile log cannot fill memory.
const LINES_MAX: usize = 1 << 16;
/// Numbers of the names of pause parts: above those of phases, below those of the program's own names.
const PARTS: u64 = 1 << 17;
/// Limit of numbered part names; later ones are written each time.
const PARTS_MAX: usize = 1 << 16;
/// Size of the output buffer, in bytes.
const GATHERED: usize = 64 << 10;

/// Writes a Perfetto trace.
pub struct PerfettoWriter<W> {
    timeline: Timeline,
    threads: Threads,
    bundles: sched::Bundles,
    places: code::Places,
    drawn: PerfettoSink<W>,
    /// End of the last pause drawn.
    paused_until: Time,
    arrows: u64,
}

impl<W: Write> PerfettoWriter<W> {
    /// Begins a trace of the recording that `facts` describe.
    ///
    /// # Errors
    /// An error from the output.
    pub fn new(out: W, facts: &Exported) -> io::Result<PerfettoWriter<W>> {
        let mut drawn = PerfettoSink {
            out,
            wire: Wire::default(),
            sequences: Sequences::default(),
            mixed: None,
            tails: [const { None }; FIXED as usize],
            lost: false,
            parts: BTreeMap::new(),
            lines: BTreeMap::new(),
            lane_word: facts.runtime().lane.0,
            program_pid: program(facts).0,
        };
        drawn.begin(facts)?;
        Ok(PerfettoWriter {
            timeline: Timeline::new(facts),
            threads: Threads::default(),
            bundles: sched::Bundles::default(),
            places: code::Places::default(),
            drawn,
            paused_until: Time(0),
            arrows: 0,
        })
    }

    /// Returns the output.
    pub fn into_inner(self) -> W {
        self.drawn.out
    }

    /// Writes a code sample, if the timer took it.
    fn found(&mut self, at: Time, found: &CodeSample, tables: Tables<'_>) -> io::Result<()> {
        if found.what == Found::Waits {
            return Ok(());
        }
        let known = self.threads.get(found.tid.0).pid;
        let pid = if known == 0 { self.drawn.program_pid } else { known };
        self.drawn.packet(|packet| {
            packet.number(packet::TIMESTAMP, at.0);
            packet.number(packet::SEQUENCE_FLAGS, REFERS);
            self.places.fill(packet, found, pid, tables.symbols);
        });
        self.drawn.write()
    }

    /// Writes arrows from the request of a pause to each arrival that followed.
    fn arrows(&mut self, pause: &Pause) -> io::Result<()> {
        let (Some(leader), Some(requested)) = (pause.leader, pause.requested) else { return Ok(()) };
        let count = pause::arrivals(pause).count() as u64;
        if count == 0 {
            return Ok(());
        }
        let first = self.arrows + 1;
        self.arrows += count;
        let flows = first..=self.arrows;
        self.drawn.moment(Track::Lane(leader), requested, "asks all to stop", |event| {
            flows.clone().for_each(|flow| event.fixed(event::FLOW, flow));
        })?;
        pause::arrivals(pause).zip(flows).try_for_each(|((lane, at), flow)| {
            self.drawn.moment(Track::Lane(lane), at, "has stopped", |event| event.fixed(event::FLOW_END, flow))
        })
    }
}

impl<W: Write> Export for PerfettoWriter<W> {
    fn event(&mut self, event: &Event, tables: Tables<'_>) -> io::Result<()> {
        let sched = match &event.body {
            Body::Sched(sched) => sched,
            Body::Code(found) => return self.found(event.time, found, tables),
            _ => return self.timeline.push(event, tables, &mut self.drawn),
        };
        for (tid, thread) in self.threads.learn(event).into_iter().flatten() {
            self.drawn.thread(tid, thread.pid, tables.kernel.get(thread.name))?;
        }
        self.bundles.push(event.time, sched, &self.threads, tables);
        if self.bundles.is_due() {
            self.bundles.write(&mut self.drawn.wire, false);
            self.drawn.write()?;
        }
        Ok(())
    }

    fn segment(&mut self, lane: LaneId, piece: &Segment<Doing>, tables: Tables<'_>) -> io::Result<()> {
        self.timeline.segment(lane, piece, tables, &mut self.drawn)
    }

    fn pause(&mut self, pause: &Pause, causes: &[CausePiece], tables: Tables<'_>) -> io::Result<()> {
        let after = self.paused_until;
        self.paused_until = after.max(pause.released);
        pause::edges(pause, causes, after, |edge| match edge {
            Edge::Open(part) => self.drawn.part(&part, tables),
            Edge::Close(part) => {
                let on = self.drawn.pauses(part.to);
                self.drawn.known(on, part.to, FixedEvent::End)
            }
        })?;
        self.arrows(pause)
    }

    fn finish(&mut self, losses: &[Loss]) -> io::Result<()> {
        let (names, symbols) = (Names::default(), Symbols::default());
        let tables = Tables { kernel: &names, user: &names, symbols: &symbols };
        self.timeline.finish(tables, &mut self.drawn)?;
        self.bundles.write(&mut self.drawn.wire, true);
        losses.iter().try_for_each(|loss| self.drawn.loss(loss))?;
        self.drawn.flush()
    }
}

/// The output, and what has been declared in it.
struct PerfettoSink<W> {
    out: W,
    wire: Wire,
    sequences: Sequences,
    /// The sequence of tracks without one of their own: lines and losses.
    mixed: Option<SequenceIndex>,
    /// Encoded events, see [`FixedEvent`].
    tails: [Option<Short>; FIXED as usize],
    /// Whether the track of losses is declared.
    lost: bool,
    parts: BTreeMap<Key, PartName>,
    lines: BTreeMap<Line, u64>,
    lane_word: &'static str,
    program_pid: u32,
}

impl<W: Write> PerfettoSink<W> {
    /// Writes clocks, the machine, the process, and fixed names.
    fn begin(&mut self, facts: &Exported) -> io::Result<()> {
        let manifest = facts.manifest.as_ref();
        // Without a log there is only the kernel's clock.
        if let Some(manifest) = manifest.filter(|_| facts.clock.is_monotonic() || facts.family.is_none()) {
            self.packet(|packet| packet.message(packet::CLOCK_SNAPSHOT, |snapshot| clocks(snapshot, manifest)));
        }
        if let Some(machine) = manifest.map(|manifest| &manifest.machine).filter(|machine| !machine.kernel.is_empty()) {
            self.packet(|packet| {
                packet.message(packet::SYSTEM_INFO, |info| {
                    info.message(system::UTSNAME, |names| {
                        names.text(system::NAME, "Linux");
                        names.text(system::RELEASE, &machine.kernel);
                        names.text(system::MACHINE, &machine.architecture);
                    });
                });
            });
        }
        let (pid, name) = program(facts);
        let command = manifest.map_or(facts.args.as_slice(), |manifest| manifest.command.as_slice());
        self.packet(|packet| {
            packet.number(packet::SEQUENCE_FLAGS, sequence::CLEARED);
            packet.message(packet::TRACK_DESCRIPTOR, |descriptor| {
                descriptor.number(track::UUID, PROCESS);
                descriptor.message(track::PROCESS, |process| {
                    process.number(track::PROCESS_PID, pid.into());
                    command.iter().for_each(|word| process.text(track::PROCESS_COMMAND, word));
                    process.text(track::PROCESS_NAME, name);
                });
                descriptor.number(track::CHILD_ORDER, track::EXPLICIT);
            });
        });
        facts.losses.iter().try_for_each(|loss| self.loss(loss))?;
        self.write()
    }

    fn packet(&mut self, fill: impl FnOnce(&mut Wire)) {
        self.wire.message(PACKET, |packet| {
            packet.number(packet::SEQUENCE, MAIN.number());
            fill(packet);
        });
    }

    /// Flushes the buffer, if it is full enough.
    fn write(&mut self) -> io::Result<()> {
        if self.wire.bytes().len() < GATHERED {
            return Ok(());
        }
        self.out.write_all(self.wire.bytes())?;
        self.wire.clear();
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(self.wire.bytes())?;
        self.wire.clear();
        self.out.flush()
    }

    /// Writes one event on a track, in the track's sequence.
    fn track_event(&mut self, on: On, at: Time, kind: u64, fill: impl FnOnce(&mut Wire)) -> io::Result<()> {
        let track = self.sequences.names_track(on).then_some(on.uuid);
        self.sequences.packet(on, at, &mut self.wire, |packet| event_fields(packet, track, kind, fill));
        self.write()
    }

    /// Like [`PerfettoSink::track_event`], for the most frequent events, on a track with its own sequence.
    fn known(&mut self, on: On, at: Time, what: FixedEvent) -> io::Result<()> {
        let tail = &mut self.tails[what.number()];
        if tail.is_none() {
            *tail = Short::of(&what.fields());
        }
        match *tail {
            Some(tail) => self.sequences.often(on, at, tail, &mut self.wire),
            None => self.sequences.packet(on, at, &mut self.wire, |packet| packet.append(&what.fields())),
        }
        self.write()
    }

    fn declare(&mut self, uuid: u64, parent: u64, name: &str, rank: u64, more: impl FnOnce(&mut Wire)) {
        self.packet(|packet| {
            packet.message(packet::TRACK_DESCRIPTOR, |descriptor| {
                descriptor.number(track::UUID, uuid);
                descriptor.text(track::NAME, name);
                descriptor.number(track::PARENT, parent);
                descriptor.number(track::RANK, rank);
                more(descriptor);
            });
        });
    }

    /// A track and its sequence. A new track is declared, and its sequence begins at `at`.
    fn track(&mut self, of: Track, at: Time) -> On {
        let lanes = |lane: LaneId, which| LANES + 3 * u64::from(lane.0) + which;
        let uuid = match of {
            Track::Lane(lane) => lanes(lane, 0),
            Track::User(lane) => lanes(lane, 1),
            Track::Phases(lane) => lanes(lane, 2),
            Track::Concurrent => CONCURRENT,
        };
        if let Some(on) = self.sequences.of_track(uuid) {
            return on;
        }
        let own = of.name(self.lane_word);
        let (parent, name, rank) = match of {
            Track::Lane(LaneId::NONE) => (PROCESS, own.as_str(), 8),
            Track::Lane(lane) => (PROCESS, own.as_str(), 10 + u64::from(lane.0)),
            Track::User(lane) => (self.track(Track::Lane(lane), at).uuid, "program's own events", 0),
            Track::Phases(lane) => (self.track(Track::Lane(lane), at).uuid, "runtime's phases", 1),
            Track::Concurrent => (PROCESS, own.as_str(), 9),
        };
        self.declare(uuid, parent, name, rank, |_| {});
        self.sequences.begin_track(uuid, at, &mut self.wire)
    }

    /// The track of pauses, which is declared if it is new.
    fn pauses(&mut self, at: Time) -> On {
        self.sequences.of_track(PAUSES).unwrap_or_else(|| {
            self.declare(PAUSES, PROCESS, "pauses", 1, |_| {});
            self.sequences.begin_track(PAUSES, at, &mut self.wire)
        })
    }

    /// A track that shares a sequence with others.
    fn shared(&mut self, uuid: u64, at: Time) -> On {
        let (sequences, wire) = (&mut self.sequences, &mut self.wire);
        let place = *self.mixed.get_or_insert_with(|| sequences.begin(None, at, wire));
        On { place, uuid }
    }

    /// The number of `state`'s name, which is written if it is new in the sequence.
    fn name(&mut self, place: SequenceIndex, state: State, user: &Names) -> u64 {
        let iid = state.number();
        if self.sequences.is_new(place, iid) {
            self.intern(place, iid, &state.name(user));
        }
        iid
    }

    /// Begins a span of a lane.
    #[inline]
    fn begin_span(&mut self, on: On, at: Time, state: State, tables: Tables<'_>) -> io::Result<()> {
        let name = self.name(on.place, state, tables.user);
        if name < FIXED && state.green().is_none() {
            return self.known(on, at, FixedEvent::Begin(state));
        }
        self.track_event(on, at, event::BEGIN, |event| {
            begin_fields(event, state);
            if let Some(green) = state.green() {
                annotate(event, About::Thread, &Fact::Number(green.0.into()));
            }
        })
    }

    /// Writes an instant with its own name.
    fn moment(&mut self, on: Track, at: Time, name: &str, fill: impl FnOnce(&mut Wire)) -> io::Result<()> {
        let on = self.track(on, at);
        self.track_event(on, at, event::INSTANT, |event| {
            event.text(event::NAME, name);
            fill(event);
        })
    }

    fn part(&mut self, part: &pause::PausePart<'_>, tables: Tables<'_>) -> io::Result<()> {
        let on = self.pauses(part.from);
        let named = self.part_name(on.place, &part.what, tables);
        if let Some(PartName { tail: Some(tail), .. }) = named {
            self.sequences.often(on, part.from, tail, &mut self.wire);
            return self.write();
        }
        self.track_event(on, part.from, event::BEGIN, |event| {
            match named {
                Some(PartName { iid, .. }) => part_fields(event, iid),
                None => {
                    event.text(event::NAME, part.what.name(tables));
                    event.number(event::CATEGORY, PAUSE_ROLE);
                }
            }
            part.what.each_fact(tables, |about, fact| annotate(event, about, &fact));
        })
    }

    /// A part's name, which is written if it is new; `None`: there are too many.
    fn part_name(&mut self, place: SequenceIndex, what: &What<'_>, tables: Tables<'_>) -> Option<PartName> {
        let key = what.key();
        if let Some(named) = self.parts.get(&key) {
            return Some(*named);
        }
        if self.parts.len() >= PARTS_MAX {
            return None;
        }
        let iid = PARTS + self.parts.len() as u64;
        let mut fields = Wire::default();
        event_fields(&mut fields, None, event::BEGIN, |event| part_fields(event, iid));
        let named = PartName { iid, tail: Short::of(&fields).filter(|_| matches!(key, Key::Part(_))) };
        self.parts.insert(key, named);
        self.intern(place, iid, &what.name(tables));
        Some(named)
    }

    fn intern(&mut self, place: SequenceIndex, iid: u64, text: &str) {
        self.wire.message(PACKET, |packet| {
            packet.number(packet::SEQUENCE, place.number());
            packet.number(packet::SEQUENCE_FLAGS, REFERS);
            packet.message(packet::INTERNED_DATA, |names| {
                names.message(interned::EVENT_NAMES, |name| pair(name, iid, text));
            });
        });
    }

    fn loss(&mut self, loss: &Loss) -> io::Result<()> {
        let Some(from) = loss.from.or(loss.to) else { return Ok(()) };
        if !std::mem::replace(&mut self.lost, true) {
            self.declare(LOSSES, PROCESS, "losses", 2, |_| {});
        }
        let name = format!("lost: {}", crate::word(&loss.kind));
        let on = self.shared(LOSSES, from);
        self.track_event(on, from, event::INSTANT, |event| {
            event.text(event::NAME, &name);
            annotate(event, About::Source, &Fact::Text(loss.source.as_str().into()));
            annotate(event, About::Count, &Fact::Number(loss.count));
            if let Some(to) = loss.to {
                annotate_by_name(event, "to_ns", to.0);
            }
            annotate(event, About::Note, &Fact::Text(loss.note.as_str().into()));
        })
    }

    /// Writes the process and name of a thread. Without a known process nothing is written: switches contain the
    /// name, and a reader would take a missing process for process 0.
    fn thread(&mut self, tid: u32, pid: u32, name: &str) -> io::Result<()> {
        // The main thread of the program has the process's name.
        let pid = if tid == self.program_pid { self.program_pid } else { pid };
        if pid == 0 {
            return Ok(());
        }
        self.packet(|packet| {
            packet.message(packet::PROCESS_TREE, |processes| {
                processes.message(tree::THREADS, |thread| {
                    thread.number(tree::TID, tid.into());
                    thread.number(tree::PID, pid.into());
                    if !name.is_empty() {
                        thread.text(tree::NAME, name);
                    }
                });
            });
        });
        self.write()
    }

    /// The number of a line's track, which is declared if it is new; `None`: there are too many.
    fn line(&mut self, line: Line, at: Time, tables: Tables<'_>) -> Option<u64> {
        if let Some(uuid) = self.lines.get(&line) {
            return Some(*uuid);
        }
        if self.lines.len() >= LINES_MAX {
            return None;
        }
        let uuid = LINES + self.lines.len() as u64;
        self.lines.insert(line, uuid);
        let parent = line.lane().map_or(PROCESS, |lane| self.track(Track::Lane(lane), at).uuid);
        self.declare(uuid, parent, &line.name(tables), 1 << 20, |descriptor| {
            descriptor.message(track::COUNTER, |counter| match line.unit() {
                Unit::Ns => counter.number(track::COUNTER_UNIT, 1),
                Unit::Count => counter.number(track::COUNTER_UNIT, 2),
                Unit::Bytes => counter.number(track::COUNTER_UNIT, 3),
                Unit::Us => counter.text(track::COUNTER_UNIT_NAME, "us"),
                Unit::Own => {}
            });
        });
        Some(uuid)
    }
}

impl<W: Write> Sink for PerfettoSink<W> {
    fn open(&mut self, on: Track, at: Time, state: State, tables: Tables<'_>) -> io::Result<()> {
        let on = self.track(on, at);
        self.begin_span(on, at, state, tables)
    }

    fn close(&mut self, on: Track, closed: Closed, _: Tables<'_>) -> io::Result<()> {
        let on = self.track(on, closed.to);
        self.known(on, closed.to, FixedEvent::End)
    }

    fn leaf(&mut self, on: Track, closed: Closed, tables: Tables<'_>) -> io::Result<()> {
        let on = self.track(on, closed.from);
        self.begin_span(on, closed.from, closed.state, tables)?;
        self.known(on, closed.to, FixedEvent::End)
    }

    fn mark(&mut self, on: Track, at: Time, mark: Mark, tables: Tables<'_>) -> io::Result<()> {
        let Mark::User(name) = mark else {
            return self.moment(on, at, mark.name(tables), |event| {
                if let Mark::Forked(child) = mark {
                    annotate_by_name(event, "child", child.into());
                }
            });
        };
        let on = self.track(on, at);
        let name = self.name(on.place, State::User(name), tables.user);
        self.track_event(on, at, event::INSTANT, |event| event.number(event::NAME_IID, name))
    }

    fn value(&mut self, line: Line, at: Time, value: i64, tables: Tables<'_>) -> io::Result<()> {
        let Some(uuid) = self.line(line, at, tables) else { return Ok(()) };
        let on = self.shared(uuid, at);
        self.track_event(on, at, event::COUNTER, |event| event.signed(event::VALUE, value))
    }
}

/// An event whose fields are always the same.
#[derive(Copy, Clone, Debug)]
enum FixedEvent {
    End,
    /// Begin of a state with a fixed number.
    Begin(State),
}

impl FixedEvent {
    /// Index of the event, below [`FIXED`].
    fn number(self) -> usize {
        match self {
            FixedEvent::End => 0,
            FixedEvent::Begin(state) => state.number() as usize,
        }
    }

    /// The fields after the time of its packet.
    fn fields(self) -> Wire {
        let mut fields = Wire::default();
        match self {
            FixedEvent::End => event_fields(&mut fields, None, event::END, |_| {}),
            FixedEvent::Begin(state) => {
                event_fields(&mut fields, None, event::BEGIN, |event| begin_fields(event, state))
            }
        }
        fields
    }
}

/// The name of a pause part.
#[derive(Copy, Clone, Debug)]
struct PartName {
    iid: u64,
    /// The encoded event of a part without further facts.
    tail: Option<Short>,
}

fn part_fields(event: &mut Wire, iid: u64) {
    event.number(event::NAME_IID, iid);
    event.number(event::CATEGORY, PAUSE_ROLE);
}

fn begin_fields(event: &mut Wire, state: State) {
    event.number(event::NAME_IID, state.number());
    event.number(event::CATEGORY, role(state));
}

/// Writes an event, followed by fields of its packet. `track`: set if it is not the sequence's own.
fn event_fields(packet: &mut Wire, track: Option<u64>, kind: u64, fill: impl FnOnce(&mut Wire)) {
    packet.message(packet::TRACK_EVENT, |event| {
        event.number(event::TYPE, kind);
        if let Some(uuid) = track {
            event.number(event::TRACK, uuid);
        }
        fill(event);
    });
    packet.number(packet::SEQUENCE_FLAGS, REFERS);
}

/// Writes the clock snapshot: times are of the monotonic clock, which the format calls the boot clock; they differ by
/// the time that the machine slept.
fn clocks(snapshot: &mut Wire, manifest: &rtscope_model::manifest::Manifest) {
    let at = manifest.started.0;
    let realtime = at.checked_add_signed(manifest.realtime_offset_ns).filter(|_| manifest.realtime_offset_ns != 0);
    let known = [(clock::BOOTTIME, Some(at)), (clock::MONOTONIC, Some(at)), (clock::REALTIME, realtime)];
    for (id, at) in known {
        let Some(at) = at else { continue };
        snapshot.message(clock::CLOCKS, |one| {
            one.number(clock::ID, id);
            one.number(clock::TIMESTAMP, at);
        });
    }
}

fn annotate(event: &mut Wire, about: About, fact: &Fact<'_>) {
    let name = (annotation::NAME_IID, sequence::number(about));
    match fact {
        Fact::Number(number) => event.two(event::ANNOTATION, name, (annotation::UINT, *number)),
        Fact::Text(text) => event.message(event::ANNOTATION, |annotated| {
            annotated.number(name.0, name.1);
            annotated.text(annotation::STRING, text.as_bytes());
        }),
    }
}

/// Annotates an event with a name that has no number.
fn annotate_by_name(event: &mut Wire, name: &str, number: u64) {
    event.message(event::ANNOTATION, |annotated| {
        annotated.text(annotation::NAME, name);
        annotated.number(annotation::UINT, number);
    });
}

/// The number of a state's category.
fn role(state: State) -> u64 {
    state.role_number() as u64 + 1
}

#[cfg(test)]
mod tests;
