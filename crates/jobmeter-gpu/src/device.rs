//! A GPU (or MIG instance): what is constant about it, and one reading of it.

use crate::config::Brand;
use std::collections::BTreeMap;

/// What is known of a GPU for as long as it is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GpuDevice {
    /// The driver's UUID (`GPU-…`, `MIG-…`); `pci-ADDRESS` where the driver has none. Unique in a list.
    pub uuid: String,
    /// Who made it.
    pub brand: Brand,
    /// As the driver names it.
    pub name: String,
    /// `nvml`, `amdgpu`, `i915`, `xe` …
    pub driver: String,
    /// Of the driver that told it.
    pub driver_version: Option<String>,
    /// `0000:65:00.0`
    pub pci_id: Option<String>,
    /// Index in the driver's own order.
    pub index: u32,
    /// UUID of the GPU that this MIG instance is a part of.
    pub mig_parent: Option<String>,
    /// (GPU instance, compute instance) of a MIG instance.
    pub mig_ids: Option<(u32, u32)>,
    /// MIG mode is on: processes live in the instances, not here.
    pub mig_enabled: bool,
    /// Its memory.
    pub memory_total_bytes: Option<u64>,
    /// Whether the job can see it; `None` where that cannot be told (CUDA's own order of unlike devices).
    pub visible: Option<bool>,
    /// Chosen by `--gpu-uuids` and `--gpu-brand` (all by default).
    pub selected: bool,
    /// How `energy_uj` comes about: `driver counter` or `integrated power`.
    pub energy_method: Option<&'static str>,
    /// The driver tells activity (GPM) of it.
    pub has_activity: bool,
    /// The device's only process was taken for the job's: its number could not be translated.
    pub is_guessed: bool,
}

impl GpuDevice {
    /// Whether a user means this device: its UUID in any case, and for AMD also the UUID as amd-smi spells it and the
    /// plain number that rocm-smi prints.
    pub fn is_called(&self, name: &str) -> bool {
        if self.uuid.eq_ignore_ascii_case(name) {
            return true;
        }
        let Some(own) = self.uuid.strip_prefix("GPU-").filter(|_| self.brand == Brand::Amd) else {
            return false;
        };
        let plain = name.strip_prefix("0x").or(name.strip_prefix("0X")).unwrap_or(name);
        own.eq_ignore_ascii_case(plain)
            || amd_smi_number(name).is_some_and(|tail| {
                own.len() > tail.len() && own.to_ascii_lowercase().ends_with(&tail.to_ascii_lowercase())
            })
    }

    /// The constants as text, for the summary's `facts`.
    pub fn facts(&self) -> BTreeMap<String, String> {
        let mut facts = BTreeMap::new();
        let mut put = |key: &str, value: Option<String>| {
            if let Some(value) = value {
                facts.insert(key.to_owned(), value);
            }
        };
        put("brand", Some(self.brand.key().to_owned()));
        put("name", Some(self.name.clone()));
        put("driver", Some(self.driver.clone()));
        put("driver_version", self.driver_version.clone());
        put("pci_id", self.pci_id.clone());
        put("index", Some(self.index.to_string()));
        put("mig_parent", self.mig_parent.clone());
        put("mig_ids", self.mig_ids.map(|(gpu, compute)| format!("{gpu}/{compute}")));
        put("mig_enabled", self.mig_enabled.then(|| "yes".to_owned()));
        put("memory_total_bytes", self.memory_total_bytes.map(|bytes| bytes.to_string()));
        let visible = match self.visible {
            Some(true) => "yes",
            Some(false) => "no",
            None => "unknown",
        };
        put("visible", Some(visible.to_owned()));
        put("selected", Some(if self.selected { "yes" } else { "no" }.to_owned()));
        put("process_numbers", self.is_guessed.then(|| "guessed".to_owned()));
        put("energy_method", self.energy_method.map(str::to_owned));
        facts
    }
}

/// The low 48 bits of a GPU's number, which are the last group of the UUID that amd-smi makes of it; the groups before
/// hold the model, and the rest of the number among fixed digits.
fn amd_smi_number(name: &str) -> Option<&str> {
    let groups: Vec<&str> = name.split('-').collect();
    let lengths: Vec<usize> = groups.iter().map(|group| group.len()).collect();
    let is_hex = groups.iter().all(|group| group.bytes().all(|byte| byte.is_ascii_hexdigit()));
    (lengths == [8, 4, 4, 4, 12] && is_hex).then(|| groups[4])
}

/// What one device said at one moment. Every figure may be missing; [`crate::Failure`] says why. As many fields as a driver
/// has figures: each is asked for by a call of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeviceReading {
    /// Share of time that any kernel ran, over the driver's own last sample period.
    pub busy_ppm: Option<u64>,
    /// Share of time that the memory controller was busy.
    pub memory_busy_ppm: Option<u64>,
    /// Capacity of its memory.
    pub memory_total_bytes: Option<u64>,
    /// In use by all processes; the driver's own reserve left out where it tells it apart.
    pub memory_used_bytes: Option<u64>,
    /// Memory that is free.
    pub memory_free_bytes: Option<u64>,
    /// System memory that the GPU can map, and what it maps of it (amdgpu).
    pub gtt_total_bytes: Option<u64>,
    /// System memory that the GPU maps.
    pub gtt_used_bytes: Option<u64>,
    /// Power of the board.
    pub power_mw: Option<u64>,
    /// Since the first sample of this monitor.
    pub energy_uj: Option<u64>,
    /// Temperature of the chip.
    pub temperature_mc: Option<u64>,
    /// Clock of the cores.
    pub clock_sm_hz: Option<u64>,
    /// Clock of the memory.
    pub clock_memory_hz: Option<u64>,
    /// NVML clocks event reasons, as the driver gives them.
    pub throttle_bits: Option<u64>,
    /// Received over PCIe.
    pub pcie_receive_bytes_per_s: Option<u64>,
    /// Sent over PCIe.
    pub pcie_transmit_bytes_per_s: Option<u64>,
    /// Received over NVLink.
    pub nvlink_receive_bytes_per_s: Option<u64>,
    /// Sent over NVLink.
    pub nvlink_transmit_bytes_per_s: Option<u64>,
    /// Activity by GPM, over at least 100 ms.
    pub sm_active_ppm: Option<u64>,
    /// Warps in residence, as a share of the most that fit.
    pub sm_occupancy_ppm: Option<u64>,
    /// Share of time that the tensor pipes issued.
    pub tensor_ppm: Option<u64>,
    /// Share of time that the FP64 pipe issued.
    pub fp64_ppm: Option<u64>,
    /// Share of time that the FP32 pipe issued.
    pub fp32_ppm: Option<u64>,
    /// Share of time that the FP16 pipe issued.
    pub fp16_ppm: Option<u64>,
    /// Share of the memory's bandwidth in use.
    pub dram_ppm: Option<u64>,
    /// ECC errors since the first sample.
    pub ecc_corrected: Option<u64>,
    /// Memory errors that ECC could not correct.
    pub ecc_uncorrected: Option<u64>,
    /// XIDs since the first sample; unknown where the driver reports no events.
    pub xid_events: Option<u64>,
    /// The driver's own peak of one process of the job, where accounting mode is on.
    pub accounted_peak_bytes: Option<u64>,
    /// The driver said that the device is gone.
    pub lost: bool,
    /// The card sleeps and was not asked.
    pub asleep: bool,
}
