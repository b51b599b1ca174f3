//! Safe calls into NVML: each returns its figure or the fault with the name of the function.

use super::sys::{self, Device, Progress, Symbols};
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::path::Path;
use std::sync::Arc;

pub(super) struct Api {
    symbols: Symbols,
    progress: Arc<Progress>,
    /// Drivers 535.43 to 535.97 wrote longer entries into the third version of the process lists.
    skip_third: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) call: &'static str,
    pub(super) code: c_int,
}

impl Fault {
    pub(super) fn reason(self) -> String {
        format!("{}: {}", self.call, sys::meaning(self.code))
    }
}

/// Calls a symbol if it is there; the arguments match the signature in the table of symbols.
macro_rules! call {
    ($api:expr, $field:ident $(, $arg:expr)*) => {{
        let symbol = &$api.symbols.$field;
        match symbol.function {
            None => Err(Fault { call: symbol.name, code: sys::FUNCTION_NOT_FOUND }),
            Some(function) => {
                $api.progress.enter(symbol.name);
                // SAFETY: the pointers are to live values of the types of the NVML header.
                match unsafe { function($($arg),*) } {
                    0 => Ok(()),
                    code => Err(Fault { call: symbol.name, code }),
                }
            }
        }
    }};
}

/// Of one device, in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Memory {
    pub(super) total: u64,
    pub(super) used: u64,
    pub(super) free: u64,
    /// Why the driver's reserve is counted as used.
    pub(super) lack: Option<Fault>,
}

/// The lists of processes that a device keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum List {
    Compute,
    Graphics,
    /// Clients of the multi-process service; the compute list has its server.
    Mps,
}

impl List {
    pub(super) fn may_be_missing(self, code: c_int) -> bool {
        match self {
            List::Compute => false,
            List::Graphics => code == sys::NOT_SUPPORTED,
            List::Mps => matches!(code, sys::NOT_SUPPORTED | sys::FUNCTION_NOT_FOUND),
        }
    }
}

impl Api {
    pub(super) fn open(path: &Path, progress: Arc<Progress>) -> Result<Api, String> {
        progress.enter("dlopen");
        let mut api = Api { symbols: sys::open(path)?, progress, skip_third: false };
        call!(api, init).map_err(Fault::reason)?;
        api.skip_third = api.driver_version().is_ok_and(|version| long_entries(&version));
        Ok(api)
    }

    pub(super) fn shutdown(&self) {
        // The process is about to end: a driver that cannot shut down changes nothing.
        let _ = call!(self, shutdown);
    }

    pub(super) fn driver_version(&self) -> Result<String, Fault> {
        let mut text = [0 as c_char; 80];
        call!(self, driver_version, text.as_mut_ptr(), 80).map(|()| string(&text))
    }

    pub(super) fn count(&self) -> Result<u32, Fault> {
        let mut count = 0;
        call!(self, count, &mut count).map(|()| count)
    }

    pub(super) fn handle(&self, index: u32) -> Result<Device, Fault> {
        let mut handle = std::ptr::null_mut();
        call!(self, handle, index, &mut handle).map(|()| handle)
    }

    pub(super) fn name(&self, device: Device) -> Result<String, Fault> {
        let mut text = [0 as c_char; 96];
        call!(self, name, device, text.as_mut_ptr(), 96).map(|()| string(&text))
    }

    pub(super) fn uuid(&self, device: Device) -> Result<String, Fault> {
        let mut text = [0 as c_char; 96];
        call!(self, uuid, device, text.as_mut_ptr(), 96).map(|()| string(&text))
    }

    /// The address as the kernel writes it: `0000:65:00.0`.
    pub(super) fn pci_id(&self, device: Device) -> Result<String, Fault> {
        let mut info = sys::PciInfo {
            bus_id_legacy: [0; 16],
            domain: 0,
            bus: 0,
            device: 0,
            pci_device_id: 0,
            pci_subsystem_id: 0,
            bus_id: [0; 32],
        };
        let third = call!(self, pci_v3, device, &mut info);
        if third.is_err() {
            call!(self, pci_old, device, &mut info).map_err(|old| third.err().unwrap_or(old))?;
        }
        Ok(format!("{:04x}:{:02x}:{:02x}.0", info.domain, info.bus, info.device))
    }

    /// The second version tells the driver's reserve apart from what is used.
    pub(super) fn memory(&self, device: Device) -> Result<Memory, Fault> {
        let mut second = sys::MemoryV2 { version: sys::MEMORY_V2_VERSION, ..sys::MemoryV2::default() };
        let Err(lack) = call!(self, memory_v2, device, &mut second) else {
            return Ok(Memory { total: second.total, used: second.used, free: second.free, lack: None });
        };
        // A device in this state answers no other function either.
        if matches!(lack.code, sys::GPU_IS_LOST | sys::RESET_REQUIRED) {
            return Err(lack);
        }
        let mut first = sys::Memory::default();
        call!(self, memory, device, &mut first)?;
        Ok(Memory { total: first.total, used: first.used, free: first.free, lack: Some(lack) })
    }

    /// Per cent of GPU and of memory controller.
    pub(super) fn utilization(&self, device: Device) -> Result<(u64, u64), Fault> {
        let mut value = sys::Utilization::default();
        call!(self, utilization, device, &mut value).map(|()| (u64::from(value.gpu), u64::from(value.memory)))
    }

    pub(super) fn power_mw(&self, device: Device) -> Result<u64, Fault> {
        let mut value = 0;
        call!(self, power, device, &mut value).map(|()| u64::from(value))
    }

    pub(super) fn energy_mj(&self, device: Device) -> Result<u64, Fault> {
        let mut value = 0;
        call!(self, energy, device, &mut value).map(|()| value)
    }

    pub(super) fn temperature_c(&self, device: Device) -> Result<u64, Fault> {
        let mut value = 0;
        call!(self, temperature, device, sys::TEMPERATURE_GPU, &mut value).map(|()| u64::from(value))
    }

    pub(super) fn clock_mhz(&self, device: Device, memory: bool) -> Result<u64, Fault> {
        let mut value = 0;
        let kind = if memory { sys::CLOCK_MEM } else { sys::CLOCK_SM };
        call!(self, clock, device, kind, &mut value).map(|()| u64::from(value))
    }

    pub(super) fn throttle_bits(&self, device: Device) -> Result<u64, Fault> {
        let mut value = 0;
        call!(self, throttle, device, &mut value).map(|()| value)
    }

    /// The driver counts for 20 ms before it answers.
    pub(super) fn pcie_kb_per_s(&self, device: Device, receive: bool) -> Result<u64, Fault> {
        let mut value = 0;
        let counter = if receive { sys::PCIE_RX } else { sys::PCIE_TX };
        call!(self, pcie, device, counter, &mut value).map(|()| u64::from(value))
    }

    /// A GPU or driver that knows no MIG has it off.
    pub(super) fn mig_enabled(&self, device: Device) -> Result<bool, Fault> {
        let (mut current, mut pending) = (0, 0);
        match call!(self, mig_mode, device, &mut current, &mut pending) {
            Ok(()) => Ok(current == 1),
            Err(Fault { code: sys::NOT_SUPPORTED | sys::FUNCTION_NOT_FOUND, .. }) => Ok(false),
            Err(fault) => Err(fault),
        }
    }

    /// The instances of a GPU; places without one are skipped, as NVML's numbering has holes.
    pub(super) fn mig_handles(&self, device: Device) -> Result<Vec<Device>, Fault> {
        let mut most = 0;
        call!(self, mig_max, device, &mut most)?;
        let handle = |index| {
            let mut handle = std::ptr::null_mut();
            call!(self, mig_handle, device, index, &mut handle).ok().map(|()| handle)
        };
        Ok((0..most.min(64)).filter_map(handle).collect())
    }

    pub(super) fn mig_ids(&self, device: Device) -> Result<(u32, u32), Fault> {
        let (mut gpu, mut compute) = (0, 0);
        call!(self, gpu_instance, device, &mut gpu)?;
        call!(self, compute_instance, device, &mut compute)?;
        Ok((gpu, compute))
    }

    /// Fills `into` with the processes of a list, through the newest version that the driver has.
    pub(super) fn processes(
        &self,
        device: Device,
        list: List,
        into: &mut Vec<sys::Process>,
    ) -> Result<(), Fault> {
        let symbols = &self.symbols;
        let (third, second, first) = match list {
            List::Compute => (symbols.compute_v3, symbols.compute_v2, symbols.compute_v1),
            List::Graphics => (symbols.graphics_v3, symbols.graphics_v2, symbols.graphics_v1),
            List::Mps => (symbols.mps_v3, symbols.mps_v2, symbols.mps_v1),
        };
        for symbol in [third, second].iter().skip(usize::from(self.skip_third)) {
            let Some(function) = symbol.function else { continue };
            // SAFETY: count and buffer are handed over as the header asks.
            let result = self.fill(symbol.name, into, |count, data| unsafe { function(device, count, data) });
            if !matches!(result, Err(Fault { code: sys::FUNCTION_NOT_FOUND, .. })) {
                return result;
            }
        }
        let Some(function) = first.function else {
            return Err(Fault { call: third.name, code: sys::FUNCTION_NOT_FOUND });
        };
        let mut old: Vec<sys::ProcessV1> = Vec::with_capacity(64);
        // SAFETY: as above, with the shorter entries of the first version.
        self.fill(first.name, &mut old, |count, data| unsafe { function(device, count, data) })?;
        into.clear();
        into.extend(old.iter().map(|entry| sys::Process {
            pid: entry.pid,
            used: entry.used,
            gpu_instance: u32::MAX,
            compute_instance: u32::MAX,
        }));
        Ok(())
    }

    /// Fills `into` with the utilisation samples newer than `since_us`. No sample is no fault.
    pub(super) fn process_samples(
        &self,
        device: Device,
        since_us: u64,
        into: &mut Vec<sys::UtilizationSample>,
    ) -> Result<(), Fault> {
        let symbol = &self.symbols.process_utilization;
        let Some(function) = symbol.function else {
            return Err(Fault { call: symbol.name, code: sys::FUNCTION_NOT_FOUND });
        };
        // SAFETY: count and buffer are handed over as the header asks.
        let result =
            self.fill(symbol.name, into, |count, data| unsafe { function(device, data, count, since_us) });
        match result {
            Err(Fault { code: sys::NOT_FOUND, .. }) => {
                into.clear();
                Ok(())
            }
            other => other,
        }
    }

    /// Whether the device tells activity.
    pub(super) fn has_gpm(&self, device: Device) -> Result<bool, Fault> {
        let mut support = sys::GpmSupport { version: 1, supported: 0 };
        call!(self, gpm_support, device, &mut support).map(|()| support.supported != 0)
    }

    pub(super) fn gpm_alloc(&self) -> Result<*mut c_void, Fault> {
        let mut sample = std::ptr::null_mut();
        call!(self, gpm_alloc, &mut sample).map(|()| sample)
    }

    /// Of the GPU, or of one of its GPU instances.
    pub(super) fn gpm_sample(
        &self,
        device: Device,
        instance: Option<u32>,
        sample: *mut c_void,
    ) -> Result<(), Fault> {
        match instance {
            Some(instance) => call!(self, gpm_instance_sample, device, instance, sample),
            None => call!(self, gpm_sample, device, sample),
        }
    }

    pub(super) fn gpm_metrics(&self, request: &mut sys::GpmRequest) -> Result<(), Fault> {
        call!(self, gpm_metrics, &mut *request)
    }

    pub(super) fn event_set(&self) -> Result<*mut c_void, Fault> {
        let mut set = std::ptr::null_mut();
        call!(self, event_set, &mut set).map(|()| set)
    }

    /// Asks for those of the events that the device can tell; which.
    pub(super) fn register_events(
        &self,
        device: Device,
        wanted: u64,
        set: *mut c_void,
    ) -> Result<u64, Fault> {
        let mut kinds = 0;
        call!(self, event_types, device, &mut kinds)?;
        match kinds & wanted {
            0 => Ok(0),
            kinds => call!(self, event_register, device, kinds, set).map(|()| kinds),
        }
    }

    /// The next event that has happened; does not wait for one.
    pub(super) fn next_event(&self, set: *mut c_void) -> Option<sys::EventData> {
        let (device, instances) = (std::ptr::null_mut(), u32::MAX);
        let mut data =
            sys::EventData { device, kind: 0, data: 0, gpu_instance: instances, compute_instance: instances };
        call!(self, event_wait, set, &mut data, 0).ok().map(|()| data)
    }

    /// Since the driver was loaded.
    pub(super) fn ecc_errors(&self, device: Device, uncorrected: bool) -> Result<u64, Fault> {
        const VOLATILE: c_uint = 0;
        let mut count = 0;
        call!(self, ecc_total, device, c_uint::from(uncorrected), VOLATILE, &mut count).map(|()| count)
    }

    /// Whether rows of its memory wait for a reset to be remapped, and whether a remapping has failed.
    pub(super) fn row_troubles(&self, device: Device) -> Result<(bool, bool), Fault> {
        let (mut corrected, mut uncorrected, mut pending, mut failed) = (0, 0, 0, 0);
        call!(self, remapped_rows, device, &mut corrected, &mut uncorrected, &mut pending, &mut failed)?;
        Ok((pending != 0, failed != 0))
    }

    pub(super) fn has_accounting(&self, device: Device) -> bool {
        let mut mode = 0;
        call!(self, accounting_mode, device, &mut mode).is_ok() && mode == 1
    }

    pub(super) fn accounting_pids(&self, device: Device, into: &mut Vec<c_uint>) -> Result<(), Fault> {
        let symbol = &self.symbols.accounting_pids;
        let Some(function) = symbol.function else {
            return Err(Fault { call: symbol.name, code: sys::FUNCTION_NOT_FOUND });
        };
        // SAFETY: count and buffer are handed over as the header asks.
        self.fill(symbol.name, into, |count, data| unsafe { function(device, count, data) })
    }

    pub(super) fn accounting_stats(&self, device: Device, pid: u32) -> Result<sys::AccountingStats, Fault> {
        let mut stats = sys::AccountingStats::default();
        call!(self, accounting_stats, device, pid, &mut stats).map(|()| stats)
    }

    /// Calls with the buffer that there is and grows it when the driver asks for more.
    fn fill<T: Copy + Default>(
        &self,
        call: &'static str,
        into: &mut Vec<T>,
        ask: impl Fn(*mut c_uint, *mut T) -> c_int,
    ) -> Result<(), Fault> {
        const MOST: usize = 1 << 16;
        into.resize(into.capacity().max(64), T::default());
        for _ in 0..4 {
            let mut count = into.len() as c_uint;
            self.progress.enter(call);
            match ask(&mut count, into.as_mut_ptr()) {
                0 => {
                    into.truncate(count as usize);
                    return Ok(());
                }
                sys::INSUFFICIENT_SIZE => {
                    // Processes may appear before the second call.
                    let wanted = (count as usize).max(into.len()) + 32;
                    into.resize(wanted.min(MOST), T::default());
                }
                code => {
                    into.clear();
                    return Err(Fault { call, code });
                }
            }
        }
        into.clear();
        Err(Fault { call, code: sys::INSUFFICIENT_SIZE })
    }
}

fn string(text: &[c_char]) -> String {
    let bytes: Vec<u8> = text.iter().map(|&c| c as u8).take_while(|&byte| byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn long_entries(version: &str) -> bool {
    let mut parts = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    parts.next() == Some(535) && parts.next().is_some_and(|minor| (43..98).contains(&minor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_drivers_with_long_entries_skip_the_third_version() {
        for (version, skip) in
            [("535.43.02", true), ("535.86.10", true), ("535.98", false), ("550.54.15", false)]
        {
            assert_eq!(long_entries(version), skip, "{version}");
        }
        assert!(!long_entries("garbage"));
    }
}
