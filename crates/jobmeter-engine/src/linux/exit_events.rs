//! Ends of processes as the kernel's process connector tells them: exit status and time of every process of the machine,
//! also to ordinary users (Linux 6.6 and later). Only in the initial user and PID namespaces.

use crate::linux::sys;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;

/// Room for the events between two drains: the kernel charges some 800 bytes for each.
static RECEIVE_BYTES: libc::c_int = 2 << 20;

const CONNECTOR_PROCESSES: u32 = 1;
const LISTEN: u32 = 1;
const EVENT_EXIT: u32 = 0x8000_0000;

/// The kernel tells nothing, and does not say so, outside of the first namespaces, which have these fixed numbers.
const FIRST_NAMESPACES: [(&str, u64); 2] =
    [("/proc/self/ns/user", 0xEFFF_FFFD), ("/proc/self/ns/pid", 0xEFFF_FFFC)];

/// Behind `nlmsghdr` and `cn_msg` stands `proc_event`: what, cpu, time, then what belongs to the kind.
const HEADERS: usize = 16 + 20;
const MESSAGE_BYTES: usize = 256;
const BATCH: usize = 32;

/// A process has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ExitEvent {
    pub pid: i32,
    /// As `wait` gives it.
    pub wait_status: i32,
    /// On the monotonic clock.
    pub t_ns: u64,
}

pub(crate) struct ExitEvents {
    socket: OwnedFd,
}

impl ExitEvents {
    /// Listens from now on. Refused to ordinary users before Linux 6.6, and inside of containers.
    pub(crate) fn open() -> io::Result<ExitEvents> {
        let is_first = |(path, inode)| std::fs::metadata(path).is_ok_and(|space| space.ino() == inode);
        if !FIRST_NAMESPACES.into_iter().all(is_first) {
            return Err(io::Error::other("the process connector is silent inside of containers"));
        }
        let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: a fresh descriptor is ours to own.
        let socket = unsafe {
            let fd = sys::check(libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_CONNECTOR))?;
            OwnedFd::from_raw_fd(fd)
        };
        // SAFETY: a zeroed address is a valid one; the option is an int. Both outlive their calls. Without the option the
        // default size is used.
        unsafe {
            let size = size_of::<libc::c_int>() as u32;
            let value = (&raw const RECEIVE_BYTES).cast();
            libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVBUF, value, size);
            let mut address: libc::sockaddr_nl = std::mem::zeroed();
            address.nl_family = libc::AF_NETLINK as u16;
            address.nl_groups = CONNECTOR_PROCESSES;
            let size = size_of::<libc::sockaddr_nl>() as u32;
            sys::check(libc::bind(socket.as_raw_fd(), (&raw const address).cast(), size))?;
        }
        let events = ExitEvents { socket };
        events.listen()?;
        Ok(events)
    }

    fn listen(&self) -> io::Result<()> {
        let words = [
            (16 + 20 + 8) as u32,
            libc::NLMSG_DONE as u32,
            0,
            std::process::id(),
            CONNECTOR_PROCESSES,
            CONNECTOR_PROCESSES,
            0,
            0,
            8,
            LISTEN,
            EVENT_EXIT,
        ];
        // `nlmsg_type` and `nlmsg_flags` are two bytes each; so are the length and the flags of `cn_msg`.
        let mut message: Vec<u8> = Vec::with_capacity(HEADERS + 8);
        for (at, word) in words.into_iter().enumerate() {
            match at {
                1 | 8 => {
                    message.extend((word as u16).to_ne_bytes());
                    message.extend(0u16.to_ne_bytes());
                }
                _ => message.extend(word.to_ne_bytes()),
            }
        }
        // SAFETY: the message outlives the call.
        let sent = unsafe { libc::send(self.socket.as_raw_fd(), message.as_ptr().cast(), message.len(), 0) };
        sys::check(sent as libc::c_int).map(drop)
    }

    /// Passes on the ends of processes that wait; returns how many events were read. What did not fit into the socket
    /// is missing.
    pub(crate) fn drain(&self, mut found: impl FnMut(ExitEvent)) -> usize {
        let mut buffers = [[0u8; MESSAGE_BYTES]; BATCH];
        let mut total = 0;
        loop {
            let mut parts: [libc::iovec; BATCH] = std::array::from_fn(|at| libc::iovec {
                iov_base: buffers[at].as_mut_ptr().cast(),
                iov_len: MESSAGE_BYTES,
            });
            // SAFETY: zeroed headers are valid; each points to one buffer, which outlives the call.
            let count = unsafe {
                let mut messages: [libc::mmsghdr; BATCH] = std::mem::zeroed();
                for (message, part) in messages.iter_mut().zip(&mut parts) {
                    message.msg_hdr.msg_iov = part;
                    message.msg_hdr.msg_iovlen = 1;
                }
                libc::recvmmsg(
                    self.socket.as_raw_fd(),
                    messages.as_mut_ptr(),
                    BATCH as u32,
                    // Signed in glibc, unsigned in musl.
                    libc::MSG_DONTWAIT as _,
                    std::ptr::null_mut(),
                )
            };
            match sys::check(count) {
                Ok(count) => {
                    let count = count as usize;
                    buffers[..count].iter().filter_map(|message| parse(message)).for_each(&mut found);
                    total += count;
                    if count < BATCH {
                        return total;
                    }
                }
                // Some were lost: the rest is still there.
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => {}
                Err(_) => return total,
            }
        }
    }
}

fn word(message: &[u8], at: usize) -> Option<u32> {
    message.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes)
}

/// The end of a process; that of another of its threads is none.
fn parse(message: &[u8]) -> Option<ExitEvent> {
    let event = message.get(HEADERS..)?;
    let (tid, pid, wait_status) = (word(event, 16)?, word(event, 20)?, word(event, 24)?);
    if word(event, 0)? != EVENT_EXIT || tid != pid {
        return None;
    }
    let t_ns = u64::from_ne_bytes(event.get(8..16)?.try_into().ok()?);
    Some(ExitEvent { pid: pid as i32, wait_status: wait_status as i32, t_ns })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_process_and_not_of_its_threads() {
        let mut message = vec![0u8; HEADERS];
        for word in [EVENT_EXIT, 1, 5000, 0, 77, 77, 7 << 8, u32::MAX] {
            message.extend(word.to_ne_bytes());
        }
        let expected = ExitEvent { pid: 77, wait_status: 7 << 8, t_ns: 5000 };
        #[cfg(target_endian = "little")]
        assert_eq!(parse(&message), Some(expected));
        for end in 0..HEADERS + 28 {
            assert_eq!(parse(&message[..end]), None, "cut at {end}");
        }
        message[HEADERS + 16] ^= 1;
        assert_eq!(parse(&message), None, "a thread");
        message[HEADERS + 16] ^= 1;
        message[HEADERS + 3] = 0;
        assert_eq!(parse(&message), None, "another event");
    }

    #[test]
    fn statuses_of_children_that_others_could_reap() {
        let events = match ExitEvents::open() {
            Ok(events) => events,
            Err(error) => return eprintln!("skipped: no process connector here: {error}"),
        };
        let began_ns = sys::monotonic_ns();
        let mut pids = Vec::new();
        for script in ["exit 7", "kill -9 $$"] {
            let mut child = std::process::Command::new("sh").args(["-c", script]).spawn().expect("a child");
            pids.push(child.id() as i32);
            child.wait().expect("its end");
        }
        let mut found = Vec::new();
        assert!(events.drain(|event| found.push(event)) >= 2);
        let status = |pid: i32| found.iter().find(|event| event.pid == pid).map(|event| event.wait_status);
        assert_eq!((status(pids[0]), status(pids[1])), (Some(7 << 8), Some(9)));
        let times = began_ns..=sys::monotonic_ns();
        assert!(found.iter().all(|event| times.contains(&event.t_ns)), "on the monotonic clock");
    }
}
