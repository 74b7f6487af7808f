//! A program's threads as sampled from outside. Owns the interface of samplers; refuses to
//! name a place and to count.

use rtscope_model::{Doing, OldObjects, WaitKind};
use std::fmt;
use std::io;

/// One thread.
#[derive(Clone, Eq, PartialEq, Debug)]
pub struct Thread {
    /// Its number: the runtime's for a green thread, else the system's.
    pub id: u64,
    /// How many threads it stands for, itself among them, if a part of many was sampled; 0: it is here as a holder only.
    pub stands_for: u32,
    /// Its name, if it has one; not cleaned.
    pub name: Option<String>,
    /// What it does, as far as is known without names of places.
    pub doing: Doing,
    /// Address of what it waits for.
    pub object: Option<u64>,
    /// The number of the thread that has the object; `None`: no thread, or not known.
    pub holder: Option<u64>,
    /// The number of the thread that has its lane: a thread that needs the lane to run waits for that thread.
    pub lane_holder: Option<u64>,
    /// Code from the top of its stack down; then, in a foreign call, the code on the C stack from its top down.
    pub frames: Vec<Code>,
}

impl Thread {
    /// A thread that stands for itself.
    pub fn new(id: u64, doing: Doing) -> Thread {
        Thread {
            id,
            stands_for: 1,
            doing,
            name: None,
            object: None,
            holder: None,
            lane_holder: None,
            frames: Vec::new(),
        }
    }
}

/// A place in code on a stack.
#[derive(Copy, Clone, Eq, PartialEq, Hash, Debug)]
pub struct Code {
    /// Address of the code.
    pub address: u64,
    /// Why the address is on the stack.
    pub role: Role,
}

/// Why a place is on a stack.
#[derive(Copy, Clone, Eq, PartialEq, Hash, Debug, Default)]
pub enum Role {
    /// The thread continues there.
    #[default]
    Goes,
    /// It is called on an exception.
    Handler,
    /// The thread continues there in foreign code, which has another stack.
    Foreign,
    /// Foreign code in the library that makes system calls.
    Library,
}

impl Code {
    /// Code in which a thread continues.
    pub fn goes(address: u64) -> Code {
        Code { address, role: Role::Goes }
    }
}

/// The result of one sample.
#[derive(Clone, Eq, PartialEq, Debug)]
pub enum ThreadsLook {
    /// All threads.
    Threads(Vec<Thread>),
    /// All lanes have work: no thread was sampled.
    Busy,
    /// The data was inconsistent: a collection happened meanwhile.
    Missed,
}

/// Samples the threads of one process repeatedly, while it runs.
pub trait Looks: fmt::Debug + Send {
    /// Takes one sample.
    ///
    /// # Errors
    /// The process has ended, or its memory may not be read (any more).
    fn look(&mut self) -> io::Result<ThreadsLook>;

    /// A sample of its old objects, with code addresses; `None`: it cannot be read, or this runtime has none.
    fn old(&mut self) -> Option<OldObjects<u64>> {
        None
    }

    /// How many threads the program has created so far; `None`: as in [`Looks::old`].
    fn made(&mut self) -> Option<u64> {
        None
    }
}

/// A place on a thread's stack, as far as its name is known.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct NamedFrame<'n> {
    /// Name of the function or module.
    pub name: &'n str,
    /// Set for code without a name of its own that is local to this function; `name` is then the module's.
    pub local_to: Option<&'n str>,
    /// Whether it is code of the runtime.
    pub runtime: bool,
    /// See [`Code::role`].
    pub role: Role,
}

impl NamedFrame<'_> {
    /// The function itself, or the one that the code is local to.
    pub fn function(&self) -> &str {
        self.local_to.unwrap_or(self.name)
    }
}

/// What names of places say about a wait.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Interpreted {
    /// What the thread waits for.
    pub kind: WaitKind,
    /// Index of the frame that shows where.
    pub place: Option<usize>,
    /// Index of the foreign function that this place called.
    pub callee: Option<usize>,
}

/// The first return frame outside the runtime.
pub(crate) fn first_outside(frames: &[Option<NamedFrame<'_>>]) -> Option<usize> {
    frames.iter().position(|frame| frame.is_some_and(|frame| !frame.runtime && frame.role == Role::Goes))
}
