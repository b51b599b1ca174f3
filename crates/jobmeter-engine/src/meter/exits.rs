//! How processes ended that somebody else has reaped: by the kernel's process connector, and for root by its exit
//! records, which know CPU time and memory as well.

use super::Meter;
use crate::linux::descriptors;
use crate::linux::exit_events::{ExitEvents, Happened, Wanted};
use crate::linux::perf_ring::{PerfRing, Record, What};
use crate::linux::proc::status;
use crate::linux::sys;
use std::collections::HashMap;

/// Ends that no process of the job has claimed are dropped beyond so many; most are others' processes.
const MAX_UNCLAIMED: usize = 4096;

/// An end that was not claimed in this time will not be.
const CLAIMED_WITHIN_NS: u64 = 5_000_000_000;

/// After so many events in one drain the next one comes soon, before the socket is full.
const MANY: usize = 32;
const SOON_NS: u64 = 50_000_000;

/// Least distance of readings of the machine's counts at starts and ends. Each costs some 0.1 ms: `FIRST_COUNTS` of them are made, and then
/// one every `COUNT_EVERY_NS` on average.
const COUNTED_NS: u64 = 4_000_000;
const FIRST_COUNTS: u64 = 32;
const COUNT_EVERY_NS: u64 = 20_000_000;

/// Main is asked whether it ignores SIGCHLD this long after the start of a run and after its first events, which tell of programs that begin.
/// Such a parent is to be followed before it has children.
const PEEK_AFTER_NS: u64 = 6_000_000;
const PEEKS: u8 = 8;

/// Events of the whole machine that are worth following, by the second: each costs a microsecond or more, so that these
/// take about 1 % of a core. Beyond it only ends are listened to, and what is not told is said to be missing.
const MOST_PER_SECOND: usize = 8_000;
const SECOND_NS: u64 = 1_000_000_000;

/// What the kernel said of the end of a process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct KnownEnd {
    /// As `wait` gives it.
    pub wait_status: Option<i32>,
    /// Own CPU time as of its exit, and its high-water mark.
    pub cpu_ns: Option<u64>,
    pub peak_rss_bytes: Option<u64>,
}

impl KnownEnd {
    /// Whether SIGKILL ended it.
    pub(crate) fn is_by_kill(&self) -> bool {
        self.wait_status.is_some_and(|status| status & 0x7f == libc::SIGKILL)
    }
}

/// The end of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ExitEvent {
    wait_status: i32,
    t_ns: u64,
}

#[derive(Default)]
pub(crate) struct Exits {
    events: Option<ExitEvents>,
    /// Starts are told as well: what is drained is to be followed.
    pub(crate) has_starts: bool,
    /// By pid; the last one wins.
    unclaimed: HashMap<i32, ExitEvent>,
    /// Starts and ends that were drained and not fed to the follower yet.
    records: Vec<Record>,
    has_lost: bool,
    drain_at_ns: Option<u64>,
    /// How often the machine's counts were read at events.
    counts: u64,
    peeks: u8,
    load: Load,
}

/// How many events came in the present second.
#[derive(Debug, Default)]
struct Load {
    since_ns: u64,
    events: usize,
}

impl Load {
    /// Whether they are more than is worth following.
    fn is_too_much_with(&mut self, events: usize, now_ns: u64) -> bool {
        if now_ns >= self.since_ns + SECOND_NS {
            (self.since_ns, self.events) = (now_ns, 0);
        }
        self.events += events;
        self.events > MOST_PER_SECOND
    }
}

impl Exits {
    /// Before a job starts that perf tells nothing of: none of its processes is missed, however soon it forks.
    pub(crate) fn before_start() -> Exits {
        let mut exits = Exits::default();
        exits.open(Wanted::StartsAndEnds);
        exits
    }

    fn open(&mut self, wanted: Wanted) {
        self.events = descriptors::spare_one().and_then(|()| ExitEvents::open(wanted)).ok();
        self.has_starts = wanted == Wanted::StartsAndEnds && self.events.is_some();
    }

    /// A ring that is fed by what is drained, where starts are told.
    pub(crate) fn ring(&mut self) -> Option<PerfRing> {
        let events = self.events.as_ref().filter(|_| self.has_starts);
        let ring = events.and_then(|events| PerfRing::fed_by(events.as_raw_fd()).ok());
        self.has_starts = ring.is_some();
        ring
    }

    pub(crate) fn is_open(&self) -> bool {
        self.events.is_some()
    }

    pub(crate) fn collect(&mut self, now_ns: u64) {
        let Some(events) = &self.events else { return };
        let (unclaimed, records, has_starts) = (&mut self.unclaimed, &mut self.records, self.has_starts);
        let drained = events.drain(|event| {
            let (t_ns, is_first) = (event.t_ns, event.pid == event.tid);
            let what = match event.what {
                Happened::Forked { parent_pid } => What::Fork { parent_pid },
                Happened::Execed => What::Exec,
                Happened::Exited { wait_status } => {
                    if is_first {
                        unclaimed.insert(event.pid, ExitEvent { wait_status, t_ns });
                    }
                    What::Exit
                }
            };
            if has_starts {
                records.push(Record { t_ns, pid: event.pid, tid: event.tid, what });
            }
        });
        self.has_lost |= drained.has_lost;
        self.drain_at_ns = (drained.events >= MANY).then(|| now_ns + SOON_NS);
        if has_starts && self.load.is_too_much_with(drained.events, now_ns) {
            self.has_starts = false;
            self.has_lost = true;
            if events.narrow_to_ends().is_err() {
                self.events = None;
            }
        }
        if unclaimed.len() > MAX_UNCLAIMED {
            unclaimed.retain(|_, event| now_ns < event.t_ns + CLAIMED_WITHIN_NS);
        }
    }

    /// Hands over to `ring` what has come by now, where it has no other source.
    pub(crate) fn feed(&mut self, ring: &mut PerfRing) {
        if ring.is_fed() {
            self.collect(sys::monotonic_ns());
            ring.feed(&mut self.records, u64::from(std::mem::take(&mut self.has_lost)));
        }
    }

    /// Events have begun to arrive: they are drained together, `after_ns` later.
    fn drain_after(&mut self, now_ns: u64, after_ns: u64) {
        self.drain_at_ns = Some(self.drain_at_ns.unwrap_or(u64::MAX).min(now_ns + after_ns));
    }

    /// Whether the budget of a run so old allows to read the machine's counts once more.
    fn may_count_at(&mut self, elapsed_ns: u64) -> bool {
        let may_count = self.counts < FIRST_COUNTS + elapsed_ns / COUNT_EVERY_NS;
        self.counts += u64::from(may_count);
        may_count
    }

    /// The status of `pid`, which was there at `seen_ns`.
    fn claim(&mut self, pid: i32, seen_ns: u64) -> Option<i32> {
        let event = self.unclaimed.remove(&pid).filter(|event| event.t_ns >= seen_ns)?;
        Some(event.wait_status)
    }
}

/// What tells of processes, opened before those of a running job are listed.
pub(crate) struct EarlyEvents {
    pub ring: Result<PerfRing, String>,
    pub exits: Exits,
}

impl EarlyEvents {
    /// Whatever the kernel gives us. Where perf tells who is forked, the process connector tells how they end.
    pub(crate) fn open() -> EarlyEvents {
        let ring = PerfRing::open_machine();
        let mut exits = Exits::default();
        exits.open(if ring.is_ok() { Wanted::Ends } else { Wanted::StartsAndEnds });
        EarlyEvents { ring, exits }
    }
}

impl Meter {
    /// Ends of processes by the kernel's word, from now on.
    pub fn open_exit_events(&mut self) {
        if !self.witnesses.exits.is_open() {
            self.witnesses.exits.open(Wanted::Ends);
        }
    }

    /// Where perf tells nothing: starts and ends of processes by the process connector. `early` are those since before the job started;
    /// where there are none it is asked from now on.
    pub(crate) fn open_process_events(&mut self, early: Exits) {
        if self.witnesses.follower.is_some() {
            return;
        }
        self.witnesses.exits = early;
        let is_early = self.witnesses.exits.is_open();
        if !is_early {
            self.witnesses.exits.open(Wanted::StartsAndEnds);
        }
        if let Some(ring) = self.witnesses.exits.ring() {
            match is_early {
                true => self.set_process_events(Ok(ring)),
                false => self.set_late_process_events(Ok(ring)),
            }
            self.witnesses.exits.drain_after(sys::monotonic_ns(), PEEK_AFTER_NS);
        }
    }

    /// When exits are to be collected although no tick is due.
    pub(crate) fn exits_due_ns(&self) -> u64 {
        self.witnesses.exits.drain_at_ns.unwrap_or(u64::MAX)
    }

    /// Returns whether a tick is due for what was found.
    pub(crate) fn collect_exits_if_due(&mut self) -> bool {
        let due_ns = self.exits_due_ns();
        if due_ns == u64::MAX {
            return false;
        }
        let now_ns = sys::monotonic_ns();
        if now_ns < due_ns {
            return false;
        }
        self.witnesses.exits.collect(now_ns);
        if !self.witnesses.exits.has_starts {
            return false;
        }
        self.follow_events(false);
        self.has_begun_to_discard()
    }

    /// Whether main is found to discard the accounts of its children, and no tick has noticed yet.
    fn has_begun_to_discard(&mut self) -> bool {
        let peeks = &mut self.witnesses.exits.peeks;
        if self.doubts.may_discard || *peeks == PEEKS {
            return false;
        }
        *peeks += 1;
        let (main_pid, buffer) = (self.main_pid(), &mut self.tree.buffer);
        let length = self.tree.proc.read(main_pid, "status", buffer);
        self.doubts.may_discard =
            length.is_ok_and(|length| status::parse(&buffer[..length]).ignores_children);
        self.doubts.may_discard
    }

    /// Starts or ends have begun to arrive. Of children whose accounts are discarded, what the machine counts around their lives is all
    /// that tells.
    pub(crate) fn wake_by_exits(&mut self) {
        let elapsed_ns = self.elapsed_ns();
        let counts = self.doubts.may_discard && self.witnesses.exits.may_count_at(elapsed_ns);
        if counts {
            self.count_after_end();
        }
        let exits = &mut self.witnesses.exits;
        let after_ns = match counts {
            true => COUNTED_NS,
            false if !self.doubts.may_discard && exits.peeks < PEEKS => PEEK_AFTER_NS,
            false => SOON_NS,
        };
        exits.drain_after(sys::monotonic_ns(), after_ns);
    }

    /// How main ended, where an event tells it and no row of its end has been made of that yet.
    pub(crate) fn told_end_of_main(&mut self) -> Option<i32> {
        let main_pid = self.main_pid();
        let exits = &mut self.witnesses.exits;
        exits.collect(sys::monotonic_ns());
        let event = exits.unclaimed.get(&main_pid).filter(|event| event.t_ns >= self.clock.started_ns)?;
        Some(event.wait_status)
    }

    /// How `pid` ended, which lived at `seen_ns` and that somebody else has reaped.
    pub(crate) fn known_end(&mut self, pid: i32, seen_ns: u64, now_ns: u64) -> KnownEnd {
        let record = self.bounds.exit_record(pid);
        let exits = &mut self.witnesses.exits;
        if !exits.unclaimed.contains_key(&pid) {
            exits.collect(now_ns);
        }
        let wait_status = exits.claim(pid, seen_ns);
        KnownEnd {
            wait_status: wait_status.or(record.and_then(|record| record.wait_status)),
            // The kernel has not always counted the time of a process shorter than a clock tick by then.
            cpu_ns: record.map(|record| record.cpu_ns).filter(|ns| *ns > 0),
            peak_rss_bytes: record.map(|record| record.peak_rss_bytes).filter(|bytes| *bytes > 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_machine_is_not_followed_for_long() {
        let mut load = Load::default();
        assert!(!load.is_too_much_with(MOST_PER_SECOND, 5 * SECOND_NS));
        assert!(!load.is_too_much_with(MOST_PER_SECOND, 6 * SECOND_NS), "a second later");
        assert!(load.is_too_much_with(1, 6 * SECOND_NS + 1));
    }

    #[test]
    fn an_end_is_claimed_once_and_by_the_process_that_it_was() {
        let mut exits = Exits::default();
        let event = ExitEvent { wait_status: 256, t_ns: 1000 };
        exits.unclaimed.insert(7, event);
        assert_eq!(exits.claim(8, 0), None);
        assert_eq!(exits.claim(7, 900), Some(256));
        assert_eq!(exits.claim(7, 900), None, "claimed");
        exits.unclaimed.insert(7, event);
        assert_eq!(exits.claim(7, 1001), None, "the end of a process that had the pid before");
    }
}
