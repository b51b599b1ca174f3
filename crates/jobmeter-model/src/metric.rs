//! The one metric table. Every column of a record, every key of the summary, every export header and the
//! reference page of the docs derive from these rows, so they cannot drift apart.

use serde::{Deserialize, Serialize};

/// Whose figure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The process that was spawned or attached to.
    Main,
    /// Everything that descends from it.
    Descendants,
    /// Main and descendants together, shared memory counted once.
    Combined,
    /// The whole machine.
    System,
}

impl Scope {
    pub const ALL: [Scope; 4] = [Scope::Main, Scope::Descendants, Scope::Combined, Scope::System];
    /// The scopes that a job has; `System` is the machine's.
    pub const JOB: [Scope; 3] = [Scope::Main, Scope::Descendants, Scope::Combined];

    pub fn key(self) -> &'static str {
        match self {
            Scope::Main => "main",
            Scope::Descendants => "descendants",
            Scope::Combined => "combined",
            Scope::System => "system",
        }
    }
}

/// How a stored integer grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Cumulative since the run began; the summary gives its total and its rate (max, mean).
    Counter,
    /// A level; the summary gives its max and its time-weighted mean.
    Gauge,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    Bytes,
    Nanos,
    Count,
    /// Parts per million of one device or core: 1,000,000 is one fully busy.
    Ppm,
    /// Thousandths of a plain number (load average).
    Milli,
    Microjoules,
    Milliwatts,
    Millicelsius,
    Hertz,
    BytesPerSecond,
    /// A set of flags, one bit each.
    Bits,
}

/// What an entity column speaks of, when it is not the scope as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntityKind {
    Core,
    Disk,
    Mount,
    Network,
    Gpu,
}

impl EntityKind {
    pub const ALL: [EntityKind; 5] =
        [EntityKind::Core, EntityKind::Disk, EntityKind::Mount, EntityKind::Network, EntityKind::Gpu];

    pub fn key(self) -> &'static str {
        match self {
            EntityKind::Core => "core",
            EntityKind::Disk => "disk",
            EntityKind::Mount => "mount",
            EntityKind::Network => "network",
            EntityKind::Gpu => "gpu",
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub struct MetricInfo {
    pub metric: Metric,
    /// Column and JSON key, the unit at its end.
    pub key: &'static str,
    pub kind: Kind,
    pub unit: Unit,
    pub title: &'static str,
    /// Where the number comes from and where it can mislead: one paragraph for the docs.
    pub source: &'static str,
}

macro_rules! metrics {
    ($($variant:ident, $key:literal, $kind:ident, $unit:ident, $title:literal, $source:literal;)*) => {
        /// Identity of a metric. Stored by key, never by number.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Metric { $(#[serde(rename = $key)] $variant,)* }

        /// The table itself, in display order; `TABLE[m as usize].metric == m`.
        pub const TABLE: &[MetricInfo] = &[
            $(MetricInfo { metric: Metric::$variant, key: $key, kind: Kind::$kind, unit: Unit::$unit,
                title: $title, source: $source },)*
        ];
    };
}

metrics! {
    CpuNs, "cpu_ns", Counter, Nanos, "CPU time",
        "Job: CPU clock of each living process, plus the waited-for children of each (stat cutime+cstime), plus wait4 of what was reaped; exact at the end, within one 10 ms tick per process while running. System: busy time of all cores from /proc/stat.";
    CpuUserNs, "cpu_user_ns", Counter, Nanos, "CPU time, user",
        "As cpu_ns, the user-mode part. The kernel splits user and system by sampling unless it was built with full accounting.";
    CpuSystemNs, "cpu_system_ns", Counter, Nanos, "CPU time, system",
        "As cpu_ns, the kernel-mode part.";
    CpuIowaitNs, "cpu_iowait_ns", Counter, Nanos, "CPU idle waiting for I/O",
        "/proc/stat; the kernel calls this figure unreliable, it is a hint only.";
    CpuStealNs, "cpu_steal_ns", Counter, Nanos, "CPU taken by the hypervisor",
        "/proc/stat. Not every hypervisor tells it: 0 may mean that nobody said.";
    RssBytes, "rss_bytes", Gauge, Bytes, "RAM",
        "Resident memory. Main: /proc/PID/statm. Descendants, combined: shared pages counted once, from smaps_rollup when a maximum may move, otherwise the last known shared part is subtracted from the sum of statm.";
    RssPrivateBytes, "rss_private_bytes", Gauge, Bytes, "RAM, private",
        "Pages that only one process maps: Private_* of smaps_rollup, kept in step with statm between reads.";
    RssSharedBytes, "rss_shared_bytes", Gauge, Bytes, "RAM, shared",
        "Pages mapped by several processes or backed by files, each counted once across the tree.";
    RssSumBytes, "rss_sum_bytes", Gauge, Bytes, "RAM, plain sum",
        "Sum of statm RSS over the processes of the scope; counts shared pages once per process, as most trackers do, and so overstates a job that forks.";
    SwapBytes, "swap_bytes", Gauge, Bytes, "Swap", "VmSwap of /proc/PID/status, which leaves out swapped shared memory. System: SwapTotal - SwapFree.";
    Processes, "processes", Gauge, Count, "Processes", "Living processes, zombies included. The highest number between two ticks may be missed.";
    Threads, "threads", Gauge, Count, "Threads", "Threads of the living processes; for leaves of the tree up to one slow read old.";
    ReadCharsBytes, "read_chars_bytes", Counter, Bytes, "Read (calls)",
        "rchar of /proc/PID/io: bytes that read calls returned, page cache, pipes and sockets included; mapped files are not.";
    WriteCharsBytes, "write_chars_bytes", Counter, Bytes, "Written (calls)",
        "wchar of /proc/PID/io: bytes given to write calls, pipes, sockets and terminals included.";
    ReadStorageBytes, "read_storage_bytes", Counter, Bytes, "Read (storage)",
        "read_bytes of /proc/PID/io: bytes fetched from block storage, read-ahead included. Files in the page cache cost nothing here, so a second run reads less; network and FUSE file systems may not count.";
    WriteStorageBytes, "write_storage_bytes", Counter, Bytes, "Written (storage)",
        "write_bytes of /proc/PID/io: counted when pages become dirty, not when they reach the device; a file deleted soon after may never be written. tmpfs and some network file systems do not count.";
    FaultsMinor, "faults_minor", Counter, Count, "Page faults, minor", "stat minflt+cminflt; wait4 at the end.";
    FaultsMajor, "faults_major", Counter, Count, "Page faults, major", "stat majflt+cmajflt; wait4 at the end.";
    SwitchesVoluntary, "switches_voluntary", Counter, Count, "Context switches, voluntary",
        "wait4 at the end (exact); main thread's /proc/PID/status while running (lower bound).";
    SwitchesInvoluntary, "switches_involuntary", Counter, Count, "Context switches, involuntary",
        "wait4 at the end (exact); main thread's /proc/PID/status while running (lower bound).";
    MemoryTotalBytes, "memory_total_bytes", Gauge, Bytes, "Memory, capacity", "MemTotal of /proc/meminfo.";
    MemoryUsedBytes, "memory_used_bytes", Gauge, Bytes, "Memory, used", "MemTotal - MemAvailable of /proc/meminfo, an estimate of the kernel. In a container it is still the machine's.";
    MemoryFreeBytes, "memory_free_bytes", Gauge, Bytes, "Memory, free", "MemFree of /proc/meminfo. Low is normal: idle memory holds the page cache; look at what is available.";
    MemoryAvailableBytes, "memory_available_bytes", Gauge, Bytes, "Memory, available", "MemAvailable of /proc/meminfo: what could be had without swapping, as the kernel estimates.";
    MemoryBuffersBytes, "memory_buffers_bytes", Gauge, Bytes, "Memory, buffers", "Buffers of /proc/meminfo.";
    MemoryCachedBytes, "memory_cached_bytes", Gauge, Bytes, "Memory, cached", "Cached + SReclaimable of /proc/meminfo; shared memory and tmpfs are in it and cannot be dropped.";
    MemoryActiveBytes, "memory_active_bytes", Gauge, Bytes, "Memory, active", "Active of /proc/meminfo.";
    MemoryInactiveBytes, "memory_inactive_bytes", Gauge, Bytes, "Memory, inactive", "Inactive of /proc/meminfo.";
    SwapTotalBytes, "swap_total_bytes", Gauge, Bytes, "Swap, capacity", "SwapTotal of /proc/meminfo.";
    Forks, "forks", Counter, Count, "Forks", "processes of /proc/stat: every fork and clone on the machine, threads included.";
    Load1Milli, "load1_milli", Gauge, Milli, "Load, 1 min",
        "/proc/loadavg: tasks that run or wait, for disks too, averaged over a minute; it lags behind, and of a container it is the machine's.";
    PsiCpuSomeNs, "psi_cpu_some_ns", Counter, Nanos, "Pressure, CPU", "/proc/pressure/cpu some total: time in which at least one task of the machine waited for a core. Absent where the kernel keeps no pressure figures.";
    PsiMemorySomeNs, "psi_memory_some_ns", Counter, Nanos, "Pressure, memory", "/proc/pressure/memory some total: time in which at least one task waited for memory.";
    PsiMemoryFullNs, "psi_memory_full_ns", Counter, Nanos, "Pressure, memory, all", "/proc/pressure/memory full total: time in which every task that could run waited for memory.";
    PsiIoSomeNs, "psi_io_some_ns", Counter, Nanos, "Pressure, I/O", "/proc/pressure/io some total: time in which at least one task waited for storage.";
    PsiIoFullNs, "psi_io_full_ns", Counter, Nanos, "Pressure, I/O, all", "/proc/pressure/io full total: time in which every task that could run waited for storage.";
    CoreBusyNs, "core_busy_ns", Counter, Nanos, "Core busy", "cpuN of /proc/stat: all but idle and iowait, in ticks of 10 ms, so that the share of a short window may exceed 1 by some per cent.";
    DiskReadBytes, "disk_read_bytes", Counter, Bytes, "Disk read",
        "/proc/diskstats sectors of whole devices (partitions and stacked devices left out of the sum).";
    DiskWriteBytes, "disk_write_bytes", Counter, Bytes, "Disk written", "As disk_read_bytes. Of everyone on the machine, and later than the job's write calls by the time that pages stay dirty.";
    MountTotalBytes, "mount_total_bytes", Gauge, Bytes, "Space, total", "statvfs of local mounts; network mounts are not asked, they may hang.";
    MountUsedBytes, "mount_used_bytes", Gauge, Bytes, "Space, used", "statvfs, read every ten seconds. Of everyone: the job is not told apart.";
    MountFreeBytes, "mount_free_bytes", Gauge, Bytes, "Space, free", "statvfs, what an ordinary user may still use.";
    NetReceiveBytes, "net_receive_bytes", Counter, Bytes, "Network received",
        "/proc/net/dev of this network namespace, loopback left out of the sum. Of the machine, never of the job alone.";
    NetTransmitBytes, "net_transmit_bytes", Counter, Bytes, "Network sent", "As net_receive_bytes.";
    GpuMemoryBytes, "gpu_memory_bytes", Gauge, Bytes, "GPU RAM",
        "Device: memory in use. Job scopes: memory of the job's processes on it.";
    GpuMemoryTotalBytes, "gpu_memory_total_bytes", Gauge, Bytes, "GPU RAM, capacity", "As the driver tells it.";
    GpuMemoryFreeBytes, "gpu_memory_free_bytes", Gauge, Bytes, "GPU RAM, free", "Capacity less what is in use, and less the driver's own reserve where it tells it apart.";
    GpuGttBytes, "gpu_gtt_bytes", Gauge, Bytes, "GPU use of system RAM", "amdgpu: system memory that the GPU maps now. Not part of GPU RAM.";
    GpuGttTotalBytes, "gpu_gtt_total_bytes", Gauge, Bytes, "GPU use of system RAM, most", "amdgpu: system memory that the GPU may map.";
    GpuBusyPpm, "gpu_busy_ppm", Gauge, Ppm, "GPU use",
        "Device: share of time that any kernel ran, however few of its cores it kept busy: 100 % is not a full GPU. Job scopes: SM or engine share of the job's processes. Summed over devices it may exceed one million.";
    GpuMemoryBusyPpm, "gpu_memory_busy_ppm", Gauge, Ppm, "GPU memory controller use", "Share of time that the device's memory was read or written, by the driver.";
    GpuPowerMw, "gpu_power_mw", Gauge, Milliwatts, "GPU power", "By the driver: of the whole board, and on some boards an average over up to a second.";
    GpuEnergyUj, "gpu_energy_uj", Counter, Microjoules, "GPU energy", "The driver's counter, else power integrated over the ticks. Of the device, others' work on it included.";
    GpuTemperatureMc, "gpu_temperature_mc", Gauge, Millicelsius, "GPU temperature", "As the driver tells it.";
    GpuClockSmHz, "gpu_clock_sm_hz", Gauge, Hertz, "GPU clock", "Clock of the cores, by the driver.";
    GpuClockMemoryHz, "gpu_clock_memory_hz", Gauge, Hertz, "GPU memory clock", "By the driver.";
    GpuThrottleBits, "gpu_throttle_bits", Gauge, Bits, "GPU throttle reasons", "NVML clocks event reasons, a set of bits. In the summary: every bit that was set at some tick, and the time under each reason as `gpu_clocks_held_REASON_ns` of the device.";
    GpuPcieReceiveBytesPerS, "gpu_pcie_receive_bytes_per_s", Gauge, BytesPerSecond, "PCIe received", "By the driver, measured over 20 ms at the moment it is asked.";
    GpuPcieTransmitBytesPerS, "gpu_pcie_transmit_bytes_per_s", Gauge, BytesPerSecond, "PCIe sent", "As gpu_pcie_receive_bytes_per_s.";
    EnergyPackageUj, "energy_package_uj", Counter, Microjoules, "CPU package energy", "powercap (RAPL), wrap-around handled; mostly readable by root only. Of the machine; the job's share is an estimate by CPU time.";
    EnergyDramUj, "energy_dram_uj", Counter, Microjoules, "DRAM energy", "As energy_package_uj, where the processor has such a counter.";
}

impl Metric {
    pub fn info(self) -> &'static MetricInfo {
        &TABLE[self as usize]
    }

    pub fn key(self) -> &'static str {
        self.info().key
    }

    pub fn from_key(key: &str) -> Option<Metric> {
        TABLE.iter().find(|row| row.key == key).map(|row| row.metric)
    }
}

/// One column of the time series: a metric of a scope, perhaps of one entity (a core, a disk, a GPU).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Column {
    pub scope: Scope,
    pub metric: Metric,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entity: Option<Entity>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Entity {
    pub kind: EntityKind,
    /// Kernel or driver name: `0`, `nvme0n1`, `/home`, `eth0`, a GPU's UUID. Hostile text: escape on output.
    pub name: String,
}

impl Column {
    pub fn of(scope: Scope, metric: Metric) -> Column {
        Column { scope, metric, entity: None }
    }

    pub fn entity(scope: Scope, metric: Metric, kind: EntityKind, name: &str) -> Column {
        Column { scope, metric, entity: Some(Entity { kind, name: name.to_owned() }) }
    }

    /// Flat name for exports: `combined_rss_bytes`, `system_core_busy_ns[0]`.
    pub fn name(&self) -> String {
        match &self.entity {
            None => format!("{}_{}", self.scope.key(), self.metric.key()),
            Some(entity) => format!("{}_{}[{}]", self.scope.key(), self.metric.key(), entity.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_is_indexed_by_metric_and_keys_are_unique() {
        for (index, row) in TABLE.iter().enumerate() {
            assert_eq!(row.metric as usize, index);
            assert_eq!(Metric::from_key(row.key), Some(row.metric));
        }
    }
}
