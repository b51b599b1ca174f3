//! Names, numbers and addresses of a device.

use crate::calls::{Handle, INVALID_ARGUMENT, NOT_SUPPORTED, SUCCESS, on_device, put, put_text};
use crate::state::Device;
use std::ffi::{c_char, c_int, c_uint};

/// Functions that write a text on a device.
macro_rules! texts {
    ($($name:ident = |$device:ident| $value:expr;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(device: usize, text: *mut c_char, length: c_uint) -> c_int {
            on_device(stringify!($name), device, |_, $device| match $value {
                // SAFETY: the caller gives the room that it names.
                Some(value) => unsafe { put_text(text, length, value) },
                None => NOT_SUPPORTED,
            })
        }
    )*};
}

texts! {
    nvmlDeviceGetName = |device| Some(device.name());
    nvmlDeviceGetUUID = |device| Some(device.uuid.as_str());
    nvmlDeviceGetSerial = |device| device.serial.as_deref();
    nvmlDeviceGetVbiosVersion = |_device| None::<&str>;
}

/// The number among the GPUs; a MIG instance has none.
fn put_index(name: &str, raw: usize, target: *mut c_uint) -> c_int {
    on_device(name, raw, |_, _| match Handle::from_raw(raw) {
        // SAFETY: the caller gives a place for the number.
        Some(Handle { gpu, instance: 0 }) => unsafe { put(target, Some(gpu as c_uint)) },
        _ => NOT_SUPPORTED,
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetIndex(device: usize, target: *mut c_uint) -> c_int {
    put_index("nvmlDeviceGetIndex", device, target)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMinorNumber(device: usize, target: *mut c_uint) -> c_int {
    put_index("nvmlDeviceGetMinorNumber", device, target)
}

/// The third version; the older ones end after `bus_id` with four words of reserve instead of 32 bytes.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct PciInfo {
    bus_id_legacy: [u8; 16],
    domain: c_uint,
    bus: c_uint,
    device: c_uint,
    pci_device_id: c_uint,
    pci_subsystem_id: c_uint,
    bus_id: [u8; 32],
}

#[repr(C)]
pub struct PciInfoV2 {
    bus_id: [u8; 16],
    numbers: [c_uint; 5],
    reserved: [c_uint; 4],
}

fn pci_info(device: &Device) -> PciInfo {
    let address = device.pci.as_deref().unwrap_or("0000:00:00.0").to_uppercase();
    let mut parts = address.split([':', '.']).map(|part| c_uint::from_str_radix(part, 16).unwrap_or(0));
    let mut info = PciInfo {
        bus_id_legacy: [0; 16],
        domain: parts.next().unwrap_or(0),
        bus: parts.next().unwrap_or(0),
        device: parts.next().unwrap_or(0),
        pci_device_id: device.pci_device_id.unwrap_or(0),
        pci_subsystem_id: 0,
        bus_id: [0; 32],
    };
    for (target, byte) in info.bus_id_legacy[..15].iter_mut().zip(address.bytes()) {
        *target = byte;
    }
    for (target, byte) in info.bus_id[..31].iter_mut().zip(format!("0000{address}").bytes()) {
        *target = byte;
    }
    info
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetPciInfo_v3(device: usize, target: *mut PciInfo) -> c_int {
    on_device("nvmlDeviceGetPciInfo_v3", device, |_, device| {
        // SAFETY: the caller gives a place for the structure.
        unsafe { put(target, Some(pci_info(device))) }
    })
}

fn old_pci_info(name: &str, device: usize, target: *mut PciInfoV2) -> c_int {
    on_device(name, device, |_, device| {
        let info = pci_info(device);
        let numbers = [info.domain, info.bus, info.device, info.pci_device_id, info.pci_subsystem_id];
        let old = PciInfoV2 { bus_id: info.bus_id_legacy, numbers, reserved: [0; 4] };
        // SAFETY: the caller gives a place for the structure.
        unsafe { put(target, Some(old)) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetPciInfo_v2(device: usize, target: *mut PciInfoV2) -> c_int {
    old_pci_info("nvmlDeviceGetPciInfo_v2", device, target)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetPciInfo(device: usize, target: *mut PciInfoV2) -> c_int {
    old_pci_info("nvmlDeviceGetPciInfo", device, target)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetCudaComputeCapability(
    device: usize,
    major: *mut c_int,
    minor: *mut c_int,
) -> c_int {
    on_device("nvmlDeviceGetCudaComputeCapability", device, |_, device| {
        let Some((first, second)) = device.capability else { return NOT_SUPPORTED };
        if major.is_null() || minor.is_null() {
            return INVALID_ARGUMENT;
        }
        // SAFETY: the caller gives places for both.
        unsafe {
            major.write(first);
            minor.write(second);
        }
        SUCCESS
    })
}
