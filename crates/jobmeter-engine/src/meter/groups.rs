//! Control groups whose members belong to the job, whoever their parents are: that of a job that is attached to, and
//! those of containers that a daemon started for the job.

use super::Meter;
use super::tree::Tree;
use crate::linux::cgroup::WatchedGroup;
use crate::linux::proc::root::ProcRoot;
use crate::meter::process::Process;
use jobmeter_model::event::ProcessId;
use std::collections::HashSet;

#[derive(Default)]
pub(crate) struct Groups {
    pub(crate) watched: Vec<WatchedGroup>,
    /// They are all that is measured: a child that was put elsewhere is no member.
    pub(crate) are_all: bool,
    /// Members that came through a group, or from a process that did: their parents may be nobody of the job.
    guests: HashSet<ProcessId>,
    found: Vec<i32>,
}

impl Groups {
    pub(crate) fn has_guest(&self, process: &Process) -> bool {
        !self.guests.is_empty() && self.guests.contains(&process.id)
    }

    pub(crate) fn forget(&mut self, gone: &Process) {
        self.guests.remove(&gone.id);
    }

    /// CPU time by the groups' own count; `None` where one of them does not count it.
    pub(crate) fn cpu_ns(&self) -> Option<u64> {
        self.watched.iter().map(WatchedGroup::used_cpu_ns).sum()
    }
}

impl Tree {
    /// Adds members of watched groups that are not in the tree yet.
    pub(super) fn discover_in_groups(&mut self, born: &mut Vec<i32>) {
        if self.groups.watched.is_empty() {
            return;
        }
        let mut found = std::mem::take(&mut self.groups.found);
        found.clear();
        self.groups.watched.iter_mut().for_each(|group| group.read(&mut found));
        for pid in found.iter().copied() {
            if self.get(pid).is_none() && !is_meters(self.proc, pid) && !self.is_excluded(pid) {
                self.add(pid, born);
                self.note_guest(pid);
            }
        }
        self.groups.found = found;
    }

    pub(super) fn note_child_of_guest(&mut self, child: &Process) {
        if self.get(child.parent_pid).is_some_and(|parent| self.groups.has_guest(parent)) {
            self.groups.guests.insert(child.id);
        }
    }

    fn note_guest(&mut self, pid: i32) {
        let Some(guest) = self.get(pid) else { return };
        let (id, parent_pid) = (guest.id, guest.parent_pid);
        self.groups.guests.insert(id);
        if let Some((parent, _)) = self.get_mut(parent_pid) {
            parent.has_had_children = true;
        }
    }
}

/// Whether `pid` is the meter itself, or a process that it started: it may live in the group that it measures.
fn is_meters(proc: ProcRoot, pid: i32) -> bool {
    let own_pid = std::process::id() as i32;
    let parent_pid = proc.stat(pid, &mut [0; 1024]).map(|stat| stat.parent_pid);
    pid == own_pid || parent_pid == Some(own_pid)
}

impl Meter {
    /// Measures the members of `group`, and nobody else.
    pub(crate) fn measure_group(&mut self, group: WatchedGroup) {
        self.tree.note_guest(self.main_pid());
        self.tree.groups.watched.push(group);
        self.tree.groups.are_all = true;
    }

    /// Whether nobody that still runs is left.
    pub(crate) fn is_deserted(&self) -> bool {
        self.tree.processes.iter().all(Process::is_zombie)
    }
}
