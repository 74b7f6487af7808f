//! The runtime events of OCaml programs in a recording: their runtimes write them into
//! rings, from which they are copied while the programs run.

use super::files;
use crate::binary;
use crate::capture::folder::Folder;
use crate::runtimes::ocaml::rings::parameters::{self, DIRECTORY, PRESERVE, START};
use crate::runtimes::ocaml::rings::{Config, Copied, Mapped, RingFolder, RingsReader, mapped_by};
use crate::runtimes::recorded::{Around, Command, Launch, Notices, RuntimeLogs};
use crate::system::procfs::Host;
use crate::target::Refused;
use rtscope_model::manifest::{Binary, Log};
use rtscope_model::{ClockMap, Time};
use std::env;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// OCaml's side of a recording.
#[derive(Debug, Default)]
pub(super) struct Rings {
    place: Option<RingFolder>,
    reader: Option<RingsReader>,
    logs: Vec<Log>,
    /// How many of them [`RuntimeLogs::changed`] has reported.
    reported: usize,
    program: Option<Binary>,
    written_bytes: u64,
}

impl Rings {
    /// Makes a command write its rings where they can be copied into a capture; `None`: it
    /// cannot, and `launch` says why. Errors: the folder for it.
    pub(super) fn prepare(command: &Command<'_>, launch: &mut Launch) -> io::Result<Option<Rings>> {
        if let Some(why) = refusal(command) {
            launch.notes.push(why);
            return Ok(None);
        }
        let user = User::of_environment();
        let mut place = match user.folder(&mut launch.notes) {
            Some(folder) => match RingFolder::of_user(&folder) {
                Ok(place) if place.is_writable() => place,
                _ => {
                    launch.notes.push(unwritable(&folder));
                    return Ok(None);
                }
            },
            None => RingFolder::prepare(command.capture, command.route)?,
        };
        let release = command.inspected.binary.version.as_deref().and_then(files::release);
        let Some(choice) = reserve(&mut place, &user, release, command.ring_size) else {
            launch.notes.push(format!(
                "there is no room for the rings of an OCaml program in {} (a full disk would kill it): they were not \
                 switched on; record to a larger disk with -o",
                place.folder.path().display()
            ));
            place.finish(&Host::default());
            return Ok(None);
        };
        launch.notes.extend(choice.note);
        launch.added.extend(choice.added);
        launch.set.extend(choice.set.map(|(name, value)| (name, value.into())));
        if place.own {
            launch.set.push((DIRECTORY, (&place.variable).into()));
            launch.added.push(format!("{DIRECTORY}={}", place.variable.display()));
        }
        if !user.start {
            launch.set.push((START, "1".into()));
            launch.added.push(format!("{START}=1"));
        }
        launch.inherit.extend(place.inherited());
        if command.wrapper && !command.inspected.is_ocaml() {
            launch.hints.push(format!(
                "an OCaml 5 program that the command starts as another user or in another root ends at once, because \
                 {START} is set"
            ));
        }
        Ok(Some(Rings { place: Some(place), ..Rings::default() }))
    }

    /// Begins to copy the rings of a running process, if it has any.
    pub(super) fn attach(around: &Around<'_>, notices: &mut Notices) -> Option<Rings> {
        let mapped = mapped_by(around.host, around.pid);
        // As its process has it: its path could be another folder in another root.
        let folder = mapped.first()?.folder();
        for mapped in &mapped {
            if mapped.open().is_none() {
                notices.notes.push(format!(
                    "the process writes runtime events to {}, which cannot be opened: record as its user or as root",
                    mapped.path.display()
                ));
            }
        }
        let reader = start_reader(around, folder.map(|folder| (folder, false)), mapped, notices);
        Some(Rings { reader, ..Rings::default() })
    }

    fn take(&mut self, copied: Vec<Copied>) {
        for ring in copied {
            let version = ring.program.as_ref().and_then(|program| self.version(program));
            let clock = ClockMap::MONOTONIC;
            self.logs.push(Log { path: ring.name, pid: ring.pid, clock, version, ..Log::default() });
        }
    }

    fn version(&mut self, program: &File) -> Option<String> {
        let path = PathBuf::from(format!("/proc/self/fd/{}", program.as_fd().as_raw_fd()));
        let named = std::fs::read_link(&path).unwrap_or_default();
        let opened = program.try_clone().map_err(Refused::from);
        let found = binary::inspect_opened(opened, &named, |_| None).binary;
        self.program.get_or_insert_with(|| found.clone());
        found.version
    }
}

fn start_reader(
    around: &Around<'_>,
    watched: Option<(Folder, bool)>,
    mapped: Vec<Mapped>,
    notices: &mut Notices,
) -> Option<RingsReader> {
    let (host, pid) = (around.host.clone(), around.pid);
    let folder = around.capture.folder("rings");
    let reader = folder.and_then(|folder| RingsReader::start(Config { host, pid, folder, watched, mapped }));
    let refused = |error| notices.notes.push(format!("the rings of OCaml programs are not copied: {error}"));
    reader.map_err(refused).ok()
}

fn unwritable(folder: &Path) -> String {
    format!(
        "{DIRECTORY}={} cannot be written to: an OCaml program would end at once, so its rings were not switched on",
        folder.display()
    )
}

/// The user's settings.
struct User {
    ocamlrunparam: Option<String>,
    camlrunparam: Option<String>,
    start: bool,
    preserve: bool,
    directory: Option<PathBuf>,
}

impl User {
    fn of_environment() -> User {
        let text = |name| env::var_os(name).map(|value| value.to_string_lossy().into_owned());
        User {
            ocamlrunparam: text("OCAMLRUNPARAM"),
            camlrunparam: text("CAMLRUNPARAM"),
            start: env::var_os(START).is_some(),
            preserve: env::var_os(PRESERVE).is_some(),
            directory: env::var_os(DIRECTORY).map(PathBuf::from),
        }
    }

    /// The folder in which the user wants the files, if set.
    fn folder(&self, notes: &mut Vec<String>) -> Option<PathBuf> {
        let folder = match &self.directory {
            Some(folder) => folder.clone(),
            None if self.start || self.preserve => PathBuf::from("."),
            None => return None,
        };
        let folder = env::current_dir().unwrap_or_default().join(folder);
        notes.push(format!(
            "rings of OCaml programs are written to {}, as the environment says, and copied from there",
            folder.display()
        ));
        Some(folder)
    }
}

/// Chooses a ring size that fits, and reserves the room.
fn reserve(
    place: &mut RingFolder,
    user: &User,
    release: Option<(u32, u32)>,
    forced: Option<u32>,
) -> Option<parameters::Choice> {
    let (ocamlrunparam, camlrunparam) = (user.ocamlrunparam.as_deref(), user.camlrunparam.as_deref());
    let mut room = place.room();
    loop {
        let request = parameters::Request { ocamlrunparam, camlrunparam, release, room, forced };
        let choice = parameters::choose(&request)?;
        if place.reserve(choice.length).is_ok() {
            return Some(choice);
        }
        // The user's own size is used as it is; users that enable the rings themselves
        // get them without reserved room.
        if choice.length > room {
            return user.start.then_some(choice);
        }
        room = choice.length.saturating_sub(1);
    }
}

/// Why the environment is not changed, if so.
fn refusal(command: &Command<'_>) -> Option<String> {
    const WITHOUT: &str = "so only the kernel's side is recorded";
    if command.inspected.is_ocaml() {
        let version = command.inspected.binary.version.as_deref();
        if let Some(version) = version.filter(|version| files::release(version).is_some_and(|release| release < (5, 0)))
        {
            return Some(format!("OCaml {version} writes no runtime events, {WITHOUT}; they came with OCaml 5"));
        }
    }
    let changes_user = |path: &Path| path.metadata().is_ok_and(|file| file.permissions().mode() & 0o6000 != 0);
    (command.inspected.is_ocaml() && !command.wrapper && command.path.is_some_and(changes_user)).then(|| {
        format!(
            "the program changes its user when it starts (setuid): its runtime then reads no environment, {WITHOUT}"
        )
    })
}

impl RuntimeLogs for Rings {
    fn absence_message(&self) -> &'static str {
        "no OCaml 5 program wrote runtime events"
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.reader.as_ref().map(|reader| reader.news.as_fd())
    }

    fn before_exec(&mut self, around: &Around<'_>, notices: &mut Notices) {
        let Some(place) = &mut self.place else { return };
        if let Err(error) = place.assign(around.pid) {
            notices
                .notes
                .push(format!("no room could be reserved for the rings ({error}): a full disk would kill the program"));
        }
        let watched = (place.folder.clone(), place.own);
        self.reader = start_reader(around, Some(watched), Vec::new(), notices);
    }

    fn take_opened(&mut self, _around: &Around<'_>, _notices: &mut Notices) -> bool {
        let fresh = self.reader.as_ref().map(RingsReader::fresh).unwrap_or_default();
        let some = !fresh.is_empty();
        self.take(fresh);
        some
    }

    fn changed(&mut self) -> Vec<Log> {
        let fresh = self.logs.get(self.reported..).unwrap_or_default().to_vec();
        self.reported = self.logs.len();
        fresh
    }

    fn stop_copying(&mut self) {
        if let Some(reader) = &self.reader {
            reader.stop_copying(self.logs.first().map_or("rings", |log| log.path.as_str()));
        }
    }

    fn disk_full(&self) -> bool {
        self.reader.as_ref().is_some_and(|reader| reader.disk_full())
    }

    fn logs(&self) -> Vec<Log> {
        self.logs.clone()
    }

    fn program(&self, _host: &Host) -> Option<Binary> {
        self.program.clone()
    }

    fn written_bytes(&self) -> u64 {
        self.reader.as_ref().map_or(self.written_bytes, |reader| reader.written_bytes())
    }

    fn end(&mut self, _around: &Around<'_>, _ended: Time, notices: &mut Notices) {
        let Some(reader) = self.reader.take() else { return };
        let (fresh, losses, written) = reader.finish();
        self.take(fresh);
        notices.losses.extend(losses);
        self.written_bytes = written;
    }

    fn finish(&mut self, host: &Host) {
        self.reader.take().map(RingsReader::finish);
        self.place.take().into_iter().for_each(|place| place.finish(host));
    }
}
