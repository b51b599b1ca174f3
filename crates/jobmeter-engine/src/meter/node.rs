//! Who records the node. Ranks of one job on one node agree by a lock on one of them: it records the machine, the GPUs'
//! devices and energy, the others only their trees. Every rank reads the machine's counters once at its start, and energy
//! now and then, so that a rank that takes over counts from its own start: what happened between the end of one recorder
//! and the first row of the next is in its numbers.

use super::Meter;
use super::layout::Row;
use crate::linux::node_lock::{NodeLock, Taken};
use jobmeter_model::accumulate::NEVER_READ;
use jobmeter_model::event::{Event, NODE_RECORDER_NOTE};
use jobmeter_model::metric::{Kind, Metric, Scope};
use jobmeter_model::summary::{Quality, Summary};

pub(crate) const OTHER_RECORDS: &str = "another rank of the job on this node records the machine";

/// Capacities, which every rank knows from its first look: they are no measurement.
const CAPACITIES: [Metric; 2] = [Metric::MemoryTotalBytes, Metric::SwapTotalBytes];

/// Whether the columns of the machine are ours to fill.
#[derive(Default)]
pub(crate) enum NodeRole {
    /// Nobody else is known: they are recorded all the time.
    #[default]
    Alone,
    Shared(Sharing),
}

pub(crate) struct Sharing {
    /// Dropped when the measurement ends, for the next rank to take over at once.
    lock: Option<NodeLock>,
    /// Since when, in time of the run.
    recorder_since_ns: Option<u64>,
    /// When the machine's counters were first read.
    base_ns: Option<u64>,
    /// By column: when a counter of the machine first had a value that was not recorded.
    masked_since_ns: Vec<Option<u64>>,
}

impl NodeRole {
    pub(crate) fn is_recorder(&self) -> bool {
        match self {
            NodeRole::Alone => true,
            NodeRole::Shared(sharing) => sharing.recorder_since_ns.is_some(),
        }
    }
}

impl Sharing {
    /// Takes values of the machine out of the row.
    fn mask(&mut self, t_ns: u64, row: &mut Row) {
        self.masked_since_ns.resize(row.columns.len(), None);
        for ((column, value), since) in row.columns.iter().zip(&mut row.values).zip(&mut self.masked_since_ns)
        {
            let is_capacity = column.entity.is_none() && CAPACITIES.contains(&column.metric);
            if column.scope != Scope::System || value.is_none() || is_capacity {
                continue;
            }
            if column.metric.info().kind == Kind::Counter {
                since.get_or_insert(t_ns);
            }
            *value = None;
        }
    }

    fn note(&self, t_ns: u64) -> Event {
        let masked = self.masked_since_ns.iter().enumerate();
        let bases: Vec<_> = masked.filter_map(|(column, since)| Some((column, (*since)?))).collect();
        let value = serde_json::json!({ "bases": bases });
        Event::Note { t_ns, key: NODE_RECORDER_NOTE.to_owned(), value }
    }
}

impl Meter {
    /// From now on the machine is recorded only while the lock is ours. Before the first tick.
    pub fn share_node(&mut self, lock: NodeLock) {
        let sharing =
            Sharing { lock: Some(lock), recorder_since_ns: None, base_ns: None, masked_since_ns: Vec::new() };
        self.machine.role = NodeRole::Shared(sharing);
    }

    /// At a tick that may read the machine: whether to record it. Tries to take over where another rank did so far.
    pub(super) fn is_node_recorder(&mut self, now_ns: u64) -> bool {
        let t_ns = self.since_start_ns(now_ns);
        let NodeRole::Shared(sharing) = &mut self.machine.role else { return true };
        if sharing.recorder_since_ns.is_none() {
            // Where the kernel refuses to lock, every rank records and the merge counts one.
            let is_ours = sharing.lock.as_ref().is_none_or(|lock| lock.take() != Taken::Others);
            if is_ours {
                sharing.recorder_since_ns = Some(t_ns);
                let note = sharing.note(t_ns);
                self.emit(&note);
            }
        }
        self.machine.role.is_recorder()
    }

    /// The machine was read, and is another rank's to record.
    pub(super) fn mask_machine(&mut self, now_ns: u64) {
        let t_ns = self.since_start_ns(now_ns);
        if let NodeRole::Shared(sharing) = &mut self.machine.role
            && sharing.recorder_since_ns.is_none()
        {
            sharing.base_ns.get_or_insert(t_ns);
            sharing.mask(t_ns, &mut self.out.row);
        }
    }

    /// Takes what extra sources say of devices and of energy out of the row, where that is another rank's to record.
    pub(super) fn mask_extras(&mut self, t_ns: u64) {
        if let NodeRole::Shared(sharing) = &mut self.machine.role
            && sharing.recorder_since_ns.is_none()
        {
            sharing.mask(t_ns, &mut self.out.row);
        }
    }

    /// The measurement is over: the next rank may take over.
    pub(super) fn leave_node(&mut self) {
        if let NodeRole::Shared(sharing) = &mut self.machine.role {
            sharing.lock = None;
        }
    }

    /// Says of the machine's figures that they are another rank's, as a whole or for the time before this one took over.
    pub(super) fn grade_node(&self, summary: &mut Summary) {
        let NodeRole::Shared(sharing) = &self.machine.role else { return };
        let since_ns = match sharing.recorder_since_ns {
            None => {
                let of_gpus = summary.gpus.iter_mut().flat_map(|gpu| gpu.figures.values_mut());
                for figure in summary.system.values_mut().chain(of_gpus) {
                    // What a driver has to say on its figures is said there.
                    if figure.reason.as_deref() == Some(NEVER_READ) {
                        figure.reason = Some(OTHER_RECORDS.to_owned());
                    }
                }
                for list in
                    [&mut summary.cores, &mut summary.disks, &mut summary.mounts, &mut summary.networks]
                {
                    list.clear();
                }
                return;
            }
            Some(since_ns) => since_ns,
        };
        if since_ns <= sharing.base_ns.unwrap_or(since_ns) {
            return;
        }
        let reason = format!("recorded from {:.1} s on; before, {OTHER_RECORDS}", since_ns as f64 / 1e9);
        for (key, figure) in
            summary.system.iter_mut().filter(|(_, figure)| figure.quality == Quality::Sampled)
        {
            // What came before may have been higher; of a mean or a lowest level nothing can be said.
            figure.quality = if key.ends_with("_max") { Quality::LowerBound } else { Quality::Estimate };
            figure.reason = Some(reason.clone());
        }
    }
}
