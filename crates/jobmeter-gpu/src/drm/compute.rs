//! ROCm: what the job's processes have on AMD GPUs through the queues of the compute driver.

use super::card::Card;
use crate::gather::Gather;
use crate::hash::PidMap;
use crate::kfd::{self, KfdGpu, KfdProcesses};
use crate::snapshot::{Client, Owner};
use jobmeter_model::ProcessId;
use std::collections::HashMap;
use std::path::Path;

pub(super) struct Compute {
    /// Each with its place in the common device list.
    gpus: Vec<(usize, KfdGpu)>,
    processes: KfdProcesses,
    /// Members that use the driver, at this sample.
    users: PidMap<i32, Owner>,
    /// Time of copies at the last sample.
    copied_us: HashMap<(ProcessId, u64), u64>,
}

impl Compute {
    pub(super) fn new(root: &Path, cards: &[Card]) -> Compute {
        let place = |gpu: KfdGpu| {
            let card = cards.iter().find(|card| card.pci_id == gpu.pci_id)?;
            Some((card.slot, gpu))
        };
        Compute {
            gpus: kfd::gpus(root).into_iter().filter_map(place).collect(),
            processes: KfdProcesses::new(root),
            users: PidMap::default(),
            copied_us: HashMap::new(),
        }
    }

    /// Finds the members that use the driver.
    pub(super) fn look(&mut self, members: &[Owner]) {
        self.users.clear();
        if self.gpus.is_empty() {
            return;
        }
        let pids = self.processes.pids();
        let is_user = |owner: &&Owner| pids.contains(&owner.id.pid);
        self.users.extend(members.iter().filter(is_user).map(|owner| (owner.id.pid, *owner)));
    }

    pub(super) fn tells(&self, owner: Owner) -> bool {
        self.users.contains_key(&owner.id.pid)
    }

    /// Adds what the clients from `first` on do not have: their descriptors may show the same memory.
    pub(super) fn sample(&mut self, first: usize, span_ns: Option<u64>, gather: &mut Gather<'_>) {
        let mut copied_us = HashMap::new();
        for owner in self.users.values() {
            for (slot, gpu) in &self.gpus {
                let used = self.processes.read(owner.id.pid, gpu.gpu_id);
                let key = (owner.id, gpu.gpu_id);
                let own = |client: &&mut Client| client.device == *slot && client.owners.contains(owner);
                // The counters of descriptors do not see these queues.
                let mut shown_bytes = 0;
                for client in gather.clients[first..].iter_mut().filter(own) {
                    shown_bytes += client.memory_bytes.unwrap_or(0);
                    client.busy_ppm = client.busy_ppm.or(Some(0));
                }
                let copying = match (self.copied_us.get(&key), used.copy_us, span_ns) {
                    (Some(before), Some(now), Some(span)) if span > 0 => {
                        now.saturating_sub(*before).saturating_mul(1_000_000_000) / span
                    }
                    _ => 0,
                };
                copied_us.extend(used.copy_us.map(|us| (key, us)));
                let occupied = used.busy_units.map(|units| units * 1_000_000 / gpu.compute_units.max(1));
                let busy_ppm = occupied.map(|ppm| ppm.max(copying).min(1_000_000));
                if busy_ppm.is_none() {
                    gather.fail(*slot, "process_busy", || {
                        "the kernel tells no occupancy of ROCm queues".to_owned()
                    });
                }
                if used.vram_bytes.is_none() {
                    gather.fail(*slot, "process_memory", || {
                        "the kernel tells no VRAM of a ROCm process".to_owned()
                    });
                }
                gather.clients.push(Client {
                    device: *slot,
                    owners: vec![*owner],
                    memory_bytes: used.vram_bytes.map(|bytes| bytes.saturating_sub(shown_bytes)),
                    busy_ppm,
                    memory_busy_ppm: None,
                });
            }
        }
        self.copied_us = copied_us;
    }
}
