//! A stand-in for `nvidia-smi` that prints its query formats from the same state file as the fake NVML.

use fake_nvml::namespace::Rules;
use fake_nvml::parts::{Accounted, Process};
use fake_nvml::state::{Device, State, unix_ms};
use std::collections::HashMap;
use std::io::Write;
use std::path::PathBuf;

/// A sentence and the exit status, which is NVML's code.
type Failure = (String, i32);

const INVALID_ARGUMENT: i32 = 2;
const NO_DEVICE: i32 = 6;
const DRIVER_NOT_LOADED: i32 = 9;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let answer = Machine::load().and_then(|machine| machine.answer(&arguments));
    // The real one tells its failures on standard output too.
    let (text, status) = answer.map_or_else(|(error, status)| (error + "\n", status), |text| (text, 0));
    let written = std::io::stdout().lock().write_all(text.as_bytes());
    std::process::exit(if written.is_err() { 1 } else { status });
}

/// The scene of this moment.
struct Machine {
    state: State,
    folder: PathBuf,
}

impl Machine {
    fn load() -> Result<Machine, Failure> {
        let path =
            State::path().ok_or(("FAKE_NVML_STATE names no state file".to_owned(), INVALID_ARGUMENT))?;
        let state = State::load(&path).map_err(|error| (error, INVALID_ARGUMENT))?;
        let missing = state.driver_missing.then_some(DRIVER_NOT_LOADED);
        if let Some(code) = missing.or_else(|| state.fail.get("nvmlInit_v2").copied()) {
            return Err(("NVIDIA-SMI has failed: no answer from the NVIDIA driver.".to_owned(), code));
        }
        let folder = path.parent().map(PathBuf::from).unwrap_or_default();
        Ok(Machine { state, folder })
    }

    fn devices(&self) -> &[Device] {
        let frame = self.state.frame_at(1, || self.state.age_ms(&self.folder, unix_ms()));
        frame.map_or(&self.state.devices, |frame| &frame.devices)
    }

    fn pid(&self, pid: &fake_nvml::parts::Pid) -> Option<u32> {
        pid.resolve(&self.folder, &mut HashMap::new())
    }

    fn rules(&self) -> Rules {
        Rules::new(self.state.pid_namespace.as_ref(), self.state.driver_version())
    }

    /// The processes of a device and of its MIG instances: kind, PID, memory in bytes.
    fn processes(&self, device: &Device) -> Vec<(&'static str, u32, Option<u64>)> {
        let rules = self.rules();
        let shown = |kind, process: &Process| {
            let pid = rules.listed(self.pid(&process.pid)?, process.outside)?;
            Some((kind, pid, process.memory.map(|bytes| rules.memory(bytes))))
        };
        let of = |device: &Device| -> Vec<_> {
            let compute = device.compute.iter().filter_map(|process| shown("C", process));
            compute.chain(device.graphics.iter().filter_map(|process| shown("G", process))).collect()
        };
        let instances = device.mig.iter().flatten().flat_map(of);
        of(device).into_iter().chain(instances).collect()
    }

    fn answer(&self, arguments: &[String]) -> Result<String, Failure> {
        let devices = self.devices();
        let option = |name: &str| arguments.iter().find_map(|argument| argument.strip_prefix(name));
        if arguments.first().map(String::as_str) == Some("pmon") {
            return Ok(self.process_monitor());
        }
        if arguments.iter().any(|argument| argument == "-L") {
            return Ok(list_devices(devices));
        }
        if arguments.is_empty() {
            return if devices.is_empty() {
                Err(("No devices were found".to_owned(), NO_DEVICE))
            } else {
                Ok(self.overview())
            };
        }
        let format = Format::new(option("--format=").unwrap_or("csv"));
        let table = if let Some(fields) = option("--query-gpu=") {
            let row = |(index, device): (usize, &Device)| {
                format.row(fields, |field| self.gpu_cell(field, index, device))
            };
            format.table(fields, devices.iter().enumerate().map(row))
        } else if let Some(fields) = option("--query-compute-apps=") {
            let apps = devices.iter().flat_map(|device| {
                let compute = self.processes(device).into_iter().filter(|(kind, ..)| *kind == "C");
                compute.map(move |(_, pid, memory)| (device, pid, memory))
            });
            let row =
                |(device, pid, memory)| format.row(fields, |field| app_cell(field, pid, device, memory));
            format.table(fields, apps.map(row))
        } else if let Some(fields) = option("--query-accounted-apps=") {
            let apps = devices.iter().flat_map(|device| {
                let list = device.accounting.iter().filter(|own| own.enabled).flat_map(|own| &own.processes);
                list.filter_map(move |process| Some((device, self.pid(&process.pid)?, process)))
            });
            let row = |(device, pid, process)| {
                format.row(fields, |field| accounted_cell(field, pid, device, process))
            };
            format.table(fields, apps.map(row))
        } else {
            let known = "--query-gpu=, --query-compute-apps=, --query-accounted-apps=, pmon and -L";
            Err(format!("this stand-in knows {known}"))
        };
        table.map_err(|error| (error, INVALID_ARGUMENT))
    }

    fn gpu_cell(&self, field: &str, index: usize, device: &Device) -> Cell {
        let number = |value: Option<u32>| value.map(|value| value.to_string());
        let watts = |mw: Option<u32>| mw.map(|mw| format!("{:.2}", f64::from(mw) / 1000.0));
        Ok(match field {
            "index" => Some(index.to_string()),
            "count" => Some(self.devices().len().to_string()),
            "name" | "gpu_name" => Some(device.name().to_owned()),
            "uuid" | "gpu_uuid" => Some(device.uuid.clone()),
            "driver_version" => Some(self.state.driver_version().to_owned()),
            "pci.bus_id" | "gpu_bus_id" => bus_id(device),
            "memory.total" => Some(mebibytes(device.memory_total)),
            "memory.used" => Some(mebibytes(device.memory_used)),
            "memory.free" => Some(mebibytes(device.memory_free())),
            "memory.reserved" => Some(mebibytes(device.memory_reserved)),
            "utilization.gpu" => number(device.gpu_util),
            "utilization.memory" => number(device.memory_util),
            "power.draw" => watts(device.power_mw),
            "power.limit" => watts(device.power_limit_mw),
            "temperature.gpu" => number(device.temperature_c),
            "clocks.sm" | "clocks.current.sm" => number(device.sm_mhz),
            "clocks.mem" | "clocks.current.memory" => number(device.memory_mhz),
            "pstate" => device.performance_state.map(|state| format!("P{state}")),
            "mig.mode.current" => Some(if device.mig.is_some() { "Enabled" } else { "Disabled" }.to_owned()),
            "timestamp" => Some(unix_ms().to_string()),
            _ => return Err(format!("Field \"{field}\" is not a valid field to query.")),
        })
    }

    /// What is printed without arguments, for people: no program reads it.
    fn overview(&self) -> String {
        let mut text = format!("NVIDIA-SMI (imaginary)   Driver Version: {}\n", self.state.driver_version());
        text += &list_devices(self.devices());
        for (index, device) in self.devices().iter().enumerate() {
            for (kind, pid, memory) in self.processes(device) {
                let memory = memory.map_or("N/A".to_owned(), |bytes| format!("{}MiB", mebibytes(bytes)));
                text += &format!("GPU {index}  PID {pid}  {kind}  {memory}\n");
            }
        }
        text
    }

    /// One round of `nvidia-smi pmon -s um`.
    fn process_monitor(&self) -> String {
        let mut text = "# gpu         pid   type     sm    mem    enc    dec     fb   command\n\
                        # Idx           #    C/G      %      %      %      %     MB   name\n"
            .to_owned();
        for (index, device) in self.devices().iter().enumerate() {
            for (kind, pid, memory) in self.processes(device) {
                let of_pid = |sample: &&fake_nvml::parts::Sample| {
                    let own = self.pid(&sample.pid);
                    own.and_then(|own| self.rules().sampled(own, sample.outside)) == Some(pid)
                };
                let share = device.samples.iter().flatten().rev().find(of_pid);
                let cell = |value: Option<u32>| value.map_or("-".to_owned(), |value| value.to_string());
                text += &format!(
                    "{index:>5} {pid:>11} {kind:>6} {:>6} {:>6} {:>6} {:>6} {:>6}   {}\n",
                    cell(share.map(|sample| sample.sm)),
                    cell(share.map(|sample| sample.memory)),
                    "-",
                    "-",
                    memory.map_or("-".to_owned(), mebibytes),
                    std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim()
                );
            }
        }
        text
    }
}

fn list_devices(devices: &[Device]) -> String {
    let line = |(index, device): (usize, &Device)| {
        format!("GPU {index}: {} (UUID: {})\n", device.name(), device.uuid)
    };
    devices.iter().enumerate().map(line).collect()
}

type Cell = Result<Option<String>, String>;

/// What `--format` asks for.
struct Format {
    header: bool,
    units: bool,
}

impl Format {
    fn new(text: &str) -> Format {
        let has = |word: &str| text.split(',').any(|part| part.trim() == word);
        Format { header: !has("noheader"), units: !has("nounits") }
    }

    fn row(&self, fields: &str, cell: impl Fn(&str) -> Cell) -> Result<String, String> {
        let cell = |field: &str| {
            Ok(match (cell(field)?, unit(field)) {
                (None, _) => "[N/A]".to_owned(),
                (Some(value), Some(unit)) if self.units => format!("{value} {unit}"),
                (Some(value), _) => value,
            })
        };
        let list: Result<Vec<String>, String> = fields.split(',').map(|field| cell(field.trim())).collect();
        Ok(list?.join(", "))
    }

    fn table(
        &self,
        fields: &str,
        rows: impl Iterator<Item = Result<String, String>>,
    ) -> Result<String, String> {
        let title = |field: &str| match unit(field.trim()) {
            Some(unit) if self.units => format!("{} [{unit}]", field.trim()),
            _ => field.trim().to_owned(),
        };
        let mut text = String::new();
        if self.header {
            text = fields.split(',').map(title).collect::<Vec<_>>().join(", ") + "\n";
        }
        for row in rows {
            text += &row?;
            text.push('\n');
        }
        Ok(text)
    }
}

fn mebibytes(bytes: u64) -> String {
    (bytes >> 20).to_string()
}

fn unit(field: &str) -> Option<&'static str> {
    match field {
        "memory.total" | "memory.used" | "memory.free" | "memory.reserved" => Some("MiB"),
        "used_memory" | "used_gpu_memory" | "max_memory_usage" => Some("MiB"),
        "utilization.gpu" | "utilization.memory" | "gpu_utilization" | "mem_utilization" => Some("%"),
        "power.draw" | "power.limit" => Some("W"),
        "clocks.sm" | "clocks.current.sm" | "clocks.mem" | "clocks.current.memory" => Some("MHz"),
        "time" => Some("ms"),
        _ => None,
    }
}

fn bus_id(device: &Device) -> Option<String> {
    device.pci.as_ref().map(|pci| format!("0000{}", pci.to_uppercase()))
}

fn app_cell(field: &str, pid: u32, device: &Device, memory: Option<u64>) -> Cell {
    Ok(match field {
        "pid" => Some(pid.to_string()),
        "process_name" | "name" => {
            std::fs::read_link(format!("/proc/{pid}/exe")).ok().map(|path| path.display().to_string())
        }
        "used_memory" | "used_gpu_memory" => memory.map(mebibytes),
        "gpu_uuid" => Some(device.uuid.clone()),
        "gpu_name" => Some(device.name().to_owned()),
        "gpu_bus_id" => bus_id(device),
        _ => return Err(format!("Field \"{field}\" is not a valid field to query.")),
    })
}

fn accounted_cell(field: &str, pid: u32, device: &Device, process: &Accounted) -> Cell {
    Ok(match field {
        "gpu_utilization" => process.gpu_util.map(|util| util.to_string()),
        "mem_utilization" => process.memory_util.map(|util| util.to_string()),
        "max_memory_usage" => process.max_memory.map(mebibytes),
        "time" => Some(process.time_ms.to_string()),
        _ => return app_cell(field, pid, device, None),
    })
}
