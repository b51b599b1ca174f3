//! One sample of all NVIDIA devices.

use super::api::{Fault, List};
use super::sys;
use super::window::{Heard, Level, Look};
use super::{NvmlSource, OwnShare, Unit};
use crate::asleep;
use crate::attribute::Coverage;
use crate::columns::ACTIVITY;
use crate::device::DeviceReading;
use crate::gather::Gather;
use crate::identity::{Call, Resolved};
use crate::snapshot::{Client, Owner};
use std::time::{SystemTime, UNIX_EPOCH};

const GARBAGE: &str =
    "nvmlDeviceGetProcessUtilization: the driver's figure for a process of the job cannot be true";
const NO_MEMORY: &str = "the driver lists the process without its memory";

/// What the driver listed for one unit, before anybody asked whose it is.
struct Listed {
    unit: usize,
    pid: i32,
    gpu_instance: u32,
    compute_instance: u32,
    memory_bytes: Option<u64>,
}

impl NvmlSource {
    pub(super) fn read_all(&mut self, gather: &mut Gather<'_>) {
        let mut listed = Vec::new();
        let mut looks = Vec::with_capacity(self.units.len());
        for index in 0..self.units.len() {
            self.read_device(index, gather);
            looks.push(self.read_processes(index, gather, &mut listed));
        }
        self.read_pcie(gather);
        self.read_events(gather);
        // Only now, with every listing taken, is it asked who the processes are.
        gather.members.check();
        for (unit, look) in self.units.iter_mut().zip(looks) {
            unit.settle(look, gather);
        }
        self.attribute(&listed, gather);
        self.read_accounts(gather);
    }

    fn read_device(&mut self, index: usize, gather: &mut Gather<'_>) {
        let api = &self.api;
        let unit = &mut self.units[index];
        let (slot, handle) = (unit.slot, unit.handle);
        if unit.lost {
            gather.readings[slot].lost = true;
            return;
        }
        unit.asleep = unit.power.as_deref().is_some_and(asleep::is_asleep);
        if unit.asleep {
            let reading = DeviceReading { busy_ppm: Some(0), asleep: true, ..Default::default() };
            gather.readings[slot] = reading;
            for figure in
                ["memory_used_bytes", "power_mw", "temperature_mc", "process_memory", "process_busy"]
            {
                gather.fail(slot, figure, || asleep::NOT_READ.to_owned());
            }
            return;
        }
        let mut look = Reading { slot, lost: false, needs_reset: false, gather };
        let memory = look.at("memory_used_bytes", api.memory(handle));
        if let Some(lack) = memory.and_then(|memory| memory.lack) {
            look.at::<()>("memory_reserve", Err(lack));
        }
        let utilization = api.utilization(handle);
        let busy = look.at("busy_ppm", utilization);
        look.at("memory_busy_ppm", utilization);
        let mut reading = DeviceReading {
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
        if let Some(activity) = &mut unit.activity {
            look.at(ACTIVITY, activity.read(api, &mut reading));
        }
        let trouble = match unit.is_instance {
            true => None,
            false => unit.health.read(api, handle, &mut reading),
        };
        let (lost, needs_reset) = (look.lost, look.needs_reset);
        if let Some(trouble) = trouble {
            let device = &gather.devices[slot];
            let text = format!("GPU {} ({}) {}", device.index, device.uuid, trouble.text());
            gather.notes.warn("gpu_ecc", text);
        }
        if needs_reset && !unit.reset_told {
            unit.reset_told = true;
            let device = &gather.devices[slot];
            let text = format!(
                "GPU {} ({}) needs a reset: its driver refuses every figure, and work on it fails",
                device.index, device.uuid
            );
            gather.notes.warn("gpu_reset_required", text);
        }
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
    ) -> Option<Look> {
        let unit = &mut self.units[index];
        let slot = unit.slot;
        if unit.lost || unit.asleep {
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
        for list in [List::Compute, List::Graphics, List::Mps] {
            match self.api.processes(unit.handle, list, &mut self.processes) {
                Ok(()) => list_into(listed, first, index, unit.mig_ids, &self.processes),
                // Data centre cards have no graphics list, old drivers none of MPS clients: that is no gap.
                Err(fault) if list.may_be_missing(fault.code) => {}
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
        let wall_us = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |age| age.as_micros() as u64);
        let look = Look { wall_us, steady_us: gather.t_ns / 1000 };
        match self.api.process_samples(unit.handle, unit.window.since_us(look), &mut unit.entries) {
            Ok(()) => {
                gather.coverage[slot].busy = true;
                gather.coverage[slot].memory_busy = true;
                Some(look)
            }
            Err(fault) => {
                gather.fail(slot, "process_busy", || fault.reason());
                gather.fail(slot, "process_memory_busy", || fault.reason());
                None
            }
        }
    }

    /// Turns the listed entries of members into clients with what each was busy. A process that has left the
    /// list but was busy in the window gets an entry without memory.
    fn attribute(&mut self, listed: &[Listed], gather: &mut Gather<'_>) {
        for run in listed.chunk_by(|a, b| a.unit == b.unit) {
            let unit = &mut self.units[run[0].unit];
            for entry in run {
                let resolved = gather.members.resolve(entry.pid, Call::Lists);
                match unit.or_only_user(resolved, run.len() == 1, gather) {
                    Resolved::Stranger => {}
                    Resolved::Unknown(reason) => {
                        gather.coverage[unit.slot].memory = false;
                        gather.fail(unit.slot, "process_memory", || reason.to_owned());
                    }
                    Resolved::Ours(owner) => {
                        // A process on the list has a context and so memory: 0 is what some drivers say in containers.
                        let memory_bytes = entry.memory_bytes.filter(|bytes| *bytes > 0);
                        if memory_bytes.is_none() {
                            gather.fail(unit.slot, "process_memory", || NO_MEMORY.to_owned());
                        }
                        unit.push_client(owner, memory_bytes, gather);
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
    /// Finds the levels of the job's processes in the driver's entries.
    fn settle(&mut self, look: Option<Look>, gather: &mut Gather<'_>) {
        self.shares.clear();
        let Some(look) = look else {
            self.window.clear();
            return;
        };
        let mut entries = std::mem::take(&mut self.entries);
        entries.sort_unstable_by_key(|entry| (entry.pid, entry.time_us));
        let is_alone = entries.iter().all(|entry| entry.pid == entries[0].pid);
        for own in entries.chunk_by(|a, b| a.pid == b.pid) {
            let resolved = gather.members.resolve(own[0].pid as i32, Call::Utilization);
            match self.or_only_user(resolved, is_alone, gather) {
                Resolved::Stranger => {}
                Resolved::Unknown(reason) => self.hide_busy(reason, gather),
                Resolved::Ours(owner) => {
                    let heard = self.window.take(owner.id, look, own);
                    if heard == Heard::Garbage && self.window.level(owner.id).is_none() {
                        self.hide_busy(GARBAGE, gather);
                    }
                }
            }
        }
        self.entries = entries;
        self.window.settle(look, |id| gather.members.has(id));
        let levels = self.window.busy().filter_map(|id| {
            Some(OwnShare {
                owner: gather.members.owner_of(id)?,
                placed: false,
                level: self.window.level(id)?,
            })
        });
        self.shares.extend(levels);
        self.shares.sort_unstable_by_key(|share| share.owner.id.pid);
    }

    /// A number that cannot be translated is taken for that of the only process of the job on a GPU, where the driver
    /// names but one.
    fn or_only_user(&self, resolved: Resolved, is_alone: bool, gather: &mut Gather<'_>) -> Resolved {
        let unknown = matches!(resolved, Resolved::Unknown(_)) && is_alone;
        match unknown.then(|| gather.members.only_user()).flatten() {
            Some(owner) => {
                gather.guessed[self.slot] = true;
                Resolved::Ours(owner)
            }
            None => resolved,
        }
    }

    fn hide_busy(&self, reason: &str, gather: &mut Gather<'_>) {
        gather.coverage[self.slot].busy = false;
        gather.coverage[self.slot].memory_busy = false;
        gather.fail(self.slot, "process_busy", || reason.to_owned());
        gather.fail(self.slot, "process_memory_busy", || reason.to_owned());
    }

    /// The busy share goes to the first entry of its owner, so that a process with several is not doubled.
    fn push_client(&mut self, owner: Owner, memory_bytes: Option<u64>, gather: &mut Gather<'_>) {
        let place = self.shares.binary_search_by_key(&owner.id.pid, |share| share.owner.id.pid);
        let share = place.ok().map(|index| &mut self.shares[index]).filter(|share| !share.placed);
        let mut level = Level { busy_ppm: 0, memory_busy_ppm: 0 };
        if let Some(share) = share {
            share.placed = true;
            level = share.level;
        }
        let known = gather.coverage[self.slot].busy;
        gather.clients.push(Client {
            device: self.slot,
            owners: vec![owner],
            memory_bytes,
            busy_ppm: known.then_some(level.busy_ppm),
            memory_busy_ppm: known.then_some(level.memory_busy_ppm),
        });
    }

    fn lose(&mut self, gather: &mut Gather<'_>) {
        self.lost = true;
        self.window.clear();
        self.shares.clear();
        let device = &gather.devices[self.slot];
        let text = format!(
            "GPU {} ({}) disappeared during the run: {}; its figures end here",
            device.index,
            device.uuid,
            sys::meaning(sys::GPU_IS_LOST)
        );
        gather.notes.warn("gpu_lost", text);
        gather.readings[self.slot] = DeviceReading { lost: true, ..Default::default() };
        gather.coverage[self.slot] = Coverage::default();
    }
}

/// Notes faults of one device while reading it.
struct Reading<'a, 'b> {
    slot: usize,
    lost: bool,
    needs_reset: bool,
    gather: &'a mut Gather<'b>,
}

impl Reading<'_, '_> {
    fn at<T>(&mut self, figure: &'static str, result: Result<T, Fault>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(fault) => {
                self.lost |= fault.code == sys::GPU_IS_LOST;
                self.needs_reset |= fault.code == sys::RESET_REQUIRED;
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
