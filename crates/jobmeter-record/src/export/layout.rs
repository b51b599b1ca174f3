//! The files of two other trackers, so that what reads those reads ours.
//!
//! Their columns are rates and levels per interval, so a row is the difference of two ticks. What we do not
//! know is an empty cell, where they would print 0.

use crate::damage::Damage;
use crate::error::RecordError;
use crate::place::AsideFile;
use crate::reader::{Frame, Run};
use jobmeter_model::{Column, EntityKind, Metric, RunInfo, Scope};
use std::fmt::Write as _;
use std::io::{BufWriter, Write};
use std::path::Path;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// The tracking file of gpu_tracker: two lines about the machine, then one row per interval; gigabytes.
    GpuTracker,
    /// The CSV of resource-tracker's `SystemTracker`.
    ResourceTracker,
}

impl Layout {
    pub const ALL: [Layout; 2] = [Layout::GpuTracker, Layout::ResourceTracker];

    pub fn key(self) -> &'static str {
        match self {
            Layout::GpuTracker => "gpu-tracker",
            Layout::ResourceTracker => "resource-tracker",
        }
    }

    pub fn from_key(key: &str) -> Option<Layout> {
        Layout::ALL.into_iter().find(|layout| layout.key() == key)
    }

    fn header(self) -> &'static str {
        match self {
            Layout::GpuTracker => {
                "main_ram,descendants_ram,combined_ram,system_ram,main_gpu_ram,descendants_gpu_ram,\
                 combined_gpu_ram,system_gpu_ram,gpu_sum_utilization_percent,gpu_hardware_utilization_percent,\
                 main_n_threads,descendants_n_threads,combined_n_threads,cpu_system_sum_utilization_percent,\
                 cpu_system_hardware_utilization_percent,cpu_main_sum_utilization_percent,\
                 cpu_main_hardware_utilization_percent,cpu_descendants_sum_utilization_percent,\
                 cpu_descendants_hardware_utilization_percent,cpu_combined_sum_utilization_percent,\
                 cpu_combined_hardware_utilization_percent,timestamp\r\n"
            }
            Layout::ResourceTracker => {
                "\"timestamp\",\"processes\",\"utime\",\"stime\",\"cpu_usage\",\"memory_free\",\"memory_used\",\
                 \"memory_buffers\",\"memory_cached\",\"memory_active\",\"memory_inactive\",\"disk_read_bytes\",\
                 \"disk_write_bytes\",\"disk_space_total_gb\",\"disk_space_used_gb\",\"disk_space_free_gb\",\
                 \"net_recv_bytes\",\"net_sent_bytes\",\"gpu_usage\",\"gpu_vram\",\"gpu_utilized\"\n"
            }
        }
    }
}

/// The samples of a run in another tracker's layout.
pub fn write_layout(
    run: &Run,
    layout: Layout,
    out: impl Write,
    out_name: &Path,
) -> Result<Option<Damage>, RecordError> {
    let failed = |error| RecordError::io("write", out_name, error);
    let mut out = BufWriter::with_capacity(1 << 18, out);
    let columns = run.columns();
    let machine = columns.iter().position(|column| *column == Column::of(Scope::System, Metric::CpuNs));
    let mut line = String::new();
    if layout == Layout::GpuTracker {
        line = static_lines(run, &columns);
    }
    line.push_str(layout.header());
    out.write_all(line.as_bytes()).map_err(failed)?;
    let mut before: Option<(u64, Vec<Option<u64>>)> = None;
    let mut frames = run.frames();
    while let Some(frame) = frames.next() {
        let Frame::Tick { t_ns, values } = frame else { continue };
        // A tick that did not read the machine makes no row; its job is in the next one.
        let is_read = |values: &[Option<u64>]| {
            machine.is_some_and(|index| values.get(index).copied().flatten().is_some())
        };
        if before.as_ref().is_some_and(|(_, before)| is_read(before)) && !is_read(values) {
            continue;
        }
        // Marks bring ticks of their own; two at one moment make no interval.
        if let Some((before_ns, before_values)) = before.as_ref().filter(|(before_ns, _)| *before_ns < t_ns) {
            let interval = Interval {
                columns: &columns,
                info: run.info(),
                before_ns: *before_ns,
                before_values,
                t_ns,
                values,
            };
            line.clear();
            match layout {
                Layout::GpuTracker => interval.gpu_tracker(&mut line),
                Layout::ResourceTracker => interval.resource_tracker(&mut line),
            }
            out.write_all(line.as_bytes()).map_err(failed)?;
        }
        let (before_ns, kept) = before.get_or_insert_with(Default::default);
        *before_ns = t_ns;
        kept.clear();
        kept.extend_from_slice(values);
    }
    out.flush().map_err(failed)?;
    Ok(frames.damage().cloned())
}

pub fn export_layout(
    run: &Run,
    layout: Layout,
    path: &Path,
    force: bool,
) -> Result<Option<Damage>, RecordError> {
    let aside = AsideFile::create(path, force)?;
    let damage = write_layout(run, layout, aside.writer()?, path)?;
    aside.publish()?;
    Ok(damage)
}

fn static_lines(run: &Run, columns: &[Column]) -> String {
    let gpus = columns.iter().filter(|column| is_device(column, Metric::GpuMemoryTotalBytes)).count();
    let (ram, gpu_ram) = first_capacities(run, columns);
    let info = run.info();
    format!(
        "ram_unit,gpu_ram_unit,time_unit,ram_system_capacity,gpu_ram_system_capacity,system_core_count,\
         n_expected_cores,system_gpu_count,n_expected_gpus\r\n\
         gigabytes,gigabytes,seconds,{},{},{},{},{gpus},{gpus}\r\n",
        gigabytes(ram),
        gigabytes(gpu_ram),
        info.system_cores,
        info.expected_cores,
    )
}

/// Capacity of RAM and of all GPUs together, from the first tick that tells.
fn first_capacities(run: &Run, columns: &[Column]) -> (Option<u64>, Option<u64>) {
    let mut frames = run.frames();
    while let Some(frame) = frames.next() {
        if let Frame::Tick { t_ns, values } = frame {
            let at = Interval { columns, info: run.info(), before_ns: 0, before_values: &[], t_ns, values };
            let ram = at.now(Scope::System, Metric::MemoryTotalBytes);
            if ram.is_some() {
                return (ram, at.devices(Metric::GpuMemoryTotalBytes, EntityKind::Gpu));
            }
        }
    }
    (None, None)
}

fn is_device(column: &Column, metric: Metric) -> bool {
    column.scope == Scope::System && column.metric == metric && column.entity.is_some()
}

fn gigabytes(bytes: Option<u64>) -> String {
    bytes.map_or_else(String::new, |bytes| (bytes as f64 / 1e9).to_string())
}

/// Two neighbouring ticks.
struct Interval<'a> {
    columns: &'a [Column],
    info: &'a RunInfo,
    before_ns: u64,
    before_values: &'a [Option<u64>],
    t_ns: u64,
    values: &'a [Option<u64>],
}

impl Interval<'_> {
    fn seconds(&self) -> f64 {
        (self.t_ns - self.before_ns) as f64 / 1e9
    }

    fn timestamp(&self) -> f64 {
        (self.info.started_unix_ns as f64 + self.t_ns as f64) / 1e9
    }

    fn column(&self, scope: Scope, metric: Metric) -> Option<usize> {
        let wanted =
            |column: &Column| column.scope == scope && column.metric == metric && column.entity.is_none();
        self.columns.iter().position(wanted)
    }

    fn now(&self, scope: Scope, metric: Metric) -> Option<u64> {
        self.values.get(self.column(scope, metric)?).copied().flatten()
    }

    fn grown(&self, index: usize) -> Option<u64> {
        let value = |values: &[Option<u64>]| values.get(index).copied().flatten();
        value(self.values)?.checked_sub(value(self.before_values)?)
    }

    fn difference(&self, scope: Scope, metric: Metric) -> Option<u64> {
        self.grown(self.column(scope, metric)?)
    }

    /// Sum over the machine's devices of a kind; `None` when none of them tells.
    fn devices(&self, metric: Metric, kind: EntityKind) -> Option<u64> {
        self.each_device(metric, kind)
            .filter_map(|index| self.values.get(index).copied().flatten())
            .reduce(add)
    }

    fn devices_grown(&self, metric: Metric, kind: EntityKind) -> Option<u64> {
        // Loopback traffic never leaves the machine.
        let indices = self
            .each_device(metric, kind)
            .filter(|index| self.columns[*index].entity.as_ref().is_none_or(|entity| entity.name != "lo"));
        indices.filter_map(|index| self.grown(index)).reduce(add)
    }

    fn each_device(&self, metric: Metric, kind: EntityKind) -> impl Iterator<Item = usize> {
        let fits = move |column: &Column| {
            is_device(column, metric) && column.entity.as_ref().is_some_and(|entity| entity.kind == kind)
        };
        self.columns.iter().enumerate().filter(move |(_, column)| fits(column)).map(|(index, _)| index)
    }

    fn gpu_tracker(&self, line: &mut String) {
        let mut cells: Vec<Option<f64>> = Vec::with_capacity(22);
        let giga = |bytes: Option<u64>| bytes.map(|bytes| bytes as f64 / 1e9);
        cells.extend(Scope::JOB.map(|scope| giga(self.now(scope, Metric::RssBytes))));
        cells.push(giga(self.now(Scope::System, Metric::MemoryUsedBytes)));
        cells.extend(Scope::JOB.map(|scope| giga(self.now(scope, Metric::GpuMemoryBytes))));
        cells.push(giga(self.devices(Metric::GpuMemoryBytes, EntityKind::Gpu)));
        let gpus = self.each_device(Metric::GpuBusyPpm, EntityKind::Gpu).count() as f64;
        let busy_pct = self.devices(Metric::GpuBusyPpm, EntityKind::Gpu).map(|ppm| ppm as f64 / 1e4);
        cells.extend([busy_pct, busy_pct.map(|percent| percent / gpus)]);
        cells.extend(Scope::JOB.map(|scope| self.now(scope, Metric::Threads).map(|count| count as f64)));
        for scope in [Scope::System, Scope::Main, Scope::Descendants, Scope::Combined] {
            let cores = match scope {
                Scope::System => f64::from(self.info.system_cores),
                _ => self.info.expected_cores,
            };
            let used = self.difference(scope, Metric::CpuNs).map(|ns| ns as f64 / 1e7 / self.seconds());
            cells.extend([used, used.map(|percent| percent / cores)]);
        }
        cells.push(Some(self.timestamp()));
        put_line(line, &cells, "\r\n");
    }

    fn resource_tracker(&self, line: &mut String) {
        let plain = |value: Option<u64>| value.map(|value| value as f64);
        // Their CPU times are clock ticks, their memory figures KiB.
        let ticks = |metric| self.difference(Scope::System, metric).map(|ns| (ns as f64 / 1e7).round());
        let kib = |metric| self.now(Scope::System, metric).map(|bytes| (bytes / 1024) as f64);
        let cores = self.difference(Scope::System, Metric::CpuNs).map(|ns| ns as f64 / 1e9 / self.seconds());
        let space =
            |metric| self.devices(metric, EntityKind::Mount).map(|bytes| rounded(bytes as f64 / 1e9, 2));
        let grown = |metric, kind| plain(self.devices_grown(metric, kind));
        let busy = self.each_device(Metric::GpuBusyPpm, EntityKind::Gpu);
        let busy = busy.filter_map(|index| self.values.get(index).copied().flatten());
        let utilized = busy.map(|ppm| u64::from(ppm > 0)).reduce(add);
        let cells = [
            Some(self.timestamp()),
            plain(self.now(Scope::System, Metric::Forks)),
            ticks(Metric::CpuUserNs),
            ticks(Metric::CpuSystemNs),
            cores.map(|cores| rounded(cores, 4)),
            kib(Metric::MemoryFreeBytes),
            kib(Metric::MemoryUsedBytes),
            kib(Metric::MemoryBuffersBytes),
            kib(Metric::MemoryCachedBytes),
            kib(Metric::MemoryActiveBytes),
            kib(Metric::MemoryInactiveBytes),
            grown(Metric::DiskReadBytes, EntityKind::Disk),
            grown(Metric::DiskWriteBytes, EntityKind::Disk),
            space(Metric::MountTotalBytes),
            space(Metric::MountUsedBytes),
            space(Metric::MountFreeBytes),
            grown(Metric::NetReceiveBytes, EntityKind::Network),
            grown(Metric::NetTransmitBytes, EntityKind::Network),
            self.devices(Metric::GpuBusyPpm, EntityKind::Gpu).map(|ppm| rounded(ppm as f64 / 1e6, 4)),
            self.devices(Metric::GpuMemoryBytes, EntityKind::Gpu)
                .map(|bytes| rounded(bytes as f64 / 1048576.0, 1)),
            plain(utilized),
        ];
        put_line(line, &cells, "\n");
    }
}

fn add(a: u64, b: u64) -> u64 {
    a.saturating_add(b)
}

fn rounded(value: f64, digits: i32) -> f64 {
    (value * 10f64.powi(digits)).round() / 10f64.powi(digits)
}

fn put_line(line: &mut String, cells: &[Option<f64>], end: &str) {
    for (index, cell) in cells.iter().enumerate() {
        if index > 0 {
            line.push(',');
        }
        if let Some(value) = cell {
            // Writing to a String cannot fail.
            let _written = write!(line, "{value}");
        }
    }
    line.push_str(end);
}
