//! Finding the NVIDIA devices, MIG instances included.

use super::accounting::Accounts;
use super::activity::Activity;
use super::api::{Api, Fault};
use super::health::{Events, Health};
use super::sys::{self, Progress};
use super::{Found, NvmlSource, Unit};
use crate::asleep;
use crate::columns::ACTIVITY;
use crate::config::Brand;
use crate::device::GpuDevice;
use crate::energy::EnergyMeter;
use crate::notes::{ALL_DEVICES, Notes};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

impl NvmlSource {
    /// Loads the library, initialises the driver and appends its devices to `devices`.
    pub(crate) fn start(
        path: &Path,
        root: &Path,
        progress: Arc<Progress>,
        devices: &mut Vec<GpuDevice>,
        notes: &mut Notes,
    ) -> Result<NvmlSource, String> {
        let api = Api::open(path, progress)?;
        let count = api.count().map_err(|fault| fault.reason())?;
        let driver_version = api
            .driver_version()
            .map_err(|fault| notes.fail(ALL_DEVICES, None, "driver_version", || fault.reason()))
            .ok();
        let events = Events::open(&api);
        let mut source =
            NvmlSource { api, units: Vec::new(), events, pcie_due: Instant::now(), processes: Vec::new() };
        for index in 0..count {
            let handle = match source.api.handle(index) {
                Ok(handle) => handle,
                Err(fault) => {
                    // One dead GPU must not hide the others.
                    if fault.code == sys::GPU_IS_LOST {
                        let text =
                            format!("GPU {index} was lost before the run: {}", sys::meaning(fault.code));
                        notes.warn("gpu_lost", text);
                    }
                    notes.fail(ALL_DEVICES - 1 - index as usize, None, "device", || {
                        format!("GPU {index} cannot be opened: {}", fault.reason())
                    });
                    continue;
                }
            };
            let mut parent = source.describe(handle, index, None, driver_version.clone());
            let status = parent.device.pci_id.as_deref().map(|pci| asleep::status_file(root, pci));
            parent.unit.power = status.filter(|file| file.exists());
            let parent_uuid = parent.device.uuid.clone();
            let mig = parent.device.mig_enabled;
            parent.unit.health = source.events.register(&source.api, handle);
            parent.unit.accounts = source.api.has_accounting(handle).then(Accounts::default);
            source.find_activity(&mut parent, handle, None);
            let slot = source.adopt(parent, devices, notes);
            if mig {
                let instances = source.api.mig_handles(handle).unwrap_or_else(|fault| {
                    notes.fail(slot, Some(&parent_uuid), "mig_instances", || fault.reason());
                    Vec::new()
                });
                if let Some(unit) = source.units.last_mut() {
                    unit.lists_by_instance = !instances.is_empty();
                }
                for instance in instances {
                    let mut found =
                        source.describe(instance, index, Some(parent_uuid.clone()), driver_version.clone());
                    let instance = found.device.mig_ids.map(|(gpu, _)| gpu);
                    if instance.is_some() {
                        source.find_activity(&mut found, handle, instance);
                    }
                    source.adopt(found, devices, notes);
                }
            }
        }
        Ok(source)
    }

    /// Gives it a place in the list.
    fn adopt(&mut self, mut found: Found, devices: &mut Vec<GpuDevice>, notes: &mut Notes) -> usize {
        // Two devices may not share a name, or their figures would be mixed up.
        if devices.iter().any(|known| known.uuid == found.device.uuid) {
            found.device.uuid = format!("{}#{}", found.device.uuid, devices.len());
        }
        let slot = devices.len();
        found.unit.slot = slot;
        for (figure, fault) in found.missing {
            notes.fail(slot, Some(&found.device.uuid), figure, || fault.reason());
        }
        devices.push(found.device);
        self.units.push(found.unit);
        slot
    }

    /// Whether the device tells activity, or why not.
    fn find_activity(&self, found: &mut Found, handle: sys::Device, instance: Option<u32>) {
        match Activity::open(&self.api, handle, instance) {
            Ok(activity) => {
                found.device.has_activity = activity.is_some();
                found.unit.activity = activity;
            }
            // An older device or driver has none: that is no failure.
            Err(Fault { code: sys::NOT_SUPPORTED | sys::FUNCTION_NOT_FOUND, .. }) => {}
            Err(fault) => found.missing.push((ACTIVITY, fault)),
        }
    }

    fn describe(
        &self,
        handle: sys::Device,
        index: u32,
        mig_parent: Option<String>,
        driver_version: Option<String>,
    ) -> Found {
        let api = &self.api;
        let is_whole = mig_parent.is_none();
        let mut missing = Vec::new();
        let pci_id = if is_whole { told(&mut missing, "pci_id", api.pci_id(handle)) } else { None };
        let mig_ids = if is_whole { None } else { told(&mut missing, "mig_ids", api.mig_ids(handle)) };
        let uuid = told(&mut missing, "uuid", api.uuid(handle));
        let uuid = uuid.unwrap_or_else(|| match (&pci_id, &mig_parent, mig_ids) {
            (Some(pci), _, _) => format!("pci-{pci}"),
            (None, Some(parent), Some((gpu, compute))) => format!("MIG-{parent}/{gpu}/{compute}"),
            _ => format!("nvml-{index}"),
        });
        let device = GpuDevice {
            uuid,
            brand: Brand::Nvidia,
            name: told(&mut missing, "name", api.name(handle)).unwrap_or_else(|| "NVIDIA GPU".to_owned()),
            driver: "nvml".to_owned(),
            driver_version,
            pci_id,
            index,
            mig_enabled: is_whole && told(&mut missing, "mig_mode", api.mig_enabled(handle)) == Some(true),
            mig_parent,
            mig_ids,
            memory_total_bytes: api.memory(handle).ok().map(|memory| memory.total),
            visible: None,
            selected: true,
            energy_method: None,
            has_activity: false,
            is_guessed: false,
        };
        let unit = Unit {
            handle,
            slot: 0,
            mig_ids,
            is_instance: device.mig_parent.is_some(),
            lists_by_instance: false,
            lost: false,
            power: None,
            asleep: false,
            reset_told: false,
            window: super::Window::default(),
            entries: Vec::new(),
            shares: Vec::new(),
            energy: EnergyMeter::default(),
            pcie: None,
            activity: None,
            health: Health::default(),
            accounts: None,
        };
        Found { device, unit, missing }
    }
}

fn told<T>(
    missing: &mut Vec<(&'static str, Fault)>,
    figure: &'static str,
    result: Result<T, Fault>,
) -> Option<T> {
    result.map_err(|fault| missing.push((figure, fault))).ok()
}
