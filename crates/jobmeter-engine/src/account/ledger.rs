//! The conservation law: what the living used, plus what the living have waited for, plus what we reaped,
//! plus what left without an heir. Sampling decides when a number is seen, never whether it is counted.

use crate::linux::control::Reaped;
use crate::linux::proc::io::Io;
use crate::linux::sys::timeval_ns;
use crate::meter::process::{Process, Scale};
use crate::meter::tree::Tree;

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
}

impl Account {
    pub(crate) fn add(&mut self, other: &Account) {
        self.each(other, |mine, theirs| *mine += theirs);
    }

    /// What was added since `before`; never negative.
    pub(crate) fn since(mut self, before: &Account) -> Account {
        self.each(before, |mine, theirs| *mine = mine.saturating_sub(theirs));
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
}

/// A process and the children it has waited for.
fn with_waited(process: &Process, scale: Scale) -> Account {
    let stat = &process.stat;
    let (voluntary, involuntary) = process.switches.unwrap_or_default();
    Account {
        cpu_ns: process.cpu_ns + process.waited_ns(scale),
        system_ns: process.system_ns() + stat.children_system_ticks * scale.tick_ns,
        io: process.io.unwrap_or_default(),
        faults_minor: stat.faults_minor + stat.children_faults_minor,
        faults_major: stat.faults_major + stat.children_faults_major,
        switches_voluntary: voluntary,
        switches_involuntary: involuntary,
    }
}

/// Time that a parent should show as waited-for after its children went.
struct Expectation {
    parent_pid: i32,
    expected_ns: u64,
    waited_before_ns: u64,
    age_ticks: u32,
}

/// Who has the account of a departed process whose parent is no member any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Heir {
    /// Its parent went in the same tick, or orphans come to us: the account went up the tree.
    Ancestor,
    Nobody,
}

#[derive(Default)]
pub(crate) struct Ledger {
    /// Of processes that we reaped ourselves: exact.
    pub reaped: Account,
    /// Of processes whose account nobody inherited, as last seen: a lower bound.
    pub departed: Account,
    /// Some account was lost: a parent discards its children's, or they left the tree.
    pub has_hole: bool,
    pub main_final: Option<Account>,
    pub main_reaped_usage: Option<libc::rusage>,
    pub main_has_waited: bool,
    /// Largest ru_maxrss of everything reaped (each covers the children it waited for).
    pub peak_rss_reaped_bytes: u64,
    expectations: Vec<Expectation>,
}

impl Ledger {
    /// Everything the job has used up to now.
    pub(crate) fn combined(&self, tree: &Tree) -> Account {
        let mut total = self.reaped;
        total.add(&self.departed);
        for process in &tree.processes {
            total.add(&with_waited(process, tree.scale));
        }
        total
    }

    /// The main process alone. Bytes: exact while it has waited for no child, since `/proc/PID/io` counts
    /// waited-for children in; afterwards by its threads, `own_io`.
    pub(crate) fn main(&self, tree: &Tree, own_io: Option<Io>) -> Option<Account> {
        match tree.main() {
            Some(process) => self.main_of(process, tree, own_io),
            None => self.main_final,
        }
    }

    /// As [`Ledger::main`], of a process that may have left the tree.
    pub(crate) fn main_of(&self, process: &Process, tree: &Tree, own_io: Option<Io>) -> Option<Account> {
        let mut account = with_waited(process, tree.scale);
        account.cpu_ns = process.cpu_ns;
        account.system_ns = process.system_ns();
        account.faults_minor = process.stat.faults_minor;
        account.faults_major = process.stat.faults_major;
        if process.has_waited()
            && let Some(own_io) = own_io
        {
            account.io = own_io;
        }
        Some(account)
    }

    /// Takes over the account of a process that we reaped. `last` holds what was read of it as a zombie.
    pub(crate) fn settle_reaped(&mut self, reaped: &Reaped, last: Option<&Process>, own_io: Option<Io>) {
        let usage = &reaped.usage;
        let system_ns = timeval_ns(usage.ru_stime);
        self.reaped.add(&Account {
            cpu_ns: timeval_ns(usage.ru_utime) + system_ns,
            system_ns,
            // The characters are only in /proc/PID/io, read while it was a zombie; storage is in both.
            io: last.and_then(|process| process.io).unwrap_or(Io {
                read_storage_bytes: usage.ru_inblock as u64 * 512,
                write_storage_bytes: usage.ru_oublock as u64 * 512,
                ..Io::default()
            }),
            faults_minor: usage.ru_minflt as u64,
            faults_major: usage.ru_majflt as u64,
            switches_voluntary: usage.ru_nvcsw as u64,
            switches_involuntary: usage.ru_nivcsw as u64,
        });
        self.peak_rss_reaped_bytes = self.peak_rss_reaped_bytes.max(usage.ru_maxrss as u64 * 1024);
        if let Some(process) = last.filter(|process| process.is_main) {
            let mut own = Account {
                cpu_ns: process.cpu_ns,
                system_ns: process.system_ns(),
                io: process.io.unwrap_or_default(),
                faults_minor: process.stat.faults_minor,
                faults_major: process.stat.faults_major,
                switches_voluntary: usage.ru_nvcsw as u64,
                switches_involuntary: usage.ru_nivcsw as u64,
            };
            if process.has_waited() {
                own.io = own_io.unwrap_or(own.io);
                let (voluntary, involuntary) = process.switches.unwrap_or_default();
                own.switches_voluntary = voluntary;
                own.switches_involuntary = involuntary;
            } else {
                own.cpu_ns = timeval_ns(usage.ru_utime) + system_ns;
                own.system_ns = system_ns;
            }
            self.main_final = Some(own);
            self.main_has_waited = process.has_waited();
        }
    }

    /// Takes note of a process that is gone and that somebody else reaped: a living member shows its account
    /// as waited-for, or a member that went in the same tick passed it on; otherwise nobody has it.
    pub(crate) fn note_departure(&mut self, gone: &Process, tree: &Tree, heir: Heir) {
        let account = with_waited(gone, tree.scale);
        let Some(parent) = tree.get(gone.parent_pid) else {
            if heir == Heir::Nobody {
                self.departed.add(&account);
                self.has_hole |= !gone.is_main;
            }
            return;
        };
        if parent.ignores_children {
            self.departed.add(&account);
            self.has_hole = true;
            return;
        }
        match self.expectations.iter_mut().find(|known| known.parent_pid == parent.id.pid) {
            Some(known) => {
                known.expected_ns += account.cpu_ns;
                known.age_ticks = 0;
            }
            None => self.expectations.push(Expectation {
                parent_pid: parent.id.pid,
                expected_ns: account.cpu_ns,
                waited_before_ns: parent.waited_before_ns,
                age_ticks: 0,
            }),
        }
    }

    /// Whether the parents of the departed show their time by now; what they do not show is kept.
    pub(crate) fn check_expectations(&mut self, tree: &Tree) {
        let tolerance_ns = 3 * tree.scale.tick_ns;
        let departed = &mut self.departed;
        let has_hole = &mut self.has_hole;
        self.expectations.retain_mut(|expectation| {
            expectation.age_ticks += 1;
            if expectation.age_ticks < 2 {
                return true;
            }
            if let Some(parent) = tree.get(expectation.parent_pid) {
                let shown_ns = parent.waited_ns(tree.scale).saturating_sub(expectation.waited_before_ns);
                if shown_ns + tolerance_ns < expectation.expected_ns {
                    departed.cpu_ns += expectation.expected_ns - shown_ns;
                    *has_hole = true;
                }
            }
            false
        });
    }
}
