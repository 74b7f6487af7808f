//! Reading another process's memory without stopping it. Owns the one system
//! call for it; refuses to interpret what it reads.

use std::io;

/// Bytes at addresses of some process.
pub trait Memory {
    /// Fills `buffer` from `address`; an error when any byte of it cannot be read.
    fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<()>;

    /// A little- or big-endian word as this machine has it.
    fn read_u64(&self, address: u64) -> io::Result<u64> {
        let mut word = [0; 8];
        self.read(address, &mut word)?;
        Ok(u64::from_ne_bytes(word))
    }

    /// A 32-bit word.
    fn read_u32(&self, address: u64) -> io::Result<u32> {
        let mut word = [0; 4];
        self.read(address, &mut word)?;
        Ok(u32::from_ne_bytes(word))
    }
}

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
