//! What the kernel's process connector tells: ends of all processes of the machine with their exit status, and their
//! starts where those are wanted; also to ordinary users (Linux 6.6 and later). Only in the initial user and PID namespaces.

use crate::linux::sys;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt;

/// Room for the events between two drains: the kernel charges some 800 bytes for each.
static RECEIVE_BYTES: libc::c_int = 2 << 20;

const CONNECTOR_PROCESSES: u32 = 1;
const LISTEN: u32 = 1;
const EVENT_FORK: u32 = 0x1;
const EVENT_EXEC: u32 = 0x2;
const EVENT_EXIT: u32 = 0x8000_0000;

/// The kernel tells nothing, and does not say so, outside of the first namespaces, which have these fixed numbers.
const FIRST_NAMESPACES: [(&str, u64); 2] =
    [("/proc/self/ns/user", 0xEFFF_FFFD), ("/proc/self/ns/pid", 0xEFFF_FFFC)];

/// Behind `nlmsghdr` and `cn_msg` stands `proc_event`: what, cpu, time, then what belongs to the kind.
const HEADERS: usize = 16 + 20;
const MESSAGE_BYTES: usize = 256;
const BATCH: usize = 32;

/// A thread of a process has begun, run a program or ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProcessEvent {
    pub pid: i32,
    /// Equal to `pid` for the first thread of a process.
    pub tid: i32,
    /// On the monotonic clock.
    pub t_ns: u64,
    pub what: Happened,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Happened {
    Forked {
        parent_pid: i32,
    },
    /// It has become another program; its name is not told.
    Execed,
    /// As `wait` gives it.
    Exited {
        wait_status: i32,
    },
}

/// What is listened to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    Ends,
    StartsAndEnds,
}

/// What a drain found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Drained {
    pub events: usize,
    /// Events did not fit into the socket.
    pub has_lost: bool,
}

pub(crate) struct ExitEvents {
    socket: OwnedFd,
}

impl ExitEvents {
    /// Listens from now on. Refused to ordinary users before Linux 6.6, and inside of containers.
    pub(crate) fn open(wanted: Wanted) -> io::Result<ExitEvents> {
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
        events.listen(match wanted {
            Wanted::Ends => EVENT_EXIT,
            Wanted::StartsAndEnds => EVENT_FORK | EVENT_EXEC | EVENT_EXIT,
        })?;
        Ok(events)
    }

    /// From now on only ends are told. The kernel knows one choice for each socket, the last.
    pub(crate) fn narrow_to_ends(&self) -> io::Result<()> {
        self.listen(EVENT_EXIT)
    }

    pub(crate) fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    fn listen(&self, events: u32) -> io::Result<()> {
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
            events,
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

    /// Passes on the events that wait.
    pub(crate) fn drain(&self, mut found: impl FnMut(ProcessEvent)) -> Drained {
        let mut buffers = [[0u8; MESSAGE_BYTES]; BATCH];
        let mut drained = Drained::default();
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
                    drained.events += count;
                    if count < BATCH {
                        return drained;
                    }
                }
                // Some were lost: the rest is still there.
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => drained.has_lost = true,
                Err(_) => return drained,
            }
        }
    }
}

fn word(message: &[u8], at: usize) -> Option<u32> {
    message.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes)
}

fn parse(message: &[u8]) -> Option<ProcessEvent> {
    let event = message.get(HEADERS..)?;
    let t_ns = u64::from_ne_bytes(event.get(8..16)?.try_into().ok()?);
    let number = |at| word(event, at).map(|word| word as i32);
    let (tid, pid, what) = match word(event, 0)? {
        // The parent's thread and process stand before those of the child.
        EVENT_FORK => (number(24)?, number(28)?, Happened::Forked { parent_pid: number(20)? }),
        EVENT_EXEC => (number(16)?, number(20)?, Happened::Execed),
        EVENT_EXIT => (number(16)?, number(20)?, Happened::Exited { wait_status: number(24)? }),
        _ => return None,
    };
    Some(ProcessEvent { pid, tid, t_ns, what })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(words: &[u32]) -> Vec<u8> {
        let mut message = vec![0u8; HEADERS];
        // What, CPU, time, and what belongs to the kind.
        let head = [words[0], 1, 5000, 0];
        head.iter().chain(&words[1..]).for_each(|word| message.extend(word.to_ne_bytes()));
        message
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn forks_programs_and_ends_of_threads() {
        let event = |tid, what| Some(ProcessEvent { pid: 77, tid, t_ns: 5000, what });
        let ended = message(&[EVENT_EXIT, 77, 77, 7 << 8, u32::MAX]);
        assert_eq!(parse(&ended), event(77, Happened::Exited { wait_status: 7 << 8 }));
        for end in 0..HEADERS + 28 {
            assert_eq!(parse(&ended[..end]), None, "cut at {end}");
        }
        let thread = message(&[EVENT_EXIT, 78, 77, 0, 0]);
        assert_eq!(parse(&thread), event(78, Happened::Exited { wait_status: 0 }));
        let forked = message(&[EVENT_FORK, 6, 5, 77, 77]);
        assert_eq!(parse(&forked), event(77, Happened::Forked { parent_pid: 5 }));
        assert_eq!(parse(&message(&[EVENT_EXEC, 77, 77])), event(77, Happened::Execed));
        assert_eq!(parse(&message(&[4, 77, 77])), None, "another event");
    }

    #[test]
    fn statuses_of_children_that_others_could_reap() {
        let events = match ExitEvents::open(Wanted::StartsAndEnds) {
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
        assert!(events.drain(|event| found.push(event)).events >= 2);
        let own_pid = std::process::id() as i32;
        for (pid, wait_status) in [(pids[0], 7 << 8), (pids[1], 9)] {
            let of_it = found.iter().filter(|event| event.pid == pid && event.tid == pid);
            let told: Vec<Happened> = of_it.map(|event| event.what).collect();
            let forked = Happened::Forked { parent_pid: own_pid };
            assert_eq!(told, [forked, Happened::Execed, Happened::Exited { wait_status }]);
        }
        let times = began_ns..=sys::monotonic_ns();
        let mut of_ours = found.iter().filter(|event| pids.contains(&event.pid));
        assert!(of_ours.all(|event| times.contains(&event.t_ns)), "on the monotonic clock");
    }
}
