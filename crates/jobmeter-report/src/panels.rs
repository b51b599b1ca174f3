//! Which series share a chart. One table for the plots, the report and the comparison, so that a line means
//! the same wherever it is drawn.

use crate::data::{RunData, Series};
use jobmeter_insight::gpus;
use jobmeter_model::Unit;
use jobmeter_model::{EntityKind, Metric, Scope, Stat};

/// One chart of one run.
pub struct Panel<'a> {
    pub id: &'static str,
    pub title: &'static str,
    pub measure: Unit,
    pub lines: Vec<Line<'a>>,
    /// Horizontal lines: what the job may use.
    pub limits: Vec<Limit>,
    /// What the peak of the leading line cannot exceed; between two ticks it may have been higher than drawn.
    pub bound: Option<Limit>,
    /// Labels of the lines that were measured and stayed at zero: they are named, not drawn.
    pub zero: Vec<String>,
    /// Whether the first line is the one that stands for the panel when several runs are overlaid; not where that
    /// one stayed at zero.
    has_lead: bool,
}

impl<'a> Panel<'a> {
    /// The line that stands for the panel; `None` where it stayed at zero.
    pub fn lead(&self) -> Option<&Line<'a>> {
        self.lines.first().filter(|_| self.has_lead)
    }
}

pub struct Line<'a> {
    pub label: String,
    pub series: &'a Series,
    pub role: Role,
    /// Whether it is drawn before anyone asks.
    pub shown: bool,
}

/// What a line stands for decides its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Job,
    Main,
    Descendants,
    /// The whole machine: context, drawn in grey.
    System,
    /// An upper bound: dashed.
    Bound,
    /// One of several devices or kinds.
    Other(usize),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    pub label: &'static str,
    pub value: f64,
}

struct Spec {
    id: &'static str,
    title: &'static str,
    measure: Unit,
    lines: &'static [LineSpec],
}

struct LineSpec {
    scope: Scope,
    metric: Metric,
    /// One line per entity of the metric instead of the one of the scope.
    entities: bool,
    label: &'static str,
    role: Role,
    shown: bool,
}

const fn line(scope: Scope, metric: Metric, label: &'static str, role: Role, shown: bool) -> LineSpec {
    LineSpec { scope, metric, entities: false, label, role, shown }
}

const fn each(metric: Metric, label: &'static str, role: Role, shown: bool) -> LineSpec {
    LineSpec { scope: Scope::System, metric, entities: true, label, role, shown }
}

use Metric as M;
use Role::{Bound, Descendants, Job, Main, Other, System};
use Scope as S;

const SPECS: &[Spec] = &[
    Spec {
        id: "cpu",
        title: "CPU, cores in use",
        measure: Unit::Cores,
        lines: &[
            line(S::Combined, M::CpuNs, "Job", Job, true),
            line(S::Main, M::CpuNs, "Main process", Main, true),
            line(S::Descendants, M::CpuNs, "Descendants", Descendants, false),
            line(S::System, M::CpuNs, "Whole machine", System, true),
            line(S::Combined, M::CpuSystemNs, "Job, in the kernel", Other(0), false),
            line(S::System, M::CpuIowaitNs, "Machine, waiting for I/O", Other(1), false),
            line(S::System, M::CpuStealNs, "Taken by the hypervisor", Other(2), false),
        ],
    },
    Spec {
        id: "ram",
        title: "RAM",
        measure: Unit::Bytes,
        lines: &[
            line(S::Combined, M::RssBytes, "Job", Job, true),
            line(S::Main, M::RssBytes, "Main process", Main, true),
            line(S::Descendants, M::RssBytes, "Descendants", Descendants, false),
            line(S::Combined, M::RssSumBytes, "Plain sum (upper bound)", Bound, false),
            line(S::Combined, M::RssPrivateBytes, "Private", Other(0), false),
            line(S::Combined, M::RssSharedBytes, "Shared", Other(1), false),
            line(S::Combined, M::SwapBytes, "Swap", Other(2), false),
            line(S::System, M::MemoryUsedBytes, "Whole machine", System, false),
        ],
    },
    Spec {
        id: "gpu",
        title: "GPU, share of time busy",
        measure: Unit::Ratio,
        lines: &[
            line(S::Combined, M::GpuBusyPpm, "Job, all GPUs", Job, true),
            each(M::GpuBusyPpm, "", Other(0), true),
            each(M::GpuMemoryBusyPpm, "memory controller", Other(3), false),
            each(M::GpuSmActivePpm, "multiprocessors active", Other(1), false),
            each(M::GpuTensorPpm, "tensor cores", Other(2), false),
            each(M::GpuDramPpm, "memory bandwidth", Other(4), false),
        ],
    },
    Spec {
        id: "gpu-ram",
        title: "GPU RAM",
        measure: Unit::Bytes,
        lines: &[
            line(S::Combined, M::GpuMemoryBytes, "Job, all GPUs", Job, true),
            each(M::GpuMemoryBytes, "", Other(0), true),
        ],
    },
    Spec {
        id: "io",
        title: "Storage of the job",
        measure: Unit::BytesPerSecond,
        lines: &[
            line(S::Combined, M::ReadStorageBytes, "Read", Job, true),
            line(S::Combined, M::WriteStorageBytes, "Written", Other(0), true),
            line(S::Combined, M::ReadCharsBytes, "Read calls, cache included", Other(1), false),
            line(S::Combined, M::WriteCharsBytes, "Write calls, cache included", Other(2), false),
        ],
    },
    Spec {
        id: "disk",
        title: "Disks of the machine",
        measure: Unit::BytesPerSecond,
        lines: &[
            line(S::System, M::DiskReadBytes, "Read", Job, true),
            line(S::System, M::DiskWriteBytes, "Written", Other(0), true),
            each(M::DiskReadBytes, "read", Other(1), false),
            each(M::DiskWriteBytes, "written", Other(4), false),
        ],
    },
    Spec {
        id: "net",
        title: "Network of the machine",
        measure: Unit::BytesPerSecond,
        lines: &[
            line(S::System, M::NetReceiveBytes, "Received", Job, true),
            line(S::System, M::NetTransmitBytes, "Sent", Other(0), true),
            each(M::NetReceiveBytes, "received", Other(1), false),
            each(M::NetTransmitBytes, "sent", Other(4), false),
        ],
    },
    Spec {
        id: "psi",
        title: "Pressure, share of time tasks waited",
        measure: Unit::Ratio,
        lines: &[
            line(S::System, M::PsiCpuSomeNs, "For CPU", Job, true),
            line(S::System, M::PsiMemorySomeNs, "For memory", Other(3), true),
            line(S::System, M::PsiIoSomeNs, "For I/O", Other(0), true),
            line(S::System, M::PsiMemoryFullNs, "All for memory", Other(4), false),
            line(S::System, M::PsiIoFullNs, "All for I/O", Other(1), false),
        ],
    },
    Spec {
        id: "tasks",
        title: "Processes and threads of the job",
        measure: Unit::Count,
        lines: &[
            line(S::Combined, M::Processes, "Processes", Job, true),
            line(S::Combined, M::Threads, "Threads", Other(0), true),
        ],
    },
    Spec {
        id: "power",
        title: "Power",
        measure: Unit::Watts,
        lines: &[
            line(S::System, M::EnergyPackageUj, "CPU packages", Job, true),
            line(S::System, M::EnergyDramUj, "DRAM", Other(4), true),
            each(M::GpuPowerMw, "", Other(0), true),
        ],
    },
    Spec {
        id: "temperature",
        title: "GPU temperature",
        measure: Unit::Celsius,
        lines: &[each(M::GpuTemperatureMc, "", Other(0), true)],
    },
];

/// The panels that a plot shows unless asked otherwise.
pub const DEFAULT_PLOT: &[&str] = &["cpu", "ram", "gpu", "gpu-ram", "io", "net"];

pub fn known_ids() -> impl Iterator<Item = &'static str> {
    SPECS.iter().map(|spec| spec.id)
}

/// What the panel is called; the id itself should there be none of that name.
pub fn title(id: &'static str) -> &'static str {
    SPECS.iter().find(|spec| spec.id == id).map_or(id, |spec| spec.title)
}

/// Every panel of the run for which something was measured, also those without a line above zero.
pub fn measured(run: &RunData) -> Vec<Panel<'_>> {
    SPECS.iter().filter_map(|spec| panel(run, spec)).collect()
}

/// Every panel of the run in which anything was above zero.
pub fn panels(run: &RunData) -> Vec<Panel<'_>> {
    let mut panels = measured(run);
    panels.retain(|panel| !panel.lines.is_empty());
    panels
}

/// Titles of the panels whose every line stayed at zero.
pub fn idle(run: &RunData) -> Vec<&'static str> {
    let idle = measured(run).into_iter().filter(|panel| panel.lines.is_empty());
    idle.map(|panel| panel.title).collect()
}

/// Busy share of each core, in the order of the kernel's numbers.
pub fn cores(run: &RunData) -> Vec<&Series> {
    let mut cores: Vec<&Series> = run
        .series
        .iter()
        .filter(|series| series.column.metric == Metric::CoreBusyNs && series.column.entity.is_some())
        .collect();
    cores.sort_by_key(|series| {
        let name = series.column.entity.as_ref().map_or("", |entity| entity.name.as_str());
        (name.parse::<u32>().unwrap_or(u32::MAX), name.to_owned())
    });
    cores
}

fn panel<'a>(run: &'a RunData, spec: &Spec) -> Option<Panel<'a>> {
    let mut lines: Vec<Line<'a>> = Vec::new();
    for row in spec.lines {
        let wanted = run.series.iter().filter(|series| {
            series.column.metric == row.metric
                && series.column.scope == row.scope
                && series.column.entity.is_some() == row.entities
                && series.peak.is_some()
        });
        for (index, series) in wanted.enumerate() {
            let label = line_label(run, series, row.label, index);
            let role = match row.role {
                Role::Other(first) => Role::Other(first + index),
                role => role,
            };
            lines.push(Line { label, series, role, shown: row.shown });
        }
    }
    let is_above_zero = |line: &Line<'_>| line.series.peak.is_some_and(|peak| peak.value > 0.0);
    let has_lead = is_above_zero(lines.first()?);
    let (drawn, zero): (Vec<Line<'a>>, Vec<Line<'a>>) = lines.into_iter().partition(is_above_zero);
    let mut lines = drawn;
    // Swap in use is news.
    for line in &mut lines {
        line.shown |= line.series.column.metric == Metric::SwapBytes;
    }
    // A panel that would open empty shows what it has: devices without a sum, descendants without a main.
    if !lines.iter().any(|line| line.shown) {
        lines.iter_mut().for_each(|line| line.shown = true);
    }
    Some(Panel {
        id: spec.id,
        title: spec.title,
        measure: spec.measure,
        lines,
        limits: limits(run, spec.id),
        bound: if spec.id == "ram" { memory_bound(run) } else { None },
        zero: zero.into_iter().map(|line| line.label).collect(),
        has_lead,
    })
}

fn line_label(run: &RunData, series: &Series, label: &str, index: usize) -> String {
    let Some(entity) = &series.column.entity else { return label.to_owned() };
    let name = match entity.kind {
        // A UUID tells people nothing; the table of GPUs gives it beside the number.
        EntityKind::Gpu => match run.summary.gpus.iter().find(|gpu| gpu.name == entity.name) {
            Some(gpu) if !gpu.facts.is_empty() => gpus::label(gpu),
            _ => format!("GPU {index}"),
        },
        EntityKind::Core => format!("Core {}", entity.name),
        _ => entity.name.clone(),
    };
    if label.is_empty() { name } else { format!("{name}, {label}") }
}

fn limits(run: &RunData, id: &str) -> Vec<Limit> {
    let summary = &run.summary;
    let mut limits = Vec::new();
    let mut add = |label, value: Option<f64>| {
        if let Some(value) = value.filter(|value| *value > 0.0) {
            limits.push(Limit { label, value });
        }
    };
    match id {
        "cpu" => {
            let (job, machine) = (summary.run.expected_cores, f64::from(summary.run.system_cores));
            add("Cores for the job", Some(job));
            add("Cores of the machine", (machine != job).then_some(machine));
        }
        "ram" => {
            add("Memory limit", summary.limits.cgroup_memory_bytes.map(|value| value as f64));
            let machine = summary.system.value(Metric::MemoryTotalBytes, Stat::Max);
            add("Memory of the machine", machine);
        }
        "gpu-ram" => {
            let totals = run.series.iter().filter(|series| {
                series.column.metric == Metric::GpuMemoryTotalBytes && series.column.entity.is_some()
            });
            let each: Vec<f64> = totals.filter_map(|series| Some(series.peak?.value)).collect();
            let one = each.iter().copied().fold(0.0, f64::max);
            add(if each.len() == 1 { "Memory of the GPU" } else { "Memory of one GPU" }, Some(one));
            let all = run.summary.system.value(Metric::GpuMemoryTotalBytes, Stat::Max);
            add("Memory of all GPUs", all.filter(|all| each.len() > 1 && *all > one));
        }
        _ => {}
    }
    limits
}

/// The upper bound of the peak, as in the summary.
fn memory_bound(run: &RunData) -> Option<Limit> {
    let peak = run.summary.combined.get(Metric::RssBytes, Stat::Max)?;
    Some(Limit { label: "Peak is below", value: peak.upper?.as_f64() }).filter(|limit| limit.value > 0.0)
}
