//! Threads of a program as a look from outside finds them. Owns what is asked of whoever looks; refuses to
//! name a place and to count.

use rtscope_model::{Doing, OldObjects, WaitKind};
use std::fmt;
use std::io;

/// One thread.
#[derive(Clone, Eq, PartialEq, Debug, Default)]
pub struct Thread {
    /// Its number: one of the runtime's for a green thread, else the system's.
    pub id: u64,
    /// Its name, where it has one; not cleaned.
    pub name: Option<String>,
    /// What it does, as far as is known without names of places.
    pub doing: Doing,
    /// Where what it waits for lies.
    pub object: Option<u64>,
    /// The number of the thread that has that; `None`: nobody, or not known.
    pub holder: Option<u64>,
    /// The number of the thread that has its lane: it has what a thread waits for that may not run before it has the lane.
    pub lane_holder: Option<u64>,
    /// Code from the top of its stack down; then, in a foreign call, the code on the C stack from its top down.
    pub frames: Vec<Code>,
}

/// A place in code on a stack.
#[derive(Copy, Clone, Eq, PartialEq, Hash, Debug)]
pub struct Code {
    /// Its address.
    pub address: u64,
    /// What stands there.
    pub role: Role,
}

/// What a place on a stack is there for.
#[derive(Copy, Clone, Eq, PartialEq, Hash, Debug, Default)]
pub enum Role {
    /// The thread goes on there.
    #[default]
    Goes,
    /// It is called on an exception.
    Handler,
    /// The thread goes on there in foreign code, whose stack is another one.
    Foreign,
    /// The same in the library that makes system calls.
    Library,
}

impl Code {
    /// Where a thread goes on.
    pub fn goes(address: u64) -> Code {
        Code { address, role: Role::Goes }
    }
}

/// What a look found.
#[derive(Clone, Eq, PartialEq, Debug)]
pub enum Look {
    /// All threads.
    Threads(Vec<Thread>),
    /// All lanes have work: nobody was looked at.
    Busy,
    /// What was read does not fit together: a collection came between.
    Missed,
}

/// Looks at the threads of one process, again and again. It runs on meanwhile.
pub trait Looks: fmt::Debug + Send {
    /// One look.
    ///
    /// # Errors
    /// The process has ended, or its memory may not be read (any more).
    fn look(&mut self) -> io::Result<Look>;

    /// A sample of its old objects, code by its address; `None`: it cannot be read, or this runtime has none.
    fn old(&mut self) -> Option<OldObjects<u64>> {
        None
    }

    /// How many threads the program has created so far; `None`: as in [`Looks::old`].
    fn made(&mut self) -> Option<u64> {
        None
    }
}

/// A place on a thread's stack as far as its name is known.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Frame<'n> {
    /// Its name.
    pub name: &'n str,
    /// It is code without a name of its own, local to that function; the name is the module's.
    pub local_to: Option<&'n str>,
    /// It is code of the runtime.
    pub runtime: bool,
    /// See [`Code::role`].
    pub role: Role,
}

impl Frame<'_> {
    /// The function that it is, or is local to.
    pub fn function(&self) -> &str {
        self.local_to.unwrap_or(self.name)
    }
}

/// What names of places tell of a wait.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Interpreted {
    /// What for.
    pub kind: WaitKind,
    /// Which of the frames says where: its index.
    pub place: Option<usize>,
    /// Which of them is the foreign function that this place called.
    pub callee: Option<usize>,
}

/// The first frame that goes on with the program: not the runtime's.
pub(crate) fn first_outside(frames: &[Option<Frame<'_>>]) -> Option<usize> {
    frames.iter().position(|frame| frame.is_some_and(|frame| !frame.runtime && frame.role == Role::Goes))
}
