//! Writes an export on a thread of its own, so that a recording is analysed and written in parallel. Owns the
//! handover in batches, of which only a few are in flight, and copies of the names that events refer to;
//! refuses to know formats.

use super::format::{ExportFormat, To, facts};
use rtscope_analyze::Context;
use rtscope_analyze::basis::compose::Segment;
use rtscope_analyze::lanes::timeline::{Doing, LaneDetail};
use rtscope_analyze::results::BlamedPause;
use rtscope_encode::{Tables, draws};
use rtscope_model::manifest::Manifest;
use rtscope_model::{CausePiece, Class, Classes, Event, Exported, LaneId, Loss, NameId, Names, Pause, Symbols};
use rtscope_read::observer::Observer;
use std::io;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};

/// Events and pauses in a batch.
const BATCH: usize = 1_024;
/// Batches in flight: about a mebibyte, which stays in a CPU's own cache, and covers the milliseconds for which
/// the writer shares its CPU with a decoder.
const BATCHES: usize = 16;

type Blamed = Box<(Pause, Vec<CausePiece>)>;

enum Batched {
    Segment(LaneId, Segment<Doing>),
    Event(Event),
    Pause(Blamed),
}

#[derive(Default)]
struct Batch {
    items: Vec<Batched>,
    /// Written pauses, for reuse: most of a recording can be pauses.
    spare: Vec<Blamed>,
    /// Names that are new in this batch, in the order of their numbers.
    kernel: Vec<String>,
    user: Vec<String>,
}

enum Message {
    Start(Box<(Exported, Symbols)>),
    Batch(Batch),
    End(Vec<Loss>),
}

/// Hands what it observes to the thread that writes.
pub struct EventSender {
    /// `None`: the writer has stopped.
    full: Option<SyncSender<Message>>,
    empty: Receiver<Batch>,
    batch: Batch,
    kernel_known: u32,
    user_known: u32,
    /// Whether the format draws: then it takes what lanes do from their states.
    draws: bool,
    /// The last event that was not handed over: it may be the last of all.
    left: Option<Event>,
    pub events: u64,
    pub pauses: u64,
}

pub struct EventReceiver {
    messages: Receiver<Message>,
    back: Sender<Batch>,
}

pub fn event_channel(format: ExportFormat) -> (EventSender, EventReceiver) {
    let (full, messages) = sync_channel(BATCHES);
    let (back, empty) = channel();
    let batch = Batch::default();
    // Number 0 is always the empty name.
    let draws = format != ExportFormat::Fxt;
    let (full, left) = (Some(full), None);
    let hand = EventSender { full, empty, batch, kernel_known: 1, user_known: 1, draws, left, events: 0, pauses: 0 };
    (hand, EventReceiver { messages, back })
}

/// Writes what is handed over until it ends. If the analysis fails, its side hangs up, and the export is not finished.
///
/// # Errors
/// The first error of writing.
pub fn write(format: ExportFormat, to: To<'_>, from: &EventReceiver) -> io::Result<()> {
    let Ok(Message::Start(start)) = from.messages.recv() else { return Ok(()) };
    let (facts, symbols) = *start;
    let mut export = format.begin(to, &facts, &symbols)?;
    let (mut kernel, mut user) = (Names::default(), Names::default());
    while let Ok(message) = from.messages.recv() {
        let mut batch = match message {
            Message::Batch(batch) => batch,
            Message::End(losses) => return export.finish(&losses),
            Message::Start(_) => continue,
        };
        batch.kernel.drain(..).for_each(|name| _ = kernel.intern(&name));
        batch.user.drain(..).for_each(|name| _ = user.intern(&name));
        let tables = Tables { kernel: &kernel, user: &user, symbols: &symbols };
        for item in batch.items.drain(..) {
            match item {
                Batched::Segment(lane, piece) => export.segment(lane, &piece, tables)?,
                Batched::Event(event) => export.event(&event, tables)?,
                Batched::Pause(pause) => {
                    export.pause(&pause.0, &pause.1, tables)?;
                    batch.spare.push(pause);
                }
            }
        }
        // The other side may have hung up.
        let _ = from.back.send(batch);
    }
    Ok(())
}

impl EventSender {
    /// Builds items in place in the batch.
    #[inline(always)]
    fn put(&mut self, item: Batched, tables: Tables<'_>) {
        send_new_names(tables.kernel, &mut self.kernel_known, &mut self.batch.kernel);
        send_new_names(tables.user, &mut self.user_known, &mut self.batch.user);
        self.batch.items.push(item);
        if self.batch.items.len() >= BATCH {
            self.hand_over();
        }
    }

    #[cold]
    fn hand_over(&mut self) {
        let next = self.empty.try_recv().unwrap_or_default();
        let batch = std::mem::replace(&mut self.batch, next);
        self.send(Message::Batch(batch));
    }

    fn send(&mut self, message: Message) {
        // A writer that failed reports its error at the end.
        if self.full.as_ref().is_some_and(|full| full.send(message).is_err()) {
            self.full = None;
        }
    }
}

/// Names of `names` from number `known` on. None of them is empty.
#[inline]
fn send_new_names(names: &Names, known: &mut u32, out: &mut Vec<String>) {
    loop {
        let name = names.get(NameId(*known));
        if name.is_empty() {
            return;
        }
        out.push(name.to_owned());
        *known += 1;
    }
}

impl Observer for EventSender {
    fn classes(&self) -> Classes {
        Classes::NONE.with(Class::Details).with(Class::User)
    }

    fn start(&mut self, context: &Context, manifest: Option<&Manifest>) {
        let start = (facts(context, manifest), context.symbols.clone());
        self.send(Message::Start(Box::new(start)));
    }

    fn lanes(&self) -> LaneDetail {
        LaneDetail::Nested
    }

    fn figures(&self) -> bool {
        false
    }

    fn segment(&mut self, lane: LaneId, piece: &Segment<Doing>, tables: Tables<'_>) {
        if self.full.is_some() {
            self.put(Batched::Segment(lane, *piece), tables);
        }
    }

    fn event(&mut self, event: &Event, tables: Tables<'_>) {
        if self.full.is_none() {
            return;
        }
        self.events += 1;
        // The first and the last give the time range.
        if self.draws && self.events > 1 && !draws(event) {
            self.left = Some(*event);
        } else {
            self.put(Batched::Event(*event), tables);
        }
    }

    fn pause(&mut self, pause: &BlamedPause, tables: Tables<'_>) {
        if self.full.is_some() {
            self.pauses += 1;
            let item = Batched::Pause(copy(pause, self.batch.spare.pop()));
            self.put(item, tables);
        }
    }

    fn end(&mut self, losses: &[Loss]) {
        if let Some(event) = self.left.take() {
            self.batch.items.push(Batched::Event(event));
        }
        self.hand_over();
        self.send(Message::End(losses.to_vec()));
    }
}

fn copy(of: &BlamedPause, spare: Option<Blamed>) -> Blamed {
    let Some(mut spare) = spare else { return Box::new((of.pause.clone(), of.causes.clone())) };
    let (pause, causes) = &mut *spare;
    let mut lanes = std::mem::take(&mut pause.lanes);
    lanes.clear();
    lanes.extend_from_slice(&of.pause.lanes);
    *pause = Pause { lanes, ..of.pause };
    causes.clear();
    causes.extend_from_slice(&of.causes);
    spare
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_their_numbers() {
        let (mut names, mut copy) = (Names::default(), Names::default());
        let (mut known, mut added) = (1, Vec::new());
        for text in ["a", "b", "", "c"] {
            let id = names.intern(text);
            send_new_names(&names, &mut known, &mut added);
            added.drain(..).for_each(|name| _ = copy.intern(&name));
            assert_eq!(copy.get(id), text);
        }
        assert_eq!(known, 4);
    }
}
