//! Reads another process's memory without stopping it: by the system call for that, or,
//! if that is not permitted (any more), through a file opened by a process that may. Refuses to
//! interpret what it reads.

use crate::target::Process;
pub use rtscope_heap::Memory;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, PoisonError};

/// A live process. Data read is certainly its own: the process is checked afterwards, and if its
/// number now belongs to another, reading fails.
#[derive(Clone, Debug)]
pub struct LiveProcess {
    /// The process, held.
    pub process: Process,
    /// Its memory as a file, if the recorder itself may not read it by number.
    file: Arc<Mutex<Option<Arc<File>>>>,
}

impl From<Process> for LiveProcess {
    fn from(process: Process) -> LiveProcess {
        LiveProcess { process, file: Arc::default() }
    }
}

impl Memory for LiveProcess {
    fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<()> {
        if self.is_by_file() {
            return self.read_file(&mut |file| file.read_exact_at(buffer, address));
        }
        let local = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
        let remote = there(address, buffer.len());
        // SAFETY: `local` covers exactly the exclusively borrowed `buffer`.
        let copied = unsafe { self.copy(local, &[remote]) };
        self.or_by_file(copied, |file| file.read_exact_at(buffer, address))
    }

    fn read_words(&self, ranges: &[Range<u64>], words: &mut [u64]) -> io::Result<()> {
        let mut rest = words;
        for ranges in ranges.chunks(PIECES_MAX) {
            let remote: Vec<libc::iovec> = ranges.iter().map(|range| there(range.start, length(range))).collect();
            let bytes = remote.iter().fold(0_usize, |sum, piece| sum.saturating_add(piece.iov_len));
            let Some((now, after)) = rest.split_at_mut_checked(bytes / 8).filter(|_| bytes.is_multiple_of(8)) else {
                return Err(io::ErrorKind::InvalidInput.into());
            };
            self.read_pieces(ranges, &remote, now)?;
            rest = after;
        }
        Ok(())
    }
}

/// Pieces that the system accepts at once.
const PIECES_MAX: usize = 1024;

fn length(range: &Range<u64>) -> usize {
    usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(usize::MAX)
}

fn there(address: u64, length: usize) -> libc::iovec {
    libc::iovec { iov_base: address as usize as *mut libc::c_void, iov_len: length }
}

impl LiveProcess {
    /// Opens its memory as a file for all later reads: for a child that may open nothing.
    /// Errors: not permitted, or it has ended.
    pub fn open_file(&self) -> io::Result<Arc<File>> {
        let file = Arc::new(self.process.open_file("mem")?);
        *self.file.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&file));
        Ok(file)
    }

    fn is_by_file(&self) -> bool {
        self.file.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    fn or_by_file(&self, copied: io::Result<()>, mut read: impl FnMut(&File) -> io::Result<()>) -> io::Result<()> {
        match copied {
            Err(error) if error.raw_os_error() == Some(libc::EPERM) => {
                self.open_file()?;
                self.read_file(&mut read)
            }
            copied => copied,
        }
    }

    /// Reads through the file. Memory from before an exec no longer exists: then the
    /// file is opened again.
    fn read_file(&self, read: &mut dyn FnMut(&File) -> io::Result<()>) -> io::Result<()> {
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let outcome = file.map_or(Err(io::ErrorKind::NotFound.into()), |file| read(&file));
        match outcome {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                self.process.check()?;
                read(&*self.open_file()?)
            }
            outcome => outcome,
        }
    }

    fn read_pieces(&self, ranges: &[Range<u64>], remote: &[libc::iovec], words: &mut [u64]) -> io::Result<()> {
        if !self.is_by_file() {
            let local = libc::iovec { iov_base: words.as_mut_ptr().cast(), iov_len: 8 * words.len() };
            // SAFETY: `local` covers exactly the exclusively borrowed `words`, for which any bytes
            // are valid.
            match unsafe { self.copy(local, remote) } {
                Err(error) if error.raw_os_error() == Some(libc::EPERM) => _ = self.open_file()?,
                copied => return copied,
            }
        }
        // SAFETY: any bytes are valid for words, whose memory is borrowed exclusively.
        let bytes = unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast::<u8>(), 8 * words.len()) };
        self.read_file(&mut |file| {
            let mut rest = &mut *bytes;
            for range in ranges {
                let (piece, after) = rest.split_at_mut_checked(length(range)).ok_or(io::ErrorKind::InvalidInput)?;
                file.read_exact_at(piece, range.start)?;
                rest = after;
            }
            Ok(())
        })
    }

    /// Fills all of `local` from the pieces.
    ///
    /// # Safety
    /// `local` has to cover writable memory that nothing else uses meanwhile.
    unsafe fn copy(&self, local: libc::iovec, remote: &[libc::iovec]) -> io::Result<()> {
        let pid = libc::pid_t::try_from(self.process.pid()).map_err(|_| io::ErrorKind::InvalidInput)?;
        // SAFETY: the caller guarantees `local`; both vectors live until the call is over. The
        // remote addresses are never dereferenced here: the kernel checks them against the other
        // process's mappings and fails with EFAULT.
        let got = unsafe {
            libc::process_vm_readv(pid, &raw const local, 1, remote.as_ptr(), remote.len() as libc::c_ulong, 0)
        };
        match usize::try_from(got) {
            Err(_) => Err(io::Error::last_os_error()),
            Ok(got) if got == local.iov_len => self.process.check(),
            Ok(_) => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::procfs::Host;

    #[test]
    fn own_memory_is_read_and_a_bad_address_is_an_error() {
        let process = Process::open(&Host::default(), std::process::id()).unwrap();
        let memory = LiveProcess::from(process);
        by_either_way(&memory);
        memory.open_file().unwrap();
        by_either_way(&memory);
    }

    fn by_either_way(memory: &LiveProcess) {
        let value = 0x0123_4567_89ab_cdef_u64;
        let address = std::ptr::from_ref(&value) as u64;
        assert_eq!(memory.read_u64(address).unwrap(), value);
        assert!(memory.read_u64(8).is_err());
        // Two pieces, and one of which nothing is mapped.
        let all: Vec<u64> = (0..10).collect();
        let at = |word: u64| all.as_ptr() as u64 + 8 * word;
        let mut words = [0; 5];
        memory.read_words(&[at(1)..at(3), at(6)..at(9)], &mut words).unwrap();
        assert_eq!(words, [1, 2, 6, 7, 8]);
        assert!(memory.read_words(&[at(1)..at(3), 8..16], &mut words).is_err());
        let mut one = |range: Range<u64>| memory.read_words(std::slice::from_ref(&range), &mut words);
        assert!(one(at(0)..at(5)).is_ok() && one(at(0)..at(6)).is_err());
        assert!(one(at(0)..at(0) + 4).is_err());
    }
}
