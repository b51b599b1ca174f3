//! Exit records of taskstats: the high-water mark and the page faults of every task that ends. Needs root in the first
//! namespaces; the records are those of the whole machine.

use crate::linux::sys;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Room for the records between two ticks: about 6,000 of them.
static RECEIVE_BYTES: libc::c_int = 4 << 20;

const GENL_HEADER: usize = 20;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
const TASKSTATS_CMD_GET: u8 = 1;
const TASKSTATS_CMD_ATTR_REGISTER_CPUMASK: u16 = 3;
const TASKSTATS_TYPE_STATS: u16 = 3;
const TASKSTATS_TYPE_AGGR_PID: u16 = 4;

/// What the kernel says of a task when it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ExitRecord {
    /// The process that the task was a thread of.
    pub pid: i32,
    pub parent_pid: i32,
    /// As `wait` gives it; only the record of the first thread tells it.
    pub wait_status: Option<i32>,
    /// CPU time of this task up to this record, which comes before the last of its teardown.
    pub cpu_ns: u64,
    /// It was forked and never replaced by exec.
    pub is_copy: bool,
    /// Name of its last program, as `stat` has it; only the record of the first thread tells it.
    pub name: Option<[u8; 16]>,
    /// High-water mark of its last address space: what it held before an exec is not in it.
    pub peak_rss_bytes: u64,
    /// Minor and major page faults of this task alone.
    pub faults: u64,
}

pub(crate) struct ExitRecords {
    socket: OwnedFd,
    buffer: Vec<u8>,
}

impl ExitRecords {
    /// Listens to all CPUs.
    pub(crate) fn open() -> io::Result<ExitRecords> {
        crate::linux::descriptors::spare_one()?;
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: a fresh descriptor is ours to own.
        let socket = unsafe {
            let fd = sys::check(libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_GENERIC))?;
            OwnedFd::from_raw_fd(fd)
        };
        // SAFETY: the option is read from an int that outlives the call. Without it the default size is used.
        unsafe {
            libc::setsockopt(
                socket.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_RCVBUFFORCE,
                (&raw const RECEIVE_BYTES).cast(),
                size_of::<libc::c_int>() as u32,
            );
        }
        let mut records = ExitRecords { socket, buffer: vec![0; 8192] };
        let name = attribute(CTRL_ATTR_FAMILY_NAME, b"TASKSTATS\0");
        records.send(libc::GENL_ID_CTRL as u16, CTRL_CMD_GETFAMILY, &name)?;
        let answer = records.answer()?;
        let family = attributes(answer.get(GENL_HEADER..).unwrap_or_default())
            .find(|(kind, _)| *kind == CTRL_ATTR_FAMILY_ID)
            .and_then(|(_, value)| number_at::<2>(value, 0))
            .ok_or_else(|| io::Error::other("the kernel has no taskstats"))? as u16;
        let cpus = std::fs::read_to_string("/sys/devices/system/cpu/possible")?;
        let mask = format!("{}\0", cpus.trim());
        let mask = attribute(TASKSTATS_CMD_ATTR_REGISTER_CPUMASK, mask.as_bytes());
        records.send(family, TASKSTATS_CMD_GET, &mask)?;
        records.answer()?;
        Ok(records)
    }

    fn send(&self, family: u16, command: u8, attributes: &[u8]) -> io::Result<()> {
        const FLAGS_REQUEST_ACK: u16 = 5;
        let mut message = Vec::with_capacity(GENL_HEADER + attributes.len());
        message.extend(((GENL_HEADER + attributes.len()) as u32).to_ne_bytes());
        message.extend(family.to_ne_bytes());
        message.extend(FLAGS_REQUEST_ACK.to_ne_bytes());
        message.extend([1, 0, 0, 0, 0, 0, 0, 0]);
        message.extend([command, 1, 0, 0]);
        message.extend(attributes);
        // SAFETY: the buffer outlives the call.
        let sent = unsafe { libc::send(self.socket.as_raw_fd(), message.as_ptr().cast(), message.len(), 0) };
        sys::check(sent as libc::c_int).map(drop)
    }

    /// The message before the acknowledgement, or the acknowledgement alone. The kernel answers before `send` returns.
    fn answer(&mut self) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        while let Some(length) = self.receive()? {
            let message = &self.buffer[..length];
            if number_at::<2>(message, 4) == Some(libc::NLMSG_ERROR as u64) {
                let error = number_at::<4>(message, 16).unwrap_or_default() as u32 as i32;
                return if error == 0 { Ok(content) } else { Err(io::Error::from_raw_os_error(-error)) };
            }
            content = message.to_vec();
        }
        Ok(content)
    }

    /// The next message; `None` when there is none.
    fn receive(&mut self) -> io::Result<Option<usize>> {
        // SAFETY: the kernel writes at most the length of the buffer.
        let length = unsafe {
            libc::recv(self.socket.as_raw_fd(), self.buffer.as_mut_ptr().cast(), self.buffer.len(), 0)
        };
        match sys::check(length as libc::c_int) {
            Ok(length) => Ok(Some(length as usize)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Passes on all records that wait. Records that did not fit into the socket are missing.
    pub(crate) fn drain(&mut self, mut found: impl FnMut(ExitRecord)) {
        loop {
            match self.receive() {
                Ok(Some(length)) => parse(&self.buffer[..length]).into_iter().for_each(&mut found),
                Ok(None) => return,
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => {}
                Err(_) => return,
            }
        }
    }
}

/// The exit record of a task in a message, if that is what it holds.
fn parse(message: &[u8]) -> Option<ExitRecord> {
    let (_, aggregate) =
        attributes(message.get(GENL_HEADER..)?).find(|(kind, _)| *kind == TASKSTATS_TYPE_AGGR_PID)?;
    let (_, stats) = attributes(aggregate).find(|(kind, _)| *kind == TASKSTATS_TYPE_STATS)?;
    parse_stats(stats)
}

/// `struct taskstats` from version 12, which added the process of a thread. Version 15 had its fields moved.
fn parse_stats(stats: &[u8]) -> Option<ExitRecord> {
    const AFORK: u64 = 1;
    let version = number_at::<2>(stats, 0)?;
    if version < 12 || version == 15 {
        return None;
    }
    let (tid, pid) = (number_at::<4>(stats, 128)?, number_at::<4>(stats, 368)?);
    let is_process = tid == pid;
    Some(ExitRecord {
        pid: pid as i32,
        wait_status: number_at::<4>(stats, 4).filter(|_| is_process).map(|status| status as i32),
        cpu_ns: number_at::<8>(stats, 72)?,
        parent_pid: number_at::<4>(stats, 132)? as i32,
        is_copy: number_at::<1>(stats, 8)? & AFORK != 0,
        name: stats.get(80..96).filter(|_| is_process).and_then(|name| name.try_into().ok()),
        peak_rss_bytes: number_at::<8>(stats, 200)? * 1024,
        faults: number_at::<8>(stats, 168)? + number_at::<8>(stats, 176)?,
    })
}

fn number_at<const SIZE: usize>(bytes: &[u8], at: usize) -> Option<u64> {
    let mut number = [0; 8];
    number[..SIZE].copy_from_slice(bytes.get(at..at + SIZE)?);
    Some(u64::from_ne_bytes(if cfg!(target_endian = "big") {
        number.rotate_right(8 - SIZE);
        number
    } else {
        number
    }))
}

fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = ((value.len() + 4) as u16).to_ne_bytes().to_vec();
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

fn attributes(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let length = number_at::<2>(rest, 0)? as usize;
        let kind = number_at::<2>(rest, 2)? as u16 & 0x3fff;
        let value = rest.get(4..length)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stats(version: u16) -> Vec<u8> {
        let mut stats = vec![0; 560];
        stats[..2].copy_from_slice(&version.to_ne_bytes());
        stats[4..8].copy_from_slice(&(3u32 << 8).to_ne_bytes());
        stats[8] = 0x21;
        stats[72..80].copy_from_slice(&5_000_000u64.to_ne_bytes());
        stats[128..132].copy_from_slice(&4321u32.to_ne_bytes());
        stats[132..136].copy_from_slice(&77u32.to_ne_bytes());
        stats[80..86].copy_from_slice(b"solver");
        stats[168..176].copy_from_slice(&1500u64.to_ne_bytes());
        stats[176..184].copy_from_slice(&3u64.to_ne_bytes());
        stats[200..208].copy_from_slice(&62_360u64.to_ne_bytes());
        stats[368..372].copy_from_slice(&4321u32.to_ne_bytes());
        stats
    }

    #[test]
    fn a_record_inside_its_message() {
        let inner =
            [attribute(1, &4321u32.to_ne_bytes()), attribute(TASKSTATS_TYPE_STATS, &stats(16))].concat();
        let message = [vec![0; GENL_HEADER], attribute(TASKSTATS_TYPE_AGGR_PID, &inner)].concat();
        let record = ExitRecord {
            pid: 4321,
            wait_status: Some(3 << 8),
            cpu_ns: 5_000_000,
            parent_pid: 77,
            is_copy: true,
            name: Some(*b"solver\0\0\0\0\0\0\0\0\0\0"),
            peak_rss_bytes: 62_360 * 1024,
            faults: 1503,
        };
        assert_eq!(parse(&message), Some(record));
        for end in 0..message.len() {
            assert_eq!(parse(&message[..end]), None, "cut at {end}");
        }
    }

    #[test]
    fn versions_with_other_fields_are_refused() {
        assert_eq!(parse_stats(&stats(11)), None);
        assert_eq!(parse_stats(&stats(15)), None);
        assert!(parse_stats(&stats(13)).is_some_and(|record| record.pid == 4321));
    }

    #[test]
    fn the_mark_of_a_real_process() {
        let mut records = match ExitRecords::open() {
            Ok(records) => records,
            Err(error) => return eprintln!("skipped: taskstats needs root: {error}"),
        };
        let mut child = std::process::Command::new("true").spawn().expect("a program");
        let pid = child.id() as i32;
        assert!(child.wait().expect("its end").success());
        let mut found = None;
        records.drain(|record| found = Some(record).filter(|record| record.pid == pid).or(found));
        let record = found.expect("its record");
        // Its CPU time may be 0: it lives for less than a clock tick.
        assert_eq!(record.wait_status, Some(0), "{record:?}");
        assert!(record.peak_rss_bytes >= 256 * 1024 && record.faults > 10 && !record.is_copy, "{record:?}");
    }
}
