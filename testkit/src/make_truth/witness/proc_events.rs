//! The proc connector: every fork, exec and exit of the machine, with exit codes, from the kernel's own event
//! stream. Needs root (or Linux 6.6) and the initial PID namespace.

use super::netlink::{Netlink, Received, messages, u32_at};
use std::io;
use std::time::{Duration, Instant};

const NETLINK_CONNECTOR: i32 = 11;
const CN_IDX_PROC: u32 = 1;
const LISTEN: u32 = 1;
const IGNORE: u32 = 2;
const NONE: u32 = 0;
const FORK: u32 = 1;
const EXEC: u32 = 2;
const EXIT: u32 = 0x8000_0000;

#[derive(Debug, Clone, Copy)]
pub(crate) enum ProcEvent {
    /// A new process, or with `child_pid != child_tgid` a new thread.
    Fork {
        parent_tgid: i32,
        child_pid: i32,
        child_tgid: i32,
    },
    Exec {
        tgid: i32,
    },
    /// `status` as wait4 would give it.
    Exit {
        pid: i32,
        tgid: i32,
        status: i32,
    },
    Lost,
}

pub(crate) struct ProcEvents(Netlink);

impl ProcEvents {
    /// The kernel answers a listener of the initial PID namespace at once and says nothing to any other, whose socket may
    /// still bring the events that somebody else asked for, with pids that mean nothing here.
    pub(crate) fn open() -> io::Result<ProcEvents> {
        let mut events = ProcEvents(Netlink::open(NETLINK_CONNECTOR, CN_IDX_PROC)?);
        events.say(LISTEN)?;
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(1) {
            let mut answer = None;
            if let Received::Messages(datagram) = events.0.receive(100) {
                answer = messages(datagram).find_map(|(_, payload)| answer_to(std::process::id(), payload));
            }
            match answer {
                Some(0) => return Ok(events),
                Some(code) => return Err(io::Error::from_raw_os_error(code)),
                None => {}
            }
        }
        Err(io::Error::other("the kernel does not answer, as in a PID namespace"))
    }

    fn say(&self, word: u32) -> io::Result<()> {
        let mut payload = Vec::new();
        for number in [CN_IDX_PROC, 1, 0, std::process::id()] {
            payload.extend(number.to_ne_bytes());
        }
        payload.extend(4_u16.to_ne_bytes());
        payload.extend(0_u16.to_ne_bytes());
        payload.extend(word.to_ne_bytes());
        self.0.send(libc::NLMSG_DONE as u16, 0, &payload)
    }

    /// Hands on what has arrived; returns whether there was anything.
    pub(crate) fn drain(&mut self, wait_ms: i32, mut take: impl FnMut(ProcEvent)) -> bool {
        match self.0.receive(wait_ms) {
            Received::Nothing => false,
            Received::Lost => {
                take(ProcEvent::Lost);
                true
            }
            Received::Messages(datagram) => {
                for (_, payload) in messages(datagram) {
                    if let Some(event) = payload.get(20..).and_then(parse) {
                        take(event);
                    }
                }
                true
            }
        }
    }
}

impl Drop for ProcEvents {
    /// Without the word of leave the kernel goes on counting a listener.
    fn drop(&mut self) {
        let _ = self.say(IGNORE);
    }
}

/// The kernel's answer to a message with this number: 0 or an errno.
fn answer_to(number: u32, message: &[u8]) -> Option<i32> {
    let event = message.get(20..)?;
    let is_ours = u32_at(message, 12)? == number.wrapping_add(1) && u32_at(event, 0)? == NONE;
    is_ours.then(|| u32_at(event, 16)).flatten().map(|code| code as i32)
}

fn parse(event: &[u8]) -> Option<ProcEvent> {
    let number = |index: usize| u32_at(event, 16 + 4 * index).map(|number| number as i32);
    match u32_at(event, 0)? {
        FORK => {
            Some(ProcEvent::Fork { parent_tgid: number(1)?, child_pid: number(2)?, child_tgid: number(3)? })
        }
        EXEC => Some(ProcEvent::Exec { tgid: number(1)? }),
        EXIT => Some(ProcEvent::Exit { pid: number(0)?, tgid: number(1)?, status: number(2)? }),
        _ => None,
    }
}
