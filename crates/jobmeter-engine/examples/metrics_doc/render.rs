//! The reference of metrics as Markdown. Keys of the summary are not written down here: a run of two ticks goes
//! through the accumulator, and what comes out is listed.

use jobmeter_engine::meter::layout::Row;
use jobmeter_model::accumulate::{Accumulator, Divisors};
use jobmeter_model::metric::TABLE;
use jobmeter_model::{Column, EntityKind, Kind, Metric, MetricInfo, Scope, Sink, Unit};

const HEAD: &str = "\
# Metrics

<!-- Generated from the metric table: cargo run -p jobmeter-engine --example metrics_doc > docs/metrics.md -->

Every column of a record, every key of the [summary](summary.md) and every header of an export comes from one table,
which is this one. The unit ends the name.

- A **counter** is a total since the run began. The summary gives the total and the rate: the highest over any window of
  at least 100 ms, and the mean over the run.
- A **gauge** is a level. The summary gives the highest, the mean weighted by time and, for what runs out, the lowest.

In the series and in exports a column is called by whose figure it is: `main_rss_bytes` (the process that was started or
attached to), `descendants_rss_bytes` (everything that descends from it), `combined_rss_bytes` (both, shared memory once),
`system_memory_used_bytes` (the whole machine), `system_core_busy_ns[3]` (one device of it). A figure that could not be
read is null, never 0; how true each figure is stands beside it in the summary.

| key | title | kind | unit | of |
|---|---|---|---|---|
";

pub(crate) fn reference() -> String {
    let row = Row::new();
    let mut out = HEAD.to_owned();
    for info in TABLE {
        let anchor = format!("[`{0}`](#{0})", info.key);
        let places = places(&row, info).join(", ");
        let (kind, unit) = (kind(info.kind), unit(info.unit));
        out += &format!("| {anchor} | {} | {kind} | {unit} | {places} |\n", info.title);
    }
    for info in TABLE {
        let keys: Vec<String> = summary_keys(info.metric).iter().map(|key| format!("`{key}`")).collect();
        let (kind, unit) = (kind(info.kind), unit(info.unit));
        let places = places(&row, info).join(", ");
        out += &format!("\n## {}\n\n{}: a {kind} in {unit}, of {places}.\n\n", info.key, info.title);
        out += &format!("{}\n\nIn the summary: {}.\n", info.source, keys.join(", "));
    }
    out
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Counter => "counter",
        Kind::Gauge => "gauge",
    }
}

fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Bytes => "bytes",
        Unit::Nanos => "nanoseconds",
        Unit::Count => "count",
        Unit::Ppm => "millionths of one device",
        Unit::Milli => "thousandths",
        Unit::Microjoules => "microjoules",
        Unit::Milliwatts => "milliwatts",
        Unit::Millicelsius => "thousandths of a degree Celsius",
        Unit::Hertz => "hertz",
        Unit::BytesPerSecond => "bytes per second",
        Unit::Bits => "a set of bits",
    }
}

/// Whose figure there is: by the layout of the engine's row, and by device for what is added as it is met.
fn places(row: &Row, info: &MetricInfo) -> Vec<&'static str> {
    let mut places: Vec<&str> = Vec::new();
    for scope in Scope::ALL {
        if row.columns.contains(&Column::of(scope, info.metric)) {
            places.push(scope.key());
        }
    }
    places.extend(gpu_scopes(info.metric).iter().map(|scope| scope.key()));
    let devices = [
        ("core_", EntityKind::Core),
        ("disk_", EntityKind::Disk),
        ("mount_", EntityKind::Mount),
        ("net_", EntityKind::Network),
        ("gpu_", EntityKind::Gpu),
    ];
    let device = devices.iter().find(|(prefix, _)| info.key.starts_with(prefix));
    places.extend(device.map(|(_, kind)| match kind {
        EntityKind::Core => "each core",
        EntityKind::Disk => "each disk",
        EntityKind::Mount => "each mount",
        EntityKind::Network => "each network interface",
        EntityKind::Gpu => "each GPU",
    }));
    if places.is_empty() {
        places.push(Scope::System.key());
    }
    places
}

/// Whose sum over GPUs there is.
fn gpu_scopes(metric: Metric) -> &'static [Scope] {
    match metric {
        Metric::GpuMemoryBytes | Metric::GpuBusyPpm => &Scope::ALL,
        Metric::GpuMemoryBusyPpm => &Scope::JOB,
        Metric::GpuMemoryTotalBytes | Metric::GpuPowerMw | Metric::GpuEnergyUj => &[Scope::System],
        _ => &[],
    }
}

fn summary_keys(metric: Metric) -> Vec<String> {
    let mut sums = Accumulator::default();
    sums.define(&Column::of(Scope::Main, metric));
    sums.tick(0, &[Some(0)]);
    sums.tick(1_000_000_000, &[Some(1)]);
    let by = Divisors { expected_cores: 1.0, system_cores: 1, wall_ns: 1_000_000_000 };
    let figures = sums.figures(by).scopes.remove(&Scope::Main).unwrap_or_default();
    let mut keys: Vec<String> = figures.into_keys().collect();
    // The metric's own key first, then by name.
    keys.sort_by_key(|key| (key != metric.key(), !key.starts_with(metric.key()), key.clone()));
    keys
}
