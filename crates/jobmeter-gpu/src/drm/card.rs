//! One card in sysfs: which files it has, and one reading of them.

use crate::asleep;
use crate::attribute::Coverage;
use crate::config::Brand;
use crate::device::{DeviceReading, GpuDevice};
use crate::energy::EnergyMeter;
use crate::gather::Gather;
use crate::textfile;
use std::io::Read;
use std::path::{Path, PathBuf};

pub(super) struct Card {
    pub(super) slot: usize,
    pub(super) driver: String,
    /// `0000:03:00.0`: clients name their card by it.
    pub(super) pci_id: String,
    pub(super) lost: bool,
    pub(super) asleep: bool,
    /// Its memory is that of the system: what it maps there counts as its own.
    pub(super) is_apu: bool,
    /// `card0`, `renderD128`: what its descriptors are opened by.
    pub(super) nodes: Vec<String>,
    device: PathBuf,
    figures: Vec<(Figure, Option<PathBuf>)>,
    energy: EnergyMeter,
    /// Time and counter of the last sample, where power has to be made from energy.
    last_energy: Option<(u64, u64)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Figure {
    Busy,
    MemoryBusy,
    MemoryTotal,
    MemoryUsed,
    GttTotal,
    GttUsed,
    Power,
    Energy,
    Temperature,
    Clock,
    ClockMemory,
}

struct Row {
    figure: Figure,
    name: &'static str,
    /// File names in order of preference; `hwmon/` stands for the card's hwmon folder.
    files: &'static [&'static str],
}

/// Where drivers put their figures, relative to the card's device folder.
const FILES: &[Row] = &[
    Row { figure: Figure::Busy, name: "busy_ppm", files: &["gpu_busy_percent"] },
    Row { figure: Figure::MemoryBusy, name: "memory_busy_ppm", files: &["mem_busy_percent"] },
    Row {
        figure: Figure::MemoryTotal,
        name: "memory_total_bytes",
        files: &["mem_info_vram_total", "lmem_total_bytes", "tile0/physical_vram_size_bytes"],
    },
    Row { figure: Figure::MemoryUsed, name: "memory_used_bytes", files: &["mem_info_vram_used"] },
    Row { figure: Figure::GttTotal, name: "gtt_total_bytes", files: &["mem_info_gtt_total"] },
    Row { figure: Figure::GttUsed, name: "gtt_used_bytes", files: &["mem_info_gtt_used"] },
    Row { figure: Figure::Power, name: "power_mw", files: &["hwmon/power1_average", "hwmon/power1_input"] },
    Row {
        figure: Figure::Energy,
        name: "energy_counter",
        files: &["hwmon/energy1_input", "hwmon/energy2_input"],
    },
    Row {
        figure: Figure::Temperature,
        name: "temperature_mc",
        files: &["hwmon/temp1_input", "hwmon/temp2_input"],
    },
    Row {
        figure: Figure::Clock,
        name: "clock_sm_hz",
        files: &[
            "hwmon/freq1_input",
            "tile0/gt0/freq0/act_freq",
            "gt/gt0/rps_act_freq_mhz",
            "gt_act_freq_mhz",
        ],
    },
    Row { figure: Figure::ClockMemory, name: "clock_memory_hz", files: &["hwmon/freq2_input"] },
];

impl Card {
    /// `None` for what is no GPU of ours: NVIDIA's own driver (NVML tells more) and plain displays.
    pub(super) fn find(folder: &Path, index: u32) -> Option<(Card, GpuDevice)> {
        let device = folder.join("device");
        let uevent = textfile::read(&device.join("uevent")).ok()?;
        let value = |key: &str| {
            uevent.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('=')).map(str::to_owned)
        };
        let driver = value("DRIVER")?;
        if driver.starts_with("nvidia") || !renders(&device) {
            return None;
        }
        let pci_id = value("PCI_SLOT_NAME").unwrap_or_default();
        let brand = match textfile::line(&device.join("vendor")).as_deref() {
            Ok("0x1002") => Brand::Amd,
            Ok("0x8086") => Brand::Intel,
            Ok("0x10de") => Brand::Nvidia,
            _ => Brand::Other,
        };
        let hwmon = first_folder(&device.join("hwmon"));
        let figures: Vec<_> =
            FILES.iter().map(|row| (row.figure, choose(folder, &device, &hwmon, row))).collect();
        let memory_total_bytes = figures
            .iter()
            .find(|(figure, _)| *figure == Figure::MemoryTotal)
            .and_then(|(_, path)| textfile::number(path.as_ref()?).ok());
        let unique = textfile::line(&device.join("unique_id")).ok().filter(|id| !id.is_empty());
        let uuid = match unique {
            Some(id) => format!("GPU-{id}"),
            None if !pci_id.is_empty() => format!("pci-{pci_id}"),
            None => format!("drm-{}", folder.file_name()?.to_string_lossy()),
        };
        let product = textfile::line(&device.join("product_name")).ok().filter(|name| !name.is_empty());
        let maker = match brand {
            Brand::Amd => "AMD GPU",
            Brand::Intel => "Intel GPU",
            _ => "GPU",
        };
        let name = product.unwrap_or_else(|| match value("PCI_ID") {
            Some(id) => format!("{maker} {}", id.to_ascii_lowercase()),
            None => maker.to_owned(),
        });
        let described = GpuDevice {
            uuid,
            brand,
            name,
            driver: driver.clone(),
            driver_version: None,
            pci_id: (!pci_id.is_empty()).then(|| pci_id.clone()),
            index,
            mig_parent: None,
            mig_ids: None,
            mig_enabled: false,
            memory_total_bytes,
            visible: None,
            selected: true,
            energy_method: None,
            has_activity: false,
            is_guessed: false,
        };
        let card = Card {
            slot: 0,
            driver,
            pci_id,
            lost: false,
            asleep: false,
            is_apu: driver_is_apu(&device),
            nodes: nodes(&device),
            device,
            figures,
            energy: EnergyMeter::default(),
            last_energy: None,
        };
        Some((card, described))
    }

    pub(super) fn sample(&mut self, gather: &mut Gather<'_>) {
        if self.lost || !self.device.join("uevent").exists() {
            self.lose(gather);
            return;
        }
        // What processes hold is told by their descriptors; the scan takes this back where it may not look.
        gather.coverage[self.slot] = Coverage { memory: true, busy: true, memory_busy: false };
        gather.fail(self.slot, "process_memory_busy", || "DRM does not count it".to_owned());
        self.asleep = asleep::is_asleep(&self.device.join("power/runtime_status"));
        if self.asleep {
            // Reading its sensors would wake it up; asleep it does nothing.
            let busy_ppm = Some(0);
            gather.readings[self.slot] = DeviceReading { busy_ppm, asleep: true, ..Default::default() };
            for row in FILES.iter().filter(|row| row.figure != Figure::Busy && self.may_have(row.figure)) {
                gather.fail(self.slot, row.name, || asleep::NOT_READ.to_owned());
            }
            return;
        }
        let mut reading = DeviceReading::default();
        let mut counter_uj = None;
        let mut power_file = false;
        for ((figure, path), row) in self.figures.iter().zip(FILES) {
            let Some(path) = path else {
                if self.may_have(*figure) {
                    let driver = &self.driver;
                    gather.fail(self.slot, row.name, || format!("{driver} publishes none in sysfs"));
                }
                continue;
            };
            power_file |= *figure == Figure::Power;
            match textfile::number(path) {
                Ok(value) => take(&mut reading, &mut counter_uj, *figure, path, value),
                Err(error) => gather.fail(self.slot, row.name, || textfile::reason(path, &error)),
            }
        }
        if self.is_apu {
            let both = |own: Option<u64>, mapped: Option<u64>| Some(own? + mapped.unwrap_or(0));
            reading.memory_total_bytes = both(reading.memory_total_bytes, reading.gtt_total_bytes);
            reading.memory_used_bytes = both(reading.memory_used_bytes, reading.gtt_used_bytes);
        }
        if let (Some(total), Some(used)) = (reading.memory_total_bytes, reading.memory_used_bytes) {
            reading.memory_free_bytes = Some(total.saturating_sub(used));
        }
        if !power_file && let Some(now_uj) = counter_uj {
            reading.power_mw = self.mean_power_mw(gather.t_ns, now_uj);
        }
        reading.energy_uj = self.energy.step(gather.t_ns, counter_uj, reading.power_mw);
        gather.energy_methods[self.slot] = self.energy.method();
        gather.readings[self.slot] = reading;
    }

    pub(super) fn is_woken_by_fdinfo(&self) -> bool {
        self.asleep && self.driver == "xe"
    }

    /// Only amdgpu tells what it maps of the system's memory.
    fn may_have(&self, figure: Figure) -> bool {
        !matches!(figure, Figure::GttTotal | Figure::GttUsed) || self.driver == "amdgpu"
    }

    /// Power since the last sample, for drivers that count energy only.
    fn mean_power_mw(&mut self, t_ns: u64, now_uj: u64) -> Option<u64> {
        let (before_ns, before_uj) = self.last_energy.replace((t_ns, now_uj))?;
        let span_ns = t_ns.checked_sub(before_ns).filter(|&span| span > 0)?;
        let grown_uj = now_uj.checked_sub(before_uj)?;
        u64::try_from(u128::from(grown_uj) * 1_000_000 / u128::from(span_ns)).ok()
    }

    fn lose(&mut self, gather: &mut Gather<'_>) {
        gather.readings[self.slot].lost = true;
        if !self.lost {
            self.lost = true;
            let uuid = &gather.devices[self.slot].uuid;
            let text = format!("GPU {uuid} disappeared from sysfs during the run; its figures end here");
            gather.notes.warn("gpu_lost", text);
        }
    }
}

fn take(reading: &mut DeviceReading, counter_uj: &mut Option<u64>, figure: Figure, path: &Path, value: u64) {
    match figure {
        Figure::Busy => reading.busy_ppm = Some(value.min(100) * 10_000),
        Figure::MemoryBusy => reading.memory_busy_ppm = Some(value.min(100) * 10_000),
        Figure::MemoryTotal => reading.memory_total_bytes = Some(value),
        Figure::MemoryUsed => reading.memory_used_bytes = Some(value),
        Figure::GttTotal => reading.gtt_total_bytes = Some(value),
        Figure::GttUsed => reading.gtt_used_bytes = Some(value),
        // hwmon gives microwatts.
        Figure::Power => reading.power_mw = Some(value / 1000),
        Figure::Energy => *counter_uj = Some(value),
        Figure::Temperature => reading.temperature_mc = Some(value),
        Figure::ClockMemory => reading.clock_memory_hz = Some(value),
        Figure::Clock => {
            // hwmon gives hertz, the Intel files megahertz.
            let in_hz = path.file_name().is_some_and(|name| name == "freq1_input");
            reading.clock_sm_hz = Some(if in_hz { value } else { value * 1_000_000 });
        }
    }
}

/// The metrics table of amdgpu has another format for GPUs that are part of a processor: from 2 on.
fn driver_is_apu(device: &Path) -> bool {
    // Asking for the table would wake it up.
    if asleep::is_asleep(&device.join("power/runtime_status")) {
        return false;
    }
    let mut head = [0; 4];
    let read =
        std::fs::File::open(device.join("gpu_metrics")).and_then(|mut file| file.read_exact(&mut head));
    read.is_ok() && head[2] >= 2
}

/// A GPU that programs can use has a render node; the display of a server's management board has not.
fn renders(device: &Path) -> bool {
    nodes(device).iter().any(|name| name.starts_with("renderD"))
}

fn nodes(device: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(device.join("drm")).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

fn first_folder(path: &Path) -> Option<PathBuf> {
    let mut folders: Vec<PathBuf> =
        std::fs::read_dir(path).ok()?.flatten().map(|entry| entry.path()).collect();
    folders.sort();
    folders.into_iter().next()
}

fn choose(card: &Path, device: &Path, hwmon: &Option<PathBuf>, row: &Row) -> Option<PathBuf> {
    row.files.iter().find_map(|file| {
        let candidates = match file.strip_prefix("hwmon/") {
            Some(name) => [hwmon.as_ref()?.join(name), PathBuf::new()],
            // i915 keeps some files beside the connectors instead of below the device.
            None => [device.join(file), card.join(file)],
        };
        candidates.into_iter().find(|path| path.is_file())
    })
}
