//! The CPU time of the whole job at the end: which source it is taken from, and how true that makes it.

use super::amounts::Account;
use jobmeter_model::summary::Quality;

/// CPU time by the count of the job's own cgroup; user and system where it splits them.
pub(crate) use crate::linux::cgroup::GroupCpu;

/// What is known of the CPU time at the end of a run.
#[derive(Debug, Clone, Default)]
pub(crate) struct CpuEvidence {
    /// By conservation.
    pub combined: Account,
    /// By a cgroup that holds the job and nothing else, from its beginning.
    pub group: Option<GroupCpu>,
    /// By perf clocks that the job's processes inherit, less the time that the hypervisor took from the machine's cores
    /// meanwhile: a perf clock goes on in it.
    pub perf_clock_ns: Option<u64>,
    /// Why processes may have been missed.
    pub missed_processes: Option<&'static str>,
    /// A parent has discarded its children's accounts, or a process left the tree.
    pub has_hole: bool,
    /// What was used after the last reading is missing: the process ended and was not ours to reap.
    pub end_is_missing: bool,
    /// One clock tick of `/proc/PID/stat`.
    pub tick_ns: u64,
    /// Roundings to clock ticks in what was used before the run began; they are among those of `combined`.
    pub rounded_before: u32,
    /// How many threads, and processes, can have ended, at most: each may have left a little out of the accounts.
    pub threads: u64,
    pub processes: u64,
    /// Events told of every process, and each that ended is in its parent's accounts: a group that counted more than those tells
    /// of the losses above, not of somebody who is missing.
    pub nobody_is_missing: bool,
}

/// The CPU time of the whole job and how true it is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CpuTotal {
    pub total_ns: u64,
    pub system_ns: u64,
    pub quality: Quality,
    pub reason: Option<String>,
    /// Of the division into user and system time.
    pub split: Quality,
    pub split_reason: &'static str,
    /// The total is within these, where rounding makes it uncertain by a known amount.
    pub bounds_ns: Option<(u64, u64)>,
    /// What the group counted beyond the accounts.
    pub beyond_accounts_ns: u64,
    /// The main process itself is a lower bound.
    pub main_is_short: bool,
    /// Another source counted more than the accounts: every other counter is a lower bound.
    pub accounts_are_short: bool,
}

const SPLIT_BY_TICKS: &str = "the total is divided by the kernel's clock ticks, which are a guess";
const SPLIT_BY_GROUP: &str = "divided as the job's own cgroup counts it, by the kernel's clock ticks";
const ABOVE_ACCOUNTS: &str = "by the job's own cgroup, which counted more than the accounts of its processes";
const BELOW_ACCOUNTS: &str =
    "by the job's own cgroup: the accounts of its processes are incomplete, and say more than the group";
const DISCARDED: &str = "a process discards its children's accounts, or left the tree";

/// CPU time that the kernel leaves out of a process's account for each thread that ends, at most: what it takes to leave the
/// core. 40,000 short threads were short of 1 to 13 % of their time, 10 µs each; a machine whose cores are taken away needs twice that.
const LOSS_PER_THREAD_NS: u64 = 20_000;
/// The same for each process whose parent waits for it on another core before it has left its own: 2,000 short programs were
/// short of 1.5 to 4 µs each, and of 5.9 where the hypervisor took a fifth of the time.
const LOSS_PER_PROCESS_NS: u64 = 12_000;

/// Time that sources may differ by because they are read one after the other.
const SLACK_NS: u64 = 2_000_000;

/// A perf clock goes on while interrupts are served, some per cent on a busy machine. Above the accounts by more than this
/// part, and by more than the hypervisor took away, it tells of processes that they miss.
const CLOCK_PARTS: u64 = 12;

/// Whether `other_ns` is more than `ns` by more than one part in `parts` and [`SLACK_NS`].
fn exceeds(other_ns: u64, ns: u64, parts: u64) -> bool {
    other_ns > ns.saturating_add(ns / parts).saturating_add(SLACK_NS)
}

impl CpuEvidence {
    pub(crate) fn settle(&self) -> CpuTotal {
        let mut total = match self.group {
            Some(group) => self.by_group(group),
            None => self.by_accounts(),
        };
        total.system_ns = total.system_ns.min(total.total_ns);
        total
    }

    /// The group misses nobody who stayed in it. The accounts are taken where they agree, for they split main from the rest; and where
    /// they say more, because somebody left the group, unless accounts were lost: a part of those may be in them twice.
    fn by_group(&self, group: GroupCpu) -> CpuTotal {
        let sum_ns = self.combined.cpu_ns;
        let has_more = exceeds(group.total_ns, sum_ns, 500);
        let may_be_twice = self.has_hole && exceeds(sum_ns, group.total_ns, 500);
        let explained_ns = if self.nobody_is_missing { self.with_losses_ns() } else { sum_ns };
        let accounts_are_short = exceeds(group.total_ns, explained_ns, 500);
        let total_ns = if has_more || may_be_twice { group.total_ns } else { sum_ns };
        let reason = match may_be_twice {
            true => Some(BELOW_ACCOUNTS),
            false => has_more.then_some(ABOVE_ACCOUNTS),
        };
        let split = if group.system_ns.is_some() { Quality::Sampled } else { Quality::Estimate };
        CpuTotal {
            total_ns,
            system_ns: group.system_ns.unwrap_or(self.combined.system_ns),
            quality: if may_be_twice { Quality::LowerBound } else { Quality::Exact },
            reason: reason.map(str::to_owned),
            split,
            split_reason: if split == Quality::Sampled { SPLIT_BY_GROUP } else { SPLIT_BY_TICKS },
            bounds_ns: None,
            beyond_accounts_ns: total_ns.saturating_sub(sum_ns),
            main_is_short: has_more && self.loses_threads(),
            accounts_are_short: accounts_are_short || may_be_twice,
        }
    }

    /// Whether short threads can have left much of their time out of the accounts of their processes.
    fn loses_threads(&self) -> bool {
        let sum_ns = self.combined.cpu_ns;
        exceeds(sum_ns.saturating_add(self.thread_loss_ns()), sum_ns, 500)
    }

    fn thread_loss_ns(&self) -> u64 {
        self.threads.saturating_mul(LOSS_PER_THREAD_NS)
    }

    /// The sum of the accounts, with what the kernel may have left out of them.
    fn with_losses_ns(&self) -> u64 {
        let process_loss_ns = self.processes.saturating_mul(LOSS_PER_PROCESS_NS);
        self.combined.cpu_ns.saturating_add(self.thread_loss_ns()).saturating_add(process_loss_ns)
    }

    fn by_accounts(&self) -> CpuTotal {
        let lower_bound = |total_ns, reason: &str, accounts_are_short| CpuTotal {
            total_ns,
            quality: Quality::LowerBound,
            reason: Some(reason.to_owned()),
            accounts_are_short,
            ..self.exact()
        };
        let (sum_ns, at_most_ns) = (self.combined.cpu_ns, self.with_losses_ns());
        if let Some(clock_ns) =
            self.perf_clock_ns.filter(|clock_ns| exceeds(*clock_ns, at_most_ns, CLOCK_PARTS))
        {
            let reason = "by an inherited perf clock, which counted more than the accounts of the processes; a twelfth and what the hypervisor took away are taken off, for it counts interrupts and goes on without a core";
            let least_ns = clock_ns - clock_ns / CLOCK_PARTS;
            return lower_bound(least_ns.max(sum_ns), reason, true);
        }
        if let Some(reason) = self.missed_processes {
            return lower_bound(sum_ns, reason, true);
        }
        if self.has_hole {
            return lower_bound(sum_ns, &format!("{DISCARDED}; no cgroup could be made"), true);
        }
        if self.end_is_missing {
            let reason = "the process was not our child: what it used after the last tick is missing";
            return CpuTotal { main_is_short: true, ..lower_bound(sum_ns, reason, true) };
        }
        if exceeds(at_most_ns, sum_ns, 500) {
            let reason = "many short threads or processes: the kernel loses a little of each in its accounts";
            return CpuTotal { main_is_short: self.loses_threads(), ..lower_bound(sum_ns, reason, false) };
        }
        self.rounded().unwrap_or_else(|| self.exact())
    }

    /// Time of waited-for children is shown in whole ticks, user and system apart: up to two ticks too low. What was
    /// there when the run began is as uncertain.
    fn rounded(&self) -> Option<CpuTotal> {
        let gaps = &self.combined.gaps;
        if gaps.rounded == 0 {
            return None;
        }
        let at_most_ns = |processes: u32| u64::from(processes) * 2 * self.tick_ns;
        let sum_ns = self.combined.cpu_ns;
        let lower_ns = sum_ns.saturating_sub(at_most_ns(self.rounded_before));
        let upper_ns = sum_ns + at_most_ns(gaps.rounded - self.rounded_before);
        let quality = if self.rounded_before > 0 { Quality::Estimate } else { Quality::LowerBound };
        let reason = "time of children that ended is known in clock ticks of 10 ms";
        Some(CpuTotal {
            quality,
            reason: Some(reason.to_owned()),
            bounds_ns: Some((lower_ns, upper_ns)),
            ..self.exact()
        })
    }

    fn exact(&self) -> CpuTotal {
        CpuTotal {
            total_ns: self.combined.cpu_ns,
            system_ns: self.combined.system_ns,
            quality: Quality::Exact,
            reason: None,
            split: Quality::Estimate,
            split_reason: SPLIT_BY_TICKS,
            bounds_ns: None,
            beyond_accounts_ns: 0,
            main_is_short: false,
            accounts_are_short: false,
        }
    }
}

impl CpuTotal {
    /// The account of the whole job. Sources differ by microseconds: what a tick has shown, `shown_ns`, stands where it
    /// is close. It is not where a process passed from one account to another while the tick read them.
    pub(crate) fn whole(&self, combined: Account, shown_ns: Option<u64>) -> Account {
        let shown_ns = shown_ns.filter(|shown_ns| !exceeds(*shown_ns, self.total_ns, 500));
        let cpu_ns = self.total_ns.max(shown_ns.unwrap_or_default());
        Account { cpu_ns, system_ns: self.system_ns, ..combined }
    }
}

#[cfg(test)]
#[path = "cpu_tests.rs"]
mod tests;
