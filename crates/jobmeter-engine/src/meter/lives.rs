//! Processes that come and go: each has one start and one end, and its account is settled when it leaves.

use super::exits::KnownEnd;
use super::{Meter, Target};
use crate::account::ledger::{Fate, Ledger, Parent};
use crate::linux::control::{self, Pid, Reaped};
use crate::linux::proc::{self, stat::name_text};
use crate::linux::sys;
use crate::meter::process::Process;
use jobmeter_model::WarningKind;
use jobmeter_model::event::Event;
use std::io;

impl Meter {
    pub(super) fn note_departed(&mut self) {
        let now_ns = sys::monotonic_ns();
        self.changes.count += self.changes.departed.len() as u64;
        for at in 0..self.changes.departed.len() {
            self.depart(self.changes.departed[at], now_ns);
        }
        self.changes.forget_departed();
    }

    /// A member is gone and somebody else has reaped it; `now_ns` stands in for an end that is not known.
    pub(crate) fn depart(&mut self, pid: i32, now_ns: u64) {
        let orphans_come_to_us = matches!(self.target, Target::Child(_));
        let parent_pid = self.tree.get(pid).map(|process| process.parent_pid);
        let went_together = parent_pid.is_some_and(|parent_pid| self.changes.has_departed(parent_pid));
        let guest = self.tree.get(pid).filter(|process| self.tree.groups.has_guest(process));
        let fate = match guest {
            _ if went_together => Fate::PassedUp,
            // The parent of a guest is a daemon: nobody of the job gets its account.
            Some(guest) if guest.is_final => Fate::Kept,
            Some(_) => Fate::Lost,
            None if orphans_come_to_us => Fate::PassedUp,
            None => Fate::Lost,
        };
        self.depart_to(fate, pid, now_ns);
    }

    /// The main process was reaped behind our back: its account is what was last read of it.
    pub(crate) fn lose_main(&mut self, reason: &str) {
        self.counters.ledger.has_hole = true;
        self.depart_to(Fate::Lost, self.main_pid(), sys::monotonic_ns());
        self.warn(WarningKind::Unreaped, format!("{reason}: what it used after the last tick is missing"));
    }

    fn depart_to(&mut self, fate: Fate, pid: i32, now_ns: u64) {
        let Some(gone) = self.tree.remove(pid) else { return };
        self.tree.groups.forget(&gone);
        let reading = gone.reading(self.tree.scale);
        // A younger process has the pid of a parent that is gone.
        let parent = self.tree.get(gone.parent_pid);
        let parent = parent.filter(|parent| parent.id.start_ticks <= gone.id.start_ticks);
        let parent = parent.map(|parent| Parent {
            id: parent.id,
            // One that began to ignore them since the last tick may have waited for this one before, as the first process
            // of a PID namespace does that is about to end.
            ignores_children: parent.ignores_children && parent.ignored_children_before,
            waited_before: parent.waited_at.last_tick,
        });
        if let Some((parent, _)) = parent.and_then(|parent| self.tree.get_mut(parent.id.pid)) {
            // It may be waiting for children right now, and its reading from before it did.
            parent.expect_news();
        }
        let ledger = &mut self.counters.ledger;
        ledger.note_departure(&reading, parent.as_ref(), fate);
        if gone.is_main {
            ledger.main_has_waited = gone.has_waited();
            ledger.main_final = Some(Ledger::main_of(&reading, self.counters.main_io.own));
        }
        let end_ns = self.end_of_gone(&gone, None, now_ns);
        self.emit_end(self.since_start_ns(end_ns), &gone, None);
    }

    /// When a member ended that is gone: by the events, or now at the latest.
    fn end_of_gone(&mut self, gone: &Process, reaped: Option<&Reaped>, now_ns: u64) -> u64 {
        let life = self.part_from(gone.id.pid, now_ns);
        self.note_departed_memory(gone, reaped, life);
        life.end_ns.unwrap_or(now_ns)
    }

    /// A member that has ended and waits for its parent.
    pub(crate) fn emit_zombie_end(&mut self, pid: i32, end_ns: u64) {
        if let Some(gone) = self.tree.remove(pid) {
            self.emit_end(self.since_start_ns(end_ns), &gone, None);
            self.tree.put_back(gone);
        }
    }

    pub(super) fn emit_end(&mut self, t_ns: u64, process: &Process, reaped: Option<&Reaped>) {
        if process.is_renamed && !self.events_tell_names() {
            let name = name_text(&process.stat.name);
            self.emit(&Event::ProcessRename { t_ns, id: process.id, name });
        }
        // The usage of a process that has waited is not its own alone.
        let own = reaped.filter(|_| !process.has_waited()).map(|reaped| reaped.usage);
        let known = match reaped {
            Some(reaped) => KnownEnd {
                wait_status: Some(reaped.status),
                cpu_ns: own.map(|own| own.cpu_ns()),
                peak_rss_bytes: own.map(|own| own.peak_rss_bytes),
            },
            None => {
                let known = self.known_end(process.id.pid, 0, sys::monotonic_ns());
                KnownEnd { wait_status: known.wait_status.or_else(|| process.told_status()), ..known }
            }
        };
        if reaped.is_none() && known.is_by_kill() && self.has_no_parent_left(process) {
            // Its parent may have been the first of a PID namespace: what ends with that is reaped into nobody's account.
            self.counters.ledger.has_hole = true;
        }
        let own_io = process.own_io.filter(|_| !process.has_waited() && !process.io_is_refused);
        let peak_rss_bytes = known.peak_rss_bytes.unwrap_or_default().max(process.peak_rss_bytes);
        let event = Event::ProcessEnd {
            t_ns,
            id: process.id,
            cpu_ns: Some(known.cpu_ns.unwrap_or_default().max(process.cpu_ns)).filter(|ns| *ns > 0),
            peak_rss_bytes: Some(peak_rss_bytes).filter(|bytes| *bytes > 0),
            read_storage_bytes: own_io.map(|io| io.read_storage_bytes),
            write_storage_bytes: own_io.map(|io| io.write_storage_bytes),
            wait_status: known.wait_status,
        };
        self.emit(&event);
    }

    fn has_no_parent_left(&mut self, process: &Process) -> bool {
        let parent_pid = process.parent_pid;
        !process.is_main && (self.tree.get(parent_pid).is_none() || self.changes.has_departed(parent_pid))
    }

    pub(super) fn note_born(&mut self, now_ns: u64, is_first: bool) {
        if is_first {
            let main = self.main_pid();
            self.changes.born.insert(0, main);
        }
        // A storm of births is not read in depth at once: the slow period will come round.
        let read_at_once = self.changes.born.len() <= 16;
        let scale = self.tree.scale;
        self.changes.count += self.changes.born.len() as u64;
        for at in 0..self.changes.born.len() {
            let Some((process, buffer)) = self.tree.get_mut(self.changes.born[at]) else { continue };
            if read_at_once && process.slow_at_ns != now_ns {
                process.read_slow(now_ns, buffer);
                process.read_memory_after_faults(scale, buffer);
            }
            if process.hides_memory() {
                process.follow_living_thread(scale, buffer);
            }
            if is_first && !matches!(self.target, Target::Child(_)) {
                process.peak_rss_before_bytes = process.peak_rss_bytes;
            }
            process.is_renamed = false;
            let (id, parent_pid, name) = (process.id, process.parent_pid, process.stat.name);
            let as_read = (now_ns, parent_pid, name);
            let (start_ns, parent_pid, name) = self.note_sampled(id.pid, now_ns).unwrap_or(as_read);
            if let Some((process, _)) = self.tree.get_mut(id.pid) {
                process.note_forked_by(parent_pid);
            }
            let t_ns = self.since_start_ns(start_ns);
            self.emit(&Event::ProcessStart { t_ns, id, parent_pid, name: name_text(&name) });
        }
        self.changes.born.clear();
    }

    fn events_tell_names(&self) -> bool {
        self.witnesses.follower.as_ref().is_some_and(|follower| follower.tells_names())
    }

    /// Between fork and exec a process has its parent's name: records the new one when a tick sees it, unless events do.
    pub(super) fn note_renamed(&mut self, t_ns: u64) {
        if self.events_tell_names() {
            return;
        }
        for at in 0..self.tree.processes.len() {
            let process = &mut self.tree.processes[at];
            if std::mem::take(&mut process.is_renamed) {
                let (id, name) = (process.id, process.stat.name);
                if let Some(follower) = &mut self.witnesses.follower {
                    // What it forks has this name until a tick or an exec tells another.
                    follower.note_name(id.pid, name);
                }
                self.emit(&Event::ProcessRename { t_ns, id, name: name_text(&name) });
            }
        }
    }

    /// Signs of children that no tick has shown: their parent has waited for them, or lets the kernel discard them.
    pub(super) fn notice_unseen_children(&mut self) {
        let is_alone = self.was_alone();
        for process in &self.tree.processes {
            self.bounds.has_unseen |= process.has_waited() && !process.has_had_children;
            // Learned at its end: children that only events have told of may have been discarded.
            let is_late = process.is_final && !process.ignored_children_before && !is_alone;
            let has_had_children = process.has_had_children || is_late;
            self.counters.ledger.has_hole |= process.ignores_children && has_had_children;
            self.doubts.may_discard |= process.ignores_children;
        }
    }

    /// A child of ours has ended and waits to be reaped: reads its last figures, reaps it, settles its account.
    /// `None` when it has not ended yet, and an error of ECHILD when somebody else has reaped it.
    pub fn reap(&mut self, child: Pid) -> io::Result<Option<Reaped>> {
        let pid = child.get();
        if self.tree.is_excluded(pid) {
            let reaped = control::reap(child)?;
            self.tree.include(child);
            return Ok(reaped);
        }
        let now_ns = sys::monotonic_ns();
        self.follow_events(false);
        let scale = self.tree.scale;
        let (mut own_io, mut zombie_io) = (None, None);
        match self.tree.get_mut(pid) {
            Some((process, buffer)) => {
                process.read_fast(scale, buffer);
                if !process.is_final {
                    process.read_slow(now_ns, buffer);
                }
                if process.is_main && process.has_waited() {
                    own_io = process.read_own_io(buffer);
                }
            }
            // Only this file knows the characters that it read and wrote.
            None => {
                let length = self.tree.proc.read(pid, "io", &mut self.tree.buffer);
                zombie_io = length.ok().and_then(|length| proc::io::parse(&self.tree.buffer[..length]));
            }
        }
        let Some(reaped) = control::reap(child)? else { return Ok(None) };
        let gone = self.tree.remove(pid);
        self.counters.main_io.own = own_io.or(self.counters.main_io.own);
        let last = gone.as_ref().map(|process| process.reading(scale));
        let is_main = pid == self.main_pid();
        let ledger = &mut self.counters.ledger;
        if is_main {
            ledger.main_usage = Some(reaped.usage);
        }
        ledger.settle_reaped(&reaped.usage, last.as_ref(), zombie_io, self.counters.main_io.own);
        match &gone {
            Some(process) => {
                let end_ns = self.end_of_gone(process, Some(&reaped), now_ns);
                self.emit_end(self.since_start_ns(end_ns), process, Some(&reaped));
            }
            // An orphan that lived and died between two ticks: only its account remains.
            None => {
                self.note_unseen_memory(&reaped);
                self.note_unsampled_reap(reaped, now_ns);
            }
        }
        Ok(Some(reaped))
    }
}
