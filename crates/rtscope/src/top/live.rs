//! The loop: look, decode, analyse, once a second show. Owns the terminal while it goes on,
//! and puts it back; refuses to compute a figure.

use super::args::TopArgs;
use super::source::{Source, Waiting};
use super::view::{self, Shown, View};
use crate::style::Style;
use crate::trouble::Trouble;
use rtscope_analyze::recording::stm::StmTotals;
use rtscope_analyze::window::{Standing, Window};
use rtscope_analyze::{Analysis, Context};
use rtscope_host::signals::Signals;
use rtscope_host::terminal::{self, Keyboard};
use rtscope_host::{background, clock};
use rtscope_model::{Event, Names, Time};
use std::collections::BTreeSet;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::time::Duration;

/// Between two things that are shown.
const SHOW_NS: u64 = 1_000_000_000;
/// Between the first two looks: longer than a thread takes to write a byte.
const SETTLE: Duration = Duration::from_millis(5);
/// Notes that are printed along with lines.
const NOTES_MAX: usize = 64;
/// A key that ends it.
const QUIT: [u8; 3] = [b'q', b'Q', 3];

/// What is known from all that was seen so far.
pub(super) struct Known {
    pub analysis: Analysis,
    pub window: Window,
    pub view: View,
}

impl Known {
    /// Nothing yet; `log`: a runtime's log is among what comes, `from`: since when, with the
    /// transactions up to then.
    pub(super) fn new(
        context: Context,
        of: String,
        log: bool,
        seconds: usize,
        from: (Time, Option<StmTotals>),
    ) -> Known {
        let view = View::of(&context, of, log);
        let window = Window::new(seconds, Standing { at: from.0, stm: from.1, ..Standing::default() });
        Known { analysis: Analysis::new(context), window, view }
    }

    pub(super) fn push(&mut self, event: &Event, names: &Names) {
        let window = &mut self.window;
        window.event(event);
        self.analysis.push(event, names, &mut |pause| window.pause(pause));
    }

    /// A second is over at `at`, with these transactions so far.
    pub(super) fn close(&mut self, at: Time, stm: Option<StmTotals>) {
        let standing = self.analysis.standing(at);
        self.window.close(Standing { stm, ..standing });
    }

    /// The same, and all is over.
    pub(super) fn finish(&mut self, at: Time, stm: Option<StmTotals>, names: &Names) {
        let window = &mut self.window;
        self.analysis.resolve_all(names, &mut |pause| window.pause(pause));
        self.close(at, stm);
    }
}

/// Where it is shown.
pub(super) enum Screen {
    /// A terminal that is ours while this lives.
    Whole(Option<Keyboard>),
    /// A line a second.
    Lines,
    /// A document a second.
    Json,
    /// All of it, below what there was.
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
        write(crate::style::SCREEN_OPEN);
        screen
    }

    /// For something that is shown once.
    pub(super) fn of_one(args: &TopArgs) -> Screen {
        match args {
            TopArgs { json: true, .. } => Screen::Json,
            TopArgs { plain: true, .. } => Screen::Lines,
            _ => Screen::Once,
        }
    }

    /// Shows it; false where the output is closed.
    pub(super) fn show(&self, view: &View, shown: &Shown) -> bool {
        match self {
            Screen::Whole(..) => {
                // It may have another size by now.
                let (style, rows) = (Style::of_screen(), view::rows());
                write(&crate::style::screen(&view::frame(view, shown, &style), rows))
            }
            Screen::Lines => write(&(view::line(view, shown) + "\n")),
            Screen::Once => write(&(view::frame(view, shown, &Style::of_stdout()).join("\n") + "\n")),
            Screen::Json => match crate::style::json(&view::document(view::SCHEMA, view, shown)) {
                Ok(text) => write(&(text + "\n")),
                Err(_) => false,
            },
        }
    }

    fn keyboard(&self) -> Option<&Keyboard> {
        match self {
            Screen::Whole(keyboard) => keyboard.as_ref(),
            Screen::Lines | Screen::Json | Screen::Once => None,
        }
    }

    /// Ends it: on a terminal what was shown last stays below what was there before.
    pub(super) fn close(self, view: &View, shown: &Shown) {
        let Screen::Whole(keyboard) = self else { return };
        write(crate::style::SCREEN_CLOSE);
        drop(keyboard);
        write(&(view::frame(view, shown, &Style::of_screen()).join("\n") + "\n"));
    }
}

fn write(text: &str) -> bool {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_ok()
}

/// Follows a source until it ends, a key or a signal comes, or the time is over.
pub(super) fn follow(source: Box<dyn Source>, of: String, seconds: usize, args: &TopArgs) -> Result<ExitCode, Trouble> {
    let signals = Signals::install().map_err(|error| Trouble::new("cannot wait for signals").because(error))?;
    background::stand_back();
    let mut followed = Followed::begin(source, of, seconds);
    let until = args.limit.map(|limit| followed.begun.plus(clock::ns_of(limit)));
    let screen = Screen::open(args);
    let mut told = BTreeSet::new();
    match screen {
        Screen::Whole(..) => _ = screen.show(&followed.known.view, &followed.shown),
        Screen::Lines => tell(&followed.shown.notes, &mut told),
        Screen::Json | Screen::Once => {}
    }
    loop {
        let longest = Duration::from_nanos(followed.due().since(clock::monotonic()));
        let woken = terminal::wait(screen.keyboard(), &signals, followed.source.descriptor(), longest);
        let now = clock::monotonic();
        let over = followed.source.over();
        let leave = woken.signal || woken.keys.iter().any(|key| QUIT.contains(key));
        let last = leave || over.is_some() || until.is_some_and(|until| now >= until);
        if !followed.look(now, over, last) {
            continue;
        }
        let seen = screen.show(&followed.known.view, &followed.shown);
        if matches!(screen, Screen::Lines) {
            tell(&followed.shown.notes, &mut told);
        }
        if last || !seen {
            screen.close(&followed.known.view, &followed.shown);
            return Ok(ExitCode::SUCCESS);
        }
    }
}

/// Says on standard error what was not said before; it may be closed.
fn tell(notes: &[String], told: &mut BTreeSet<String>) {
    for note in notes {
        if told.len() < NOTES_MAX && told.insert(note.clone()) {
            let _ = writeln!(io::stderr(), "rtscope: {note}");
        }
    }
}

/// A source, and what is known of it.
struct Followed {
    source: Box<dyn Source>,
    of: String,
    seconds: usize,
    waiting: Waiting,
    known: Known,
    shown: Shown,
    begun: Time,
    next_look: Time,
    due_ns: u64,
    next_show: Time,
    /// Until when the last figures are.
    until: Time,
    /// CPU time of our own at the last figures, and when those were.
    own_cpu_ns: u64,
    shown_at: Time,
}

impl Followed {
    /// The first two looks: only a second one shows that the end of a buffer was written.
    fn begin(mut source: Box<dyn Source>, of: String, seconds: usize) -> Followed {
        let begun = clock::monotonic();
        let since = source.common().started;
        let mut waiting = Waiting::new(since);
        source.look(begun, &mut waiting.events);
        std::thread::sleep(SETTLE);
        let now = clock::monotonic();
        let looked = source.look(now, &mut waiting.events);
        let known =
            Known::new(source.context(), of.clone(), source.has_log(), seconds, (since, source.transactions(since)));
        let shown = Shown { notes: source.notes(), keys: true, ..Shown::default() };
        let own_cpu_ns = source.own_cpu_ns();
        Followed {
            source,
            of,
            seconds,
            waiting,
            known,
            shown,
            begun,
            next_look: now.plus(looked.due_ns),
            due_ns: 0,
            next_show: begun.plus(SHOW_NS),
            until: since,
            own_cpu_ns,
            shown_at: now,
        }
    }

    fn due(&self) -> Time {
        self.next_look.min(self.next_show)
    }

    /// Looks, where it is time to. Gives whether there are new figures to be shown.
    fn look(&mut self, now: Time, over: Option<String>, last: bool) -> bool {
        if now >= self.next_look || last {
            let looked = self.source.look(now, &mut self.waiting.events);
            self.next_look = now.plus(looked.due_ns);
            if looked.due_ns != self.due_ns {
                self.due_ns = looked.due_ns;
                background::wake_within(looked.due_ns / 4);
            }
            if self.source.renewed() {
                let (context, log) = (self.source.context(), self.source.has_log());
                let from = (self.until, self.source.transactions(self.until));
                self.known = Known::new(context, self.of.clone(), log, self.seconds, from);
            }
            for loss in self.source.take_losses() {
                self.shown.lost(&loss);
                self.known.analysis.lose(loss);
            }
            // What has ended did so when its last event came.
            let until = if over.is_some() { self.waiting.latest() } else { looked.until };
            self.until = self.until.max(until);
            for event in self.waiting.take(if over.is_some() { Time(u64::MAX) } else { self.until }) {
                self.known.push(&event, self.source.names());
            }
        }
        if now < self.next_show && !last {
            return false;
        }
        self.next_show = self.next_show.plus(SHOW_NS).max(now);
        let transactions = self.source.transactions(self.until);
        match last {
            true => self.known.finish(self.until, transactions, self.source.names()),
            false => self.known.close(self.until, transactions),
        }
        let used = self.source.own_cpu_ns();
        let own_cpu = used.saturating_sub(self.own_cpu_ns) as f64 / now.since(self.shown_at).max(1) as f64;
        (self.own_cpu_ns, self.shown_at) = (used, now);
        let mut notes = self.source.notes();
        notes.extend(too_late(self.waiting.late));
        self.shown = Shown {
            figures: self.known.window.figures(self.source.names()),
            notes,
            keys: !last,
            over,
            seconds: now.since(self.begun) as f64 / 1e9,
            own_cpu: Some(own_cpu),
            lost: self.shown.lost,
        };
        true
    }
}

/// What it means that events came when later ones had been looked at.
fn too_late(count: u64) -> Option<String> {
    const WHAT: &str = "Events came too late to be put in order, as the machine is very busy: pauses near them may be missing \
                        or judged wrongly.";
    (count > 0).then(|| WHAT.to_owned())
}
