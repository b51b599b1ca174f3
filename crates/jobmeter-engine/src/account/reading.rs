//! The counters of one process as they were last read: plain numbers, without descriptors and clocks.

use super::amounts::{Account, Gaps};
use crate::linux::proc::io::Io;

/// What a process has got from the children that it waited for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Waited {
    /// Whole clock ticks, commonly 10 ms.
    pub user_ns: u64,
    pub system_ns: u64,
    pub faults_minor: u64,
    pub faults_major: u64,
}

impl Waited {
    pub(crate) fn cpu_ns(&self) -> u64 {
        self.user_ns + self.system_ns
    }

    /// Whether any child was ever waited for: every process that ever ran has faulted at least once.
    pub(crate) fn is_any(&self) -> bool {
        self.faults_minor > 0
    }
}

/// What a process had waited for at the end of the last two ticks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct WaitedAtTicks {
    pub last_tick: Waited,
    pub tick_before: Waited,
}

/// The counters of one process as they were last read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ProcessReading {
    pub pid: i32,
    pub parent_pid: i32,
    pub is_main: bool,
    /// Own CPU time of all threads, living and exited.
    pub cpu_ns: u64,
    /// Own time by clock ticks. Kernels with tick accounting guess it: only its proportion is used.
    pub user_ticks: u64,
    pub system_ticks: u64,
    pub waited: Waited,
    /// Of the process and the children it waited for; `None` when it was never read.
    pub io: Option<Io>,
    /// The last attempt to read `io` was refused while the process was there.
    pub io_is_refused: bool,
    pub faults_minor: u64,
    pub faults_major: u64,
    /// Voluntary and involuntary, of the main thread.
    pub switches: Option<(u64, u64)>,
    /// It ignores SIGCHLD: the kernel reaps its children into nobody's account.
    pub ignores_children: bool,
}

impl ProcessReading {
    /// The kernel-mode part of `cpu_ns`, by the proportion of ticks.
    pub(crate) fn system_ns(&self) -> u64 {
        let ticks = u128::from(self.user_ticks) + u128::from(self.system_ticks);
        if ticks == 0 {
            return 0;
        }
        (u128::from(self.cpu_ns) * u128::from(self.system_ticks) / ticks) as u64
    }

    /// The process alone, apart from its bytes, which include waited-for children.
    pub(crate) fn own(&self) -> Account {
        let (switches_voluntary, switches_involuntary) = self.switches.unwrap_or_default();
        let io_is_missing = self.io.is_none() || self.io_is_refused;
        Account {
            cpu_ns: self.cpu_ns,
            system_ns: self.system_ns(),
            io: self.io.unwrap_or_default(),
            faults_minor: self.faults_minor,
            faults_major: self.faults_major,
            switches_voluntary,
            switches_involuntary,
            gaps: Gaps { chars: io_is_missing, storage: io_is_missing, switches: true, rounded: 0 },
        }
    }

    /// The process and the children it has waited for.
    pub(crate) fn with_waited(&self) -> Account {
        let mut account = self.own();
        account.cpu_ns += self.waited.cpu_ns();
        account.system_ns += self.waited.system_ns;
        account.faults_minor += self.waited.faults_minor;
        account.faults_major += self.waited.faults_major;
        account.gaps.rounded = u32::from(self.waited.is_any());
        account
    }
}
