//! The reference of metrics as Markdown, from the metric table alone.

use jobmeter_model::metric::TABLE;
use jobmeter_model::{EntityKind, FigureId, Kind, Metric, MetricInfo, Scope, Unit};

const HEAD: &str = "\
# Metrics

<!-- Generated from the metric table: cargo run -p jobmeter-engine --example metrics_doc > docs/metrics.md -->

Every column of a record, every key of the [summary](summary.md) and every header of an export comes from one table,
which is this one. The unit ends the name.

- A **counter** is a total since the run began. The summary gives the total and the rate: the highest over any window of
  at least 100 ms, and the mean over the run.
- A **gauge** is a level. The summary gives the highest, the mean weighted by time and, for what runs out, the lowest.
- A **figure** is made once, when the run ends; it has no column.

In the series and in exports a column is called by whose figure it is: `main_rss_bytes` (the process that was started or
attached to), `descendants_rss_bytes` (everything that descends from it), `combined_rss_bytes` (both, shared memory once),
`system_memory_used_bytes` (the whole machine), `system_core_busy_ns[3]` (one device of it). A figure that could not be
read is null, never 0; how true each figure is stands beside it in the summary.

| key | title | kind | unit | of |
|---|---|---|---|---|
";

pub(crate) fn reference() -> String {
    let mut out = HEAD.to_owned();
    for info in TABLE {
        let anchor = format!("[`{0}`](#{0})", info.key);
        let places = places(info).join(", ");
        let (kind, unit) = (kind(info.kind), unit(info.unit));
        out += &format!("| {anchor} | {} | {kind} | {unit} | {places} |\n", info.title);
    }
    for info in TABLE {
        let keys: Vec<String> = summary_keys(info.metric).iter().map(|key| format!("`{key}`")).collect();
        let (kind, unit) = (kind(info.kind), unit(info.unit));
        let places = places(info).join(", ");
        out += &format!("\n## {}\n\n{}: a {kind} in {unit}, of {places}.\n\n", info.key, info.title);
        out += &format!("{}\n\nIn the summary: {}.\n", info.source, keys.join(", "));
    }
    out
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Counter => "counter",
        Kind::Gauge => "gauge",
        Kind::Once => "figure",
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
        Unit::Joules => "joules",
        Unit::Grams => "grams",
        _ => "a plain number",
    }
}

/// Whose figure there is.
fn places(info: &MetricInfo) -> Vec<&'static str> {
    let is_of = |scope: &Scope| {
        info.is_of(*scope) || info.kind == Kind::Once && info.places.derived.iter().any(|(of, _)| of == scope)
    };
    let mut places: Vec<&str> = Scope::ALL.into_iter().filter(is_of).map(Scope::key).collect();
    places.extend(info.places.device.map(|(kind, _)| match kind {
        EntityKind::Core => "each core",
        EntityKind::Disk => "each disk",
        EntityKind::Mount => "each mount",
        EntityKind::Network => "each network interface",
        EntityKind::Gpu => "each GPU",
    }));
    places
}

/// Keys of the summary, as they stand among the figures of a scope or a device.
fn summary_keys(metric: Metric) -> Vec<&'static str> {
    let mut keys: Vec<&str> = FigureId::all()
        .into_iter()
        .filter(|id| id.metric == metric)
        .filter_map(|id| metric.key_of(id.stat))
        .collect();
    // The metric's own key first, then by name.
    keys.sort_by_key(|key| (*key != metric.key(), !key.starts_with(metric.key()), *key));
    keys.dedup();
    keys
}
