//! Conservation of counters. When a process is waited for, the kernel adds its counters to its parent's. So the job has
//! used what living processes show as their own and as waited-for, plus what we reaped ourselves, plus what was last
//! read of processes whose account went to nobody. How often somebody looks decides when a number is seen, never
//! whether it is counted.

use super::amounts::{Account, Gaps};
use super::reading::{ProcessReading, Waited};
use crate::linux::control::Usage;
use crate::linux::proc::io::Io;
use jobmeter_model::event::ProcessId;
use std::collections::{HashMap, VecDeque};

/// Where the account of a process goes whose parent is no member of the tree any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Its parent ended in the same tick, or orphans are reparented to us: an ancestor has it.
    PassedUp,
    /// Its parent is no process of the job, and its account was read after its end: nothing is missing.
    Kept,
    Lost,
}

/// The parent of a process that is gone.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parent {
    pub id: ProcessId,
    pub ignores_children: bool,
    /// What it had waited for at a tick before the child can have been added to it.
    pub waited_before: Waited,
}

/// Voluntary and involuntary.
type Switches = (u64, u64);

/// What a parent must show as waited-for once its children are gone.
#[derive(Debug)]
struct Expectation {
    parent: ProcessId,
    /// Children that were gone at one tick and had faulted, and the CPU time that was read of them.
    children: u64,
    cpu_ns: u64,
    waited_before: Waited,
    age_ticks: u32,
}

/// A parent is checked this many ticks after its children were gone, because its own reading may be older than that.
const CHECK_AFTER_TICKS: u32 = 2;

#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// Of processes that we reaped ourselves: exact.
    pub reaped: Account,
    /// Of processes whose account went to nobody, as last read: a lower bound.
    pub lost: Account,
    /// Switches of exited members by the living member that reaped them: it does not show them, and has them in its usage
    /// only when it is reaped itself.
    exited_switches: HashMap<i32, Switches>,
    /// Some account was lost: a parent discards its children's, or a process left the tree.
    pub has_hole: bool,
    pub main_final: Option<Account>,
    /// The usage of main, once we reaped it: itself and all it waited for.
    pub main_usage: Option<Usage>,
    pub main_has_waited: bool,
    /// Largest resident peak of everything reaped; each covers the children that it waited for.
    pub peak_rss_reaped_bytes: u64,
    expectations: Vec<Expectation>,
    /// Waited-for totals of processes that we reaped; events about their children may arrive later.
    final_waited: VecDeque<(i32, Waited)>,
}

/// So many are remembered.
const MOST_FINAL: usize = 64;

impl Ledger {
    /// Everything the job has used up to now. `living` are the members of the tree, zombies included.
    pub(crate) fn combined(&self, living: impl Iterator<Item = ProcessReading>) -> Account {
        let mut total = self.reaped;
        total.add(&self.lost);
        for process in living {
            total.add(&process.with_waited());
        }
        for (voluntary, involuntary) in self.exited_switches.values() {
            total.switches_voluntary += voluntary;
            total.switches_involuntary += involuntary;
        }
        total
    }

    /// The main process alone: as read, or as it was when it left the tree.
    pub(crate) fn main(&self, main: Option<&ProcessReading>, own_io: Option<Io>) -> Option<Account> {
        main.map(|main| Ledger::main_of(main, own_io)).or(self.main_final)
    }

    /// As [`Ledger::main`], of a reading. Bytes are its own while it has waited for no child, since `/proc/PID/io`
    /// includes waited-for children; afterwards those of its living threads, `own_io`.
    pub(crate) fn main_of(main: &ProcessReading, own_io: Option<Io>) -> Account {
        let mut account = main.own();
        if main.waited.is_any() {
            // Read one after the other: a part is never above the whole.
            account.io = own_io.map_or(account.io, |own| own.at_most(account.io));
        }
        account
    }

    /// Takes over the account of a process that we reaped. `last` is what was read of it as a zombie; `zombie_io` are
    /// the bytes of one that was no member of the tree.
    pub(crate) fn settle_reaped(
        &mut self,
        usage: &Usage,
        last: Option<&ProcessReading>,
        zombie_io: Option<Io>,
        own_io: Option<Io>,
    ) {
        let io = last.filter(|last| !last.io_is_refused).and_then(|last| last.io).or(zombie_io);
        let whole = account_of(usage, io);
        self.reaped.add(&whole);
        if let Some(last) = last {
            self.exited_switches.remove(&last.pid);
            self.check_final(last.pid, last.waited);
        }
        self.peak_rss_reaped_bytes = self.peak_rss_reaped_bytes.max(usage.peak_rss_bytes);
        let Some(main) = last.filter(|last| last.is_main) else { return };
        self.main_has_waited = main.waited.is_any();
        self.main_final = Some(if self.main_has_waited { Ledger::main_of(main, own_io) } else { whole });
    }

    /// Takes note of a member that somebody else reaped. A living member shows its account as waited-for; otherwise an
    /// ancestor has it, or nobody.
    pub(crate) fn note_departure(&mut self, gone: &ProcessReading, parent: Option<&Parent>, fate: Fate) {
        let mut account = gone.with_waited();
        if let Some((voluntary, involuntary)) = self.exited_switches.remove(&gone.pid) {
            account.switches_voluntary += voluntary;
            account.switches_involuntary += involuntary;
        }
        match parent {
            None if fate == Fate::PassedUp => {}
            None => {
                self.lost.add(&account);
                self.has_hole |= !gone.is_main && fate == Fate::Lost;
            }
            Some(parent) if parent.ignores_children => {
                self.lost.add(&account);
                self.has_hole = true;
            }
            Some(parent) => {
                let switches = self.exited_switches.entry(parent.id.pid).or_default();
                switches.0 += account.switches_voluntary;
                switches.1 += account.switches_involuntary;
                // A child that never left its parent's memory (vfork) may have no fault of its own.
                self.expect(parent, u64::from(account.faults_minor > 0), account.cpu_ns);
            }
        }
    }

    /// Takes note of a process that was never read, that has run a program of its own, and that a living member should
    /// have waited for.
    pub(crate) fn note_unread_departure(&mut self, parent: &Parent) {
        if parent.ignores_children {
            self.has_hole = true;
        } else {
            self.expect(parent, 1, 0);
        }
    }

    /// As [`Ledger::note_unread_departure`] where the parent has ended as well, or was never read: whoever we reaped and had
    /// not waited for anybody has discarded it. One that was killed may have ended with its PID namespace, where the kernel
    /// reaps all into nobody's account.
    pub(crate) fn note_unread_orphan(&mut self, parent_pid: i32, was_killed: bool) {
        let waited = self.final_waited.iter().rev().find(|(pid, _)| *pid == parent_pid);
        self.has_hole |= was_killed || waited.is_some_and(|(_, waited)| !waited.is_any());
    }

    /// A process that we reap shows for the last time what it has waited for.
    fn check_final(&mut self, pid: i32, waited: Waited) {
        let expectations = std::mem::take(&mut self.expectations);
        let (of_it, others) = expectations.into_iter().partition(|expected| expected.parent.pid == pid);
        self.expectations = others;
        for expected in of_it {
            self.check(&expected, &waited, u64::MAX);
        }
        self.final_waited.push_back((pid, waited));
        if self.final_waited.len() > MOST_FINAL {
            self.final_waited.pop_front();
        }
    }

    /// `tolerance_ns` covers the rounding to clock ticks.
    fn check(&mut self, expected: &Expectation, waited: &Waited, tolerance_ns: u64) {
        let before = &expected.waited_before;
        let shown_ns = waited.cpu_ns().saturating_sub(before.cpu_ns());
        let shown_faults = waited.faults_minor.saturating_sub(before.faults_minor);
        let is_discarded = shown_faults < expected.children;
        if is_discarded || shown_ns.saturating_add(tolerance_ns) < expected.cpu_ns {
            self.lost.cpu_ns += expected.cpu_ns.saturating_sub(shown_ns);
            self.has_hole = true;
        }
    }

    fn expect(&mut self, parent: &Parent, children: u64, cpu_ns: u64) {
        let of_this_tick = |known: &&mut Expectation| known.parent == parent.id && known.age_ticks == 0;
        match self.expectations.iter_mut().find(of_this_tick) {
            Some(known) => {
                known.children += children;
                known.cpu_ns += cpu_ns;
            }
            None => self.expectations.push(Expectation {
                parent: parent.id,
                children,
                cpu_ns,
                waited_before: parent.waited_before,
                age_ticks: 0,
            }),
        }
    }

    /// Whether the parents of exited processes show them by now. Each exited process has at least one page fault, so
    /// that a parent with fewer has discarded some account; what is missing of the time that was read is kept.
    /// `waited_of` is what a living member has waited for; `tolerance_ns` covers the rounding to clock ticks.
    pub(crate) fn check_expectations(
        &mut self,
        waited_of: impl Fn(ProcessId) -> Option<Waited>,
        tolerance_ns: u64,
    ) {
        let mut expectations = std::mem::take(&mut self.expectations);
        expectations.retain_mut(|expected| {
            expected.age_ticks += 1;
            if expected.age_ticks < CHECK_AFTER_TICKS {
                return true;
            }
            if let Some(waited) = waited_of(expected.parent) {
                self.check(expected, &waited, tolerance_ns);
            }
            false
        });
        self.expectations = expectations;
    }
}

/// The account of a reaped process and of all children it waited for. The characters are only in `/proc/PID/io`, read
/// while it was a zombie; storage is in both.
fn account_of(usage: &Usage, io: Option<Io>) -> Account {
    Account {
        cpu_ns: usage.user_ns + usage.system_ns,
        system_ns: usage.system_ns,
        io: io.unwrap_or(Io {
            read_storage_bytes: usage.read_storage_bytes,
            write_storage_bytes: usage.write_storage_bytes,
            ..Io::default()
        }),
        faults_minor: usage.faults_minor,
        faults_major: usage.faults_major,
        switches_voluntary: usage.switches_voluntary,
        switches_involuntary: usage.switches_involuntary,
        gaps: Gaps { chars: io.is_none(), ..Gaps::default() },
    }
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
