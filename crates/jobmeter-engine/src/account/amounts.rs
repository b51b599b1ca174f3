//! Cumulative amounts of a process or of many, and which of them are known to be incomplete.

use crate::linux::proc::io::Io;

/// Which amounts of an [`Account`] may be too small, because a part of them could not be read. A sum has every gap
/// of its parts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Gaps {
    /// Characters read and written: they are only in `/proc/PID/io`.
    pub chars: bool,
    /// Bytes of storage: in `/proc/PID/io` and in the usage of a reaped process.
    pub storage: bool,
    /// Context switches of a living process are those of its main thread, without its waited-for children.
    pub switches: bool,
    /// Processes whose waited-for children's time is known in whole clock ticks only: user and system time are each up to
    /// one tick too low.
    pub rounded: u32,
}

impl Gaps {
    fn add(&mut self, other: Gaps) {
        self.chars |= other.chars;
        self.storage |= other.storage;
        self.switches |= other.switches;
        self.rounded += other.rounded;
    }
}

/// Cumulative amounts of a process or of many.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Account {
    pub cpu_ns: u64,
    pub system_ns: u64,
    pub io: Io,
    pub faults_minor: u64,
    pub faults_major: u64,
    pub switches_voluntary: u64,
    pub switches_involuntary: u64,
    pub gaps: Gaps,
}

impl Account {
    pub(crate) fn add(&mut self, other: &Account) {
        self.each(other, |mine, theirs| *mine += theirs);
        self.gaps.add(other.gaps);
    }

    /// What was added since `before`; never negative. Every gap of `before` is one of the difference too.
    pub(crate) fn since(mut self, before: &Account) -> Account {
        self.each(before, |mine, theirs| *mine = mine.saturating_sub(theirs));
        self.gaps.add(before.gaps);
        self
    }

    /// The whole is at least its part. Switches of a process that left together with its parent are in no account, and may have been in
    /// the one from which the run counts.
    pub(crate) fn with_switches_of(mut self, part: &Account) -> Account {
        self.switches_voluntary = self.switches_voluntary.max(part.switches_voluntary);
        self.switches_involuntary = self.switches_involuntary.max(part.switches_involuntary);
        self
    }

    /// CPU time that is not this account's is taken off, first from the part in the kernel.
    pub(crate) fn without_cpu(mut self, spent_ns: u64) -> Account {
        self.cpu_ns = self.cpu_ns.saturating_sub(spent_ns);
        self.system_ns = self.system_ns.saturating_sub(spent_ns).min(self.cpu_ns);
        self
    }

    fn each(&mut self, other: &Account, apply: impl Fn(&mut u64, u64)) {
        apply(&mut self.cpu_ns, other.cpu_ns);
        apply(&mut self.system_ns, other.system_ns);
        apply(&mut self.io.read_chars_bytes, other.io.read_chars_bytes);
        apply(&mut self.io.write_chars_bytes, other.io.write_chars_bytes);
        apply(&mut self.io.read_storage_bytes, other.io.read_storage_bytes);
        apply(&mut self.io.write_storage_bytes, other.io.write_storage_bytes);
        apply(&mut self.faults_minor, other.faults_minor);
        apply(&mut self.faults_major, other.faults_major);
        apply(&mut self.switches_voluntary, other.switches_voluntary);
        apply(&mut self.switches_involuntary, other.switches_involuntary);
    }

    pub(crate) fn user_ns(&self) -> u64 {
        self.cpu_ns.saturating_sub(self.system_ns)
    }

    /// With a split into user and system time that does not fall behind an earlier one. The kernel guesses the split in
    /// clock ticks and moves time from one part to the other; parts that each only grow would be above their total.
    pub(crate) fn with_steady_split(self, earlier_user_ns: u64, earlier_system_ns: u64) -> Account {
        let most_ns = self.cpu_ns.saturating_sub(earlier_user_ns).max(earlier_system_ns);
        Account { system_ns: self.system_ns.clamp(earlier_system_ns, most_ns), ..self }
    }
}

/// The account of main and of the rest, such that each part of a split is at most the whole's: the kernel-mode time
/// of main is a guess of its own, and is fitted into that of the whole.
pub(crate) fn share_out(whole: &Account, main: Account) -> (Account, Account) {
    let main_cpu_ns = main.cpu_ns.min(whole.cpu_ns);
    let rest_cpu_ns = whole.cpu_ns - main_cpu_ns;
    let least_ns = whole.system_ns.saturating_sub(rest_cpu_ns);
    let most_ns = main_cpu_ns.min(whole.system_ns);
    let system_ns = main.system_ns.clamp(least_ns.min(most_ns), most_ns);
    let main = Account { cpu_ns: main_cpu_ns, system_ns, ..main };
    (main, whole.since(&main))
}

#[cfg(test)]
#[path = "amounts_tests.rs"]
mod tests;
