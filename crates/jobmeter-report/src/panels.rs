//! The charts of a run: which of its series they draw, by the metric table, and the limits beside them. Used by the plots,
//! the report and the comparison.

use crate::data::{RunData, Series};
use crate::format::rounded_up;
use jobmeter_insight::gpus;
use jobmeter_model::metric::Chart;
use jobmeter_model::{EntityKind, Metric, Stat, Unit};

pub use jobmeter_model::metric::LineRole as Role;

/// One chart of one run.
pub struct Panel<'a> {
    /// The word that people choose it by.
    pub id: &'static str,
    /// What stands above it.
    pub title: &'static str,
    /// What its axis counts.
    pub measure: Unit,
    /// What is drawn, the leading line first.
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

/// One line of a chart.
pub struct Line<'a> {
    /// What the legend calls it.
    pub label: String,
    /// The values.
    pub series: &'a Series,
    /// What it stands for.
    pub role: Role,
    /// Whether it is drawn before anyone asks.
    pub shown: bool,
}

/// A horizontal line.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    /// What it is.
    pub label: &'static str,
    /// In the unit of the chart.
    pub value: f64,
}

/// The panels that a plot shows unless asked otherwise.
pub const DEFAULT_PLOT: &[&str] = &["cpu", "ram", "gpu", "gpu-ram", "io", "net"];

/// The words that charts are chosen by, in their order.
pub fn known_ids() -> impl Iterator<Item = &'static str> {
    Chart::ALL.into_iter().map(Chart::key)
}

/// What the panel is called; the id itself should there be none of that name.
pub fn title(id: &'static str) -> &'static str {
    Chart::ALL.into_iter().find(|chart| chart.key() == id).map_or(id, Chart::title)
}

/// Every panel of the run for which something was measured, also those without a line above zero.
pub fn measured(run: &RunData) -> Vec<Panel<'_>> {
    Chart::ALL.into_iter().filter_map(|chart| panel(run, chart)).collect()
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

fn panel(run: &RunData, chart: Chart) -> Option<Panel<'_>> {
    let mut lines: Vec<Line<'_>> = Vec::new();
    for (metric, row) in chart.lines() {
        let wanted = run.series.iter().filter(|series| {
            series.column.metric == metric
                && series.column.scope == row.scope
                && series.column.entity.is_some() == row.is_of_devices
                && series.peak.is_some()
        });
        for (index, series) in wanted.enumerate() {
            let label = line_label(run, series, row.label, index);
            let role = match row.role {
                Role::Other(first) => Role::Other(first + index),
                role => role,
            };
            lines.push(Line { label, series, role, shown: row.is_shown });
        }
    }
    let is_above_zero = |line: &Line<'_>| line.series.peak.is_some_and(|peak| peak.value > 0.0);
    let has_lead = is_above_zero(lines.first()?);
    let (drawn, zero): (Vec<Line<'_>>, Vec<Line<'_>>) = lines.into_iter().partition(is_above_zero);
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
        id: chart.key(),
        title: chart.title(),
        measure: chart.unit(),
        lines,
        limits: limits(run, chart),
        bound: if chart == Chart::Ram { memory_bound(run) } else { None },
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

fn limits(run: &RunData, chart: Chart) -> Vec<Limit> {
    let summary = &run.summary;
    let mut limits = Vec::new();
    let mut add = |label, value: Option<f64>| {
        if let Some(value) = value.filter(|value| *value > 0.0) {
            limits.push(Limit { label, value });
        }
    };
    match chart {
        Chart::Cpu => {
            let (job, machine) = (summary.run.expected_cores, f64::from(summary.run.system_cores));
            add("Cores for the job", Some(job));
            add("Cores of the machine", (machine != job).then_some(machine));
        }
        Chart::Ram => {
            add("Memory limit", summary.limits.cgroup_memory_bytes.map(|value| value as f64));
            let machine = summary.system.value(Metric::MemoryTotalBytes, Stat::Max);
            add("Memory of the machine", machine);
        }
        Chart::GpuRam => {
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
    let value = rounded_up(peak.upper?.as_f64());
    Some(Limit { label: "Peak is below", value }).filter(|limit| limit.value > 0.0)
}
