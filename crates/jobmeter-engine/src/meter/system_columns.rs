//! The machine's part of the row: system probe readings turned into counters since the run began.

use crate::linux::proc::mounts::{self, Mount};
use crate::linux::proc::process_count::ProcessCount;
use crate::linux::proc::root::ProcRoot;
use crate::linux::proc::system::{SystemProbe, Traffic};
use crate::linux::sys;
use crate::meter::layout::Row;
use crate::meter::process::Scale;
use jobmeter_model::metric::{Column, EntityKind, Metric, Scope, TABLE};
use std::path::{Path, PathBuf};

/// Space on disk changes slowly and each mount costs a call.
const MOUNTS_PERIOD_NS: u64 = 10_000_000_000;

/// Where all processes must be listed, each costs half a microsecond.
const COUNT_PERIOD_NS: u64 = 1_000_000_000;

/// Processes of the machine and space on its disks are not worth their time in the shortest runs.
const EXTRAS_AFTER_NS: u64 = 20_000_000;

fn is_due(last_ns: Option<u64>, now_ns: u64, period_ns: u64) -> bool {
    last_ns.is_none_or(|last_ns| now_ns >= last_ns + period_ns)
}

/// A raw counter since boot turned into one since the run began; running backwards is a gap, not a jump.
#[derive(Debug, Clone, Copy, Default)]
struct Counter {
    last_raw: Option<u64>,
    total: u64,
}

impl Counter {
    fn take(&mut self, raw: u64) -> u64 {
        if let Some(grown) = self.last_raw.and_then(|last| raw.checked_sub(last)) {
            self.total += grown;
        }
        self.last_raw = Some(raw);
        self.total
    }
}

struct Device {
    name: String,
    in_column: usize,
    out_column: usize,
    in_counter: Counter,
    out_counter: Counter,
}

struct MountColumns {
    mount: Mount,
    total_column: usize,
    used_column: usize,
    free_column: usize,
}

struct Core {
    number: u32,
    column: usize,
    busy: Counter,
}

pub(crate) struct SystemColumns {
    probe: SystemProbe,
    scale: Scale,
    /// Counters of the whole machine, by metric.
    counters: [Counter; TABLE.len()],
    cores: Vec<Core>,
    disks: Vec<Device>,
    networks: Vec<Device>,
    mounts: Vec<MountColumns>,
    has_mounts: bool,
    root: PathBuf,
    proc: ProcRoot,
    mounts_at_ns: Option<u64>,
    counted_at_ns: Option<u64>,
    opened_at_ns: u64,
    process_count: ProcessCount,
    /// For listing /proc.
    buffer: Vec<u8>,
}

impl SystemColumns {
    /// `root` is `/`, or a fake root in tests, and `proc` where procfs is below it.
    pub(crate) fn open(root: &Path, proc: ProcRoot) -> SystemColumns {
        SystemColumns {
            probe: SystemProbe::open(root),
            scale: Scale::of_this_machine(),
            counters: [Counter::default(); TABLE.len()],
            cores: Vec::new(),
            disks: Vec::new(),
            networks: Vec::new(),
            mounts: Vec::new(),
            has_mounts: false,
            root: root.to_owned(),
            proc,
            mounts_at_ns: None,
            counted_at_ns: None,
            opened_at_ns: sys::monotonic_ns(),
            process_count: ProcessCount::default(),
            buffer: vec![0; 8192],
        }
    }

    /// Nothing is read any more.
    pub(crate) fn close_files(&mut self) {
        self.probe.close();
        self.buffer = Vec::new();
    }

    /// Reads what the job's own accounts need of the machine, and fills no column.
    pub(crate) fn read_memory(&mut self) {
        self.probe.read_memory();
    }

    /// Shared memory of the machine, as of the last reading.
    pub(crate) fn shared_memory_bytes(&self) -> Option<u64> {
        self.probe.reading.memory.shared_memory_bytes
    }

    /// Mount points with their file systems, for the summary.
    pub(crate) fn mounts(&self) -> impl Iterator<Item = &Mount> {
        self.mounts.iter().map(|columns| &columns.mount)
    }

    fn find_mounts(&mut self, row: &mut Row) {
        if std::mem::replace(&mut self.has_mounts, true) {
            return;
        }
        for mount in mounts::local_mounts(&self.root) {
            let mut add = |metric| add_column(row, EntityKind::Mount, &mount.path, metric);
            let total_column = add(Metric::MountTotalBytes);
            let used_column = add(Metric::MountUsedBytes);
            let free_column = add(Metric::MountFreeBytes);
            self.mounts.push(MountColumns { mount, total_column, used_column, free_column });
        }
    }

    pub(crate) fn read(&mut self, row: &mut Row, now_ns: u64, is_last: bool) {
        // A run that ends before the machine was read cannot tell how its counters and disks moved.
        if is_last && !self.probe.was_read() {
            self.probe.read_levels();
        } else {
            self.probe.read();
        }
        let has_extras = now_ns >= self.opened_at_ns + EXTRAS_AFTER_NS;
        if has_extras {
            self.find_mounts(row);
        }
        let reading = &self.probe.reading;
        let tick_ns = self.scale.tick_ns;
        let cpu = |pick: fn(&crate::linux::proc::system::CpuTicks) -> u64| {
            reading.cpu.as_ref().map(|cpu| pick(cpu) * tick_ns)
        };
        let sum = |list: &[Traffic], pick: fn(&Traffic) -> u64| {
            Some(list.iter().filter(|entry| entry.in_sum).map(pick).sum::<u64>())
        };
        let us = |value: Option<u64>| value.map(|us| us * 1000);
        let raws = [
            (Metric::CpuNs, cpu(|cpu| cpu.busy())),
            (Metric::CpuUserNs, cpu(|cpu| cpu.user)),
            (Metric::CpuSystemNs, cpu(|cpu| cpu.system)),
            (Metric::CpuIowaitNs, cpu(|cpu| cpu.iowait)),
            (Metric::CpuStealNs, cpu(|cpu| cpu.steal)),
            (Metric::Forks, reading.forks),
            (Metric::PsiCpuSomeNs, us(reading.psi_cpu_some_us)),
            (Metric::PsiMemorySomeNs, us(reading.psi_memory_us.0)),
            (Metric::PsiMemoryFullNs, us(reading.psi_memory_us.1)),
            (Metric::PsiIoSomeNs, us(reading.psi_io_us.0)),
            (Metric::PsiIoFullNs, us(reading.psi_io_us.1)),
            (Metric::DiskReadBytes, sum(&reading.disks, |disk| disk.in_bytes)),
            (Metric::DiskWriteBytes, sum(&reading.disks, |disk| disk.out_bytes)),
        ];
        for (metric, raw) in raws {
            let counter = &mut self.counters[metric as usize];
            row.set(Scope::System, metric, raw.map(|raw| counter.take(raw)));
        }
        let memory = &reading.memory;
        let used =
            memory.total_bytes.zip(memory.available_bytes).map(|(total, free)| total.saturating_sub(free));
        let cached = memory.cached_bytes.map(|cached| cached + memory.reclaimable_bytes.unwrap_or_default());
        let swap_used =
            memory.swap_total_bytes.zip(memory.swap_free_bytes).map(|(total, free)| total - free.min(total));
        for (metric, value) in [
            (Metric::MemoryTotalBytes, memory.total_bytes),
            (Metric::MemoryUsedBytes, used),
            (Metric::MemoryFreeBytes, memory.free_bytes),
            (Metric::MemoryAvailableBytes, memory.available_bytes),
            (Metric::MemoryBuffersBytes, memory.buffers_bytes),
            (Metric::MemoryCachedBytes, cached),
            (Metric::MemoryActiveBytes, memory.active_bytes),
            (Metric::MemoryInactiveBytes, memory.inactive_bytes),
            (Metric::SwapTotalBytes, memory.swap_total_bytes),
            (Metric::SwapBytes, swap_used),
            (Metric::Load1Milli, reading.load1_milli),
            (Metric::Threads, reading.tasks),
        ] {
            row.set(Scope::System, metric, value);
        }
        if has_extras && is_due(self.counted_at_ns, now_ns, COUNT_PERIOD_NS) {
            self.counted_at_ns = Some(now_ns);
            let processes = self.process_count.read(self.proc, &mut self.buffer);
            row.set(Scope::System, Metric::Processes, processes);
        }
        let disk_metrics = [Metric::DiskReadBytes, Metric::DiskWriteBytes];
        update_devices(&mut self.disks, &reading.disks, row, EntityKind::Disk, disk_metrics);
        let network_metrics = [Metric::NetReceiveBytes, Metric::NetTransmitBytes];
        update_devices(&mut self.networks, &reading.networks, row, EntityKind::Network, network_metrics);
        // Interfaces come and go: the sum is taken over their own counters, so that none drags it back.
        let counted = |device: &&Device| device.name != "lo";
        let received = self.networks.iter().filter(counted).map(|device| device.in_counter.total).sum();
        let sent = self.networks.iter().filter(counted).map(|device| device.out_counter.total).sum();
        row.set(Scope::System, Metric::NetReceiveBytes, Some(received));
        row.set(Scope::System, Metric::NetTransmitBytes, Some(sent));
        for (number, ticks) in &reading.cores {
            let at = self.cores.iter().position(|known| known.number == *number).unwrap_or_else(|| {
                let column = add_column(row, EntityKind::Core, &number.to_string(), Metric::CoreBusyNs);
                self.cores.push(Core { number: *number, column, busy: Counter::default() });
                self.cores.len() - 1
            });
            let core = &mut self.cores[at];
            row.values[core.column] = Some(core.busy.take(ticks.busy() * tick_ns));
        }
        let mounts_period_ns = if is_last { COUNT_PERIOD_NS } else { MOUNTS_PERIOD_NS };
        if has_extras && is_due(self.mounts_at_ns, now_ns, mounts_period_ns) {
            self.mounts_at_ns = Some(now_ns);
            for columns in &self.mounts {
                let space = mounts::space(&columns.mount.path);
                row.values[columns.total_column] = space.map(|space| space.total_bytes);
                row.values[columns.used_column] = space.map(|space| space.used_bytes);
                row.values[columns.free_column] = space.map(|space| space.free_bytes);
            }
        }
    }
}

/// Adds the column of an entity; its index.
fn add_column(row: &mut Row, kind: EntityKind, name: &str, metric: Metric) -> usize {
    row.add(Column::entity(Scope::System, metric, kind, name))
}

fn update_devices(
    known: &mut Vec<Device>,
    reading: &[Traffic],
    row: &mut Row,
    kind: EntityKind,
    metrics: [Metric; 2],
) {
    for traffic in reading {
        let at = known.iter().position(|device| device.name == traffic.name).unwrap_or_else(|| {
            let [in_column, out_column] = metrics.map(|metric| add_column(row, kind, &traffic.name, metric));
            let (in_counter, out_counter) = Default::default();
            known.push(Device { name: traffic.name.clone(), in_column, out_column, in_counter, out_counter });
            known.len() - 1
        });
        let device = &mut known[at];
        row.values[device.in_column] = Some(device.in_counter.take(traffic.in_bytes));
        row.values[device.out_column] = Some(device.out_counter.take(traffic.out_bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_runs_backwards_leaves_a_gap() {
        let mut counter = Counter::default();
        assert_eq!(counter.take(100), 0);
        assert_eq!(counter.take(150), 50);
        assert_eq!(counter.take(10), 50);
        assert_eq!(counter.take(25), 65);
    }
}
