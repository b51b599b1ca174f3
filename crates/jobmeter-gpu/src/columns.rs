//! From a snapshot to the columns of the metric table. The engine defines [`Layout::columns`] once and
//! forwards [`Layout::values`] with each tick.

use crate::device::{DeviceReading, GpuDevice};
use crate::snapshot::{GpuSnapshot, ScopeReading};
use jobmeter_model::{Column, EntityKind, Metric, Scope};

/// Metric, where it is in a reading, and the figure that a [`crate::Failure`] names when it cannot be had.
type DeviceFigure = (Metric, fn(&DeviceReading) -> Option<u64>, &'static str);
type ScopeFigure = (Metric, fn(&ScopeReading) -> Option<u64>, &'static str);

const DEVICE: &[(Of, DeviceFigure)] = &[
    (Of::All, (Metric::GpuMemoryBytes, |r| r.memory_used_bytes, "memory_used_bytes")),
    (Of::All, (Metric::GpuMemoryTotalBytes, |r| r.memory_total_bytes, "memory_used_bytes")),
    (Of::All, (Metric::GpuMemoryFreeBytes, |r| r.memory_free_bytes, "memory_used_bytes")),
    (Of::All, (Metric::GpuBusyPpm, |r| r.busy_ppm, "busy_ppm")),
    (Of::All, (Metric::GpuMemoryBusyPpm, |r| r.memory_busy_ppm, "memory_busy_ppm")),
    (Of::Whole, (Metric::GpuPowerMw, |r| r.power_mw, "power_mw")),
    (Of::Whole, (Metric::GpuEnergyUj, |r| r.energy_uj, "power_mw")),
    (Of::Whole, (Metric::GpuTemperatureMc, |r| r.temperature_mc, "temperature_mc")),
    (Of::Whole, (Metric::GpuClockSmHz, |r| r.clock_sm_hz, "clock_sm_hz")),
    (Of::Whole, (Metric::GpuClockMemoryHz, |r| r.clock_memory_hz, "clock_memory_hz")),
    (Of::Whole, (Metric::GpuThrottleBits, |r| r.throttle_bits, "throttle_bits")),
    (
        Of::Whole,
        (Metric::GpuPcieReceiveBytesPerS, |r| r.pcie_receive_bytes_per_s, "pcie_receive_bytes_per_s"),
    ),
    (
        Of::Whole,
        (Metric::GpuPcieTransmitBytesPerS, |r| r.pcie_transmit_bytes_per_s, "pcie_transmit_bytes_per_s"),
    ),
    (Of::Amd, (Metric::GpuGttBytes, |r| r.gtt_used_bytes, "gtt_used_bytes")),
    (Of::Amd, (Metric::GpuGttTotalBytes, |r| r.gtt_total_bytes, "gtt_total_bytes")),
    (Of::Active, (Metric::GpuSmActivePpm, |r| r.sm_active_ppm, ACTIVITY)),
    (Of::Active, (Metric::GpuSmOccupancyPpm, |r| r.sm_occupancy_ppm, ACTIVITY)),
    (Of::Active, (Metric::GpuTensorPpm, |r| r.tensor_ppm, ACTIVITY)),
    (Of::Active, (Metric::GpuFp64Ppm, |r| r.fp64_ppm, ACTIVITY)),
    (Of::Active, (Metric::GpuFp32Ppm, |r| r.fp32_ppm, ACTIVITY)),
    (Of::Active, (Metric::GpuFp16Ppm, |r| r.fp16_ppm, ACTIVITY)),
    (Of::Active, (Metric::GpuDramPpm, |r| r.dram_ppm, ACTIVITY)),
    (Of::Active, (Metric::GpuNvlinkReceiveBytesPerS, |r| r.nvlink_receive_bytes_per_s, ACTIVITY)),
    (Of::Active, (Metric::GpuNvlinkTransmitBytesPerS, |r| r.nvlink_transmit_bytes_per_s, ACTIVITY)),
];

/// The figure that a failure names where a device tells no activity.
pub(crate) const ACTIVITY: &str = "activity";

/// Metrics that only a device with activity figures has.
pub(crate) fn activity_metrics() -> impl Iterator<Item = Metric> {
    DEVICE.iter().filter(|(of, _)| *of == Of::Active).map(|(_, (metric, ..))| *metric)
}

/// Which devices can have a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    All,
    /// Not a MIG instance: power, temperature and the like belong to the whole GPU.
    Whole,
    /// amdgpu alone.
    Amd,
    /// Where the driver tells activity.
    Active,
}

impl Of {
    fn fits(self, device: &GpuDevice) -> bool {
        match self {
            Of::All => true,
            Of::Whole => device.mig_parent.is_none(),
            Of::Amd => device.mig_parent.is_none() && device.driver == "amdgpu",
            Of::Active => device.has_activity,
        }
    }
}

/// Places in [`DEVICE`] of the figures that a device can have.
fn places(device: &GpuDevice) -> Vec<usize> {
    (0..DEVICE.len()).filter(|place| DEVICE[*place].0.fits(device)).collect()
}

const SCOPE: &[ScopeFigure] = &[
    (Metric::GpuMemoryBytes, |r| r.memory_bytes, "process_memory"),
    (Metric::GpuBusyPpm, |r| r.busy_ppm, "process_busy"),
    (Metric::GpuMemoryBusyPpm, |r| r.memory_busy_ppm, "process_memory_busy"),
];

/// Figures of which a sum over devices means something.
const SUMMED: &[Metric] = &[
    Metric::GpuMemoryBytes,
    Metric::GpuMemoryTotalBytes,
    Metric::GpuBusyPpm,
    Metric::GpuPowerMw,
    Metric::GpuEnergyUj,
];

/// The columns of a device list: sums over the selected devices first, then each selected device.
pub struct Layout {
    columns: Vec<Column>,
    /// Per column, the figure that a failure would name.
    figures: Vec<&'static str>,
    selected: Vec<usize>,
    /// A MIG GPU and its instances hold the same memory: count the GPU, not the instances, in machine sums.
    in_sum: Vec<bool>,
    /// Per device: places in [`DEVICE`] of the figures that it can have.
    places: Vec<Vec<usize>>,
    /// Per device and figure.
    told: Vec<Told>,
    scope_told: Vec<Told>,
}

/// A figure that a device is known not to tell is left out of sums; one that is only missing now makes them
/// unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    NotYet,
    Never,
    Once,
}

impl Told {
    fn update(&mut self, is_there: bool, fails: impl FnOnce() -> bool) {
        if is_there {
            *self = Told::Once;
        } else if *self == Told::NotYet && fails() {
            *self = Told::Never;
        }
    }
}

impl Layout {
    /// The columns that these devices have.
    pub fn new(devices: &[GpuDevice]) -> Layout {
        let selected: Vec<usize> = (0..devices.len()).filter(|&index| devices[index].selected).collect();
        let parent_selected = |device: &GpuDevice| {
            devices.iter().any(|d| d.selected && device.mig_parent.as_ref() == Some(&d.uuid))
        };
        let mut columns: Vec<Column> =
            SUMMED.iter().map(|&metric| Column::of(Scope::System, metric)).collect();
        let mut names: Vec<&'static str> = vec![""; SUMMED.len()];
        for scope in Scope::JOB {
            columns.extend(SCOPE.iter().map(|(metric, ..)| Column::of(scope, *metric)));
            names.extend(SCOPE.iter().map(|(.., name)| name));
        }
        for &index in &selected {
            let device = &devices[index];
            let figures: Vec<DeviceFigure> =
                places(device).into_iter().map(|place| DEVICE[place].1).collect();
            let entity = |scope, metric| Column::entity(scope, metric, EntityKind::Gpu, &device.uuid);
            columns.extend(figures.iter().map(|(metric, ..)| entity(Scope::System, *metric)));
            names.extend(figures.iter().map(|(.., name)| *name));
            for scope in Scope::JOB {
                columns.extend(SCOPE.iter().map(|(metric, ..)| entity(scope, *metric)));
                names.extend(SCOPE.iter().map(|(.., name)| name));
            }
        }
        Layout {
            columns,
            figures: names,
            in_sum: devices.iter().map(|device| !parent_selected(device)).collect(),
            places: devices.iter().map(places).collect(),
            selected,
            told: vec![Told::NotYet; devices.len() * DEVICE.len()],
            scope_told: vec![Told::NotYet; devices.len() * SCOPE.len()],
        }
    }

    pub(crate) fn device_count(&self) -> usize {
        self.places.len()
    }

    /// The columns, in their order.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Why a column has no value, if a failure tells.
    pub(crate) fn reason(&self, index: usize, snapshot: &GpuSnapshot) -> Option<String> {
        let uuid = self.columns.get(index)?.entity.as_ref().map(|entity| entity.name.as_str());
        let figure = self.figures[index];
        let failure = snapshot.failures.iter().find(|f| f.figure == figure && f.uuid.as_deref() == uuid)?;
        Some(failure.reason.clone())
    }

    /// Appends one value per column, in their order. A snapshot of another device list gives `None` only.
    pub fn values(&mut self, snapshot: &GpuSnapshot, out: &mut Vec<Option<u64>>) {
        if snapshot.readings.len() != self.places.len() || snapshot.scopes.len() != self.places.len() {
            out.extend(self.columns.iter().map(|_| None));
            return;
        }
        self.remember(snapshot);
        for &metric in SUMMED {
            out.push(self.machine_sum(snapshot, metric));
        }
        for scope in 0..Scope::JOB.len() {
            for figure in 0..SCOPE.len() {
                out.push(self.scope_sum(snapshot, scope, figure));
            }
        }
        for &index in &self.selected {
            let places = &self.places[index];
            out.extend(places.iter().map(|place| DEVICE[*place].1.1(&snapshot.readings[index])));
            for reading in &snapshot.scopes[index] {
                out.extend(SCOPE.iter().map(|(_, get, _)| get(reading)));
            }
        }
    }

    /// The same with the columns beside the values.
    pub fn pairs(&mut self, snapshot: &GpuSnapshot) -> Vec<(Column, Option<u64>)> {
        let mut values = Vec::with_capacity(self.columns.len());
        self.values(snapshot, &mut values);
        self.columns.iter().cloned().zip(values).collect()
    }

    fn remember(&mut self, snapshot: &GpuSnapshot) {
        for &index in &self.selected {
            let uuid = snapshot.devices.get(index).map(|device| device.uuid.as_str());
            let fails =
                |name: &str| snapshot.failures.iter().any(|f| f.figure == name && f.uuid.as_deref() == uuid);
            for (figure, (_, (_, get, name))) in DEVICE.iter().enumerate() {
                let is_there = get(&snapshot.readings[index]).is_some();
                self.told[index * DEVICE.len() + figure].update(is_there, || fails(name));
            }
            for (figure, (_, get, name)) in SCOPE.iter().enumerate() {
                let is_there = get(&snapshot.scopes[index][2]).is_some();
                self.scope_told[index * SCOPE.len() + figure].update(is_there, || fails(name));
            }
        }
    }

    fn machine_sum(&self, snapshot: &GpuSnapshot, metric: Metric) -> Option<u64> {
        let figure = DEVICE.iter().position(|(_, (known, ..))| *known == metric)?;
        let parts = self.selected.iter().filter(|&&index| self.in_sum[index]);
        let told = parts.filter(|&&index| self.told[index * DEVICE.len() + figure] != Told::Never);
        sum(told.map(|&index| DEVICE[figure].1.1(&snapshot.readings[index])))
    }

    fn scope_sum(&self, snapshot: &GpuSnapshot, scope: usize, figure: usize) -> Option<u64> {
        let told = |index: usize| self.scope_told[index * SCOPE.len() + figure] != Told::Never;
        let parts = self.selected.iter().filter(|&&index| told(index));
        sum(parts.map(|&index| SCOPE[figure].1(&snapshot.scopes[index][scope])))
    }
}

/// Unknown when a part is, and when there is no part.
fn sum(parts: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    let mut total = None;
    for part in parts {
        total = Some(u64::saturating_add(total.unwrap_or(0), part?));
    }
    total
}
