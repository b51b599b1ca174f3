//! Containers that clients in the job have a daemon start: their processes become members of the tree, and their groups
//! count their CPU time. They are looked for only once a process of the job has the name of such a client.

use super::Meter;
use super::Target;
use crate::linux::cgroup::{JobGroup, WatchedGroup};
use crate::linux::containers::client::{Client, Container, Kind, kind_of};
use crate::linux::control::Pid;
use crate::linux::pidfd;
use crate::linux::sys;
use jobmeter_model::WarningKind;
use jobmeter_model::event::ProcessId;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

pub(crate) const UNREAD_CONTAINER: &str = "a container was started outside of what may be read";

/// Looking through all processes of the machine takes a part of a millisecond.
const LOOK_PERIOD_NS: u64 = 40_000_000;

#[derive(Default)]
pub(crate) struct Containers {
    /// Processes that were found to be clients.
    known: Vec<ProcessId>,
    /// Those whose container has not been found yet.
    waiting: Vec<(ProcessId, Client)>,
    found_ids: Vec<String>,
    /// Readable when the first process of a container has ended.
    exits: Vec<OwnedFd>,
    looked_at_ns: u64,
    /// Some client's container was not found.
    pub(crate) is_any_unread: bool,
}

impl Containers {
    /// Whether processes of the job may be in other groups than the one that was made for it.
    pub(crate) fn are_possible(&self) -> bool {
        !self.known.is_empty()
    }
}

impl Meter {
    /// Notices clients.
    pub(super) fn notice_clients(&mut self) {
        let (mut has_podman, mut apptainers) = (false, Vec::new());
        for process in &self.tree.processes {
            if let Some(kind) = kind_of(&process.stat.name)
                && !self.tree.groups.has_guest(process)
                && !self.containers.known.contains(&process.id)
            {
                // What Apptainer runs stays in the job's group.
                if kind == Kind::Apptainer {
                    apptainers.push(process.id);
                    continue;
                }
                self.containers.known.push(process.id);
                self.witnesses.group.iter_mut().for_each(JobGroup::note_left);
                let client = Client::of(self.tree.proc, process.id.pid, process.id.start_ticks);
                // What Podman starts is in the tree: we are the subreaper of its monitor.
                let is_in_tree = |client: &Client| {
                    kind == Kind::Podman && matches!(self.target, Target::Child(_)) && !client.is_remote()
                };
                let client = client.filter(|client| {
                    has_podman |= is_in_tree(client);
                    !is_in_tree(client)
                });
                self.containers.waiting.extend(client.map(|client| (process.id, client)));
            }
        }
        if has_podman {
            self.expect_containers_in_tree();
        }
        apptainers.into_iter().for_each(|id| self.note_apptainer(id));
    }

    /// When containers are to be looked for.
    pub(crate) fn containers_due_ns(&self) -> u64 {
        let is_any = !self.containers.waiting.is_empty();
        let due_ns = if is_any { self.containers.looked_at_ns + LOOK_PERIOD_NS } else { u64::MAX };
        due_ns.min(self.contained_due_ns())
    }

    /// Takes in the containers that clients have started. Between ticks, which are to stay light.
    pub(crate) fn look_for_containers_if_due(&mut self) {
        let due_ns = self.containers_due_ns();
        if due_ns < u64::MAX && sys::monotonic_ns() >= due_ns {
            self.look_for_contained_if_due();
            self.look_for_containers();
            self.containers.looked_at_ns = sys::monotonic_ns();
        }
    }

    fn look_for_containers(&mut self) {
        for (id, mut client) in std::mem::take(&mut self.containers.waiting) {
            let found_ids = &self.containers.found_ids;
            let container = client.find(|id| found_ids.iter().any(|found| found == id));
            match container {
                Some(container) => self.take_in(container),
                // A client that has ended may have left it running: it was looked for once more.
                None if self.tree.get(id.pid).is_none_or(|process| process.is_zombie()) => {
                    self.miss_container()
                }
                None => self.containers.waiting.push((id, client)),
            }
        }
    }

    fn take_in(&mut self, container: Container) {
        if self.tree.get(container.first_pid).is_none() {
            self.note_container("docker", &container);
        }
        let Container { id, group, first_pid } = container;
        self.containers.found_ids.push(id);
        if self.tree.get(first_pid).is_none() {
            self.watch_end_of(first_pid);
            let mut group = WatchedGroup::from_birth(group);
            group.open_clocks();
            self.tree.groups.watched.push(group);
        }
    }

    /// The end of the first process of a container wakes us: its group may be gone a moment later.
    pub(super) fn watch_end_of(&mut self, first_pid: i32) {
        let exit = Pid::new(first_pid).and_then(|pid| pidfd::open(pid).ok());
        self.containers.exits.extend(exit);
    }

    fn miss_container(&mut self) {
        if !std::mem::replace(&mut self.containers.is_any_unread, true) {
            self.warn(WarningKind::ContainerUnread, UNREAD_CONTAINER.to_owned());
        }
    }

    /// At the end: a container that was not found by now has not been read, though it may go on.
    pub(super) fn end_containers(&mut self) {
        if !std::mem::take(&mut self.containers.waiting).is_empty() {
            self.miss_container();
        }
        self.containers.exits.clear();
    }

    /// Readable when the first process of a container has ended; -1 without any.
    pub(crate) fn container_fd(&self) -> RawFd {
        self.containers.exits.first().map_or(-1, AsRawFd::as_raw_fd)
    }

    /// The descriptor was readable: the processes of the container are zombies and its group is still there, for a moment.
    pub(crate) fn note_container_end(&mut self) {
        self.tree.groups.watched.iter_mut().for_each(WatchedGroup::read_cpu);
        self.read_container_groups();
        self.tick_whole(sys::monotonic_ns());
        if !self.containers.exits.is_empty() {
            let ended = self.containers.exits.remove(0);
            drop(ended);
        }
    }

    /// CPU time that the groups of containers have counted and the accounts of their processes do not show.
    pub(super) fn unaccounted_container_cpu_ns(&self) -> u64 {
        if self.tree.groups.watched.is_empty() || self.tree.groups.are_all {
            return 0;
        }
        let scale = self.tree.scale;
        let living = self.tree.processes.iter().filter(|process| self.tree.groups.has_guest(process));
        let living_ns: u64 = living.map(|process| process.reading(scale).with_waited().cpu_ns).sum();
        // What was read of processes that left the tree is theirs, but for what makes all of it a lower bound anyway.
        let shown_ns = living_ns + self.counters.ledger.lost.cpu_ns;
        // Groups that do not tell add nothing; the accounts alone are then a lower bound.
        self.tree.groups.cpu_ns().map_or(0, |counted_ns| counted_ns.saturating_sub(shown_ns))
    }
}
