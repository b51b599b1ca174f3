//! One reading of a process or of the machine, for programs that take differences themselves.

use crate::away::away;
use crate::devices;
use jobmeter_engine::linux::proc::mounts;
use jobmeter_engine::linux::proc::system::SystemProbe;
use jobmeter_engine::meter::process::Process;
use jobmeter_engine::meter::process::Scale;
use jobmeter_engine::meter::tree::Tree;
use jobmeter_gpu::GpuSnapshot;
use jobmeter_model::ProcessId;
use pyo3::exceptions::PyProcessLookupError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::Path;
use std::sync::Arc;

const FOR_EVER_NS: u64 = u64::MAX / 2;
/// Index of the whole job among the scopes of a GPU sample.
const COMBINED: usize = 2;

/// Cumulative counters and levels of a process, and of its descendants when `children` is set. CPU time and
/// I/O include the children that were waited for.
#[pyfunction]
pub(crate) fn process_reading(py: Python<'_>, pid: i32, children: bool) -> PyResult<Bound<'_, PyDict>> {
    let reading = away(py, || ProcessReading::take(pid, children)).ok_or_else(|| {
        PyProcessLookupError::new_err(format!("there is no process {pid}; it may have ended"))
    })?;
    let dict = PyDict::new(py);
    dict.set_item("descendants", reading.descendants)?;
    dict.set_item("cpu_ns", reading.user_ns + reading.system_ns)?;
    dict.set_item("cpu_user_ns", reading.user_ns)?;
    dict.set_item("cpu_system_ns", reading.system_ns)?;
    dict.set_item("rss_bytes", reading.rss_bytes)?;
    dict.set_item("read_storage_bytes", reading.io_bytes.map(|(read, _)| read))?;
    dict.set_item("write_storage_bytes", reading.io_bytes.map(|(_, written)| written))?;
    let on_gpus: Vec<_> =
        reading.gpus.iter().flat_map(|sample| sample.scopes.iter().map(|scopes| scopes[COMBINED])).collect();
    let used = on_gpus.iter().enumerate().filter(|(_, gpu)| {
        gpu.memory_bytes.is_some_and(|bytes| bytes > 0) || gpu.busy_ppm.is_some_and(|ppm| ppm > 0)
    });
    dict.set_item("gpu_busy_ppm", devices::total(on_gpus.iter().map(|gpu| gpu.busy_ppm)))?;
    dict.set_item("gpu_memory_bytes", devices::total(on_gpus.iter().map(|gpu| gpu.memory_bytes)))?;
    dict.set_item("gpu_indexes", used.map(|(index, _)| index).collect::<Vec<_>>())?;
    Ok(dict)
}

struct ProcessReading {
    descendants: usize,
    user_ns: u64,
    system_ns: u64,
    rss_bytes: u64,
    io_bytes: Option<(u64, u64)>,
    gpus: Option<Arc<GpuSnapshot>>,
}

/// The kernel-mode part of the CPU time, by the proportion that `stat` shows.
fn system_part_ns(process: &Process) -> u64 {
    let (user, system) = (process.stat.user_ticks, process.stat.system_ticks);
    let share = u128::from(process.cpu_ns) * u128::from(system);
    share.checked_div(u128::from(user + system)).unwrap_or_default() as u64
}

impl ProcessReading {
    fn take(pid: i32, children: bool) -> Option<ProcessReading> {
        let mut tree = Tree::new(None);
        tree.open_main(pid)?;
        tree.be_guest();
        if children {
            tree.discover(0, 0, &mut Vec::new(), &mut || {});
        }
        let mut gone = Vec::new();
        // A period of zero: every member gets its slow reads (stat, io) now.
        tree.refresh(FOR_EVER_NS, true, false, &mut gone, &mut || {});
        for pid in gone {
            tree.remove(pid);
        }
        let main = tree.main()?;
        let mut reading = ProcessReading {
            descendants: tree.processes.len() - 1,
            user_ns: 0,
            system_ns: 0,
            rss_bytes: 0,
            io_bytes: main.io.is_some().then_some((0, 0)),
            gpus: None,
        };
        let others: Vec<ProcessId> =
            tree.processes.iter().map(|process| process.id).filter(|id| id.pid != pid).collect();
        reading.gpus = devices::sample(Some(main.id), &others);
        for process in &tree.processes {
            reading.add(process, tree.scale);
        }
        Some(reading)
    }

    fn add(&mut self, process: &Process, scale: Scale) {
        let system_ns = system_part_ns(process);
        self.system_ns += system_ns + process.stat.children_system_ticks * scale.tick_ns;
        self.user_ns += process.cpu_ns - system_ns + process.stat.children_user_ticks * scale.tick_ns;
        self.rss_bytes += process.rss_bytes;
        if let (Some(sum), Some(io)) = (&mut self.io_bytes, &process.io) {
            sum.0 += io.read_storage_bytes;
            sum.1 += io.write_storage_bytes;
        }
    }
}

/// The devices that a driver shows; none where there is no driver.
#[pyfunction]
pub(crate) fn gpus(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let devices = away(py, devices::list)?;
    devices
        .iter()
        .map(|device| {
            let dict = PyDict::new(py);
            dict.set_item("uuid", &device.uuid)?;
            dict.set_item("brand", device.brand.key())?;
            dict.set_item("name", &device.name)?;
            dict.set_item("memory_total_bytes", device.memory_total_bytes)?;
            dict.set_item("mig_parent", &device.mig_parent)?;
            Ok(dict)
        })
        .collect()
}

/// Counters since boot and levels of the machine. Unknown figures are `None`.
#[pyfunction]
pub(crate) fn system_reading(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let (reading, spaces, gpus) = away(py, || {
        let mut probe = SystemProbe::open(Path::new("/"));
        probe.read();
        let mounts = mounts::local_mounts(Path::new("/"));
        let spaces: Vec<_> = mounts
            .into_iter()
            .filter_map(|mount| mounts::space(&mount.path).map(|space| (mount.path, space)))
            .collect();
        (probe.reading, spaces, devices::sample(None, &[]))
    });
    let tick_ns = Scale::of_this_machine().tick_ns;
    let dict = PyDict::new(py);
    dict.set_item("forks", reading.forks)?;
    dict.set_item("cpu_ns", reading.cpu.map(|cpu| cpu.busy() * tick_ns))?;
    dict.set_item("cpu_user_ns", reading.cpu.map(|cpu| cpu.user * tick_ns))?;
    dict.set_item("cpu_system_ns", reading.cpu.map(|cpu| cpu.system * tick_ns))?;
    let memory = reading.memory;
    let used =
        memory.total_bytes.zip(memory.available_bytes).and_then(|(total, free)| total.checked_sub(free));
    for (key, value) in [
        ("memory_total_bytes", memory.total_bytes),
        ("memory_used_bytes", used),
        ("memory_free_bytes", memory.free_bytes),
        ("memory_available_bytes", memory.available_bytes),
        ("memory_buffers_bytes", memory.buffers_bytes),
        (
            "memory_cached_bytes",
            memory.cached_bytes.map(|bytes| bytes + memory.reclaimable_bytes.unwrap_or(0)),
        ),
        ("memory_active_bytes", memory.active_bytes),
        ("memory_inactive_bytes", memory.inactive_bytes),
    ] {
        dict.set_item(key, value)?;
    }
    let disks = PyDict::new(py);
    for disk in reading.disks.iter().filter(|disk| disk.in_sum) {
        let entry = PyDict::new(py);
        entry.set_item("read_bytes", disk.in_bytes)?;
        entry.set_item("write_bytes", disk.out_bytes)?;
        disks.set_item(&disk.name, entry)?;
    }
    dict.set_item("disks", disks)?;
    let mounts = PyDict::new(py);
    for (path, space) in spaces {
        let entry = PyDict::new(py);
        entry.set_item("total", space.total_bytes)?;
        entry.set_item("used", space.used_bytes)?;
        entry.set_item("free", space.free_bytes)?;
        mounts.set_item(path, entry)?;
    }
    dict.set_item("mounts", mounts)?;
    let sum = |pick: fn(&jobmeter_engine::linux::proc::system::Traffic) -> u64| {
        reading.networks.iter().filter(|network| network.in_sum).map(pick).sum::<u64>()
    };
    dict.set_item("net_receive_bytes", sum(|network| network.in_bytes))?;
    dict.set_item("net_transmit_bytes", sum(|network| network.out_bytes))?;
    let on_gpus = || gpus.iter().flat_map(|sample| sample.readings.iter());
    dict.set_item("gpu_busy_ppm", devices::total(on_gpus().map(|gpu| gpu.busy_ppm)))?;
    dict.set_item("gpu_memory_bytes", devices::total(on_gpus().map(|gpu| gpu.memory_used_bytes)))?;
    let busy = on_gpus().filter(|gpu| gpu.busy_ppm.is_some_and(|ppm| ppm > 0)).count();
    dict.set_item("gpu_utilized", busy)?;
    Ok(dict)
}
