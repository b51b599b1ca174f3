//! The NVML functions that we use, found by name at run time. An old driver that lacks one costs the figure
//! that needs it and nothing else; where a function has versions, the newest present is taken.

use crate::room::Head;
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Mutex;

pub(crate) type Device = *mut c_void;

pub(crate) const NOT_SUPPORTED: c_int = 3;
pub(crate) const INSUFFICIENT_SIZE: c_int = 7;
pub(crate) const NOT_FOUND: c_int = 6;
pub(crate) const GPU_IS_LOST: c_int = 15;
pub(crate) const RESET_REQUIRED: c_int = 16;
/// Our own code for a function that the library does not export; NVML uses the same for one it cannot find.
pub(crate) const FUNCTION_NOT_FOUND: c_int = 13;
/// `usedGpuMemory` when the driver may not tell.
pub(crate) const VALUE_NOT_AVAILABLE: u64 = u64::MAX;

pub(crate) const TEMPERATURE_GPU: c_uint = 0;
pub(crate) const CLOCK_SM: c_uint = 1;
pub(crate) const CLOCK_MEM: c_uint = 2;
pub(crate) const PCIE_TX: c_uint = 0;
pub(crate) const PCIE_RX: c_uint = 1;

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct Memory {
    pub(crate) total: u64,
    pub(crate) free: u64,
    pub(crate) used: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct MemoryV2 {
    pub(crate) version: c_uint,
    pub(crate) total: u64,
    pub(crate) reserved: u64,
    pub(crate) free: u64,
    pub(crate) used: u64,
}

pub(crate) const MEMORY_V2_VERSION: c_uint = size_of::<MemoryV2>() as c_uint | (2 << 24);

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct Utilization {
    pub(crate) gpu: c_uint,
    pub(crate) memory: c_uint,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct PciInfo {
    pub(crate) bus_id_legacy: [c_char; 16],
    pub(crate) domain: c_uint,
    pub(crate) bus: c_uint,
    pub(crate) device: c_uint,
    pub(crate) pci_device_id: c_uint,
    pub(crate) pci_subsystem_id: c_uint,
    /// Present from the third version on; the older ones have reserved words here.
    pub(crate) bus_id: [c_char; 32],
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct ProcessV1 {
    pub(crate) pid: c_uint,
    pub(crate) used: u64,
}

/// The layout of the second and the third version of the process lists.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct Process {
    pub(crate) pid: c_uint,
    pub(crate) used: u64,
    pub(crate) gpu_instance: c_uint,
    pub(crate) compute_instance: c_uint,
}

#[repr(C)]
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub(crate) struct UtilizationSample {
    pub(crate) pid: c_uint,
    /// Microseconds of a CPU clock.
    pub(crate) time_us: u64,
    pub(crate) sm: c_uint,
    pub(crate) memory: c_uint,
    pub(crate) encoder: c_uint,
    pub(crate) decoder: c_uint,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct GpmSupport {
    pub(crate) version: c_uint,
    pub(crate) supported: c_uint,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct GpmMetric {
    pub(crate) id: c_uint,
    pub(crate) code: c_int,
    pub(crate) value: f64,
    pub(crate) names: [*const c_char; 3],
}

/// The header's array has grown with its versions; the library reads as many as `count` says.
pub(crate) const GPM_ROOM: usize = 32;

#[repr(C)]
pub(crate) struct GpmRequest {
    pub(crate) version: c_uint,
    pub(crate) count: c_uint,
    pub(crate) first: *mut c_void,
    pub(crate) second: *mut c_void,
    pub(crate) metrics: [GpmMetric; GPM_ROOM],
}

/// The second version; the first ends before the instances.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct EventData {
    pub(crate) device: Device,
    pub(crate) kind: u64,
    pub(crate) data: u64,
    pub(crate) gpu_instance: c_uint,
    pub(crate) compute_instance: c_uint,
}

pub(crate) const EVENT_ECC_SINGLE: u64 = 1;
pub(crate) const EVENT_ECC_DOUBLE: u64 = 2;
pub(crate) const EVENT_XID: u64 = 8;

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct AccountingStats {
    pub(crate) gpu_util: c_uint,
    pub(crate) memory_util: c_uint,
    pub(crate) max_memory: u64,
    pub(crate) time_ms: u64,
    pub(crate) start_us: u64,
    pub(crate) running: c_uint,
    pub(crate) reserved: [c_uint; 5],
}

/// A function, or its absence under its newest name.
#[derive(Clone, Copy)]
pub(crate) struct Symbol<F> {
    pub(crate) name: &'static str,
    pub(crate) function: Option<F>,
}

macro_rules! symbols {
    ($($field:ident: [$($name:literal),+] ($($arg:ty),*);)*) => {
        pub(crate) struct Symbols {
            $(pub(crate) $field: Symbol<unsafe extern "C" fn($($arg),*) -> c_int>,)*
        }

        impl Symbols {
            fn load(handle: *mut c_void) -> Symbols {
                Symbols { $($field: {
                    let (name, address) = first(handle, &[$($name),+]);
                    // SAFETY: the symbol of this name has this signature in every NVML that exports it.
                    let function = address.map(|address| unsafe {
                        std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($arg),*) -> c_int>(address)
                    });
                    Symbol { name, function }
                },)* }
            }
        }
    };
}

symbols! {
    init: ["nvmlInit_v2", "nvmlInit"] ();
    shutdown: ["nvmlShutdown"] ();
    driver_version: ["nvmlSystemGetDriverVersion"] (*mut c_char, c_uint);
    count: ["nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"] (*mut c_uint);
    handle: ["nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"] (c_uint, *mut Device);
    name: ["nvmlDeviceGetName"] (Device, *mut c_char, c_uint);
    uuid: ["nvmlDeviceGetUUID"] (Device, *mut c_char, c_uint);
    pci_v3: ["nvmlDeviceGetPciInfo_v3"] (Device, *mut PciInfo);
    pci_old: ["nvmlDeviceGetPciInfo_v2", "nvmlDeviceGetPciInfo"] (Device, *mut PciInfo);
    memory_v2: ["nvmlDeviceGetMemoryInfo_v2"] (Device, *mut MemoryV2);
    memory: ["nvmlDeviceGetMemoryInfo"] (Device, *mut Memory);
    utilization: ["nvmlDeviceGetUtilizationRates"] (Device, *mut Utilization);
    power: ["nvmlDeviceGetPowerUsage"] (Device, *mut c_uint);
    energy: ["nvmlDeviceGetTotalEnergyConsumption"] (Device, *mut u64);
    temperature: ["nvmlDeviceGetTemperature"] (Device, c_uint, *mut c_uint);
    clock: ["nvmlDeviceGetClockInfo"] (Device, c_uint, *mut c_uint);
    throttle: ["nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"]
        (Device, *mut u64);
    pcie: ["nvmlDeviceGetPcieThroughput"] (Device, c_uint, *mut c_uint);
    mig_mode: ["nvmlDeviceGetMigMode"] (Device, *mut c_uint, *mut c_uint);
    mig_max: ["nvmlDeviceGetMaxMigDeviceCount"] (Device, *mut c_uint);
    mig_handle: ["nvmlDeviceGetMigDeviceHandleByIndex"] (Device, c_uint, *mut Device);
    gpu_instance: ["nvmlDeviceGetGpuInstanceId"] (Device, *mut c_uint);
    compute_instance: ["nvmlDeviceGetComputeInstanceId"] (Device, *mut c_uint);
    compute_v3: ["nvmlDeviceGetComputeRunningProcesses_v3"] (Device, *mut c_uint, *mut Process);
    compute_v2: ["nvmlDeviceGetComputeRunningProcesses_v2"] (Device, *mut c_uint, *mut Process);
    compute_v1: ["nvmlDeviceGetComputeRunningProcesses"] (Device, *mut c_uint, *mut ProcessV1);
    graphics_v3: ["nvmlDeviceGetGraphicsRunningProcesses_v3"] (Device, *mut c_uint, *mut Process);
    graphics_v2: ["nvmlDeviceGetGraphicsRunningProcesses_v2"] (Device, *mut c_uint, *mut Process);
    graphics_v1: ["nvmlDeviceGetGraphicsRunningProcesses"] (Device, *mut c_uint, *mut ProcessV1);
    mps_v3: ["nvmlDeviceGetMPSComputeRunningProcesses_v3"] (Device, *mut c_uint, *mut Process);
    mps_v2: ["nvmlDeviceGetMPSComputeRunningProcesses_v2"] (Device, *mut c_uint, *mut Process);
    mps_v1: ["nvmlDeviceGetMPSComputeRunningProcesses"] (Device, *mut c_uint, *mut ProcessV1);
    gpm_support: ["nvmlGpmQueryDeviceSupport"] (Device, *mut GpmSupport);
    gpm_alloc: ["nvmlGpmSampleAlloc"] (*mut *mut c_void);
    gpm_sample: ["nvmlGpmSampleGet"] (Device, *mut c_void);
    gpm_instance_sample: ["nvmlGpmMigSampleGet"] (Device, c_uint, *mut c_void);
    gpm_metrics: ["nvmlGpmMetricsGet"] (*mut GpmRequest);
    event_set: ["nvmlEventSetCreate"] (*mut *mut c_void);
    event_types: ["nvmlDeviceGetSupportedEventTypes"] (Device, *mut u64);
    event_register: ["nvmlDeviceRegisterEvents"] (Device, u64, *mut c_void);
    event_wait: ["nvmlEventSetWait_v2", "nvmlEventSetWait"] (*mut c_void, *mut EventData, c_uint);
    ecc_total: ["nvmlDeviceGetTotalEccErrors"] (Device, c_uint, c_uint, *mut u64);
    remapped_rows: ["nvmlDeviceGetRemappedRows"]
        (Device, *mut c_uint, *mut c_uint, *mut c_uint, *mut c_uint);
    accounting_mode: ["nvmlDeviceGetAccountingMode"] (Device, *mut c_uint);
    accounting_pids: ["nvmlDeviceGetAccountingPids"] (Device, *mut c_uint, *mut c_uint);
    accounting_stats: ["nvmlDeviceGetAccountingStats"] (Device, c_uint, *mut AccountingStats);
    process_utilization: ["nvmlDeviceGetProcessUtilization"]
        (Device, *mut UtilizationSample, *mut c_uint, u64);
}

fn first(handle: *mut c_void, names: &[&'static str]) -> (&'static str, Option<*mut c_void>) {
    for name in names {
        if let Some(address) = lookup(handle, name) {
            return (name, Some(address));
        }
    }
    (names[0], None)
}

fn lookup(handle: *mut c_void, name: &str) -> Option<*mut c_void> {
    let name = CString::new(name).ok()?;
    // SAFETY: the handle came from dlopen and is never closed.
    let address = unsafe { libc::dlsym(handle, name.as_ptr()) };
    (!address.is_null()).then_some(address)
}

/// Where some systems keep the library outside of the loader's folders.
const ELSEWHERE: [&str; 2] =
    ["/run/opengl-driver/lib/libnvidia-ml.so.1", "/usr/lib/wsl/lib/libnvidia-ml.so.1"];

/// Loads the library; it is never unloaded, since a thread may still be inside it. A bare name is also looked for
/// where the loader does not look.
pub(crate) fn open(path: &Path) -> Result<Symbols, String> {
    let first = load(path);
    if path.components().count() > 1 || first.is_ok() {
        return first;
    }
    let mut others = ELSEWHERE.iter().filter(|other| Path::new(other).exists());
    others.find_map(|other| load(Path::new(other)).ok()).map_or(first, Ok)
}

fn load(path: &Path) -> Result<Symbols, String> {
    let name = CString::new(path.as_os_str().as_bytes())
        .map_err(|_| format!("the NVML path {path:?} holds a zero byte"))?;
    // SAFETY: loads a shared library named by the user or the system, as any GPU program does.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_LOCAL) };
    if handle.is_null() {
        // SAFETY: dlerror gives a C string valid until the next dl call of this thread, or null.
        let error = unsafe {
            let text = libc::dlerror();
            if text.is_null() { "unknown error".into() } else { CStr::from_ptr(text).to_string_lossy() }
        };
        return Err(format!("NVML cannot be loaded: {error}"));
    }
    Ok(Symbols::load(handle))
}

/// What an NVML return code means, in our words.
pub(crate) fn meaning(code: c_int) -> String {
    let text = match code {
        1 => "NVML is not initialised",
        2 => "the driver refused an argument",
        3 => "not supported by this device or driver",
        4 => "this user has no permission",
        6 => "not found",
        7 => "the buffer is too small",
        8 => "external power cables are not attached",
        9 => "the NVIDIA kernel driver is not loaded",
        10 => "the driver timed out",
        11 => "the kernel has an interrupt problem with the GPU",
        12 => "a shared library of the driver is missing",
        13 => "the driver is too old: it lacks the function",
        14 => "the info ROM of the device is corrupted",
        15 => "the GPU has fallen off the bus or is otherwise lost",
        16 => "the GPU needs a reset",
        17 => "the operating system blocks the GPU's control device",
        18 => "the driver and its library have different versions",
        19 => "the GPU is in use",
        20 => "not enough memory",
        21 => "no data",
        25 => "the driver does not know this version of the structure",
        26 => "the function was withdrawn from the driver",
        27 => "the device is not ready",
        28 => "the GPU was not found",
        29 => "the device is in a state that does not allow it",
        _ => return format!("NVML error {code}"),
    };
    text.to_owned()
}

/// Which call the work is in, readable from outside while it hangs.
pub(crate) struct Progress {
    call: Mutex<&'static str>,
    /// Where another process reads it.
    elsewhere: Option<&'static Head>,
}

impl Progress {
    pub(crate) fn new(elsewhere: Option<&'static Head>) -> Progress {
        Progress { call: Mutex::new("start"), elsewhere }
    }

    pub(crate) fn enter(&self, call: &'static str) {
        if let Ok(mut current) = self.call.lock() {
            *current = call;
        }
        if let Some(elsewhere) = self.elsewhere {
            elsewhere.enter(call);
        }
    }

    pub(crate) fn current(&self) -> &'static str {
        self.call.lock().map_or("unknown", |current| *current)
    }
}
