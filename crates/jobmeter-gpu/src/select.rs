//! Choosing the devices that a run speaks of.

use crate::config::GpuConfig;
use crate::device::GpuDevice;
use crate::error::GpuError;

/// Marks the selected devices; a UUID that no device has is an error that lists the valid ones.
pub(crate) fn select(devices: &mut [GpuDevice], config: &GpuConfig) -> Result<(), GpuError> {
    let first = config.first_of.iter().find(|brand| devices.iter().any(|device| device.brand == **brand));
    let brand = config.brand.or(first.copied());
    for device in devices.iter_mut() {
        device.selected = brand.is_none_or(|brand| brand == device.brand);
    }
    let Some(uuids) = &config.uuids else { return Ok(()) };
    let wanted: Vec<&str> = uuids.iter().map(|uuid| uuid.trim()).filter(|uuid| !uuid.is_empty()).collect();
    let fits = |device: &GpuDevice, uuid: &str| device.selected && device.is_called(uuid);
    let unknown: Vec<String> = wanted
        .iter()
        .filter(|uuid| !devices.iter().any(|device| fits(device, uuid)))
        .map(|&uuid| uuid.to_owned())
        .collect();
    if !unknown.is_empty() {
        let valid = devices.iter().filter(|d| d.selected).map(|d| d.uuid.clone()).collect();
        return Err(GpuError::UnknownUuids { unknown, valid });
    }
    for device in devices.iter_mut() {
        device.selected = wanted.iter().any(|uuid| fits(device, uuid));
    }
    Ok(())
}
