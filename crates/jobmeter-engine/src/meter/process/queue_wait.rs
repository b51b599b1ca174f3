//! How long a process waited for a CPU.

use super::Process;
use std::os::fd::OwnedFd;

/// Time that the main thread waited for a CPU: the second field of `/proc/PID/schedstat`. Nobody inherits it, so what
/// was read of a process stays counted when the process ends.
#[derive(Default)]
pub(super) struct QueueWait {
    /// As last read; `None` before that, and where the kernel keeps no such figure.
    pub(super) last_ns: Option<u64>,
    /// Read and not taken yet.
    pub(super) grown_ns: u64,
    pub(super) read_at_ns: u64,
    pub(super) file: Option<OwnedFd>,
}

/// All but the main process are asked this often at most.
pub(super) const QUEUE_PERIOD_NS: u64 = 1_000_000_000;

impl QueueWait {
    pub(super) fn take_reading(&mut self, now_ns: u64, text: &[u8]) {
        let field = text.split(|byte| *byte == b' ').nth(1);
        let wait_ns = field.and_then(|field| std::str::from_utf8(field).ok()?.trim().parse::<u64>().ok());
        let Some(wait_ns) = wait_ns else { return };
        self.grown_ns += wait_ns.saturating_sub(self.last_ns.unwrap_or(0));
        self.last_ns = Some(wait_ns);
        self.read_at_ns = now_ns;
    }
}

impl Process {
    /// Time waiting for a CPU that was read since this was last asked; `None` where it was never read.
    pub(crate) fn take_queue_wait_ns(&mut self) -> Option<u64> {
        self.queue.last_ns.map(|_| std::mem::take(&mut self.queue.grown_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_in_the_queue_adds_up_and_odd_files_say_nothing() {
        let mut queue = QueueWait::default();
        for text in [&b""[..], b"12", b"12 x 1\n", b"12 99999999999999999999 1\n"] {
            queue.take_reading(5, text);
            assert_eq!((queue.last_ns, queue.read_at_ns), (None, 0), "{}", text.escape_ascii());
        }
        queue.take_reading(6, b"2048 700 3\n");
        queue.take_reading(7, b"4096 900 5\n");
        // A counter that steps back adds nothing.
        queue.take_reading(8, b"4096 850 6\n");
        assert_eq!((queue.last_ns, queue.grown_ns, queue.read_at_ns), (Some(850), 900, 8));
    }
}
