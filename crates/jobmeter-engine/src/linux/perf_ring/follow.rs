//! What the records mean for the meter: one start and one end for every process, in the kernel's own time, and
//! how far the count of processes can be trusted.

mod attached;
mod held;
mod known;
mod mapped;

use super::PerfRing;
use super::files::MappedFiles;
use super::lives::{Change, Life, Lives, Passed};
use super::record::Record;
use super::remains::{Remains, remains_of};
use crate::account::ledger::Parent;
use crate::linux::control::Reaped;
use crate::linux::proc::stat::name_text;
use crate::linux::sys;
use crate::meter::Meter;
use crate::meter::bounds::parents::CopyLife;
use crate::meter::process::{Presence, read_thread_children};
use jobmeter_model::WarningKind;
use jobmeter_model::event::{Event, ProcessId};
use std::os::fd::{AsRawFd, RawFd};

/// Events recorded per run for processes that no tick sampled; further processes are only counted.
const MAX_SHORT_EVENTS: u32 = 100_000;

/// At most this many zombies are read per call.
const MAX_LOOKS: u32 = 64;

/// A process that we reaped and that no tick had sampled.
struct UnsampledReap {
    reaped: Reaped,
    t_ns: u64,
}

pub(crate) struct Follower {
    ring: PerfRing,
    lives: Lives,
    batch: Vec<Record>,
    short_events_left: u32,
    /// Members whose exit record was read while the tree still has them.
    ended: Vec<i32>,
    /// Exited, unsampled and not yet reaped: a tick may still sample them as zombies.
    zombies: Vec<i32>,
    /// Members that a tick sampled before their fork record was read, with the time of that tick.
    unannounced: Vec<(i32, u64)>,
    unsampled_reaps: Vec<UnsampledReap>,
    /// The ring misses the records of some living process.
    is_blind: bool,
    has_warned: bool,
    /// The count of lost records at the last sweep for processes that are gone.
    swept_lost: u64,
    /// Programs that main has run, once it is gone.
    pub(crate) main_programs: Option<u32>,
    maps: mapped::Plan,
}

impl Follower {
    pub(crate) fn new(ring: PerfRing) -> Follower {
        let mut lives = Lives::new(ring.is_of_tree);
        lives.files = ring.has_maps().then(MappedFiles::new);
        Follower {
            lives,
            ring,
            batch: Vec::new(),
            short_events_left: MAX_SHORT_EVENTS,
            ended: Vec::new(),
            zombies: Vec::new(),
            unannounced: Vec::new(),
            unsampled_reaps: Vec::new(),
            is_blind: false,
            has_warned: false,
            swept_lost: 0,
            main_programs: None,
            maps: mapped::Plan::default(),
        }
    }

    pub(crate) fn fd(&self) -> RawFd {
        self.ring.as_raw_fd()
    }

    /// Copies the records out of the ring for later: the ring is small, and a tick over thousands of processes takes long.
    pub(crate) fn collect(&mut self) {
        self.ring.collect();
    }

    /// Processes that lived since the last call and that a tick at `now_ns` cannot show.
    pub(crate) fn take_passed(&mut self, now_ns: u64) -> Vec<Passed> {
        self.lives.take_passed(now_ns)
    }
}

impl Meter {
    /// Events of the job's processes from its very start, or why there are none.
    pub fn set_process_events(&mut self, opened: Result<PerfRing, String>) {
        match opened {
            Ok(ring) => {
                let mut follower = Box::new(Follower::new(ring));
                let main_pid = self.main_pid();
                let name = self.tree.main().map_or([0; 16], |main| main.stat.name);
                let own_pid = std::process::id() as i32;
                follower.lives.begin(main_pid, Some(self.clock.started_ns), own_pid, name, false);
                self.witnesses.follower = Some(follower);
            }
            Err(reason) => self.witnesses.events_refusal = Some(reason),
        }
    }

    /// As [`Meter::set_process_events`], with a ring that was opened when the job ran already.
    pub fn set_late_process_events(&mut self, opened: Result<PerfRing, String>) {
        self.set_process_events(opened);
        if let Some(mut follower) = self.witnesses.follower.take() {
            follower.is_blind = !self.look_back(&mut follower.lives);
            self.witnesses.follower = Some(follower);
        }
    }

    /// Takes up the children that main forked before the ring was opened. Returns whether no child can have been missed.
    fn look_back(&mut self, lives: &mut Lives) -> bool {
        let proc = self.tree.proc;
        let Some((main, buffer)) = self.tree.get_mut(self.main_pid()) else { return false };
        let main_pid = main.id.pid;
        let mut children = Vec::new();
        read_thread_children(proc, main_pid, main_pid, buffer, &mut |pid| children.push(pid));
        // Read after the list: a child that has not been waited for by now was in the list.
        let is_here = main.read_stat(buffer) == Presence::Here;
        if let Some(life) = lives.get_mut(main_pid) {
            // It may have called exec before the ring was opened.
            life.name = main.stat.name;
        }
        if !is_here || main.has_waited() {
            return false;
        }
        children.into_iter().all(|pid| {
            let Some(stat) = proc.stat(pid, buffer) else { return false };
            let mut has_children = false;
            read_thread_children(proc, pid, pid, buffer, &mut |_| has_children = true);
            // Without a time of birth: its record may still wait in the ring.
            lives.begin(pid, None, main_pid, stat.name, false);
            stat.children_faults_minor == 0 && !has_children
        })
    }

    /// Readable when the ring is half full.
    pub(crate) fn events_fd(&self) -> RawFd {
        self.witnesses.follower.as_ref().map_or(-1, |follower| follower.fd())
    }

    /// The descriptor was readable.
    pub(crate) fn wake_by_events(&mut self) {
        let Some(follower) = &mut self.witnesses.follower else { return };
        follower.ring.consume_wake();
        if !follower.ring.is_fed() {
            return self.follow_events(false);
        }
        self.wake_by_exits();
    }

    pub(crate) fn events_are_complete(&self) -> bool {
        // Processes that others start for the job are not followed from their beginning.
        self.tree.groups.watched.is_empty()
            && self.witnesses.follower.as_ref().is_some_and(|follower| follower.is_complete())
    }

    /// Takes the records of the ring into account.
    pub(crate) fn follow_events(&mut self, is_last: bool) {
        let Some(mut follower) = self.witnesses.follower.take() else { return };
        if follower.ring.is_fed() {
            self.witnesses.exits.feed(&mut follower.ring);
            follower.ring.listen_again();
        }
        let mut batch = std::mem::take(&mut follower.batch);
        let horizon_ns = follower.ring.take(is_last, &mut batch);
        follower.maps.note_records(&batch);
        let mut looks_left = MAX_LOOKS;
        for record in batch.drain(..) {
            let tree = &self.tree;
            match follower.lives.take(&record, |pid| tree.get(pid).is_some()) {
                None => {}
                Some(Change::Renamed { pid, name }) => self.rename(&mut follower, pid, &name, record.t_ns),
                Some(Change::MemberEnded { pid }) => {
                    follower.ended.push(pid);
                    let scale = self.tree.scale;
                    if let Some((process, buffer)) = self.tree.get_mut(pid) {
                        // While it is a zombie its last figures can be read.
                        process.read_fast(scale, buffer);
                    }
                }
                Some(Change::UnsampledEnded { pid }) => {
                    // A process that is not looked at may still be a zombie that a tick will sample.
                    let is_zombie = looks_left == 0 || self.look_at(&mut follower, pid);
                    looks_left = looks_left.saturating_sub(1);
                    if is_zombie {
                        follower.zombies.push(pid);
                    } else if let Some(life) = follower.lives.remove(pid) {
                        self.record_unsampled(&mut follower, pid, &life);
                    }
                }
                Some(Change::Replaced { pid, before }) if before.is_recorded => {
                    self.depart(pid, before.end_ns.unwrap_or(record.t_ns));
                }
                Some(Change::Replaced { pid, before }) => self.record_unsampled(&mut follower, pid, &before),
            }
        }
        self.record_reaped_zombies(&mut follower);
        follower.lives.settle(horizon_ns);
        follower.unsampled_reaps.retain(|reap| reap.t_ns >= horizon_ns);
        let lives = &follower.lives;
        let is_blind = &mut follower.is_blind;
        follower.unannounced.retain(|(pid, sampled_ns)| {
            let waits = lives.get(*pid).is_some_and(|life| life.fork_ns.is_none());
            *is_blind |= waits && *sampled_ns < horizon_ns;
            waits && *sampled_ns >= horizon_ns
        });
        if follower.ring.lost > 0 && !follower.has_warned {
            follower.has_warned = true;
            let text =
                "the kernel had more to tell of processes than its buffer holds: short ones may be missing";
            self.warn(WarningKind::ProcessEventsLost, text.to_owned());
        }
        follower.batch = batch;
        self.witnesses.follower = Some(follower);
    }

    fn rename(&mut self, follower: &mut Follower, pid: i32, name: &[u8; 16], at_ns: u64) {
        let Some(process) = self.tree.get(pid) else { return };
        let event =
            Event::ProcessRename { t_ns: self.since_start_ns(at_ns), id: process.id, name: name_text(name) };
        if self.may_record(follower, 1) {
            self.emit(&event);
        }
    }

    /// Whether `count` more events may be recorded; says so once when they may not.
    fn may_record(&mut self, follower: &mut Follower, count: u32) -> bool {
        if follower.short_events_left >= count {
            follower.short_events_left -= count;
            return true;
        }
        if follower.short_events_left > 0 {
            follower.short_events_left = 0;
            let text = format!(
                "more than {MAX_SHORT_EVENTS} events of short processes: further ones are counted, not recorded"
            );
            self.warn(WarningKind::ProcessEventsCapped, text);
        }
        false
    }

    /// Whether a process that has ended is still there, unreaped; its last figures are kept.
    fn look_at(&mut self, follower: &mut Follower, pid: i32) -> bool {
        let remains = remains_of(self.tree.proc, pid, &mut self.tree.buffer);
        let Some(life) = follower.lives.get_mut(pid) else { return false };
        match remains {
            Remains::None => return false,
            Remains::Alive => follower.is_blind = true,
            Remains::Leaving { start_ticks } => life.start_ticks = start_ticks,
            Remains::Zombie { start_ticks, cpu_ns } => {
                (life.start_ticks, life.last_cpu_ns) = (start_ticks, Some(cpu_ns));
            }
        }
        true
    }

    /// Records zombies that have been reaped since, and forgets those that a tick has sampled.
    fn record_reaped_zombies(&mut self, follower: &mut Follower) {
        let mut at = 0;
        while let Some(&pid) = follower.zombies.get(at) {
            let life = follower.lives.get(pid);
            // The tick that has just sampled it records it.
            let unsampled = life.is_some_and(|life| !life.is_recorded && life.end_ns.is_some())
                && self.tree.get(pid).is_none();
            if unsampled && sys::process_cpu_ns(pid).is_some() {
                at += 1;
                continue;
            }
            follower.zombies.swap_remove(at);
            if unsampled && let Some(life) = follower.lives.remove(pid) {
                self.record_unsampled(follower, pid, &life);
            }
        }
    }

    /// Records the start and the end of a process that no tick has sampled.
    fn record_unsampled(&mut self, follower: &mut Follower, pid: i32, life: &Life) {
        let is_reaped = follower.unsampled_reaps.iter().any(|reap| reap.reaped.pid == pid);
        let counts_on_parent = life.must_have_faulted() && !is_reaped;
        let known = self.known_end(pid, life.fork_ns.unwrap_or_default(), sys::monotonic_ns());
        if !counts_on_parent {
            // Nothing is expected of its parent.
        } else if let Some((parent, _)) = self.tree.get_mut(life.parent_pid) {
            parent.has_had_children = true;
            // Its record comes some time after its end: its parent may have been read since.
            let waited_before = parent.waited_at.tick_before;
            let (id, ignores_children) = (parent.id, parent.ignores_children);
            let parent = Parent { id, ignores_children, waited_before };
            self.counters.ledger.note_unread_departure(&parent);
        } else {
            self.counters.ledger.note_unread_orphan(life.parent_pid, known.is_by_kill());
        }
        if !self.may_record(follower, 2) {
            self.out.sums.processes_seen += 1;
            return;
        }
        let reap = follower.unsampled_reaps.iter().position(|reap| reap.reaped.pid == pid);
        let reaped = reap.map(|index| follower.unsampled_reaps.swap_remove(index).reaped);
        // What it waited for is in its usage too: only where it forked nobody is it all its own.
        let own = reaped.filter(|_| !life.has_forked).map(|reaped| reaped.usage);
        let (end_ns, fork_ns) = (life.end_ns.unwrap_or_default(), life.fork_ns.unwrap_or_default());
        let cpu_ns = own.map(|usage| usage.cpu_ns()).or(life.last_cpu_ns).or(known.cpu_ns);
        let peak_rss_bytes = known.peak_rss_bytes.or(own.map(|usage| usage.peak_rss_bytes));
        let start_ticks = life.start_ticks;
        let id = ProcessId { pid, start_ticks };
        let start = Event::ProcessStart {
            t_ns: self.since_start_ns(fork_ns),
            id,
            parent_pid: life.parent_pid,
            name: name_text(&life.name),
        };
        self.emit(&start);
        let end = Event::ProcessEnd {
            t_ns: self.since_start_ns(end_ns),
            id,
            cpu_ns,
            peak_rss_bytes,
            read_storage_bytes: None,
            write_storage_bytes: None,
            wait_status: reaped.map(|reaped| reaped.status).or(known.wait_status),
        };
        self.emit(&end);
    }

    /// A tick has sampled `pid`: returns its start, parent and name, where the ring has them.
    pub(crate) fn note_sampled(&mut self, pid: i32, now_ns: u64) -> Option<(u64, i32, [u8; 16])> {
        let process = self.tree.get(pid)?;
        let follower = self.witnesses.follower.as_mut()?;
        match follower.lives.get_mut(pid) {
            Some(life) => {
                life.is_recorded = true;
                if process.is_main || follower.ring.is_fed() {
                    // It was followed from before its exec, or the records tell no names: this one was read.
                    life.name = process.stat.name;
                }
                life.fork_ns.map(|fork_ns| (fork_ns, life.parent_pid, life.name))
            }
            None => {
                follower.lives.begin(pid, None, process.parent_pid, process.stat.name, true);
                follower.unannounced.push((pid, now_ns));
                // It may have been born after the tick began: its record is there, and too young to be taken.
                let fork_ns = follower.ring.waiting_fork_ns(pid)?;
                Some((fork_ns, process.parent_pid, process.stat.name))
            }
        }
    }

    /// The tree has removed `pid`: returns when it began and ended, where the ring knows.
    pub(crate) fn part_from(&mut self, pid: i32, now_ns: u64) -> CopyLife {
        let is_main = pid == self.main_pid();
        let Some(follower) = self.witnesses.follower.as_mut() else { return CopyLife::default() };
        if follower.ring.is_fed() && follower.lives.get(pid).is_some_and(|life| life.end_ns.is_none()) {
            // Its end is in the socket.
            self.witnesses.exits.feed(&mut follower.ring);
        }
        let waiting_ns = follower.ring.waiting_exit_ns(pid);
        let waiting_faults = follower.ring.waiting_faults(pid);
        let has_forked = follower.ring.has_waiting_fork_by(pid);
        let is_complete = follower.is_complete();
        let copy_ns = follower.told_exec(pid).copy_ns;
        let Some(mut life) = follower.lives.let_go(pid, now_ns) else { return CopyLife::default() };
        life.counted_faults += waiting_faults;
        if is_main {
            follower.main_programs = Some(life.programs);
        }
        let end_ns = life.end_ns.or(waiting_ns);
        // Where its end is recorded, so is every fork before.
        let is_leaf = end_ns.is_some() && is_complete && !life.has_forked && !has_forked;
        if let Some(end_ns) = end_ns {
            follower.lives.pass_member(pid, &life, end_ns);
        }
        CopyLife { fork_ns: life.fork_ns, end_ns, is_leaf, copy_ns }
    }

    /// Keeps the usage of an orphan that we reaped and that no tick had sampled.
    pub(crate) fn note_unsampled_reap(&mut self, reaped: Reaped, now_ns: u64) {
        if let Some(follower) = &mut self.witnesses.follower {
            follower.unsampled_reaps.push(UnsampledReap { reaped, t_ns: now_ns });
        }
    }

    /// Finds members that live although the ring has their exit record: it does not follow them any more.
    pub(crate) fn check_ended(&mut self) {
        let Some(follower) = &mut self.witnesses.follower else { return };
        let tree = &mut self.tree;
        let proc = tree.proc;
        let (lives, is_blind) = (&mut follower.lives, &mut follower.is_blind);
        for pid in follower.ended.drain(..) {
            let Some((process, buffer)) = tree.get_mut(pid) else { continue };
            // This reading is not kept: its children were read earlier in this tick, and those that it has waited for since
            // would count twice.
            let stat = proc.stat(pid, buffer).filter(|stat| stat.start_ticks == process.id.start_ticks);
            if stat.is_some_and(|stat| stat.state != b'Z' && !stat.is_exiting()) {
                *is_blind = true;
                if let Some(life) = lives.get_mut(pid) {
                    life.end_ns = None;
                }
            }
        }
    }

    /// After records were lost: processes that are gone and have no exit record ended before now.
    pub(crate) fn sweep_lost(&mut self, now_ns: u64) {
        let Some(mut follower) = self.witnesses.follower.take() else { return };
        if follower.ring.lost > follower.swept_lost {
            follower.swept_lost = follower.ring.lost;
            let gone: Vec<(i32, Life)> = follower
                .lives
                .unrecorded()
                .filter(|(pid, life)| life.end_ns.is_none() && sys::process_cpu_ns(*pid).is_none())
                .collect();
            for (pid, mut life) in gone {
                follower.lives.remove(pid);
                life.end_ns = Some(now_ns);
                self.record_unsampled(&mut follower, pid, &life);
            }
        }
        self.witnesses.follower = Some(follower);
    }

    /// Takes the last records; records processes that no tick sampled, and members that ended and were not reaped.
    pub(crate) fn end_events(&mut self) {
        self.follow_events(true);
        self.sweep_lost(sys::monotonic_ns());
        let Some(mut follower) = self.witnesses.follower.take() else { return };
        let unrecorded: Vec<(i32, Life)> = follower.lives.unrecorded().collect();
        for (pid, life) in unrecorded {
            if life.end_ns.is_some() {
                self.record_unsampled(&mut follower, pid, &life);
                continue;
            }
            if !self.may_record(&mut follower, 1) {
                self.out.sums.processes_seen += 1;
                continue;
            }
            let stat = self.tree.proc.stat(pid, &mut self.tree.buffer);
            let id = ProcessId { pid, start_ticks: stat.map_or(0, |stat| stat.start_ticks) };
            let start = Event::ProcessStart {
                t_ns: self.since_start_ns(life.fork_ns.unwrap_or_default()),
                id,
                parent_pid: life.parent_pid,
                name: name_text(&life.name),
            };
            self.emit(&start);
        }
        let gone: Vec<(i32, u64)> = self
            .tree
            .processes
            .iter()
            .filter_map(|process| {
                let end_ns = follower.lives.get(process.id.pid)?.end_ns?;
                Some((process.id.pid, end_ns))
            })
            .collect();
        for (pid, end_ns) in gone {
            self.emit_zombie_end(pid, end_ns);
        }
        self.witnesses.follower = Some(follower);
    }
}
