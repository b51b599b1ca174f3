//! `/proc/PID/status`: high-water mark, swap, context switches, ignored signals.

use super::scan::{keyed, lines};

/// The lines of `/proc/PID/status` that are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Status {
    /// Thread group id: differs from the asked pid when that was a thread.
    pub group_pid: Option<u64>,
    /// The user that it acts as.
    pub uid: Option<u64>,
    /// Peak resident memory of the present address space (it starts anew with exec). Absent for zombies.
    pub peak_rss_bytes: Option<u64>,
    /// `VmSwap`.
    pub swap_bytes: Option<u64>,
    /// Resident shared memory: tmpfs, memfd, System V and shared anonymous mappings.
    pub shared_memory_bytes: Option<u64>,
    /// Of the main thread alone.
    pub switches_voluntary: Option<u64>,
    /// Of the main thread.
    pub switches_involuntary: Option<u64>,
    /// The process ignores SIGCHLD: its children are reaped into nobody's account.
    pub ignores_children: bool,
}

/// What is missing is `None`.
pub fn parse(text: &[u8]) -> Status {
    let mut status = Status::default();
    for line in lines(text) {
        match line.first() {
            Some(b'T') => status.group_pid = keyed(line, b"Tgid:").or(status.group_pid),
            Some(b'U') => status.uid = keyed(line, b"Uid:").or(status.uid),
            Some(b'V') => {
                let kib = |key: &[u8]| keyed(line, key).map(|value| value * 1024);
                status.peak_rss_bytes = kib(b"VmHWM:").or(status.peak_rss_bytes);
                status.swap_bytes = kib(b"VmSwap:").or(status.swap_bytes);
            }
            Some(b'R') => {
                let kib = keyed(line, b"RssShmem:");
                status.shared_memory_bytes = kib.map(|kib| kib * 1024).or(status.shared_memory_bytes);
            }
            Some(b'S') => {
                if let Some(mask) = line.strip_prefix(b"SigIgn:\t") {
                    status.ignores_children =
                        hex_mask(mask).is_some_and(|bits| bits & (1 << (libc::SIGCHLD - 1)) != 0);
                }
            }
            Some(b'v') => {
                status.switches_voluntary =
                    keyed(line, b"voluntary_ctxt_switches:").or(status.switches_voluntary);
            }
            Some(b'n') => {
                status.switches_involuntary =
                    keyed(line, b"nonvoluntary_ctxt_switches:").or(status.switches_involuntary);
            }
            _ => {}
        }
    }
    status
}

/// A process and its parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kin {
    /// Its number in its own PID namespace, the innermost one.
    pub innermost_pid: i32,
    /// Its parent's number in the namespace of the mounted `/proc`; 0 where that has none.
    pub parent_pid: i32,
}

/// Source: `PPid` and the last number of `NSpid`, or `Pid` before Linux 4.1.
pub fn parse_kin(text: &[u8]) -> Option<Kin> {
    let (mut pid, mut parent_pid) = (None, None);
    for line in lines(text) {
        pid = keyed(line, b"Pid:").or(pid);
        parent_pid = keyed(line, b"PPid:").or(parent_pid);
        if let Some(numbers) = line.strip_prefix(b"NSpid:") {
            let numbers = std::str::from_utf8(numbers).ok()?;
            pid = numbers.split_ascii_whitespace().last().and_then(|last| last.parse().ok()).or(pid);
        }
    }
    Some(Kin { innermost_pid: pid?.try_into().ok()?, parent_pid: parent_pid?.try_into().ok()? })
}

/// A signal mask, 16 hexadecimal digits: bit n - 1 stands for signal n.
pub fn hex_mask(mask: &[u8]) -> Option<u64> {
    std::str::from_utf8(mask).ok().and_then(|text| u64::from_str_radix(text.trim(), 16).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_that_matter() {
        let text = b"Name:\tx\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t77\nUid:\t1000\t1000\t1000\t1000\nVmHWM:\t    3300 kB\nRssShmem:\t      12 kB\nVmSwap:\t       4 kB\nThreads:\t1\nSigIgn:\t0000000000010000\nvoluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t545\n";
        let status = parse(text);
        assert_eq!((status.group_pid, status.uid), (Some(77), Some(1000)));
        assert_eq!((status.peak_rss_bytes, status.swap_bytes), (Some(3300 * 1024), Some(4096)));
        assert_eq!(status.shared_memory_bytes, Some(12 * 1024));
        assert_eq!((status.switches_voluntary, status.switches_involuntary), (Some(150), Some(545)));
        assert!(status.ignores_children);
        assert_eq!(parse(b""), Status::default());
    }

    #[test]
    fn a_process_is_known_by_its_number_in_its_own_namespace() {
        let kin = |innermost_pid, parent_pid| Some(Kin { innermost_pid, parent_pid });
        assert_eq!(parse_kin(b"Name:\tx\nPid:\t77\nPPid:\t70\nTracerPid:\t0\n"), kin(77, 70));
        assert_eq!(parse_kin(b"Pid:\t77\nPPid:\t70\nNStgid:\t77\t5\t1\nNSpid:\t77\t5\t1\n"), kin(1, 70));
        assert_eq!(parse_kin(b"Name:\tx\n"), None);
    }
}
