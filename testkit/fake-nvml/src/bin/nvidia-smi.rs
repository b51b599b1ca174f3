//! A stand-in for `nvidia-smi` that prints its query formats from the same state file as the fake NVML.

use fake_nvml::state::{Device, Process, State, unix_ms};
use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let text = answer(&arguments).unwrap_or_else(|error| {
        eprintln!("nvidia-smi: {error}");
        std::process::exit(2);
    });
    if std::io::stdout().lock().write_all(text.as_bytes()).is_err() {
        std::process::exit(1);
    }
}

fn answer(arguments: &[String]) -> Result<String, String> {
    let path = State::path().ok_or("FAKE_NVML_STATE names no state file")?;
    let state = State::load(&path)?;
    let folder = path.parent().map(PathBuf::from).unwrap_or_default();
    let devices = state.devices_at(1, state.start_unix_ms.unwrap_or_else(unix_ms));
    let option = |name: &str| arguments.iter().find_map(|argument| argument.strip_prefix(name));
    if arguments.first().map(String::as_str) == Some("pmon") {
        return Ok(process_monitor(devices, &folder));
    }
    if arguments.iter().any(|argument| argument == "-L") {
        let line = |(index, device): (usize, &Device)| {
            format!("GPU {index}: {} (UUID: {})\n", name_of(device), device.uuid)
        };
        return Ok(devices.iter().enumerate().map(line).collect());
    }
    let format = option("--format=").unwrap_or("csv");
    let header = !format.split(',').any(|part| part.trim() == "noheader");
    let units = !format.split(',').any(|part| part.trim() == "nounits");
    let driver = state.driver_version.as_deref().unwrap_or("550.54.15");
    if let Some(fields) = option("--query-gpu=") {
        let row = |(index, device): (usize, &Device)| {
            cells(fields, units, |field| gpu_cell(field, index, devices.len(), driver, device))
        };
        return table(fields, header, units, gpu_unit, devices.iter().enumerate().map(row));
    }
    if let Some(fields) = option("--query-compute-apps=") {
        let mut pids = HashMap::new();
        let rows: Vec<_> = devices
            .iter()
            .flat_map(|device| {
                let instances = device.mig.iter().flatten().flat_map(|instance| &instance.compute);
                device.compute.iter().chain(instances).map(move |process| (device, process))
            })
            .filter_map(|(device, process)| {
                let pid = process.pid.resolve(&folder, &mut pids)?;
                Some(cells(fields, units, |field| app_cell(field, pid, device, process)))
            })
            .collect();
        return table(fields, header, units, app_unit, rows.into_iter());
    }
    Err("this stand-in knows --query-gpu=, --query-compute-apps=, pmon and -L".to_owned())
}

fn name_of(device: &Device) -> &str {
    device.name.as_deref().unwrap_or("Imaginary GPU")
}

type Cell = Result<Option<String>, String>;

fn cells(fields: &str, units: bool, cell: impl Fn(&str) -> Cell) -> Result<String, String> {
    let list: Result<Vec<String>, String> = fields
        .split(',')
        .map(|field| {
            let field = field.trim();
            let unit = gpu_unit(field).or_else(|| app_unit(field));
            Ok(match (cell(field)?, unit) {
                (None, _) => "[N/A]".to_owned(),
                (Some(value), Some(unit)) if units => format!("{value} {unit}"),
                (Some(value), _) => value,
            })
        })
        .collect();
    Ok(list?.join(", "))
}

fn table(
    fields: &str,
    header: bool,
    units: bool,
    unit_of: fn(&str) -> Option<&'static str>,
    rows: impl Iterator<Item = Result<String, String>>,
) -> Result<String, String> {
    let mut text = String::new();
    if header {
        let title = |field: &str| match unit_of(field.trim()) {
            Some(unit) if units => format!("{} [{unit}]", field.trim()),
            _ => field.trim().to_owned(),
        };
        text = fields.split(',').map(title).collect::<Vec<_>>().join(", ") + "\n";
    }
    for row in rows {
        text += &row?;
        text.push('\n');
    }
    Ok(text)
}

fn mebibytes(bytes: u64) -> String {
    (bytes >> 20).to_string()
}

fn gpu_unit(field: &str) -> Option<&'static str> {
    match field {
        "memory.total" | "memory.used" | "memory.free" | "memory.reserved" => Some("MiB"),
        "utilization.gpu" | "utilization.memory" => Some("%"),
        "power.draw" => Some("W"),
        "clocks.sm" | "clocks.current.sm" | "clocks.mem" | "clocks.current.memory" => Some("MHz"),
        _ => None,
    }
}

fn app_unit(field: &str) -> Option<&'static str> {
    matches!(field, "used_memory" | "used_gpu_memory").then_some("MiB")
}

fn gpu_cell(field: &str, index: usize, count: usize, driver: &str, device: &Device) -> Cell {
    let free = device.memory_total.saturating_sub(device.memory_used + device.memory_reserved);
    Ok(match field {
        "index" => Some(index.to_string()),
        "count" => Some(count.to_string()),
        "name" | "gpu_name" => Some(name_of(device).to_owned()),
        "uuid" | "gpu_uuid" => Some(device.uuid.clone()),
        "driver_version" => Some(driver.to_owned()),
        "pci.bus_id" | "gpu_bus_id" => device.pci.as_ref().map(|pci| format!("0000{}", pci.to_uppercase())),
        "memory.total" => Some(mebibytes(device.memory_total)),
        "memory.used" => Some(mebibytes(device.memory_used)),
        "memory.free" => Some(mebibytes(free)),
        "memory.reserved" => Some(mebibytes(device.memory_reserved)),
        "utilization.gpu" => device.gpu_util.map(|value| value.to_string()),
        "utilization.memory" => device.memory_util.map(|value| value.to_string()),
        "power.draw" => device.power_mw.map(|mw| format!("{:.2}", f64::from(mw) / 1000.0)),
        "temperature.gpu" => device.temperature_c.map(|value| value.to_string()),
        "clocks.sm" | "clocks.current.sm" => device.sm_mhz.map(|value| value.to_string()),
        "clocks.mem" | "clocks.current.memory" => device.memory_mhz.map(|value| value.to_string()),
        "mig.mode.current" => Some(if device.mig.is_some() { "Enabled" } else { "Disabled" }.to_owned()),
        "timestamp" => Some(unix_ms().to_string()),
        _ => return Err(format!("Field \"{field}\" is not a valid field to query.")),
    })
}

fn app_cell(field: &str, pid: u32, device: &Device, process: &Process) -> Cell {
    Ok(match field {
        "pid" => Some(pid.to_string()),
        "process_name" | "name" => {
            std::fs::read_link(format!("/proc/{pid}/exe")).ok().map(|path| path.display().to_string())
        }
        "used_memory" | "used_gpu_memory" => process.memory.map(mebibytes),
        "gpu_uuid" => Some(device.uuid.clone()),
        "gpu_name" => Some(name_of(device).to_owned()),
        "gpu_bus_id" => device.pci.as_ref().map(|pci| format!("0000{}", pci.to_uppercase())),
        _ => return Err(format!("Field \"{field}\" is not a valid field to query.")),
    })
}

/// One round of `nvidia-smi pmon -s um`.
fn process_monitor(devices: &[Device], folder: &Path) -> String {
    let mut pids = HashMap::new();
    let mut text = "# gpu         pid   type     sm    mem    enc    dec     fb   command\n\
                    # Idx           #    C/G      %      %      %      %     MB   name\n"
        .to_owned();
    for (index, device) in devices.iter().enumerate() {
        for (kind, list) in [("C", &device.compute), ("G", &device.graphics)] {
            for process in list {
                let Some(pid) = process.pid.resolve(folder, &mut pids) else { continue };
                let share = device
                    .samples
                    .iter()
                    .flatten()
                    .rev()
                    .find(|sample| sample.pid.resolve(folder, &mut HashMap::new()) == Some(pid));
                let (sm, memory) = share.map_or(("-".to_owned(), "-".to_owned()), |sample| {
                    (sample.sm.to_string(), sample.memory.to_string())
                });
                let fb = process.memory.map_or("-".to_owned(), mebibytes);
                let command = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
                text += &format!(
                    "{index:>5} {pid:>11} {kind:>6} {sm:>6} {memory:>6} {:>6} {:>6} {fb:>6}   {}\n",
                    "-",
                    "-",
                    command.trim()
                );
            }
        }
    }
    text
}
