//! The loop: look, decode, analyse, and show once a second. Owns the terminal while it runs, and restores it; refuses
//! to compute figures.

use super::args::TopArgs;
use super::source::{Live, Source};
use super::view::{self, Shown, View};
use rtscope_analyze::Context;
use rtscope_analyze::lanes::timeline::LaneDetail;
use rtscope_analyze::recording::stm::StmTotals;
use rtscope_analyze::window::{Totals, Window, WindowFigures};
use rtscope_host::procfs::Host;
use rtscope_host::signals::Signals;
use rtscope_host::terminal::{self, Keyboard};
use rtscope_host::{background, clock, own_cost};
use rtscope_model::Time;
use rtscope_read::pipeline::{Run, Streams};
use rtscope_terminal::style::Style;
use rtscope_terminal::user_error::UserError;
use std::collections::BTreeSet;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::time::Duration;

/// Interval between two updates of the display, nanoseconds.
const SHOW_NS: u64 = 1_000_000_000;
/// Time between the first two looks: longer than a thread takes to write a byte.
const SETTLE: Duration = Duration::from_millis(5);
/// Maximum notes printed along with lines.
const NOTES_MAX: usize = 64;
const QUIT: [u8; 3] = [b'q', b'Q', 3];

/// What is known from everything seen so far.
pub(super) struct LiveState {
    pub run: Run,
    pub window: Window,
    pub view: View,
}

impl LiveState {
    /// Starts with nothing seen. `log`: whether a runtime's log is among the streams. `from`: the start, with the
    /// transactions up to then.
    pub(super) fn new(
        context: Context,
        of: String,
        log: bool,
        seconds: usize,
        from: (Time, Option<StmTotals>),
    ) -> LiveState {
        let view = View::of(&context, of, log);
        let window = Window::new(seconds, Totals { at: from.0, stm: from.1, ..Totals::default() });
        LiveState { run: Run::new(context, LaneDetail::Pauses), window, view }
    }

    /// Ends a second at `at`, with the transactions so far.
    pub(super) fn close(&mut self, at: Time, stm: Option<StmTotals>) {
        let standing = self.run.analysis.standing(at);
        self.window.close(Totals { stm, ..standing });
    }

    /// Like [`LiveState::close`], but at the end of all streams.
    pub(super) fn finish(&mut self, at: Time, stm: Option<StmTotals>, streams: &dyn Streams) {
        self.run.resolve_all(streams, &mut self.window);
        self.close(at, stm);
    }

    /// The figures of the seconds that are over.
    pub(super) fn figures(&self, streams: &dyn Streams) -> WindowFigures {
        self.window.figures(self.run.names(streams))
    }
}

pub(super) enum Screen {
    /// A terminal taken over while this lives.
    Whole(Option<Keyboard>),
    /// One line per second.
    Lines,
    /// One document per second.
    Json,
    /// The whole screen once, below the earlier output.
    Once,
}

impl Screen {
    pub(super) fn open(args: &TopArgs) -> Screen {
        if args.json {
            return Screen::Json;
        }
        let dumb = std::env::var("TERM").is_ok_and(|term| term == "dumb");
        if args.plain || dumb || !io::stdout().is_terminal() {
            return Screen::Lines;
        }
        let screen = Screen::Whole(Keyboard::of_stdin());
        write(rtscope_terminal::style::SCREEN_OPEN);
        screen
    }

    /// A display for something that is shown once.
    pub(super) fn of_one(args: &TopArgs) -> Screen {
        match args {
            TopArgs { json: true, .. } => Screen::Json,
            TopArgs { plain: true, .. } => Screen::Lines,
            _ => Screen::Once,
        }
    }

    /// Shows an update; false if the output is closed.
    pub(super) fn show(&self, view: &View, shown: &Shown) -> bool {
        match self {
            Screen::Whole(..) => {
                // The terminal may have been resized.
                let (style, rows) = (Style::of_screen(), view::rows());
                write(&rtscope_terminal::style::screen(&view::frame(view, shown, &style), rows))
            }
            Screen::Lines => write(&(view::line(view, shown) + "\n")),
            Screen::Once => write(&(view::frame(view, shown, &Style::of_stdout()).join("\n") + "\n")),
            Screen::Json => view::json(view, shown).is_ok_and(|text| write(&(text + "\n"))),
        }
    }

    fn keyboard(&self) -> Option<&Keyboard> {
        if let Screen::Whole(keyboard) = self { keyboard.as_ref() } else { None }
    }

    /// Ends the display: on a terminal, the last screen stays below the earlier output.
    pub(super) fn close(self, view: &View, shown: &Shown) {
        let Screen::Whole(keyboard) = self else { return };
        write(rtscope_terminal::style::SCREEN_CLOSE);
        drop(keyboard);
        write(&(view::frame(view, shown, &Style::of_screen()).join("\n") + "\n"));
    }
}

fn write(text: &str) -> bool {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_ok()
}

/// Follows a source until it ends, a key or a signal comes, or the time is up. `of` is its name.
pub(super) fn follow(
    source: Box<dyn Source>,
    live: Live,
    (of, host): (String, &Host),
    seconds: usize,
    args: &TopArgs,
) -> Result<ExitCode, UserError> {
    let signals = Signals::install().map_err(|error| UserError::new("cannot wait for signals").because(error))?;
    background::use_batch_priority();
    let mut followed = Followed::begin(source, live, of, seconds, host);
    let until = args.limit.map(|limit| followed.begun.plus(clock::ns_of(limit)));
    let screen = Screen::open(args);
    let mut printed = BTreeSet::new();
    match screen {
        Screen::Whole(..) => _ = screen.show(&followed.known.view, &followed.shown),
        Screen::Lines => print_new_notes(&followed.shown.notes, &mut printed),
        Screen::Json | Screen::Once => {}
    }
    loop {
        let due = until.map_or(followed.due(), |until| followed.due().min(until));
        let longest = Duration::from_nanos(due.since(clock::monotonic()));
        let woken = terminal::wait(screen.keyboard(), &signals, followed.source.descriptor(), longest);
        let now = clock::monotonic();
        let over = followed.source.over();
        let leave = woken.signal || woken.keys.iter().any(|key| QUIT.contains(key));
        let last = leave || over.is_some() || until.is_some_and(|until| now >= until);
        if now >= followed.next_look || last {
            followed.look(now, over.is_some());
        }
        if now < followed.next_show && !last {
            continue;
        }
        followed.show(now, over, last);
        let seen = screen.show(&followed.known.view, &followed.shown);
        if matches!(screen, Screen::Lines) {
            print_new_notes(&followed.shown.notes, &mut printed);
        }
        if last || !seen {
            screen.close(&followed.known.view, &followed.shown);
            return Ok(ExitCode::SUCCESS);
        }
    }
}

/// Prints new notes on standard error, which may be closed.
fn print_new_notes(notes: &[String], printed: &mut BTreeSet<String>) {
    for note in notes {
        if printed.len() < NOTES_MAX && printed.insert(note.clone()) {
            let _ = writeln!(io::stderr(), "rtscope: {note}");
        }
    }
}

/// A source, and what is known from it.
struct Followed<'a> {
    source: Box<dyn Source>,
    live: Live,
    host: &'a Host,
    seconds: usize,
    known: LiveState,
    /// Whether there was a log when `known` began, and whether the log had named its writer.
    log_state: (bool, bool),
    shown: Shown,
    begun: Time,
    next_look: Time,
    due_ns: u64,
    next_show: Time,
    /// Own CPU time at the last figures, and when those were computed.
    own_cpu_ns: u64,
    shown_at: Time,
}

impl Followed<'_> {
    /// Does the first two looks: only a second one shows that the end of a buffer was written.
    fn begin(source: Box<dyn Source>, mut live: Live, of: String, seconds: usize, host: &Host) -> Followed<'_> {
        let begun = clock::monotonic();
        let (log_state, from) =
            ((live.log.is_some(), live.names_writer()), (live.given, live.transactions.until(live.given)));
        let mut followed = Followed {
            known: LiveState::new(source.context(&live), of, log_state.0, seconds, from),
            source,
            live,
            host,
            seconds,
            log_state,
            shown: Shown::default(),
            begun,
            next_look: begun,
            due_ns: 0,
            next_show: begun.plus(SHOW_NS),
            own_cpu_ns: own_cost::cpu_ns(host),
            shown_at: begun,
        };
        followed.look(begun, false);
        std::thread::sleep(SETTLE);
        followed.look(clock::monotonic(), false);
        followed.shown = Shown { notes: followed.notes(), keys: true, ..followed.shown };
        followed
    }

    fn due(&self) -> Time {
        self.next_look.min(self.next_show)
    }

    /// Takes in new data, and feeds what is complete.
    fn look(&mut self, now: Time, over: bool) {
        let looked = self.source.look(now, &mut self.live);
        self.live.looked = now;
        self.next_look = now.plus(looked.due_ns);
        if looked.due_ns != self.due_ns {
            self.due_ns = looked.due_ns;
            background::wake_within(looked.due_ns / 4);
        }
        let latest = self.known.run.take_in(&mut self.live);
        self.renew();
        for loss in self.live.take_losses() {
            self.shown.lost(&loss);
            self.known.run.analysis.lose(loss);
        }
        // A source that has ended did so at its last event.
        let until = if over { latest.unwrap_or_default() } else { looked.until };
        self.live.given = self.live.given.max(until);
        let until = (!over).then_some(self.live.given);
        self.known.run.until(until, &mut self.live, &mut self.known.window);
    }

    /// Starts over once a log was found, or has named its writer: events so far were analysed without that.
    fn renew(&mut self) {
        let log_state = (self.live.log.is_some(), self.live.names_writer());
        if std::mem::replace(&mut self.log_state, log_state) != log_state {
            let from = (self.live.given, self.live.transactions.until(self.live.given));
            let of = std::mem::take(&mut self.known.view.of);
            let mut known = LiveState::new(self.source.context(&self.live), of, log_state.0, self.seconds, from);
            known.run.instead_of(&mut self.known.run);
            self.known = known;
        }
    }

    fn notes(&self) -> Vec<String> {
        let known = self.live.notes.iter().cloned().chain(self.live.failed());
        known.chain(self.source.notes(&self.live)).chain(too_late(self.live.late)).collect()
    }

    /// Takes the new figures, to be shown next.
    fn show(&mut self, now: Time, over: Option<String>, last: bool) {
        self.next_show = self.next_show.plus(SHOW_NS).max(now);
        let stm = self.live.transactions.until(self.live.given);
        match last {
            true => self.known.finish(self.live.given, stm, &self.live),
            false => self.known.close(self.live.given, stm),
        }
        let used = own_cost::cpu_ns(self.host);
        let own_cpu = used.saturating_sub(self.own_cpu_ns) as f64 / now.since(self.shown_at).max(1) as f64;
        (self.own_cpu_ns, self.shown_at) = (used, now);
        self.shown = Shown {
            figures: self.known.figures(&self.live),
            notes: self.notes(),
            keys: !last,
            over,
            seconds: now.since(self.begun) as f64 / 1e9,
            own_cpu: Some(own_cpu),
            ..self.shown
        };
    }
}

/// What it means that events arrived after later ones had been processed.
fn too_late(count: u64) -> Option<String> {
    const WHAT: &str = "Events came too late to be put in order, as the machine is very busy: pauses near them may be missing \
                        or judged wrongly.";
    (count > 0).then(|| WHAT.to_owned())
}
