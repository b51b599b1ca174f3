//! taskstats: what every task of the machine had used when it exited. Needs root.
//!
//! The record is made early in the exit: page faults, switches and CPU time of the rest of the exit are missing.
//! Bytes are rounded down to a KiB per task. Both are allowed for where the sums are used.

use super::netlink::{Netlink, Received, attributes, messages, u16_at, u64_at};
use std::io;
use std::ops::AddAssign;

const GENL_ID_CTRL: u16 = 16;

/// Counters of one task, or of many together.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counters {
    pub read_chars: u64,
    pub write_chars: u64,
    pub read_bytes: u64,
    pub write_bytes: u64,
    pub faults_minor: u64,
    pub faults_major: u64,
    pub switches_voluntary: u64,
    pub switches_involuntary: u64,
    pub user_us: u64,
    pub system_us: u64,
    /// How many tasks are in the sum.
    pub tasks: u64,
    /// The largest high-water mark of resident memory among them.
    pub peak_rss_bytes: u64,
}

impl AddAssign for Counters {
    fn add_assign(&mut self, other: Counters) {
        self.read_chars += other.read_chars;
        self.write_chars += other.write_chars;
        self.read_bytes += other.read_bytes;
        self.write_bytes += other.write_bytes;
        self.faults_minor += other.faults_minor;
        self.faults_major += other.faults_major;
        self.switches_voluntary += other.switches_voluntary;
        self.switches_involuntary += other.switches_involuntary;
        self.user_us += other.user_us;
        self.system_us += other.system_us;
        self.tasks += other.tasks;
        self.peak_rss_bytes = self.peak_rss_bytes.max(other.peak_rss_bytes);
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum TaskEnd {
    Task { pid: i32, counters: Counters },
    Lost,
}

pub(crate) struct Taskstats(Netlink);

impl Taskstats {
    pub(crate) fn open() -> io::Result<Taskstats> {
        let mut socket = Netlink::open(libc::NETLINK_GENERIC, 0)?;
        let family = family_id(&mut socket)?;
        let cpus = std::fs::read_to_string("/sys/devices/system/cpu/possible")?;
        let mut payload = vec![1, 1, 0, 0];
        let mask = [cpus.trim().as_bytes(), &[0]].concat();
        attribute(&mut payload, 3, &mask);
        socket.send(family, libc::NLM_F_ACK as u16, &payload)?;
        if let Received::Messages(datagram) = socket.receive(2_000) {
            for (kind, payload) in messages(datagram) {
                let code = super::netlink::u32_at(payload, 0).unwrap_or_default() as i32;
                if i32::from(kind) == libc::NLMSG_ERROR && code != 0 {
                    return Err(io::Error::from_raw_os_error(-code));
                }
            }
        }
        Ok(Taskstats(socket))
    }

    /// Hands on what has arrived; returns whether there was anything.
    pub(crate) fn drain(&mut self, wait_ms: i32, mut take: impl FnMut(TaskEnd)) -> bool {
        match self.0.receive(wait_ms) {
            Received::Nothing => false,
            Received::Lost => {
                take(TaskEnd::Lost);
                true
            }
            Received::Messages(datagram) => {
                for (_, payload) in messages(datagram) {
                    // After the generic header: one aggregate for the task, and one for its group if it was the last.
                    for (kind, nested) in attributes(payload.get(4..).unwrap_or_default()) {
                        if kind == 4 {
                            parse(nested).into_iter().for_each(&mut take);
                        }
                    }
                }
                true
            }
        }
    }
}

fn family_id(socket: &mut Netlink) -> io::Result<u16> {
    let mut payload = vec![3, 1, 0, 0];
    attribute(&mut payload, 2, b"TASKSTATS\0");
    socket.send(GENL_ID_CTRL, 0, &payload)?;
    if let Received::Messages(datagram) = socket.receive(2_000) {
        for (_, payload) in messages(datagram) {
            for (kind, value) in attributes(payload.get(4..).unwrap_or_default()) {
                if kind == 1 {
                    return u16_at(value, 0).ok_or_else(|| io::Error::other("a short answer"));
                }
            }
        }
    }
    Err(io::Error::other("the kernel has no taskstats"))
}

fn attribute(payload: &mut Vec<u8>, kind: u16, value: &[u8]) {
    payload.extend(((4 + value.len()) as u16).to_ne_bytes());
    payload.extend(kind.to_ne_bytes());
    payload.extend(value);
    payload.resize(payload.len().next_multiple_of(4), 0);
}

/// Offsets of `struct taskstats`, which only grows at its end.
fn parse(nested: &[u8]) -> Option<TaskEnd> {
    let mut pid = None;
    for (kind, value) in attributes(nested) {
        match kind {
            1 => pid = super::netlink::u32_at(value, 0),
            3 => {
                let at = |offset| u64_at(value, offset);
                let counters = Counters {
                    user_us: at(152)?,
                    system_us: at(160)?,
                    faults_minor: at(168)?,
                    faults_major: at(176)?,
                    peak_rss_bytes: at(200)? * 1024,
                    read_chars: at(216)?,
                    write_chars: at(224)?,
                    read_bytes: at(248)?,
                    write_bytes: at(256)?,
                    switches_voluntary: at(272)?,
                    switches_involuntary: at(280)?,
                    tasks: 1,
                };
                return Some(TaskEnd::Task { pid: pid? as i32, counters });
            }
            _ => {}
        }
    }
    None
}
