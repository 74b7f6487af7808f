//! Requests and answers between two processes of the recorder, each whole, some with a
//! descriptor. Owns their transport; refuses to know what they say.

use rustix::io::retry_on_intr;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};

pub const MESSAGE_MAX: usize = 128 << 10;

pub fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

pub fn send(socket: BorrowedFd<'_>, bytes: &[u8], descriptor: Option<BorrowedFd<'_>>) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if let Some(descriptor) = &descriptor {
        ancillary.push(SendAncillaryMessage::ScmRights(std::slice::from_ref(descriptor)));
    }
    sendmsg(socket, &[IoSlice::new(bytes)], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Waits for a message. Errors: the other end is closed, or the message was truncated.
pub fn receive(socket: BorrowedFd<'_>) -> io::Result<(Vec<u8>, Option<OwnedFd>)> {
    let mut bytes = vec![0; next_length(socket)?.min(MESSAGE_MAX)];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received =
        retry_on_intr(|| recvmsg(socket, &mut [IoSliceMut::new(&mut bytes)], &mut ancillary, RecvFlags::CMSG_CLOEXEC))?;
    let descriptor = ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    match received.bytes {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ if received.flags.contains(ReturnFlags::TRUNC) => Err(io::ErrorKind::InvalidData.into()),
        count => {
            bytes.truncate(count);
            Ok((bytes, descriptor))
        }
    }
}

/// Waits for a message without taking it. Most are short: room for the longest would cost more than the rest.
fn next_length(socket: BorrowedFd<'_>) -> io::Result<usize> {
    // A sandbox may use this system call, and no other one that receives.
    let (flags, mut no_room) = (RecvFlags::PEEK | RecvFlags::TRUNC, RecvAncillaryBuffer::default());
    Ok(retry_on_intr(|| recvmsg(socket, &mut [], &mut no_room, flags))?.bytes)
}
