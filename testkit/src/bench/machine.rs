//! The machine beside the numbers.

use crate::metered::Place;
use std::fs;
use std::io::{self, Write};

pub(crate) fn print(place: &Place) -> io::Result<()> {
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease")?;
    let cpuinfo = fs::read_to_string("/proc/cpuinfo")?;
    let model =
        cpuinfo.lines().find(|line| line.starts_with("model name")).and_then(|line| line.split(": ").nth(1));
    let cores = std::thread::available_parallelism()?;
    let meminfo = fs::read_to_string("/proc/meminfo")?;
    let memory_kib: u64 = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))
        .and_then(|rest| rest.trim().strip_suffix(" kB")?.parse().ok())
        .unwrap_or_default();
    let load = fs::read_to_string("/proc/loadavg")?;
    let binary_bytes = fs::metadata(&place.jobmeter)?.len();
    writeln!(
        io::stdout().lock(),
        "Linux {}, {cores} cores ({}), {} GB; load before: {}; binary {:.1} MB.",
        kernel.trim(),
        model.unwrap_or("unknown model"),
        memory_kib * 1024 / 1_000_000_000,
        load.split(' ').next().unwrap_or_default(),
        binary_bytes as f64 / 1e6,
    )
}
