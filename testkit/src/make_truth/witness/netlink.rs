//! A netlink socket: bind, send, and receive until there is nothing more or the kernel says that it lost some.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Room for the records of some seconds of the busiest job: 40,000 threads give 80,000 of them.
const RECEIVE_BYTES: i32 = 64 << 20;

pub(crate) struct Netlink {
    socket: OwnedFd,
    buffer: Vec<u8>,
}

/// What one receive brought.
pub(crate) enum Received<'a> {
    Messages(&'a [u8]),
    /// Nothing within the time given.
    Nothing,
    /// The socket's buffer was full: records are missing.
    Lost,
}

impl Netlink {
    pub(crate) fn open(protocol: i32, groups: u32) -> io::Result<Netlink> {
        // SAFETY: makes a descriptor that nobody else owns.
        let fd = unsafe { libc::socket(libc::AF_NETLINK, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, protocol) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: as above.
        let socket = unsafe { OwnedFd::from_raw_fd(fd) };
        for option in [libc::SO_RCVBUF, libc::SO_RCVBUFFORCE] {
            let size = RECEIVE_BYTES;
            // SAFETY: the option takes an int, which outlives the call. Without the privilege the second is refused.
            unsafe { libc::setsockopt(fd, libc::SOL_SOCKET, option, (&raw const size).cast(), 4) };
        }
        // SAFETY: sockaddr_nl is plain data.
        let mut address: libc::sockaddr_nl = unsafe { std::mem::zeroed() };
        address.nl_family = libc::AF_NETLINK as u16;
        address.nl_groups = groups;
        let length = size_of::<libc::sockaddr_nl>() as u32;
        // SAFETY: the address outlives the call and has the length given.
        if unsafe { libc::bind(fd, (&raw const address).cast(), length) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Netlink { socket, buffer: vec![0; 1 << 18] })
    }

    /// Sends one message: header and payload.
    pub(crate) fn send(&self, kind: u16, flags: u16, payload: &[u8]) -> io::Result<()> {
        let mut message = Vec::new();
        message.extend(((16 + payload.len()) as u32).to_ne_bytes());
        message.extend(kind.to_ne_bytes());
        message.extend((flags | libc::NLM_F_REQUEST as u16).to_ne_bytes());
        message.extend([0; 8]);
        message.extend(payload);
        // SAFETY: the message outlives the call.
        let sent = unsafe { libc::send(self.socket.as_raw_fd(), message.as_ptr().cast(), message.len(), 0) };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    pub(crate) fn receive(&mut self, wait_ms: i32) -> Received<'_> {
        let mut ready = libc::pollfd { fd: self.socket.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one entry, which outlives the call.
        if unsafe { libc::poll(&mut ready, 1, wait_ms) } <= 0 {
            return Received::Nothing;
        }
        let room = self.buffer.len();
        // SAFETY: the buffer has this much room.
        let got = unsafe {
            libc::recv(self.socket.as_raw_fd(), self.buffer.as_mut_ptr().cast(), room, libc::MSG_DONTWAIT)
        };
        match got {
            1.. => Received::Messages(&self.buffer[..got as usize]),
            _ if io::Error::last_os_error().raw_os_error() == Some(libc::ENOBUFS) => Received::Lost,
            _ => Received::Nothing,
        }
    }
}

/// The payloads of the messages in one datagram, each with its type.
pub(crate) fn messages(datagram: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = datagram;
    std::iter::from_fn(move || {
        let length = u32_at(rest, 0)? as usize;
        let kind = u16_at(rest, 4)?;
        let payload = rest.get(16..length)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, payload))
    })
}

/// The attributes in a payload: type (without its flags) and value.
pub(crate) fn attributes(payload: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = payload;
    std::iter::from_fn(move || {
        let length = usize::from(u16_at(rest, 0)?);
        let kind = u16_at(rest, 2)? & 0x3fff;
        let value = rest.get(4..length)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}
