//! Figures of a device: memory, utilisation, power, clocks, PCIe.

use crate::calls::{
    ARGUMENT_VERSION_MISMATCH, INVALID_ARGUMENT, NOT_SUPPORTED, SUCCESS, on_device, put, version_of,
};
use crate::state::{Device, unix_us};
use std::ffi::{c_int, c_uint};
use std::time::Duration;

/// Functions that write one value: name, further arguments, type, and how to find it in the device.
macro_rules! figures {
    ($($name:ident($($extra:ident),*) -> $type:ty = |$device:ident| $value:expr;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(device: usize, $($extra: c_uint,)* target: *mut $type) -> c_int {
            $crate::calls::on_device(stringify!($name), device, |_, $device| {
                let value = || -> Option<$type> { $value };
                // SAFETY: the caller gives a place for the value.
                unsafe { $crate::calls::put(target, value()) }
            })
        }
    )*};
}
pub(crate) use figures;

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

fn clock(device: &Device, kind: c_uint) -> Option<c_uint> {
    match kind {
        0 | 1 => device.sm_mhz,
        2 => device.memory_mhz,
        3 => device.video_mhz,
        _ => None,
    }
}

fn largest_clock(device: &Device, kind: c_uint) -> Option<c_uint> {
    match kind {
        0 | 1 => device.sm_max_mhz,
        2 => device.memory_max_mhz,
        _ => None,
    }
}

fn pcie_throughput(device: &Device, counter: c_uint) -> Option<c_uint> {
    std::thread::sleep(Duration::from_millis(device.pcie_delay_ms));
    match counter {
        0 => device.pcie_tx_kb,
        _ => device.pcie_rx_kb,
    }
}

figures! {
    nvmlDeviceGetMemoryInfo() -> Memory = |device| Some(Memory {
        total: device.memory_total,
        free: device.memory_free(),
        used: device.memory_used + device.memory_reserved,
    });
    nvmlDeviceGetBAR1MemoryInfo() -> Memory = |device| device.bar1.as_ref().map(|bar1| Memory {
        total: bar1.total, free: bar1.total.saturating_sub(bar1.used), used: bar1.used,
    });
    nvmlDeviceGetUtilizationRates() -> Utilization = |device| device.gpu_util.map(|gpu| Utilization {
        gpu, memory: device.memory_util.unwrap_or(0),
    });
    nvmlDeviceGetPowerUsage() -> c_uint = |device| device.power_mw;
    nvmlDeviceGetPowerManagementLimit() -> c_uint = |device| device.power_limit_mw;
    nvmlDeviceGetPowerManagementDefaultLimit() -> c_uint = |device| device.power_limit_mw;
    nvmlDeviceGetEnforcedPowerLimit() -> c_uint = |device| device.power_limit_mw;
    nvmlDeviceGetTemperature(_sensor) -> c_uint = |device| device.temperature_c;
    nvmlDeviceGetFanSpeed() -> c_uint = |device| device.fan_percent;
    nvmlDeviceGetClockInfo(kind) -> c_uint = |device| clock(device, kind);
    nvmlDeviceGetMaxClockInfo(kind) -> c_uint = |device| largest_clock(device, kind);
    nvmlDeviceGetPerformanceState() -> c_uint = |device| device.performance_state;
    nvmlDeviceGetPowerState() -> c_uint = |device| device.performance_state;
    nvmlDeviceGetComputeMode() -> c_uint = |device| device.compute_mode;
    nvmlDeviceGetPersistenceMode() -> c_uint = |device| device.persistence.map(c_uint::from);
    nvmlDeviceGetDisplayMode() -> c_uint = |device| device.display.map(c_uint::from);
    nvmlDeviceGetDisplayActive() -> c_uint = |device| device.display.map(c_uint::from);
    nvmlDeviceGetCurrentClocksEventReasons() -> u64 = |device| device.throttle;
    nvmlDeviceGetCurrentClocksThrottleReasons() -> u64 = |device| device.throttle;
    nvmlDeviceGetSupportedClocksEventReasons() -> u64 = |device| device.throttle.map(|_| 0x1ff);
    nvmlDeviceGetSupportedClocksThrottleReasons() -> u64 = |device| device.throttle.map(|_| 0x1ff);
    nvmlDeviceGetPcieThroughput(counter) -> c_uint = |device| pcie_throughput(device, counter);
    nvmlDeviceGetCurrPcieLinkGeneration() -> c_uint = |device| device.pcie_generation;
    nvmlDeviceGetCurrPcieLinkWidth() -> c_uint = |device| device.pcie_width;
    nvmlDeviceGetMaxPcieLinkGeneration() -> c_uint = |device| device.pcie_generation;
    nvmlDeviceGetMaxPcieLinkWidth() -> c_uint = |device| device.pcie_width;
    nvmlDeviceGetMultiGpuBoard() -> c_uint = |_device| Some(0);
    nvmlDeviceGetConfComputeMemSizeInfo() -> [u64; 2] =
        |device| Some([0, device.memory_total / 1024]);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetTotalEnergyConsumption(device: usize, target: *mut u64) -> c_int {
    on_device("nvmlDeviceGetTotalEnergyConsumption", device, |view, device| {
        // SAFETY: the caller gives a place for the value.
        unsafe { put(target, view.energy_mj(device)) }
    })
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
        // SAFETY: the caller gives a structure whose version it has filled in.
        if unsafe { (*target).version } != version_of::<MemoryV2>(2) {
            return ARGUMENT_VERSION_MISMATCH;
        }
        let value = MemoryV2 {
            version: version_of::<MemoryV2>(2),
            total: device.memory_total,
            reserved: device.memory_reserved,
            free: device.memory_free(),
            used: device.memory_used,
        };
        // SAFETY: as above.
        unsafe { put(target, Some(value)) }
    })
}

#[repr(C)]
pub struct Temperature {
    version: c_uint,
    sensor: c_uint,
    celsius: c_int,
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetTemperatureV(device: usize, target: *mut Temperature) -> c_int {
    on_device("nvmlDeviceGetTemperatureV", device, |_, device| {
        // SAFETY: the caller gives a structure whose version it has filled in.
        let target = unsafe { &mut *target };
        if target.version != version_of::<Temperature>(1) {
            return ARGUMENT_VERSION_MISMATCH;
        }
        let Some(celsius) = device.temperature_c else { return NOT_SUPPORTED };
        target.celsius = celsius as c_int;
        SUCCESS
    })
}

/// Two numbers, of which the second is the length of the driver's sample period in microseconds, or a state that is
/// pending.
macro_rules! pairs {
    ($($name:ident = |$device:ident| $value:expr;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(device: usize, first: *mut c_uint, second: *mut c_uint) -> c_int {
            $crate::calls::on_device(stringify!($name), device, |_, $device| {
                let value = || -> Option<(c_uint, c_uint)> { $value };
                let value = value();
                // SAFETY: the caller gives places for both.
                unsafe {
                    $crate::calls::put(second, value.map(|value| value.1));
                    $crate::calls::put(first, value.map(|value| value.0))
                }
            })
        }
    )*};
}
pub(crate) use pairs;

const SAMPLE_PERIOD_US: c_uint = 167_000;

pairs! {
    nvmlDeviceGetEncoderUtilization = |device| device.encoder_util.map(|util| (util, SAMPLE_PERIOD_US));
    nvmlDeviceGetDecoderUtilization = |device| device.decoder_util.map(|util| (util, SAMPLE_PERIOD_US));
    nvmlDeviceGetPowerManagementLimitConstraints =
        |device| device.power_limit_mw.map(|limit| (limit / 2, limit));
    // Linux has no driver model.
    nvmlDeviceGetDriverModel = |_device| None;
    nvmlDeviceGetDriverModel_v2 = |_device| None;
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct TimedValue {
    time_us: u64,
    value: u64,
}

/// The driver's buffer of samples of one figure; here it holds one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetSamples(
    device: usize,
    kind: c_uint,
    _since_us: u64,
    value_type: *mut c_uint,
    count: *mut c_uint,
    target: *mut TimedValue,
) -> c_int {
    on_device("nvmlDeviceGetSamples", device, |_, device| {
        let value = match kind {
            0 => device.power_mw,
            1 => device.gpu_util,
            2 => device.memory_util,
            3 => device.encoder_util,
            4 => device.decoder_util,
            5 => device.sm_mhz,
            6 => device.memory_mhz,
            _ => return INVALID_ARGUMENT,
        };
        let Some(value) = value else { return NOT_SUPPORTED };
        // SAFETY: the caller gives places for type and number, and for as many values as it was told.
        unsafe {
            put(value_type, Some(1));
            put(count, Some(1));
            if target.is_null() {
                return SUCCESS;
            }
            put(target, Some(TimedValue { time_us: unix_us(), value: u64::from(value) }))
        }
    })
}
