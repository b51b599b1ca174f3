//! One sample of all NVIDIA devices.

use super::api::{Fault, List};
use super::sys;
use super::window::{Share, Verdict};
use super::{NvmlSource, OwnShare, Pcie, Unit};
use crate::attribute::Coverage;
use crate::gather::Gather;
use crate::identity::Resolved;
use crate::snapshot::{Client, Owner};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Each PCIe reading keeps the driver busy for 20 ms, so a sample spends no more than this on them and goes
/// round the devices; a reading stays valid until it is this old.
const PCIE_BUDGET: Duration = Duration::from_millis(50);
const PCIE_VALID: Duration = Duration::from_secs(10);

/// What the driver listed for one unit, before anybody asked whose it is.
struct Listed {
    unit: usize,
    pid: i32,
    gpu_instance: u32,
    compute_instance: u32,
    memory_bytes: Option<u64>,
}

impl NvmlSource {
    pub(crate) fn sample(&mut self, gather: &mut Gather<'_>) {
        let mut listed = Vec::new();
        let mut verdicts = Vec::with_capacity(self.units.len());
        for index in 0..self.units.len() {
            self.read_device(index, gather);
            verdicts.push(self.read_processes(index, gather, &mut listed));
        }
        self.read_pcie(gather);
        // Only now, with every listing taken, is it asked who the processes are.
        gather.members.check();
        for (index, verdict) in verdicts.into_iter().enumerate() {
            self.units[index].settle(verdict, gather);
        }
        self.attribute(&listed, gather);
    }

    fn read_device(&mut self, index: usize, gather: &mut Gather<'_>) {
        let api = &self.api;
        let unit = &mut self.units[index];
        let (slot, handle) = (unit.slot, unit.handle);
        if unit.lost {
            gather.readings[slot].lost = true;
            return;
        }
        let mut look = Look { slot, lost: false, gather };
        let memory = look.at("memory_used_bytes", api.memory(handle));
        if let Some(lack) = memory.and_then(|memory| memory.lack) {
            look.at::<()>("memory_reserve", Err(lack));
        }
        let utilization = api.utilization(handle);
        let busy = look.at("busy_ppm", utilization);
        look.at("memory_busy_ppm", utilization);
        let mut reading = crate::device::DeviceReading {
            memory_total_bytes: memory.map(|memory| memory.total),
            memory_used_bytes: memory.map(|memory| memory.used),
            memory_free_bytes: memory.map(|memory| memory.free),
            busy_ppm: busy.map(|(gpu, _)| gpu * 10_000),
            memory_busy_ppm: busy.map(|(_, memory)| memory * 10_000),
            ..Default::default()
        };
        if !unit.is_instance {
            reading.power_mw = look.at("power_mw", api.power_mw(handle));
            let counter_uj = look.at("energy_counter", api.energy_mj(handle)).map(|mj| mj * 1000);
            reading.energy_uj = unit.energy.step(look.gather.t_ns, counter_uj, reading.power_mw);
            reading.temperature_mc =
                look.at("temperature_mc", api.temperature_c(handle)).map(|celsius| celsius * 1000);
            reading.clock_sm_hz =
                look.at("clock_sm_hz", api.clock_mhz(handle, false)).map(|mhz| mhz * 1_000_000);
            reading.clock_memory_hz =
                look.at("clock_memory_hz", api.clock_mhz(handle, true)).map(|mhz| mhz * 1_000_000);
            reading.throttle_bits = look.at("throttle_bits", api.throttle_bits(handle));
        }
        let lost = look.lost;
        gather.energy_methods[slot] = unit.energy.method();
        gather.readings[slot] = reading;
        if lost {
            unit.lose(gather);
        }
    }

    /// Lists the processes of a unit and fetches its utilisation samples.
    fn read_processes(
        &mut self,
        index: usize,
        gather: &mut Gather<'_>,
        listed: &mut Vec<Listed>,
    ) -> Option<Verdict> {
        let unit = &mut self.units[index];
        let slot = unit.slot;
        if unit.lost {
            return None;
        }
        if unit.lists_by_instance {
            for figure in ["process_memory", "process_busy", "process_memory_busy"] {
                gather.fail(slot, figure, || "told by the MIG instances of this GPU".to_owned());
            }
            return None;
        }
        let first = listed.len();
        let mut known = true;
        for list in [List::Compute, List::Graphics] {
            match self.api.processes(unit.handle, list, &mut self.processes) {
                Ok(()) => list_into(listed, first, index, unit.mig_ids, &self.processes),
                // Data centre cards have no graphics list: that is no gap.
                Err(fault) if matches!(list, List::Graphics) && fault.code == sys::NOT_SUPPORTED => {}
                Err(fault) => {
                    known = false;
                    gather.fail(slot, "process_memory", || fault.reason());
                    if fault.code == sys::GPU_IS_LOST {
                        unit.lose(gather);
                        return None;
                    }
                }
            }
        }
        if !known {
            listed.truncate(first);
        }
        gather.coverage[slot].memory = known;
        let now_us = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |age| age.as_micros() as u64);
        match self.api.process_samples(unit.handle, unit.window.since_us(), &mut self.samples) {
            Ok(()) => {
                gather.coverage[slot].busy = true;
                gather.coverage[slot].memory_busy = true;
                Some(unit.window.take(now_us, &mut self.samples))
            }
            Err(fault) => {
                gather.fail(slot, "process_busy", || fault.reason());
                gather.fail(slot, "process_memory_busy", || fault.reason());
                None
            }
        }
    }

    fn read_pcie(&mut self, gather: &mut Gather<'_>) {
        let begin = Instant::now();
        let count = self.units.len();
        for step in 0..count {
            let index = (self.pcie_next + step) % count;
            let unit = &mut self.units[index];
            if unit.is_instance || unit.lost {
                continue;
            }
            if begin.elapsed() > PCIE_BUDGET {
                self.pcie_next = index;
                break;
            }
            let mut read = |figure, receive| match self.api.pcie_kb_per_s(unit.handle, receive) {
                Ok(kb) => Some(kb * 1024),
                Err(fault) => {
                    gather.fail(unit.slot, figure, || fault.reason());
                    None
                }
            };
            unit.pcie = Some(Pcie {
                receive_bytes_per_s: read("pcie_receive_bytes_per_s", true),
                transmit_bytes_per_s: read("pcie_transmit_bytes_per_s", false),
                at: Instant::now(),
            });
        }
        for unit in self.units.iter().filter(|unit| !unit.lost) {
            if let Some(pcie) = unit.pcie.filter(|pcie| pcie.at.elapsed() < PCIE_VALID) {
                gather.readings[unit.slot].pcie_receive_bytes_per_s = pcie.receive_bytes_per_s;
                gather.readings[unit.slot].pcie_transmit_bytes_per_s = pcie.transmit_bytes_per_s;
            }
        }
    }

    /// Turns the listed entries of members into clients with what each was busy. A process that has left the
    /// list but was busy in the window gets an entry without memory.
    fn attribute(&mut self, listed: &[Listed], gather: &mut Gather<'_>) {
        for run in listed.chunk_by(|a, b| a.unit == b.unit) {
            let unit = &mut self.units[run[0].unit];
            for entry in run {
                match gather.members.resolve(entry.pid) {
                    Resolved::Stranger => {}
                    Resolved::Unknown(reason) => {
                        gather.coverage[unit.slot] = Coverage::default();
                        for figure in ["process_memory", "process_busy", "process_memory_busy"] {
                            gather.fail(unit.slot, figure, || reason.to_owned());
                        }
                    }
                    Resolved::Ours(owner) => {
                        if entry.memory_bytes.is_none() {
                            let reason = || "the driver does not tell it here".to_owned();
                            gather.fail(unit.slot, "process_memory", reason);
                        }
                        unit.push_client(owner, entry.memory_bytes, gather);
                    }
                }
            }
        }
        for unit in &mut self.units {
            for index in 0..unit.shares.len() {
                if !unit.shares[index].placed {
                    unit.push_client(unit.shares[index].owner, Some(0), gather);
                }
            }
        }
    }
}

impl Unit {
    /// Takes over the verdict on the last window, for members only.
    fn settle(&mut self, verdict: Option<Verdict>, gather: &mut Gather<'_>) {
        match verdict {
            Some(Verdict::Hold) => self.shares.retain_mut(|share| {
                share.placed = false;
                // The engine may have learned of an end since.
                gather.members.resolve(share.owner.id.pid) == Resolved::Ours(share.owner)
            }),
            None | Some(Verdict::Idle) => self.shares.clear(),
            Some(Verdict::Shares(list)) => {
                self.shares.clear();
                for share in list {
                    self.take_share(share, gather);
                }
            }
        }
    }

    fn take_share(&mut self, share: Share, gather: &mut Gather<'_>) {
        match gather.members.resolve(share.pid) {
            Resolved::Stranger => {}
            Resolved::Unknown(reason) => {
                gather.coverage[self.slot] = Coverage::default();
                gather.fail(self.slot, "process_busy", || reason.to_owned());
                gather.fail(self.slot, "process_memory_busy", || reason.to_owned());
            }
            Resolved::Ours(owner) => {
                *self.busy_ns.entry(owner.id).or_default() += share.busy_ns;
                self.shares.push(OwnShare {
                    owner,
                    placed: false,
                    busy_ppm: share.busy_ppm,
                    memory_busy_ppm: share.memory_busy_ppm,
                });
            }
        }
    }

    /// The busy share goes to the first entry of its owner, so that a process with several is not doubled.
    fn push_client(&mut self, owner: Owner, memory_bytes: Option<u64>, gather: &mut Gather<'_>) {
        let place = self.shares.binary_search_by_key(&owner.id.pid, |share| share.owner.id.pid);
        let share = place.ok().map(|index| &mut self.shares[index]).filter(|share| !share.placed);
        let (mut busy_ppm, mut memory_busy_ppm) = (0, 0);
        if let Some(share) = share {
            share.placed = true;
            (busy_ppm, memory_busy_ppm) = (share.busy_ppm, share.memory_busy_ppm);
        }
        let known = gather.coverage[self.slot].busy;
        gather.clients.push(Client {
            device: self.slot,
            owners: vec![owner],
            memory_bytes,
            busy_ns: known.then(|| self.busy_ns.get(&owner.id).copied().unwrap_or(0)),
            busy_ppm: known.then_some(busy_ppm),
            memory_busy_ppm: known.then_some(memory_busy_ppm),
        });
    }

    fn lose(&mut self, gather: &mut Gather<'_>) {
        self.lost = true;
        self.shares.clear();
        let device = &gather.devices[self.slot];
        let text = format!(
            "GPU {} ({}) disappeared during the run: {}; its figures end here",
            device.index,
            device.uuid,
            sys::meaning(sys::GPU_IS_LOST)
        );
        gather.notes.warn("gpu_lost", text);
        gather.readings[self.slot] = crate::device::DeviceReading { lost: true, ..Default::default() };
        gather.coverage[self.slot] = Coverage::default();
    }
}

/// Notes faults of one device while reading it.
struct Look<'a, 'b> {
    slot: usize,
    lost: bool,
    gather: &'a mut Gather<'b>,
}

impl Look<'_, '_> {
    fn at<T>(&mut self, figure: &'static str, result: Result<T, Fault>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(fault) => {
                self.lost |= fault.code == sys::GPU_IS_LOST;
                self.gather.fail(self.slot, figure, || fault.reason());
                None
            }
        }
    }
}

/// Adds one list to the entries of a unit. A process in both lists has the same memory in each, so the
/// larger counts, once; what a MIG instance lists of its sisters is left out.
fn list_into(
    listed: &mut Vec<Listed>,
    first: usize,
    unit: usize,
    mig_ids: Option<(u32, u32)>,
    list: &[sys::Process],
) {
    let before = listed.len();
    for process in list {
        let ids = (process.gpu_instance, process.compute_instance);
        if mig_ids.is_some_and(|own| ids.0 != u32::MAX && ids != own) {
            continue;
        }
        let memory_bytes = (process.used != sys::VALUE_NOT_AVAILABLE).then_some(process.used);
        let pid = process.pid as i32;
        let twin = listed[first..before]
            .iter_mut()
            .find(|entry| (entry.pid, entry.gpu_instance, entry.compute_instance) == (pid, ids.0, ids.1));
        match twin {
            Some(entry) => entry.memory_bytes = entry.memory_bytes.max(memory_bytes),
            None => {
                listed.push(Listed { unit, pid, gpu_instance: ids.0, compute_instance: ids.1, memory_bytes });
            }
        }
    }
}
