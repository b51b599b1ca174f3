//! The metric table: one row for each metric. A row says the key, how it grows, its unit, who has it, which statistics
//! the summary gives, where the number comes from and, after `in`, how it is drawn.

use super::chart::lines;
use super::row::places::*;
use super::row::yields::*;
use super::{Kind, MetricInfo, Unit};
use serde::{Deserialize, Serialize};

/// The lines of a metric; none where it is in no chart.
macro_rules! drawn {
    () => {
        &[]
    };
    ($lines:ident) => {
        lines::$lines
    };
}

macro_rules! metrics {
    ($($variant:ident, $key:literal, $kind:ident, $unit:ident, $places:ident, $yields:ident, $title:literal,
        $source:literal $(in $lines:ident)?;)*) => {
        /// Identity of a metric. Stored by key, never by number.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Metric { $(#[doc = $title] #[serde(rename = $key)] $variant,)* }

        /// The table itself, in display order; `TABLE[m as usize].metric == m`.
        pub const TABLE: &[MetricInfo] = &[
            $(MetricInfo { metric: Metric::$variant, key: $key, kind: Kind::$kind, unit: Unit::$unit,
                places: $places, yields: $yields, title: $title, source: $source,
                lines: drawn!($($lines)?),
                keys: [$key, concat!($key, "_max"), concat!($key, "_mean"), concat!($key, "_min"),
                    concat!($key, "_per_s_max"), concat!($key, "_per_s_mean")] },)*
        ];
    };
}

metrics! {
    CpuNs, "cpu_ns", Counter, Nanos, USED, CORES, "CPU time",
        "Job: CPU clock of each living process, plus the waited-for children of each (stat cutime+cstime), plus wait4 of what was reaped; exact at the end, within one 10 ms tick per process while running. System: busy time of all cores from /proc/stat, an estimate, because the kernel counts it by clock ticks. Containers: the count of their own control groups." in CPU;
    CpuUserNs, "cpu_user_ns", Counter, Nanos, EVERYONE, CPU, "CPU time, user",
        "As cpu_ns, the user-mode part. The kernel splits user and system by sampling unless it was built with full accounting.";
    CpuSystemNs, "cpu_system_ns", Counter, Nanos, EVERYONE, CPU, "CPU time, system",
        "As cpu_ns, the kernel-mode part." in CPU_SYSTEM;
    CpuIowaitNs, "cpu_iowait_ns", Counter, Nanos, MACHINE, CPU, "CPU idle waiting for I/O",
        "/proc/stat; the kernel calls this figure unreliable, it is a hint only." in CPU_IOWAIT;
    CpuStealNs, "cpu_steal_ns", Counter, Nanos, MACHINE, CPU, "CPU taken by the hypervisor",
        "/proc/stat. Not every hypervisor tells it: 0 may mean that nobody said." in CPU_STEAL;
    RssBytes, "rss_bytes", Gauge, Bytes, JOB, LEVEL, "RAM",
        "Resident memory. Main: /proc/PID/statm. Descendants, combined: shared pages counted once, from smaps_rollup when a maximum may move, otherwise the last known shared part is subtracted from the sum of statm." in RSS;
    RssPrivateBytes, "rss_private_bytes", Gauge, Bytes, JOB, LEVEL, "RAM, private",
        "Pages that only one process maps: Private_* of smaps_rollup, kept in step with statm between reads." in RSS_PRIVATE;
    RssSharedBytes, "rss_shared_bytes", Gauge, Bytes, JOB, LEVEL, "RAM, shared",
        "Pages mapped by several processes or backed by files, each counted once across the tree." in RSS_SHARED;
    RssSumBytes, "rss_sum_bytes", Gauge, Bytes, SEVERAL, LEVEL, "RAM, plain sum",
        "Sum of statm RSS over the processes of the scope; counts shared pages once per process, as most trackers do, and so overstates a job that forks. Containers: of the processes in them." in RSS_SUM;
    SwapBytes, "swap_bytes", Gauge, Bytes, EVERYONE, LEVEL, "Swap",
        "VmSwap of /proc/PID/status, which leaves out swapped shared memory. System: SwapTotal - SwapFree." in SWAP;
    Processes, "processes", Gauge, Count, HEADS, LEVEL, "Processes",
        "Living processes, zombies included. The highest number between two ticks may be missed." in PROCESSES;
    Threads, "threads", Gauge, Count, EVERYONE, LEVEL, "Threads",
        "Threads of the living processes; for leaves of the tree up to one slow read old." in THREADS;
    ReadCharsBytes, "read_chars_bytes", Counter, Bytes, JOB, COUNTED, "Read (calls)",
        "rchar of /proc/PID/io: bytes that read calls returned, page cache, pipes and sockets included; mapped files are not." in READ_CHARS;
    WriteCharsBytes, "write_chars_bytes", Counter, Bytes, JOB, COUNTED, "Written (calls)",
        "wchar of /proc/PID/io: bytes given to write calls, pipes, sockets and terminals included." in WRITE_CHARS;
    ReadStorageBytes, "read_storage_bytes", Counter, Bytes, JOB, COUNTED, "Read (storage)",
        "read_bytes of /proc/PID/io: bytes fetched from block storage, read-ahead included. Files in the page cache cost nothing here, so a second run reads less; network and FUSE file systems may not count." in READ_STORAGE;
    WriteStorageBytes, "write_storage_bytes", Counter, Bytes, JOB, COUNTED, "Written (storage)",
        "write_bytes of /proc/PID/io: counted when pages become dirty, not when they reach the device; a file deleted soon after may never be written. tmpfs and some network file systems do not count." in WRITE_STORAGE;
    FaultsMinor, "faults_minor", Counter, Count, JOB, COUNTED, "Page faults, minor",
        "stat minflt+cminflt; wait4 at the end.";
    FaultsMajor, "faults_major", Counter, Count, JOB, COUNTED, "Page faults, major",
        "stat majflt+cmajflt; wait4 at the end.";
    SwitchesVoluntary, "switches_voluntary", Counter, Count, JOB, COUNTED, "Context switches, voluntary",
        "wait4 at the end (exact); main thread's /proc/PID/status while running (lower bound).";
    SwitchesInvoluntary, "switches_involuntary", Counter, Count, JOB, COUNTED, "Context switches, involuntary",
        "wait4 at the end (exact); main thread's /proc/PID/status while running (lower bound).";
    RunQueueWaitNs, "run_queue_wait_ns", Counter, Nanos, JOB, COUNTED, "Time waiting for a CPU",
        "Second field of /proc/PID/schedstat: time that the main thread of each process could run and had no CPU. A lower bound: other threads are not in it, nor what a process waited after its last reading, once a second at most for all but the main process.";
    MemoryTotalBytes, "memory_total_bytes", Gauge, Bytes, MACHINE, LEVEL, "Memory, capacity",
        "MemTotal of /proc/meminfo.";
    MemoryUsedBytes, "memory_used_bytes", Gauge, Bytes, MACHINE, LEVEL, "Memory, used",
        "MemTotal - MemAvailable of /proc/meminfo, an estimate of the kernel. In a container it is still the machine's." in MEMORY_USED;
    MemoryFreeBytes, "memory_free_bytes", Gauge, Bytes, MACHINE, RUNS_OUT, "Memory, free",
        "MemFree of /proc/meminfo. Low is normal: idle memory holds the page cache; look at what is available.";
    MemoryAvailableBytes, "memory_available_bytes", Gauge, Bytes, MACHINE, RUNS_OUT, "Memory, available",
        "MemAvailable of /proc/meminfo: what could be had without swapping, as the kernel estimates.";
    MemoryBuffersBytes, "memory_buffers_bytes", Gauge, Bytes, MACHINE, LEVEL, "Memory, buffers",
        "Buffers of /proc/meminfo.";
    MemoryCachedBytes, "memory_cached_bytes", Gauge, Bytes, MACHINE, LEVEL, "Memory, cached",
        "Cached + SReclaimable of /proc/meminfo; shared memory and tmpfs are in it and cannot be dropped.";
    MemoryActiveBytes, "memory_active_bytes", Gauge, Bytes, MACHINE, LEVEL, "Memory, active",
        "Active of /proc/meminfo.";
    MemoryInactiveBytes, "memory_inactive_bytes", Gauge, Bytes, MACHINE, LEVEL, "Memory, inactive",
        "Inactive of /proc/meminfo.";
    SwapTotalBytes, "swap_total_bytes", Gauge, Bytes, MACHINE, LEVEL, "Swap, capacity",
        "SwapTotal of /proc/meminfo.";
    Forks, "forks", Counter, Count, MACHINE, COUNTED, "Forks",
        "processes of /proc/stat: every fork and clone on the machine, threads included.";
    Load1Milli, "load1_milli", Gauge, Milli, MACHINE, LEVEL, "Load, 1 min",
        "/proc/loadavg: tasks that run or wait, for disks too, averaged over a minute; it lags behind, and of a container it is the machine's.";
    PsiCpuSomeNs, "psi_cpu_some_ns", Counter, Nanos, MACHINE, SHARE, "Pressure, CPU",
        "/proc/pressure/cpu some total: time in which at least one task of the machine waited for a core. Absent where the kernel keeps no pressure figures." in PSI_CPU;
    PsiMemorySomeNs, "psi_memory_some_ns", Counter, Nanos, MACHINE, SHARE, "Pressure, memory",
        "/proc/pressure/memory some total: time in which at least one task waited for memory." in PSI_MEMORY;
    PsiMemoryFullNs, "psi_memory_full_ns", Counter, Nanos, MACHINE, SHARE, "Pressure, memory, all",
        "/proc/pressure/memory full total: time in which every task that could run waited for memory." in PSI_MEMORY_FULL;
    PsiIoSomeNs, "psi_io_some_ns", Counter, Nanos, MACHINE, SHARE, "Pressure, I/O",
        "/proc/pressure/io some total: time in which at least one task waited for storage." in PSI_IO;
    PsiIoFullNs, "psi_io_full_ns", Counter, Nanos, MACHINE, SHARE, "Pressure, I/O, all",
        "/proc/pressure/io full total: time in which every task that could run waited for storage." in PSI_IO_FULL;
    CoreBusyNs, "core_busy_ns", Counter, Nanos, CORE, SHARE, "Core busy",
        "cpuN of /proc/stat: all but idle and iowait, in ticks of 10 ms, so that the share of a short window may exceed 1 by some per cent.";
    DiskReadBytes, "disk_read_bytes", Counter, Bytes, DISK, COUNTED, "Disk read",
        "/proc/diskstats sectors of whole devices (partitions and stacked devices left out of the sum)." in DISK_READ;
    DiskWriteBytes, "disk_write_bytes", Counter, Bytes, DISK, COUNTED, "Disk written",
        "As disk_read_bytes. Of everyone on the machine, and later than the job's write calls by the time that pages stay dirty." in DISK_WRITE;
    MountTotalBytes, "mount_total_bytes", Gauge, Bytes, MOUNT, LEVEL, "Space, total",
        "statvfs of local mounts; network mounts are not asked, they may hang.";
    MountUsedBytes, "mount_used_bytes", Gauge, Bytes, MOUNT, LEVEL, "Space, used",
        "statvfs, read every ten seconds. Of everyone: the job is not told apart.";
    MountFreeBytes, "mount_free_bytes", Gauge, Bytes, MOUNT, RUNS_OUT, "Space, free",
        "statvfs, what an ordinary user may still use.";
    NetReceiveBytes, "net_receive_bytes", Counter, Bytes, NETWORK, COUNTED, "Network received",
        "/proc/net/dev of this network namespace, loopback left out of the sum. Of the machine, never of the job alone." in NET_RECEIVE;
    NetTransmitBytes, "net_transmit_bytes", Counter, Bytes, NETWORK, COUNTED, "Network sent",
        "As net_receive_bytes." in NET_TRANSMIT;
    GpuMemoryBytes, "gpu_memory_bytes", Gauge, Bytes, GPU_SHARED, LEVEL, "GPU RAM",
        "Device: memory in use. Job scopes: memory of the job's processes on it." in GPU_MEMORY;
    GpuMemoryTotalBytes, "gpu_memory_total_bytes", Gauge, Bytes, GPU_SUM, LEVEL, "GPU RAM, capacity",
        "As the driver tells it.";
    GpuMemoryFreeBytes, "gpu_memory_free_bytes", Gauge, Bytes, GPU, RUNS_OUT, "GPU RAM, free",
        "Capacity less what is in use, and less the driver's own reserve where it tells it apart.";
    GpuGttBytes, "gpu_gtt_bytes", Gauge, Bytes, GPU, LEVEL, "GPU use of system RAM",
        "amdgpu: system memory that the GPU maps now. Not part of GPU RAM.";
    GpuGttTotalBytes, "gpu_gtt_total_bytes", Gauge, Bytes, GPU, LEVEL, "GPU use of system RAM, most",
        "amdgpu: system memory that the GPU may map.";
    GpuBusyPpm, "gpu_busy_ppm", Gauge, Ppm, GPU_BUSY, LEVEL, "GPU use",
        "Device: share of time that any kernel ran, however few of its cores it kept busy: 100 % is not a full GPU. Job scopes: SM or engine share of the job's processes. Summed over devices it may exceed one million." in GPU_BUSY;
    GpuMemoryBusyPpm, "gpu_memory_busy_ppm", Gauge, Ppm, GPU_JOB, LEVEL, "GPU memory controller use",
        "Share of time that the device's memory was read or written, by the driver." in GPU_MEMORY_BUSY;
    GpuPowerMw, "gpu_power_mw", Gauge, Milliwatts, GPU_SUM, LEVEL, "GPU power",
        "By the driver: of the whole board, and on some boards an average over up to a second." in GPU_POWER;
    GpuEnergyUj, "gpu_energy_uj", Counter, Microjoules, GPU_ENERGY, COUNTED, "GPU energy",
        "The driver's counter, else power integrated over the ticks. Of the device, others' work on it included.";
    GpuTemperatureMc, "gpu_temperature_mc", Gauge, Millicelsius, GPU, LEVEL, "GPU temperature",
        "As the driver tells it." in GPU_TEMPERATURE;
    GpuClockSmHz, "gpu_clock_sm_hz", Gauge, Hertz, GPU, LEVEL, "GPU clock",
        "Clock of the cores, by the driver.";
    GpuClockMemoryHz, "gpu_clock_memory_hz", Gauge, Hertz, GPU, LEVEL, "GPU memory clock",
        "By the driver.";
    GpuThrottleBits, "gpu_throttle_bits", Gauge, Bits, GPU, SET, "GPU throttle reasons",
        "NVML clocks event reasons, a set of bits. In the summary: every bit that was set at some tick, and the time under each reason as `gpu_clocks_held_REASON_ns` of the device.";
    GpuPcieReceiveBytesPerS, "gpu_pcie_receive_bytes_per_s", Gauge, BytesPerSecond, GPU, LEVEL, "PCIe received",
        "By the driver, measured over 20 ms at the moment it is asked.";
    GpuPcieTransmitBytesPerS, "gpu_pcie_transmit_bytes_per_s", Gauge, BytesPerSecond, GPU, LEVEL, "PCIe sent",
        "As gpu_pcie_receive_bytes_per_s.";
    GpuNvlinkReceiveBytesPerS, "gpu_nvlink_receive_bytes_per_s", Gauge, BytesPerSecond, GPU, LEVEL, "NVLink received",
        "NVML GPM, over all links of the device. From Hopper on.";
    GpuNvlinkTransmitBytesPerS, "gpu_nvlink_transmit_bytes_per_s", Gauge, BytesPerSecond, GPU, LEVEL, "NVLink sent",
        "As gpu_nvlink_receive_bytes_per_s.";
    GpuSmActivePpm, "gpu_sm_active_ppm", Gauge, Ppm, GPU, LEVEL, "GPU multiprocessors active",
        "NVML GPM: share of multiprocessors and time with a warp assigned, over at least 100 ms. Of the device, others' work included; from Hopper on." in GPU_SM;
    GpuSmOccupancyPpm, "gpu_sm_occupancy_ppm", Gauge, Ppm, GPU, LEVEL, "GPU occupancy",
        "NVML GPM: warps in residence as a share of the most that the multiprocessors hold. Of the device; from Hopper on.";
    GpuTensorPpm, "gpu_tensor_ppm", Gauge, Ppm, GPU, LEVEL, "GPU tensor cores active",
        "NVML GPM: share of time that the tensor pipes issued. Of the device; from Hopper on." in GPU_TENSOR;
    GpuFp64Ppm, "gpu_fp64_ppm", Gauge, Ppm, GPU, LEVEL, "GPU FP64 pipe active",
        "NVML GPM, as gpu_tensor_ppm.";
    GpuFp32Ppm, "gpu_fp32_ppm", Gauge, Ppm, GPU, LEVEL, "GPU FP32 pipe active",
        "NVML GPM, as gpu_tensor_ppm.";
    GpuFp16Ppm, "gpu_fp16_ppm", Gauge, Ppm, GPU, LEVEL, "GPU FP16 pipe active",
        "NVML GPM, as gpu_tensor_ppm.";
    GpuDramPpm, "gpu_dram_ppm", Gauge, Ppm, GPU, LEVEL, "GPU memory bandwidth in use",
        "NVML GPM: share of the device memory's bandwidth. Of the device; from Hopper on." in GPU_DRAM;
    EnergyPackageUj, "energy_package_uj", Counter, Microjoules, ENERGY, COUNTED, "CPU package energy",
        "powercap (RAPL), wrap-around handled; mostly readable by root only. Of the machine; the job's share is an estimate by CPU time." in PACKAGE;
    EnergyDramUj, "energy_dram_uj", Counter, Microjoules, ENERGY, COUNTED, "DRAM energy",
        "As energy_package_uj, where the processor has such a counter." in DRAM;
    CgroupMemoryPeakBytes, "cgroup_memory_peak_bytes", Once, Bytes, GROUP_AT_END, ONCE, "Memory of the job's group, peak",
        "memory.peak (cgroup v2) or memory.max_usage_in_bytes (v1) of the group that jobmeter made for the job; page cache and kernel memory included. Absent where no group could be made. Containers: the sum over the groups that their engines made for them.";
    UnmappedMemoryPeakBytes, "unmapped_memory_peak_bytes", Once, Bytes, AT_END, ONCE, "Memory that no process maps, peak",
        "Files in tmpfs, memfd and System V segments, which a limit charges to the job: growth of Shmem in /proc/meminfo while the job ran, less what its processes map (RssShmem). An estimate without bounds: other programs may have a part in it, processes may map the same, and what came and went between two looks is not in it.";
    CoresWhenBusy, "cores_when_busy", Once, Cores, AT_END, ONCE, "Cores in use when busy",
        "Mean of the cores in use over windows of at least 100 ms, weighted by the CPU time used in each: a pool that fills two cores half of the time uses two when it is busy. An estimate; absent where the run was shorter than a window.";
    EnergyJoules, "energy_joules", Once, Joules, AT_END, ONCE, "Energy",
        "Sum of the job's share of CPU package and DRAM energy, by CPU time, and of the energy of the GPUs that it used. An estimate.";
    Co2Grams, "co2_grams", Once, Grams, AT_END, ONCE, "Carbon dioxide",
        "energy_joules at the intensity that was given. An estimate.";
    GpuWatchedNs, "gpu_watched_ns", Once, Nanos, GPU, ONCE, "Watched for",
        "Time over which the GPU was sampled.";
    GpuIdleNs, "gpu_idle_ns", Once, Nanos, GPU, ONCE, "Idle for",
        "Time in which the job did not compute on the GPU: each sample stands for the time since the sample before.";
    GpuIdleEnergyUj, "gpu_idle_energy_uj", Once, Microjoules, GPU, ONCE, "Energy while idle",
        "Energy of the GPU in gpu_idle_ns.";
    GpuXidEvents, "gpu_xid_events", Once, Count, GPU, ONCE, "XIDs",
        "NVML events since the first sample: errors that the driver reports by number.";
    GpuEccCorrectedErrors, "gpu_ecc_corrected_errors", Once, Count, GPU, ONCE, "ECC errors, corrected",
        "NVML: memory errors since the first sample that ECC has corrected.";
    GpuEccUncorrectedErrors, "gpu_ecc_uncorrected_errors", Once, Count, GPU, ONCE, "ECC errors, uncorrected",
        "NVML: memory errors since the first sample that ECC could not correct.";
    GpuAccountedPeakBytes, "gpu_accounted_peak_bytes", Once, Bytes, GPU_OF_JOB, ONCE, "GPU RAM, peak of one process by the driver",
        "NVML accounting mode, where it is on: the driver's own peak of the largest process of the job, also between two samples.";
    GpuClocksHeldIdleNs, "gpu_clocks_held_idle_ns", Once, Nanos, GPU, ONCE, "GPU clocks held: idle",
        "Time at whose samples NVML gave this clocks event reason.";
    GpuClocksHeldApplicationSettingNs, "gpu_clocks_held_application_setting_ns", Once, Nanos, GPU, ONCE,
        "GPU clocks held: application setting", "As gpu_clocks_held_idle_ns.";
    GpuClocksHeldPowerCapNs, "gpu_clocks_held_power_cap_ns", Once, Nanos, GPU, ONCE, "GPU clocks held: power cap",
        "As gpu_clocks_held_idle_ns.";
    GpuClocksHeldHardwareSlowdownNs, "gpu_clocks_held_hardware_slowdown_ns", Once, Nanos, GPU, ONCE,
        "GPU clocks held: hardware slowdown", "As gpu_clocks_held_idle_ns.";
    GpuClocksHeldSyncBoostNs, "gpu_clocks_held_sync_boost_ns", Once, Nanos, GPU, ONCE, "GPU clocks held: sync boost",
        "As gpu_clocks_held_idle_ns.";
    GpuClocksHeldSoftwareThermalNs, "gpu_clocks_held_software_thermal_ns", Once, Nanos, GPU, ONCE,
        "GPU clocks held: heat (software)", "As gpu_clocks_held_idle_ns.";
    GpuClocksHeldHardwareThermalNs, "gpu_clocks_held_hardware_thermal_ns", Once, Nanos, GPU, ONCE,
        "GPU clocks held: heat (hardware)", "As gpu_clocks_held_idle_ns.";
    GpuClocksHeldPowerBrakeNs, "gpu_clocks_held_power_brake_ns", Once, Nanos, GPU, ONCE,
        "GPU clocks held: power brake", "As gpu_clocks_held_idle_ns.";
    GpuClocksHeldDisplaySettingNs, "gpu_clocks_held_display_setting_ns", Once, Nanos, GPU, ONCE,
        "GPU clocks held: display setting", "As gpu_clocks_held_idle_ns.";
}
