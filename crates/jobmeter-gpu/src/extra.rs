//! The GPU monitor and powercap as sources of the engine's tick.

use crate::columns::Layout;
use crate::config::GpuConfig;
use crate::device::GpuDevice;
use crate::error::GpuError;
use crate::health::{self, Health};
use crate::identity::Member;
use crate::idle::Idleness;
use crate::monitor::{GpuMonitor, Listing, Stopped};
use crate::powercap::Powercap;
use crate::snapshot::{GpuSnapshot, Status};
use crate::throttle::Throttling;
use crate::used::{Use, Uses};
use jobmeter_engine::linux::sys::monotonic_ns;
use jobmeter_engine::meter::{Extra, Member as EngineMember};
use jobmeter_model::WarningKind;
use jobmeter_model::metric::{Column, Metric, Scope};
use jobmeter_model::summary::{EntityFigures, Figure, Figures, Source, Warning};
use jobmeter_model::units::format_duration_ns;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A snapshot that has not been renewed for so long says nothing of now.
const STALE_AFTER: Duration = Duration::from_secs(3);
/// How long the end of the run waits for the driver to shut down.
const PATIENCE: Duration = Duration::from_millis(20);
/// A sample that takes longer than this at the end of the run is worth a word.
const SLOW_MS: u64 = 1000;

/// The GPUs as an extra source of a meter.
pub struct GpuExtra {
    monitor: Option<GpuMonitor>,
    layout: Option<Layout>,
    latest: Option<(Arc<GpuSnapshot>, Instant)>,
    /// How many samples were asked for.
    ordered: u64,
    values: Vec<Option<u64>>,
    /// Per column: had a value at some tick.
    told: Vec<bool>,
    use_of: Uses,
    throttling: Throttling,
    idleness: Idleness,
    health: Health,
    /// When it was started, on the monotonic clock: warnings say how long after.
    started_ns: u64,
    warned: usize,
    /// Kinds of trouble with the driver that were warned of.
    told_trouble: Vec<WarningKind>,
    warnings: Vec<Warning>,
}

impl GpuExtra {
    /// Starts the monitor and returns at once; call it when the job has been started. `None`: switched off,
    /// or no trace of a GPU.
    pub fn start(config: GpuConfig) -> Result<Option<GpuExtra>, GpuError> {
        Ok(GpuMonitor::start(config)?.map(|monitor| GpuExtra {
            monitor: Some(monitor),
            layout: None,
            latest: None,
            ordered: 0,
            values: Vec::new(),
            told: Vec::new(),
            use_of: Uses::default(),
            throttling: Throttling::default(),
            idleness: Idleness::default(),
            health: Health::default(),
            started_ns: monotonic_ns(),
            warned: 0,
            told_trouble: Vec::new(),
            warnings: Vec::new(),
        }))
    }

    /// To learn of the devices as soon as the driver has told them; `None` once finished.
    pub fn listing(&self) -> Option<Listing> {
        self.monitor.as_ref().map(GpuMonitor::listing)
    }

    /// With its time: trouble is looked for in logs by the moment.
    fn warn(&mut self, kind: &str, text: &str, at_ns: u64) {
        let after = format_duration_ns(at_ns.saturating_sub(self.started_ns));
        self.warnings.push(Warning { kind: kind.into(), text: format!("{text} ({after} after the start)") });
    }

    fn take(&mut self, snapshot: Arc<GpuSnapshot>) {
        let is_new = self.latest.as_ref().is_none_or(|(known, _)| known.sequence != snapshot.sequence);
        if is_new {
            self.use_of.take(&snapshot);
            let held = self.throttling.take(&snapshot);
            for (kind, text) in held {
                self.warn(kind, &text, snapshot.monotonic_ns);
            }
            self.idleness.take(&snapshot);
            self.health.take(&snapshot);
            for warning in snapshot.warnings.iter().skip(self.warned) {
                self.warn(warning.kind, &warning.text, warning.monotonic_ns);
            }
            self.warned = snapshot.warnings.len();
            self.latest = Some((snapshot, Instant::now()));
        }
        let Some((snapshot, since)) = &self.latest else { return };
        // Devices that come later stand behind those that are known, and so do their columns.
        let is_grown =
            self.layout.as_ref().is_none_or(|layout| layout.device_count() < snapshot.devices.len());
        if is_grown {
            self.layout = Some(Layout::new(&snapshot.devices));
        }
        let Some(layout) = &mut self.layout else { return };
        self.values.clear();
        if since.elapsed() > STALE_AFTER {
            self.values.resize(layout.columns().len(), None);
            return;
        }
        layout.values(snapshot, &mut self.values);
        self.told.resize(self.values.len(), false);
        for (told, value) in self.told.iter_mut().zip(&self.values) {
            *told |= value.is_some();
        }
    }
}

impl Extra for GpuExtra {
    fn tick(&mut self, _t_ns: u64, members: &[EngineMember]) {
        let Some(monitor) = &self.monitor else { return };
        monitor.set_processes(
            members.iter().map(|member| Member { id: member.id, main: member.is_main }).collect(),
        );
        // One sample at a time, and each is looked at: what a process did between two samples is told by the second one
        // only, so a sample that the next one replaced unseen would take that work with it.
        let latest = monitor.latest();
        let answered = latest.as_ref().map_or(0, |snapshot| snapshot.sequence);
        if answered == self.ordered {
            self.ordered += 1;
            monitor.request();
        }
        let trouble = match monitor.status() {
            status @ Status::Hung { .. } => Some((WarningKind::GpuHung, status)),
            status @ Status::Lost { .. } => Some((WarningKind::GpuDriverLost, status)),
            _ => None,
        };
        let is_lost = trouble.as_ref().is_some_and(|(kind, _)| *kind == WarningKind::GpuDriverLost);
        if let Some((kind, status)) = trouble.filter(|(kind, _)| !self.told_trouble.contains(kind)) {
            self.told_trouble.push(kind.clone());
            let text = status.reason().unwrap_or_default();
            self.warnings.push(Warning { kind, text });
        }
        if is_lost {
            // What it told last says nothing of now.
            self.values.fill(None);
            return;
        }
        // Where all cards sleep there is nothing to tell.
        if let Some(snapshot) = latest.filter(|snapshot| !snapshot.devices.is_empty()) {
            self.take(snapshot);
        }
    }

    fn columns(&self) -> &[Column] {
        self.layout.as_ref().map_or(&[], Layout::columns)
    }

    fn values(&self) -> &[Option<u64>] {
        &self.values
    }

    fn take_warnings(&mut self) -> Vec<Warning> {
        std::mem::take(&mut self.warnings)
    }

    fn finish(&mut self) -> (Vec<Source>, Vec<EntityFigures>) {
        let Some(monitor) = self.monitor.take() else { return (Vec::new(), Vec::new()) };
        let devices = monitor.devices().unwrap_or_default();
        let asleep = monitor.asleep();
        let trouble = match monitor.stop(PATIENCE) {
            Stopped::Clean { failure } => failure,
            // After good samples, one under way or a slow shutdown is nobody's concern; a hang is.
            Stopped::LeftBehind { for_ms, .. } if self.latest.is_some() && for_ms < SLOW_MS => None,
            Stopped::LeftBehind { reason, .. } => Some(reason),
        };
        // What the job did after the last answer of the driver is not known.
        let is_old = self.latest.as_ref().is_some_and(|(_, since)| since.elapsed() > STALE_AFTER);
        if trouble.is_some() || is_old {
            self.use_of.doubt();
        }
        (self.sources(&devices, trouble, asleep), self.entities())
    }
}

impl GpuExtra {
    fn sources(&self, devices: &[GpuDevice], trouble: Option<String>, asleep: Option<String>) -> Vec<Source> {
        let mut sources = Vec::new();
        if let Some(detail) = asleep {
            sources.push(Source { name: "nvml".to_owned(), used: false, detail });
            if devices.is_empty() {
                return sources;
            }
        }
        let Some((snapshot, _)) = &self.latest else {
            let detail = trouble.unwrap_or_else(|| "the run ended before the first sample".to_owned());
            return vec![Source { name: "gpu".to_owned(), used: false, detail }];
        };
        let visible: Vec<usize> = (0..devices.len())
            .filter(|&i| devices[i].selected && !devices[i].mig_enabled && devices[i].visible != Some(false))
            .collect();
        let idle = visible.iter().filter(|&&i| self.use_of.get(devices, i) == Use::No).count();
        for name in ["nvml", "drm"] {
            let own = devices.iter().filter(|device| (device.driver == "nvml") == (name == "nvml"));
            let count = own.filter(|device| device.selected).count();
            if count > 0 {
                let detail = format!("{count} {}", if count == 1 { "device" } else { "devices" });
                sources.push(Source { name: name.to_owned(), used: true, detail });
            }
        }
        if idle > 0 && !visible.is_empty() {
            let detail = format!("{idle} of {} visible GPUs were never used by the job", visible.len());
            sources.push(Source { name: "gpu_idle".to_owned(), used: true, detail });
        }
        for failure in snapshot.failures.iter() {
            let of = failure.uuid.as_deref().map(|uuid| format!(" of {uuid}")).unwrap_or_default();
            let detail = format!("{}{of}: {}", failure.figure, failure.reason);
            sources.push(Source { name: "gpu_figure".to_owned(), used: false, detail });
        }
        if let Some(detail) = trouble {
            sources.push(Source { name: "gpu".to_owned(), used: false, detail });
        }
        sources
    }

    /// Facts of the selected devices, and the reasons of the figures that never came.
    fn entities(&self) -> Vec<EntityFigures> {
        let (Some((snapshot, _)), Some(layout)) = (&self.latest, &self.layout) else { return Vec::new() };
        let selected = snapshot.devices.iter().enumerate().filter(|(_, device)| device.selected);
        selected
            .map(|(index, device)| {
                let mut facts = device.facts();
                let used = self.use_of.get(&snapshot.devices, index);
                facts.insert("used".to_owned(), used.key().to_owned());
                let mut figures = missing(self, layout, snapshot, device);
                figures.extend(self.throttling.figures(index));
                figures.extend(self.idleness.figures(index, device));
                figures.extend(self.health.figures(index));
                if !device.has_activity && device.driver == "nvml" {
                    figures.extend(health::missing_activity(snapshot, &device.uuid));
                }
                EntityFigures { name: device.uuid.clone(), figures, facts }
            })
            .collect()
    }
}

fn missing(extra: &GpuExtra, layout: &Layout, snapshot: &GpuSnapshot, device: &GpuDevice) -> Figures {
    let mut figures = Figures::new();
    for (index, column) in layout.columns().iter().enumerate() {
        let is_own = column.entity.as_ref().is_some_and(|entity| entity.name == device.uuid);
        if !is_own || extra.told.get(index) == Some(&true) {
            continue;
        }
        if let Some(reason) = layout.reason(index, snapshot) {
            let metric = column.metric;
            figures.set_of(column.scope, metric, metric.first_stat(), Figure::unavailable(reason));
        }
    }
    figures
}

/// CPU package and DRAM energy of the machine.
pub struct PowercapExtra {
    powercap: Powercap,
    columns: Vec<Column>,
    values: Vec<Option<u64>>,
}

impl PowercapExtra {
    /// Opens the counters; without any it brings no column, only the reason.
    pub fn open(root: &Path) -> PowercapExtra {
        let powercap = Powercap::open(root);
        let metrics = [
            (powercap.package_reason(), Metric::EnergyPackageUj),
            (powercap.dram_reason(), Metric::EnergyDramUj),
        ];
        let there = metrics.iter().filter(|(reason, _)| reason.is_none());
        let columns: Vec<Column> = there.map(|(_, metric)| Column::of(Scope::System, *metric)).collect();
        PowercapExtra { values: vec![None; columns.len()], powercap, columns }
    }
}

impl Extra for PowercapExtra {
    fn tick(&mut self, _t_ns: u64, _members: &[EngineMember]) {
        if self.columns.is_empty() {
            return;
        }
        let reading = self.powercap.read();
        for (column, value) in self.columns.iter().zip(&mut self.values) {
            *value = match column.metric {
                Metric::EnergyDramUj => reading.dram_uj,
                _ => reading.package_uj,
            };
        }
    }

    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn values(&self) -> &[Option<u64>] {
        &self.values
    }

    fn take_warnings(&mut self) -> Vec<Warning> {
        Vec::new()
    }

    fn finish(&mut self) -> (Vec<Source>, Vec<EntityFigures>) {
        let detail = match (self.powercap.package_reason(), self.powercap.dram_reason()) {
            (None, None) => "CPU package and DRAM energy".to_owned(),
            (None, Some(dram)) => format!("CPU package energy; {dram}"),
            (Some(package), None) => format!("DRAM energy; {package}"),
            (Some(package), Some(_)) => package.to_owned(),
        };
        let used = !self.columns.is_empty();
        (vec![Source { name: "powercap".to_owned(), used, detail }], Vec::new())
    }
}
