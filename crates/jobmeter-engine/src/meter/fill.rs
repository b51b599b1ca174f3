//! From what was read to the columns of the row: accounts, memory, heads, the group's own count.

use super::own::{METERS_CPU_NS, METERS_THREADS};
use super::stages::Counters;
use super::{Meter, Target};
use crate::account::amounts::Account;
use crate::linux::cgroup::JobGroup;
use crate::meter::process::Process;
use jobmeter_model::event::{Event, ROUNDED_NOTE};
use jobmeter_model::metric::{Metric, Scope};
use std::sync::atomic::Ordering;

/// Processes of a scope at a tick.
#[derive(Debug, Clone, Copy)]
struct Heads {
    processes: u64,
    living: u64,
    showing_memory: u64,
    threads: u64,
    /// `None` when some process was not asked yet.
    swap_bytes: Option<u64>,
}

impl Default for Heads {
    fn default() -> Heads {
        Heads { processes: 0, living: 0, showing_memory: 0, threads: 0, swap_bytes: Some(0) }
    }
}

impl Heads {
    fn take(&mut self, process: &Process, has_swap: bool) {
        self.processes += 1;
        // A zombie is a task too: there are never fewer threads than processes.
        self.threads += process.stat.threads.max(1);
        if !process.is_zombie() {
            self.living += 1;
            self.showing_memory += u64::from(process.shows_memory());
            let own = if has_swap { process.swap_bytes } else { Some(0) };
            self.swap_bytes = self.swap_bytes.zip(own).map(|(sum, own)| sum + own);
        }
    }

    /// Who has ended and only waits to be reaped shows nothing of what it held a moment before: unknown, not
    /// nought. Where nobody is, nothing is held.
    fn of_living(&self, value: u64) -> Option<u64> {
        (self.living > 0 || self.processes == 0).then_some(value)
    }

    fn of_showing_memory(&self, value: u64) -> Option<u64> {
        (self.showing_memory > 0 || self.processes == 0).then_some(value)
    }
}

impl Meter {
    pub(super) fn take_base(&mut self) {
        if !matches!(self.target, Target::Child(_)) {
            let (main, combined) = self.since_birth();
            self.counters.base = combined;
            self.counters.base_main = main.unwrap_or_default();
            for process in &mut self.tree.processes {
                process.take_queue_wait_ns();
            }
        }
    }

    /// What the job has used since its processes began, without what meters inside of it have: `(main, combined)`.
    fn since_birth(&self) -> (Option<Account>, Account) {
        let Counters { ledger, main_io, .. } = &self.counters;
        let main = self.tree.main().map(|main| main.reading(self.tree.scale));
        let spent_ns = if self.target == Target::Own { METERS_CPU_NS.load(Ordering::Relaxed) } else { 0 };
        let mut combined = ledger.combined(self.tree.readings()).without_cpu(spent_ns);
        combined.cpu_ns += self.unaccounted_container_cpu_ns();
        let main = ledger.main(main.as_ref(), main_io.own);
        (main.map(|main| main.without_cpu(spent_ns)), combined)
    }

    /// What the job has used since the run began: `(main, combined)`.
    pub(crate) fn accounts(&self) -> (Option<Account>, Account) {
        let (main, combined) = self.since_birth();
        let combined = combined.since(&self.counters.base);
        let main = main.map(|main| main.since(&self.counters.base_main));
        // The bytes of main alone are read a moment later than those of all.
        let main = main.map(|main| match combined.gaps.chars {
            true => main,
            false => Account { io: main.io.at_most(combined.io), ..main },
        });
        let combined = main.map_or(combined, |main| combined.with_switches_of(&main));
        (main, combined)
    }

    pub(super) fn fill_accounts(&mut self, t_ns: u64) {
        let (main, combined) = self.accounts();
        let is_rounded = combined.gaps.rounded > 0 && self.witnesses.group.is_none();
        if is_rounded && !std::mem::replace(&mut self.counters.is_rounded, true) {
            let value = serde_json::Value::Bool(true);
            self.emit(&Event::Note { t_ns, key: ROUNDED_NOTE.to_owned(), value });
        }
        let rest = main.map(|main| self.steadied(Scope::Descendants, combined.since(&main)));
        let main = main.map(|main| self.steadied(Scope::Main, main));
        let system_ns =
            main.zip(rest).map_or(combined.system_ns, |(main, rest)| main.system_ns + rest.system_ns);
        let combined = self.steadied(Scope::Combined, Account { system_ns, ..combined });
        // Without the bytes of main the rest says nothing of the job.
        let bytes_are_missing = main.is_some_and(|main| main.gaps.chars);
        for (scope, account) in
            [(Scope::Main, main), (Scope::Descendants, rest), (Scope::Combined, Some(combined))]
        {
            for (metric, value) in account_values(account) {
                match bytes_are_missing && is_io(metric) {
                    true => self.out.row.set(scope, metric, None),
                    false => self.out.row.set_counter(scope, metric, value),
                }
            }
        }
        self.fill_queue_wait();
    }

    /// With user and system time that do not fall behind those of the row before.
    fn steadied(&self, scope: Scope, account: Account) -> Account {
        let before_ns = |metric| self.out.row.get(scope, metric).unwrap_or_default();
        account.with_steady_split(before_ns(Metric::CpuUserNs), before_ns(Metric::CpuSystemNs))
    }

    /// Adds what was read since the last tick. Once any process was read, those of whom there is none waited 0.
    fn fill_queue_wait(&mut self) {
        let mut grown_ns = [0; Scope::JOB.len()];
        let mut is_any = false;
        for process in &mut self.tree.processes {
            let Some(wait_ns) = process.take_queue_wait_ns() else { continue };
            is_any = true;
            let own_scope = if process.is_main { Scope::Main } else { Scope::Descendants };
            grown_ns[own_scope as usize] += wait_ns;
            grown_ns[Scope::Combined as usize] += wait_ns;
        }
        for scope in Scope::JOB.into_iter().filter(|_| is_any) {
            let before_ns = self.out.row.get(scope, Metric::RunQueueWaitNs).unwrap_or(0);
            let now_ns = before_ns + grown_ns[scope as usize];
            self.out.row.set(scope, Metric::RunQueueWaitNs, Some(now_ns));
        }
    }

    pub(super) fn fill_memory(&mut self, t_ns: u64, meters_threads: u64) {
        let processes_changed = self.changes.take_any();
        let has_changed = processes_changed || self.tree.has_changed() || self.memory.awaits_pass();
        if self.target != Target::Own && !has_changed {
            // Nobody ran: the row holds what it held.
            self.levels.stay();
            return;
        }
        let resident = self.read_memory(t_ns);
        let [_, _, combined] = &resident;
        self.levels.take(combined.sum_bytes, combined.total_bytes, processes_changed);
        // Without any swap nobody needs to be asked.
        let has_swap = self.machine.swap_total_bytes != Some(0);
        let mut heads = [Heads::default(); Scope::JOB.len()];
        for process in &self.tree.processes {
            let own_scope = if process.is_main { Scope::Main } else { Scope::Descendants };
            for scope in [own_scope, Scope::Combined] {
                heads[scope as usize].take(process, has_swap);
            }
        }
        if self.target == Target::Own {
            let meters = METERS_THREADS.load(Ordering::Relaxed).max(meters_threads);
            for scope in [Scope::Main, Scope::Combined] {
                let heads = &mut heads[scope as usize];
                heads.threads = heads.threads.saturating_sub(meters).max(heads.processes);
            }
        }
        let all = &heads[Scope::Combined as usize];
        self.doubts.has_threads |= all.threads > all.processes;
        for scope in Scope::JOB {
            let (heads, memory) = (&heads[scope as usize], &resident[scope as usize]);
            self.out.row.set(scope, Metric::RssBytes, heads.of_showing_memory(memory.total_bytes));
            self.out.row.set(scope, Metric::RssPrivateBytes, heads.of_showing_memory(memory.private_bytes));
            self.out.row.set(scope, Metric::RssSharedBytes, heads.of_showing_memory(memory.shared_bytes));
            self.out.row.set(scope, Metric::RssSumBytes, heads.of_showing_memory(memory.sum_bytes));
            self.out.row.set(
                scope,
                Metric::SwapBytes,
                heads.swap_bytes.and_then(|bytes| heads.of_living(bytes)),
            );
            self.out.row.set(scope, Metric::Processes, Some(heads.processes));
            self.out.row.set(scope, Metric::Threads, Some(heads.threads));
        }
    }

    /// The group misses nobody: where it shows more than the ledger, it is right.
    pub(super) fn fill_group_cpu(&mut self) {
        if let Some(cpu) = self.witnesses.group.as_ref().and_then(JobGroup::cpu) {
            let main_ns = self.out.row.get(Scope::Main, Metric::CpuNs).unwrap_or_default();
            self.out.row.set_counter(Scope::Combined, Metric::CpuNs, Some(cpu.total_ns));
            let rest_ns = cpu.total_ns.saturating_sub(main_ns);
            self.out.row.set_counter(Scope::Descendants, Metric::CpuNs, Some(rest_ns));
        }
    }
}

fn is_io(metric: Metric) -> bool {
    matches!(
        metric,
        Metric::ReadCharsBytes
            | Metric::WriteCharsBytes
            | Metric::ReadStorageBytes
            | Metric::WriteStorageBytes
    )
}

/// The counters of an account under their metrics.
pub(crate) fn account_values(account: Option<Account>) -> [(Metric, Option<u64>); 11] {
    let pick = |value: fn(&Account) -> u64| account.as_ref().map(value);
    [
        (Metric::CpuNs, pick(|account| account.cpu_ns)),
        (Metric::CpuUserNs, pick(Account::user_ns)),
        (Metric::CpuSystemNs, pick(|account| account.system_ns)),
        (Metric::ReadCharsBytes, pick(|account| account.io.read_chars_bytes)),
        (Metric::WriteCharsBytes, pick(|account| account.io.write_chars_bytes)),
        (Metric::ReadStorageBytes, pick(|account| account.io.read_storage_bytes)),
        (Metric::WriteStorageBytes, pick(|account| account.io.write_storage_bytes)),
        (Metric::FaultsMinor, pick(|account| account.faults_minor)),
        (Metric::FaultsMajor, pick(|account| account.faults_major)),
        (Metric::SwitchesVoluntary, pick(|account| account.switches_voluntary)),
        (Metric::SwitchesInvoluntary, pick(|account| account.switches_involuntary)),
    ]
}
