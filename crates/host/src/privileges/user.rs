//! Becoming another user, so that the program and its capture are that user's, while the privileges that recording
//! needs stay. Owns which privileges do; refuses to give any to the program.

use rustix::process::DumpableBehavior;
use rustix::thread::{CapabilitySet, CapabilitySets};
use std::ffi::{CStr, CString, OsString};
use std::io;
use std::os::unix::ffi::OsStringExt;

/// Groups of a user that are asked for at first; the system says if there are more.
const GROUPS: usize = 64;
/// Bytes for a user's entry.
const ENTRY: usize = 1 << 16;
/// Given up at once: what would let the recorder change files that the user may not, or become root again. It reads
/// with root's rights until it gives up all of them.
const GIVEN_UP: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::LINUX_IMMUTABLE)
    .union(CapabilitySet::MKNOD)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID);

/// A user of this machine.
#[derive(Clone, Eq, PartialEq, Debug)]
pub struct User {
    name: OsString,
    uid: libc::uid_t,
    gid: libc::gid_t,
    groups: Vec<libc::gid_t>,
    home: OsString,
    shell: OsString,
}

impl User {
    /// The user called `name`; `None`: there is none. Errors: the system's list cannot be read.
    pub fn find(name: &str) -> io::Result<Option<User>> {
        let Ok(name) = CString::new(name) else { return Ok(None) };
        let mut buffer = vec![0; ENTRY];
        let mut found = std::ptr::null_mut();
        // SAFETY: `passwd` is plain data for which zeros are valid; the call writes it and the buffer, whose length it
        // gets, and sets `found` to null or to the entry.
        let (entry, status) = unsafe {
            let mut entry: libc::passwd = std::mem::zeroed();
            let status =
                libc::getpwnam_r(name.as_ptr(), &raw mut entry, buffer.as_mut_ptr(), buffer.len(), &raw mut found);
            (entry, status)
        };
        if found.is_null() {
            return if status == 0 { Ok(None) } else { Err(io::Error::from_raw_os_error(status)) };
        }
        // SAFETY: fields of an entry that was found are C strings within `buffer`, which still lives.
        let text = |field| OsString::from_vec(unsafe { CStr::from_ptr(field) }.to_bytes().to_vec());
        let (uid, gid, home, shell) = (entry.pw_uid, entry.pw_gid, text(entry.pw_dir), text(entry.pw_shell));
        let groups = groups(&name, gid)?;
        Ok(Some(User { name: OsString::from_vec(name.into_bytes()), uid, gid, groups, home, shell }))
    }

    /// The variables that name the user to a program.
    pub fn environment(&self) -> [(&'static str, OsString); 4] {
        [("HOME", &self.home), ("LOGNAME", &self.name), ("SHELL", &self.shell), ("USER", &self.name)]
            .map(|(name, value)| (name, value.clone()))
    }

    /// Makes this process the user's, for good. It keeps privileges, except those over files and users; programs that
    /// it starts have none.
    ///
    /// # Errors
    /// It is not root's.
    pub fn become_it(&self) -> io::Result<()> {
        let done = |status: libc::c_int| if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) };
        rustix::thread::set_keep_capabilities(true)?;
        // SAFETY: system calls about this process; the list of groups lives as long as the call.
        unsafe {
            done(libc::setgroups(self.groups.len(), self.groups.as_ptr()))?;
            done(libc::setresgid(self.gid, self.gid, self.gid))?;
            done(libc::setresuid(self.uid, self.uid, self.uid))?;
        }
        // The user may not steer what still has privileges.
        rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
        let kept = rustix::thread::capabilities(None)?.permitted.difference(GIVEN_UP);
        let sets = CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() };
        Ok(rustix::thread::set_capabilities(None, sets)?)
    }
}

fn groups(name: &CStr, gid: libc::gid_t) -> io::Result<Vec<libc::gid_t>> {
    let mut groups = vec![0; GROUPS];
    loop {
        let mut count = libc::c_int::try_from(groups.len()).unwrap_or(libc::c_int::MAX);
        // SAFETY: the call writes at most `count` groups, which there is room for.
        let done = unsafe { libc::getgrouplist(name.as_ptr(), gid, groups.as_mut_ptr(), &raw mut count) };
        let count = usize::try_from(count).unwrap_or(0);
        if done >= 0 {
            groups.truncate(count);
            return Ok(groups);
        }
        if count <= groups.len() {
            return Err(io::Error::other("the user's groups are not known"));
        }
        groups.resize(count, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_found_by_name() {
        let root = User::find("root").unwrap().unwrap();
        assert_eq!((root.uid, root.gid, root.groups.first()), (0, 0, Some(&0)));
        assert_eq!(root.environment()[1], ("LOGNAME", "root".into()));
        assert_eq!(User::find("no such user").unwrap(), None);
        assert_eq!(User::find("a\0b").unwrap(), None);
    }
}
