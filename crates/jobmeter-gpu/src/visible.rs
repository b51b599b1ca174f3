//! Which devices the job can see, by the variables that the CUDA and ROCm run-times obey.

use crate::config::Brand;
use crate::device::GpuDevice;

/// The variables as the job sees them; `None` is unset, which means all devices.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobEnv {
    /// NVIDIA devices that CUDA may use.
    pub cuda_visible_devices: Option<String>,
    /// How CUDA numbers them.
    pub cuda_device_order: Option<String>,
    /// AMD devices that the ROCm runtime may use.
    pub rocr_visible_devices: Option<String>,
    /// AMD devices that HIP may use.
    pub hip_visible_devices: Option<String>,
}

impl JobEnv {
    /// From a function that gives the value of a variable.
    pub fn from_lookup(get: impl Fn(&str) -> Option<String>) -> JobEnv {
        JobEnv {
            cuda_visible_devices: get("CUDA_VISIBLE_DEVICES"),
            cuda_device_order: get("CUDA_DEVICE_ORDER"),
            rocr_visible_devices: get("ROCR_VISIBLE_DEVICES"),
            hip_visible_devices: get("HIP_VISIBLE_DEVICES"),
        }
    }
}

/// `rocm_order`: PCI addresses in the order of the ROCm run-time; empty where it is unknown.
pub(crate) fn mark(devices: &mut [GpuDevice], env: &JobEnv, rocm_order: &[String]) {
    mark_cuda(devices, env);
    mark_rocm(devices, env, rocm_order);
    for device in devices.iter_mut().filter(|d| !matches!(d.brand, Brand::Nvidia | Brand::Amd)) {
        device.visible = Some(true);
    }
}

fn mark_cuda(devices: &mut [GpuDevice], env: &JobEnv) {
    let Some(list) = &env.cuda_visible_devices else {
        return mark_all_cuda(devices);
    };
    // CUDA numbers the fastest device first unless told otherwise; NVML numbers by PCI address. The two
    // agree when all devices are of one model.
    let whole: Vec<&GpuDevice> =
        devices.iter().filter(|d| d.brand == Brand::Nvidia && d.mig_parent.is_none()).collect();
    let by_bus = env.cuda_device_order.as_deref() == Some("PCI_BUS_ID");
    let alike = whole.windows(2).all(|pair| pair[0].name == pair[1].name);
    let indices_known = by_bus || alike;
    let whole_count = whole.len() as u32;
    let mut seen: Vec<usize> = Vec::new();
    let mut doubt = false;
    for item in list.split(',').map(str::trim) {
        let hit = match item.parse::<u32>() {
            Ok(index) if index < whole_count && !indices_known => {
                doubt = true;
                continue;
            }
            Ok(index) => devices
                .iter()
                .position(|d| d.brand == Brand::Nvidia && d.mig_parent.is_none() && d.index == index),
            Err(_) => cuda_name(devices, item),
        };
        // The run-time stops at the first entry that names nothing: -1, an empty item, a wrong UUID.
        let Some(hit) = hit else { break };
        // A device that is named twice makes the whole list void.
        if seen.contains(&hit) {
            (seen, doubt) = (Vec::new(), false);
            break;
        }
        seen.push(hit);
    }
    // A MIG GPU stands for its first instance, and one instance is all that a process of CUDA sees.
    for hit in &mut seen {
        let parent = &devices[*hit].uuid;
        *hit = devices.iter().position(|d| d.mig_parent.as_ref() == Some(parent)).unwrap_or(*hit);
    }
    if let Some(instance) = seen.iter().copied().find(|&hit| devices[hit].mig_parent.is_some()) {
        seen.retain(|&hit| hit == instance || devices[hit].mig_parent.is_none());
    }
    let parents: Vec<String> = seen.iter().filter_map(|&hit| devices[hit].mig_parent.clone()).collect();
    let chosen: Vec<String> = seen.iter().map(|&hit| devices[hit].uuid.clone()).collect();
    for device in devices.iter_mut().filter(|d| d.brand == Brand::Nvidia) {
        let named = chosen.contains(&device.uuid) || parents.contains(&device.uuid);
        device.visible = if named {
            Some(true)
        } else if doubt {
            None
        } else {
            Some(false)
        };
    }
}

/// Without a list CUDA takes all GPUs, but where there are MIG instances the first of them; whether whole GPUs are
/// seen beside it depends on the driver.
fn mark_all_cuda(devices: &mut [GpuDevice]) {
    let first = devices.iter().find(|d| d.brand == Brand::Nvidia && d.mig_parent.is_some());
    let first = first.map(|d| (d.uuid.clone(), d.mig_parent.clone()));
    for device in devices.iter_mut().filter(|d| d.brand == Brand::Nvidia) {
        device.visible = match &first {
            None => Some(true),
            Some((uuid, parent)) if device.uuid == *uuid || parent.as_ref() == Some(&device.uuid) => {
                Some(true)
            }
            Some(_) if device.mig_parent.is_some() || device.mig_enabled => Some(false),
            Some(_) => None,
        };
    }
}

/// `GPU-…` and `MIG-…`, whole or any prefix that fits one device only; `MIG-GPU-UUID/gi/ci` of older drivers.
fn cuda_name(devices: &[GpuDevice], item: &str) -> Option<usize> {
    if item.is_empty() {
        return None;
    }
    if let Some(old) = item.strip_prefix("MIG-GPU-") {
        let mut parts = old.split('/');
        let parent = format!("GPU-{}", parts.next()?);
        let ids = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        return devices
            .iter()
            .position(|d| d.mig_parent.as_deref() == Some(&parent) && d.mig_ids == Some(ids));
    }
    let mut hits = (0..devices.len())
        .filter(|&i| devices[i].brand == Brand::Nvidia && devices[i].uuid.starts_with(item));
    let first = hits.next()?;
    if devices[first].uuid == item || hits.next().is_none() { Some(first) } else { None }
}

fn mark_rocm(devices: &mut [GpuDevice], env: &JobEnv, rocm_order: &[String]) {
    let of_amd = |i: &usize| devices[*i].brand == Brand::Amd;
    let mut order: Vec<usize> = (0..devices.len()).filter(of_amd).collect();
    let is_listed = env.rocr_visible_devices.is_some() || env.hip_visible_devices.is_some();
    if is_listed && !rocm_order.is_empty() {
        let place = |pci: &String| order.iter().copied().find(|&i| devices[i].pci_id.as_ref() == Some(pci));
        order = rocm_order.iter().filter_map(place).collect();
    }
    // HIP numbers what ROCr left over.
    for list in [&env.rocr_visible_devices, &env.hip_visible_devices].into_iter().flatten() {
        let mut kept = Vec::new();
        for item in list.split(',').map(str::trim) {
            let hit = match item.parse::<usize>() {
                Ok(place) => order.get(place).copied(),
                Err(_) => {
                    order.iter().copied().find(|&i| !item.is_empty() && same_uuid(&devices[i].uuid, item))
                }
            };
            match hit {
                Some(hit) if !kept.contains(&hit) => kept.push(hit),
                Some(_) => {}
                None => break,
            }
        }
        order = kept;
    }
    for (index, device) in devices.iter_mut().enumerate().filter(|(_, d)| d.brand == Brand::Amd) {
        device.visible = Some(order.contains(&index));
    }
}

fn same_uuid(known: &str, given: &str) -> bool {
    known.eq_ignore_ascii_case(given)
}

#[cfg(test)]
#[path = "visible_tests.rs"]
mod tests;
