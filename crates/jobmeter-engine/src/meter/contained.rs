//! The scope `containers`: what ran in containers that the job started. It is a part of the job and counted there once;
//! here it is shown apart, by the counts of the containers' own control groups.

use super::Meter;
use super::containers::UNREAD_CONTAINER;
use crate::linux::cgroup::WatchedGroup;
use crate::linux::cgroup::watched::{group_with, memory_peak_of};
use crate::linux::containers::client::{Container, container_of};
use crate::linux::containers::id_in;
use crate::linux::sys;
use jobmeter_model::Stat;
use jobmeter_model::event::ProcessId;
use jobmeter_model::metric::Metric;
use jobmeter_model::summary::{Figure, Figures, Quality};
use std::collections::HashMap;
use std::path::PathBuf;

/// A process is moved into the group of its container soon after its start, or never.
const MOST_LOOKS: u8 = 50;
/// Between two searches among the processes of the job.
const LOOK_PERIOD_NS: u64 = 40_000_000;

#[derive(Default)]
pub(crate) struct Contained {
    /// Groups of containers whose processes are descendants of the job anyway, as Podman's are.
    groups: Vec<WatchedGroup>,
    /// The memory groups of all containers, and the most that each has held.
    memory: Vec<(PathBuf, Option<u64>)>,
    /// Clients whose children are the container, as Apptainer's are: CPU time with that of their children, as last read.
    parents: Vec<(ProcessId, u64)>,
    looks: HashMap<ProcessId, u8>,
    looked_at_ns: u64,
    is_looking: bool,
    /// The most at one tick.
    rss_bytes: Option<u64>,
    processes: u64,
    pub(crate) names: Vec<String>,
}

impl Contained {
    /// Whether no container was found, nor is expected.
    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty() && !self.is_looking
    }
}

impl Meter {
    /// Podman runs in the job: its containers are looked for among the job's processes.
    pub(super) fn expect_containers_in_tree(&mut self) {
        self.contained.is_looking = true;
    }

    pub(super) fn note_apptainer(&mut self, id: ProcessId) {
        if self.contained.parents.iter().any(|(known, _)| *known == id) {
            return;
        }
        self.contained.parents.push((id, 0));
        self.contained.names.push("apptainer".to_owned());
    }

    pub(super) fn note_container(&mut self, engine: &str, container: &Container) {
        let memory = group_with(self.tree.proc, container.first_pid, "memory", |part| id_in(part).is_some());
        self.contained.memory.extend(memory.map(|dir| (dir, None)));
        self.contained.names.push(format!("{engine} {}", container.id.get(..12).unwrap_or_default()));
    }

    fn look_for_contained(&mut self, now_ns: u64) {
        if !self.contained.is_looking || now_ns < self.contained.looked_at_ns + LOOK_PERIOD_NS {
            return;
        }
        self.contained.looked_at_ns = now_ns;
        let mut found: Vec<Container> = Vec::new();
        for process in self.tree.processes.iter().filter(|process| !process.is_zombie()) {
            let looks = self.contained.looks.entry(process.id).or_default();
            if *looks >= MOST_LOOKS {
                continue;
            }
            *looks += 1;
            let Some(container) = container_of(self.tree.proc, process.id.pid) else { continue };
            *looks = MOST_LOOKS;
            let is_known = self.contained.groups.iter().any(|group| group.dir() == container.group);
            if !is_known && !found.iter().any(|known| known.id == container.id) {
                found.push(container);
            }
        }
        for container in found {
            self.note_container("podman", &container);
            self.watch_end_of(container.first_pid);
            let mut group = WatchedGroup::from_birth(container.group);
            group.open_clocks();
            self.contained.groups.push(group);
        }
    }

    /// At each tick of a job with containers.
    pub(super) fn read_contained(&mut self, now_ns: u64) {
        if !self.containers.are_possible() && self.contained.parents.is_empty() {
            return;
        }
        self.look_for_contained(now_ns);
        let mut pids = Vec::new();
        self.contained.groups.iter_mut().for_each(|group| group.read(&mut pids));
        self.read_container_memory();
        let scale = self.tree.scale;
        let contained = &mut self.contained;
        for (id, cpu_ns) in &mut contained.parents {
            let parent = self.tree.get(id.pid).filter(|process| process.id == *id);
            let now_ns = parent.map(|parent| parent.reading(scale).with_waited().cpu_ns);
            *cpu_ns = now_ns.unwrap_or(0).max(*cpu_ns);
            pids.extend(parent.map(|parent| parent.id.pid));
        }
        if contained.names.is_empty() {
            return;
        }
        // Children of a process in a container are in it too.
        let (mut rss_bytes, mut count) = (0, 0);
        let is_parent = |pid: i32| contained.parents.iter().any(|(id, _)| id.pid == pid);
        for process in &self.tree.processes {
            let is_inside = self.tree.groups.has_guest(process)
                || pids.contains(&process.id.pid)
                || pids.contains(&process.parent_pid);
            if is_inside && !is_parent(process.id.pid) && !process.is_zombie() {
                pids.push(process.id.pid);
                rss_bytes += process.rss_bytes;
                count += 1;
            }
        }
        contained.rss_bytes = contained.rss_bytes.max((count > 0).then_some(rss_bytes));
        contained.processes = contained.processes.max(count);
    }

    pub(super) fn read_container_groups(&mut self) {
        self.contained.groups.iter_mut().for_each(WatchedGroup::read_cpu);
        self.read_container_memory();
    }

    fn read_container_memory(&mut self) {
        for (dir, peak) in &mut self.contained.memory {
            *peak = memory_peak_of(dir).max(*peak);
        }
    }

    /// Empty where the job started no container.
    pub(super) fn container_figures(&self) -> Figures {
        let mut figures = Figures::new();
        let contained = &self.contained;
        let is_unread = self.containers.is_any_unread;
        if contained.names.is_empty() {
            if is_unread {
                figures.set(Metric::CpuNs, Stat::Total, Figure::unavailable(UNREAD_CONTAINER));
            }
            return figures;
        }
        let doubt = |mut figure: Figure| {
            if is_unread {
                figure.quality = figure.quality.max(Quality::LowerBound);
                figure.reason = Some(UNREAD_CONTAINER.to_owned());
            }
            figure
        };
        let guests = if self.tree.groups.are_all { &[][..] } else { &self.tree.groups.watched };
        let groups = || guests.iter().chain(&contained.groups);
        let counted: Option<u64> = groups().map(WatchedGroup::used_cpu_ns).sum();
        let parents_ns: u64 = contained.parents.iter().map(|(_, cpu_ns)| cpu_ns).sum();
        let cpu = match counted {
            None => Figure::unavailable("the group of a container does not count CPU time"),
            Some(ns) if contained.parents.is_empty() => Figure::int(ns, Quality::Exact),
            Some(ns) => Figure::int(ns + parents_ns, Quality::LowerBound)
                .because("of Apptainer as last read, with the time of its own runtime"),
        };
        figures.set(Metric::CpuNs, Stat::Total, doubt(cpu));
        if let Some(bytes) = contained.rss_bytes {
            figures.set(Metric::RssSumBytes, Stat::Max, doubt(Figure::int(bytes, Quality::Sampled)));
        }
        let processes = Figure::int(contained.processes, Quality::Sampled);
        figures.set(Metric::Processes, Stat::Max, doubt(processes));
        let peaks: Option<Vec<u64>> = contained.memory.iter().map(|(_, peak)| *peak).collect();
        if let Some(peaks) = peaks.filter(|peaks| !peaks.is_empty() && contained.parents.is_empty()) {
            let sum = peaks.iter().sum();
            let figure = match peaks.len() {
                1 => Figure::int(sum, Quality::Exact),
                count => Figure::int(sum, Quality::Estimate).because(format!(
                    "sum of the peaks of {count} containers, which may not have come together"
                )),
            };
            figures.set(Metric::CgroupMemoryPeakBytes, Stat::Total, doubt(figure));
        }
        figures
    }

    /// When the containers of the tree are to be looked for again.
    pub(super) fn contained_due_ns(&self) -> u64 {
        let is_due = self.contained.is_looking && self.contained.groups.is_empty();
        if is_due { self.contained.looked_at_ns + LOOK_PERIOD_NS } else { u64::MAX }
    }

    pub(super) fn look_for_contained_if_due(&mut self) {
        let now_ns = sys::monotonic_ns();
        if self.contained_due_ns() <= now_ns {
            self.look_for_contained(now_ns);
        }
    }
}
