//! Reading another process's memory without stopping it. Owns the one system
//! call for it; refuses to interpret what it reads.

pub use rtscope_heap::Memory;
use std::io;

/// A live process.
#[derive(Copy, Clone, Debug)]
pub struct LiveProcess {
    /// Its id.
    pub pid: u32,
}

impl Memory for LiveProcess {
    fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<()> {
        let wanted = buffer.len();
        let local = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: wanted };
        let remote = libc::iovec { iov_base: address as usize as *mut libc::c_void, iov_len: wanted };
        let pid = libc::pid_t::try_from(self.pid).map_err(|_| io::ErrorKind::InvalidInput)?;
        // SAFETY: `local` covers exactly the exclusively borrowed `buffer`, which
        // outlives the call; both vectors are single and live on this stack. The
        // remote address is never dereferenced here: the kernel checks it against
        // the other process's mappings and fails with EFAULT.
        let got = unsafe { libc::process_vm_readv(pid, &local, 1, &remote, 1, 0) };
        match usize::try_from(got) {
            Err(_) => Err(io::Error::last_os_error()),
            Ok(got) if got == wanted => Ok(()),
            Ok(_) => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_memory_is_read_and_a_bad_address_is_an_error() {
        let value = 0x0123_4567_89ab_cdef_u64;
        let memory = LiveProcess { pid: std::process::id() };
        let address = std::ptr::from_ref(&value) as u64;
        assert_eq!(memory.read_u64(address).unwrap(), value);
        assert!(memory.read_u64(8).is_err());
    }
}
