//! The functions that speak of the library and of single devices.
#![allow(non_snake_case, reason = "the names are those of the NVML header")]
#![allow(clippy::missing_safety_doc, reason = "the contract is that of the NVML header")]

use crate::calls::{
    Handle, INVALID_ARGUMENT, NOT_FOUND, SUCCESS, begin, count_init, on_device, put, put_text,
};
use std::ffi::{c_char, c_int, c_uint};

fn init(name: &str) -> c_int {
    match begin(name, None) {
        Ok(_) => {
            count_init(1);
            SUCCESS
        }
        Err(code) => code,
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlInit_v2() -> c_int {
    init("nvmlInit_v2")
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlInit() -> c_int {
    init("nvmlInit")
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlShutdown() -> c_int {
    match begin("nvmlShutdown", None) {
        Ok(_) => {
            count_init(-1);
            SUCCESS
        }
        Err(code) => code,
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlSystemGetDriverVersion(text: *mut c_char, length: c_uint) -> c_int {
    match begin("nvmlSystemGetDriverVersion", None) {
        // SAFETY: the caller gives the room that it names.
        Ok(view) => unsafe {
            put_text(text, length, view.state.driver_version.as_deref().unwrap_or("550.54.15"))
        },
        Err(code) => code,
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetCount_v2(count: *mut c_uint) -> c_int {
    match begin("nvmlDeviceGetCount_v2", None) {
        // SAFETY: the caller gives a place for the number.
        Ok(view) => unsafe { put(count, Some(view.devices().len() as c_uint)) },
        Err(code) => code,
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByIndex_v2(index: c_uint, handle: *mut usize) -> c_int {
    match begin("nvmlDeviceGetHandleByIndex_v2", None) {
        Ok(view) if (index as usize) < view.devices().len() => {
            // SAFETY: the caller gives a place for the handle.
            unsafe { put(handle, Some(Handle { gpu: index as usize, instance: 0 }.into_raw())) }
        }
        Ok(_) => INVALID_ARGUMENT,
        Err(code) => code,
    }
}

/// Functions that write one value: name, further arguments, type, and how to find it in the device.
macro_rules! figures {
    ($($name:ident($($extra:ident),*) -> $type:ty = |$device:ident| $value:expr;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(device: usize, $($extra: c_uint,)* target: *mut $type) -> c_int {
            on_device(stringify!($name), device, |_, $device| {
                // SAFETY: the caller gives a place for the value.
                unsafe { put(target, $value) }
            })
        }
    )*};
}

#[repr(C)]
pub struct Memory {
    total: u64,
    free: u64,
    used: u64,
}

#[repr(C)]
pub struct Utilization {
    gpu: c_uint,
    memory: c_uint,
}

figures! {
    nvmlDeviceGetMemoryInfo() -> Memory = |device| Some(Memory {
        total: device.memory_total,
        free: device.memory_total.saturating_sub(device.memory_used + device.memory_reserved),
        used: device.memory_used + device.memory_reserved,
    });
    nvmlDeviceGetUtilizationRates() -> Utilization = |device| device.gpu_util.map(|gpu| Utilization {
        gpu, memory: device.memory_util.unwrap_or(0),
    });
    nvmlDeviceGetPowerUsage() -> c_uint = |device| device.power_mw;
    nvmlDeviceGetTotalEnergyConsumption() -> u64 = |device| device.energy_mj;
    nvmlDeviceGetTemperature(_sensor) -> c_uint = |device| device.temperature_c;
    nvmlDeviceGetClockInfo(kind) -> c_uint = |device| match kind {
        0 | 1 => device.sm_mhz,
        2 => device.memory_mhz,
        _ => None,
    };
    nvmlDeviceGetCurrentClocksEventReasons() -> u64 = |device| device.throttle;
    nvmlDeviceGetPcieThroughput(counter) -> c_uint = |device| match counter {
        0 => device.pcie_tx_kb,
        _ => device.pcie_rx_kb,
    };
    nvmlDeviceGetMaxMigDeviceCount() -> c_uint = |device| Some(device.mig.as_ref().map_or(0, |_| 7));
    nvmlDeviceGetGpuInstanceId() -> c_uint = |device| device.gpu_instance;
    nvmlDeviceGetComputeInstanceId() -> c_uint = |device| device.compute_instance;
}

#[repr(C)]
pub struct MemoryV2 {
    version: c_uint,
    total: u64,
    reserved: u64,
    free: u64,
    used: u64,
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMemoryInfo_v2(device: usize, target: *mut MemoryV2) -> c_int {
    on_device("nvmlDeviceGetMemoryInfo_v2", device, |_, device| {
        const ARGUMENT_VERSION_MISMATCH: c_int = 25;
        // SAFETY: the caller gives a structure whose version it has filled in.
        if unsafe { (*target).version } != size_of::<MemoryV2>() as c_uint | (2 << 24) {
            return ARGUMENT_VERSION_MISMATCH;
        }
        let value = MemoryV2 {
            version: size_of::<MemoryV2>() as c_uint | (2 << 24),
            total: device.memory_total,
            reserved: device.memory_reserved,
            free: device.memory_total.saturating_sub(device.memory_used + device.memory_reserved),
            used: device.memory_used,
        };
        // SAFETY: as above.
        unsafe { put(target, Some(value)) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetName(device: usize, text: *mut c_char, length: c_uint) -> c_int {
    on_device("nvmlDeviceGetName", device, |_, device| {
        // SAFETY: the caller gives the room that it names.
        unsafe { put_text(text, length, device.name.as_deref().unwrap_or("Imaginary GPU")) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetUUID(device: usize, text: *mut c_char, length: c_uint) -> c_int {
    on_device("nvmlDeviceGetUUID", device, |_, device| {
        // SAFETY: the caller gives the room that it names.
        unsafe { put_text(text, length, &device.uuid) }
    })
}

#[repr(C)]
pub struct PciInfo {
    bus_id_legacy: [c_char; 16],
    domain: c_uint,
    bus: c_uint,
    device: c_uint,
    pci_device_id: c_uint,
    pci_subsystem_id: c_uint,
    bus_id: [c_char; 32],
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetPciInfo_v3(device: usize, target: *mut PciInfo) -> c_int {
    on_device("nvmlDeviceGetPciInfo_v3", device, |_, device| {
        let address = device.pci.as_deref().unwrap_or("0000:00:00.0");
        let mut parts = address.split([':', '.']).map(|part| c_uint::from_str_radix(part, 16).unwrap_or(0));
        let mut info = PciInfo {
            bus_id_legacy: [0; 16],
            domain: parts.next().unwrap_or(0),
            bus: parts.next().unwrap_or(0),
            device: parts.next().unwrap_or(0),
            pci_device_id: 0,
            pci_subsystem_id: 0,
            bus_id: [0; 32],
        };
        for (target, byte) in info.bus_id_legacy[..15].iter_mut().zip(address.bytes()) {
            *target = byte as c_char;
        }
        for (target, byte) in info.bus_id[..31].iter_mut().zip(format!("0000{address}").bytes()) {
            *target = byte as c_char;
        }
        // SAFETY: the caller gives a place for the structure.
        unsafe { put(target, Some(info)) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMigMode(
    device: usize,
    current: *mut c_uint,
    pending: *mut c_uint,
) -> c_int {
    on_device("nvmlDeviceGetMigMode", device, |_, device| {
        let mode = c_uint::from(device.mig.is_some());
        // SAFETY: the caller gives places for both.
        unsafe {
            put(pending, Some(mode));
            put(current, Some(mode))
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMigDeviceHandleByIndex(
    device: usize,
    index: c_uint,
    target: *mut usize,
) -> c_int {
    on_device("nvmlDeviceGetMigDeviceHandleByIndex", device, |_, gpu| {
        let Some(handle) = Handle::from_raw(device) else { return INVALID_ARGUMENT };
        let count = gpu.mig.as_ref().map_or(0, Vec::len);
        if index as usize >= count {
            return NOT_FOUND;
        }
        let instance = Handle { gpu: handle.gpu, instance: index as usize + 1 };
        // SAFETY: the caller gives a place for the handle.
        unsafe { put(target, Some(instance.into_raw())) }
    })
}

/// NVML's own texts are not needed: the number says it.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlErrorString(_code: c_int) -> *const c_char {
    c"fake NVML error".as_ptr()
}
