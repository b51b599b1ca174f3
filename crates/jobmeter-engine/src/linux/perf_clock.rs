//! A software clock of perf that the job's descendants inherit: where no group may be made, it still counts
//! most of what parents that ignore SIGCHLD throw away. It misses the teardown of each process.

use crate::linux::perf_event::{Attributes, FLAG_EXCLUDE_KERNEL, FLAG_INHERIT};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

const SW_TASK_CLOCK: u64 = 1;

/// One clock per process that lived when they were opened; what they fork later is counted in.
#[derive(Default)]
pub(crate) struct InheritedClocks {
    used_before_ns: u64,
    clocks: Vec<InheritedClock>,
}

/// More than this many at once are not worth their descriptors.
const MOST_CLOCKS: usize = 64;

impl InheritedClocks {
    /// `used_before_ns` is what the job has used up to now.
    pub(crate) fn open(used_before_ns: u64, pids: impl Iterator<Item = i32>) -> InheritedClocks {
        let clocks = pids.take(MOST_CLOCKS).filter_map(|pid| InheritedClock::open(pid).ok()).collect();
        InheritedClocks { used_before_ns, clocks }
    }

    /// Used before and since; `None` where there are no clocks.
    pub(crate) fn total_ns(&self) -> Option<u64> {
        let since_ns: u64 = self.clocks.iter().map(InheritedClock::total_ns).sum::<Option<u64>>()?;
        (!self.clocks.is_empty()).then_some(self.used_before_ns + since_ns)
    }
}

struct InheritedClock(OwnedFd);

impl InheritedClock {
    /// Counts `pid` and all it will fork.
    fn open(pid: i32) -> io::Result<InheritedClock> {
        // An unprivileged user may only count what excludes the kernel; for a clock it makes no difference.
        Self::open_with(pid, FLAG_INHERIT)
            .or_else(|_| Self::open_with(pid, FLAG_INHERIT | FLAG_EXCLUDE_KERNEL))
    }

    fn open_with(pid: i32, flags: u64) -> io::Result<InheritedClock> {
        const ANY_CPU: i32 = -1;
        Attributes::software(SW_TASK_CLOCK, flags).open(pid, ANY_CPU).map(InheritedClock)
    }

    fn total_ns(&self) -> Option<u64> {
        let mut value = [0u8; 8];
        // SAFETY: reads eight bytes into eight.
        let count = unsafe { libc::read(self.0.as_raw_fd(), value.as_mut_ptr().cast(), 8) };
        (count == 8).then(|| u64::from_ne_bytes(value))
    }
}
