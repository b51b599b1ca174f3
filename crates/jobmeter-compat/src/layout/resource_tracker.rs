//! The CSV of resource-tracker's `SystemTracker`, from a recorded run: clock ticks of 10 ms, KiB, MiB of VRAM.

use super::Lines;
use crate::window::Window;
use jobmeter_model::{Column, EntityKind, Metric, Scope};
use jobmeter_record::Run;
use std::fmt::Write as _;

const HEADER: &str = "\"timestamp\",\"processes\",\"utime\",\"stime\",\"cpu_usage\",\"memory_free\",\"memory_used\",\
    \"memory_buffers\",\"memory_cached\",\"memory_active\",\"memory_inactive\",\"disk_read_bytes\",\
    \"disk_write_bytes\",\"disk_space_total_gb\",\"disk_space_used_gb\",\"disk_space_free_gb\",\
    \"net_recv_bytes\",\"net_sent_bytes\",\"gpu_usage\",\"gpu_vram\",\"gpu_utilized\"\n";
const TICK_NS: f64 = 1e7;
const KIB: u64 = 1024;
const MIB: f64 = 1048576.0;

pub(super) struct SystemLines {
    columns: Vec<Column>,
    started_unix_ns: u64,
    window: Window,
}

impl SystemLines {
    pub(super) fn new(run: &Run) -> SystemLines {
        let columns = run.columns();
        let mut window = Window::default();
        let machine = columns.iter().position(|column| *column == Column::of(Scope::System, Metric::CpuNs));
        machine.into_iter().for_each(|place| window.set_machine(place));
        SystemLines { columns, started_unix_ns: run.info().started_unix_ns, window }
    }

    fn place(&self, metric: Metric) -> Option<usize> {
        self.columns.iter().position(|column| *column == Column::of(Scope::System, metric))
    }

    fn now(&self, metric: Metric) -> Option<u64> {
        self.window.now(self.place(metric)?)
    }

    fn grown(&self, metric: Metric) -> Option<u64> {
        self.window.grown(self.place(metric)?)
    }

    /// Loopback traffic never leaves the machine.
    fn devices(&self, metric: Metric, kind: EntityKind) -> impl Iterator<Item = usize> {
        let fits = move |column: &Column| {
            let is_kind = |entity: &jobmeter_model::Entity| entity.kind == kind && entity.name != "lo";
            column.scope == Scope::System
                && column.metric == metric
                && column.entity.as_ref().is_some_and(is_kind)
        };
        self.columns.iter().enumerate().filter(move |(_, column)| fits(column)).map(|(place, _)| place)
    }

    /// Sum over the machine's devices of a kind; `None` when none of them tells.
    fn sum_now(&self, metric: Metric, kind: EntityKind) -> Option<f64> {
        let known = self.devices(metric, kind).filter_map(|place| self.window.now(place));
        known.reduce(u64::saturating_add).map(|sum| sum as f64)
    }

    fn sum_grown(&self, metric: Metric, kind: EntityKind) -> Option<f64> {
        let known = self.devices(metric, kind).filter_map(|place| self.window.grown(place));
        known.reduce(u64::saturating_add).map(|sum| sum as f64)
    }

    fn cells(&self) -> [Option<f64>; 21] {
        let ticks = |metric| self.grown(metric).map(|ns| (ns as f64 / TICK_NS).round());
        let kib = |metric| self.now(metric).map(|bytes| (bytes / KIB) as f64);
        let cores = self.place(Metric::CpuNs).and_then(|place| self.window.rate(place));
        let space = |metric| self.sum_now(metric, EntityKind::Mount).map(|bytes| rounded(bytes / 1e9, 2));
        let busy =
            self.devices(Metric::GpuBusyPpm, EntityKind::Gpu).filter_map(|place| self.window.now(place));
        let utilized = busy.map(|ppm| u64::from(ppm > 0)).reduce(u64::saturating_add);
        [
            Some((self.started_unix_ns as f64 + self.window.t_ns() as f64) / 1e9),
            self.now(Metric::Forks).map(|count| count as f64),
            ticks(Metric::CpuUserNs),
            ticks(Metric::CpuSystemNs),
            cores.map(|cores| rounded(cores, 4)),
            kib(Metric::MemoryFreeBytes),
            kib(Metric::MemoryUsedBytes),
            kib(Metric::MemoryBuffersBytes),
            kib(Metric::MemoryCachedBytes),
            kib(Metric::MemoryActiveBytes),
            kib(Metric::MemoryInactiveBytes),
            self.sum_grown(Metric::DiskReadBytes, EntityKind::Disk),
            self.sum_grown(Metric::DiskWriteBytes, EntityKind::Disk),
            space(Metric::MountTotalBytes),
            space(Metric::MountUsedBytes),
            space(Metric::MountFreeBytes),
            self.sum_grown(Metric::NetReceiveBytes, EntityKind::Network),
            self.sum_grown(Metric::NetTransmitBytes, EntityKind::Network),
            self.sum_now(Metric::GpuBusyPpm, EntityKind::Gpu).map(|ppm| rounded(ppm / 1e6, 4)),
            self.sum_now(Metric::GpuMemoryBytes, EntityKind::Gpu).map(|bytes| rounded(bytes / MIB, 1)),
            utilized.map(|count| count as f64),
        ]
    }
}

impl Lines for SystemLines {
    fn head(&self) -> String {
        HEADER.to_owned()
    }

    fn put_tick(&mut self, line: &mut String, t_ns: u64, values: &[Option<u64>]) {
        if !self.window.push(t_ns, values) {
            return;
        }
        for (index, cell) in self.cells().iter().enumerate() {
            if index > 0 {
                line.push(',');
            }
            if let Some(value) = cell {
                // Writing to a String cannot fail.
                let _written = write!(line, "{value}");
            }
        }
        line.push('\n');
    }
}

fn rounded(value: f64, digits: i32) -> f64 {
    (value * 10f64.powi(digits)).round() / 10f64.powi(digits)
}
