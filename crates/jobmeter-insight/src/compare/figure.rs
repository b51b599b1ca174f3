//! What a figure is called and how its value is written, derived from the metric table.

use jobmeter_model::metric::{TABLE, Unit};
use jobmeter_model::units::{format_bytes, format_count, format_duration_ns, format_rate};
use serde::Serialize;

/// Figures that decide whether a change is good or bad: more of any of them is worse. Scope, key, title.
pub const HEADLINE: &[(&str, &str, &str)] = &[
    ("run", "wall_ns", "Wall time"),
    ("combined", "cpu_ns", "CPU time"),
    ("combined", "rss_bytes_max", "RAM, peak"),
    ("combined", "gpu_memory_bytes_max", "GPU RAM, peak"),
    ("combined", "read_storage_bytes", "Read (storage)"),
    ("combined", "write_storage_bytes", "Written (storage)"),
    ("combined", "processes_max", "Processes, peak"),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FigureUnit {
    Bytes,
    BytesPerSecond,
    Nanos,
    /// Time per time: a billion is one core, or one whole second of pressure in each second.
    NanosPerSecond,
    Count,
    PerSecond,
    Cores,
    Ratio,
    Ppm,
    Milli,
    Microjoules,
    Microwatts,
    Milliwatts,
    Millicelsius,
    Hertz,
    Plain,
}

/// The metric row that a summary's key derives from, and what was added to its key.
fn metric_of(key: &str) -> Option<(usize, &str)> {
    TABLE
        .iter()
        .enumerate()
        .filter_map(|(index, row)| {
            let rest = key.strip_prefix(row.key)?;
            (rest.is_empty() || rest.starts_with('_')).then_some((index, rest))
        })
        .min_by_key(|(_, rest)| rest.len())
}

pub fn key_unit(key: &str) -> FigureUnit {
    if key.starts_with("cores_used") {
        return FigureUnit::Cores;
    }
    if key.starts_with("hardware_ratio") {
        return FigureUnit::Ratio;
    }
    let Some((index, rest)) = metric_of(key) else {
        return match key {
            key if key.ends_with("_ns") => FigureUnit::Nanos,
            key if key.ends_with("_bytes") => FigureUnit::Bytes,
            key if key.ends_with("_ratio") => FigureUnit::Ratio,
            _ => FigureUnit::Plain,
        };
    };
    match (TABLE[index].unit, rest.starts_with("_per_s")) {
        (Unit::Bytes, true) | (Unit::BytesPerSecond, _) => FigureUnit::BytesPerSecond,
        (Unit::Count, true) => FigureUnit::PerSecond,
        (Unit::Nanos, true) => FigureUnit::NanosPerSecond,
        (Unit::Microjoules, true) => FigureUnit::Microwatts,
        (Unit::Bytes, false) => FigureUnit::Bytes,
        (Unit::Nanos, false) => FigureUnit::Nanos,
        (Unit::Count, false) => FigureUnit::Count,
        (Unit::Ppm, false) => FigureUnit::Ppm,
        (Unit::Milli, false) => FigureUnit::Milli,
        (Unit::Microjoules, false) => FigureUnit::Microjoules,
        (Unit::Milliwatts, false) => FigureUnit::Milliwatts,
        (Unit::Millicelsius, false) => FigureUnit::Millicelsius,
        (Unit::Hertz, false) => FigureUnit::Hertz,
        _ => FigureUnit::Plain,
    }
}

/// `RAM, peak`, `Read (storage), mean rate`; a key that no metric explains is its own title.
pub fn key_title(key: &str) -> String {
    let Some((index, rest)) = metric_of(key) else {
        return match key {
            "wall_ns" => "Wall time".to_owned(),
            key => key.replace('_', " "),
        };
    };
    let what = match rest {
        "" => "",
        "_max" => ", peak",
        "_mean" => ", mean",
        "_min" => ", lowest",
        "_per_s_max" => ", peak rate",
        "_per_s_mean" => ", mean rate",
        other => return format!("{}{}", TABLE[index].title, other.replace('_', " ")),
    };
    format!("{}{what}", TABLE[index].title)
}

/// Text for people; rounding happens here only.
pub fn format_value(value: f64, unit: FigureUnit) -> String {
    let sign = if value < 0.0 { "-" } else { "" };
    let size = value.abs();
    let text = match unit {
        FigureUnit::Bytes => format_bytes(size.round() as u64),
        FigureUnit::BytesPerSecond => format_rate(size),
        FigureUnit::Nanos => format_duration_ns(size.round() as u64),
        FigureUnit::NanosPerSecond => format!("{:.1} %", size / 1e7),
        // A median or a mean may lie between two counts.
        FigureUnit::Count if size < 1000.0 && size.fract() != 0.0 => format!("{size:.1}"),
        FigureUnit::Count => format_count(size.round() as u64),
        FigureUnit::PerSecond => format!("{size:.2}/s"),
        FigureUnit::Cores => format!("{size:.2} cores"),
        FigureUnit::Ratio => format!("{:.1} %", size * 100.0),
        FigureUnit::Ppm => format!("{:.1} %", size / 10_000.0),
        FigureUnit::Milli => format!("{:.2}", size / 1000.0),
        FigureUnit::Microjoules => format!("{:.1} J", size / 1e6),
        FigureUnit::Microwatts => format!("{:.1} W", size / 1e6),
        FigureUnit::Milliwatts => format!("{:.1} W", size / 1000.0),
        FigureUnit::Millicelsius => format!("{:.1} °C", size / 1000.0),
        FigureUnit::Hertz => format!("{:.0} MHz", size / 1e6),
        FigureUnit::Plain => format!("{size:.3}"),
    };
    format!("{sign}{text}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_the_summary_find_their_metric() {
        assert_eq!(key_unit("rss_bytes_max"), FigureUnit::Bytes);
        assert_eq!(key_unit("read_storage_bytes_per_s_mean"), FigureUnit::BytesPerSecond);
        assert_eq!(key_unit("faults_minor_per_s_max"), FigureUnit::PerSecond);
        assert_eq!(key_unit("cpu_ns"), FigureUnit::Nanos);
        assert_eq!(key_unit("cpu_user_ns_per_s_max"), FigureUnit::NanosPerSecond);
        assert_eq!(key_unit("energy_package_uj_per_s_mean"), FigureUnit::Microwatts);
        assert_eq!(key_unit("wall_ns"), FigureUnit::Nanos);
        assert_eq!(key_unit("cores_used_mean"), FigureUnit::Cores);
        assert_eq!(key_unit("something_new"), FigureUnit::Plain);
        assert_eq!(key_title("rss_bytes_max"), "RAM, peak");
        assert_eq!(key_title("gpu_memory_bytes_max"), "GPU RAM, peak");
        assert_eq!(key_title("wall_ns"), "Wall time");
        assert_eq!(format_value(-1.5e9, FigureUnit::Bytes), "-1.50 GB");
        assert_eq!(format_value(250_000.0, FigureUnit::Ppm), "25.0 %");
        assert_eq!(format_value(5.5, FigureUnit::Count), "5.5");
        assert_eq!(format_value(5.0, FigureUnit::Count), "5");
    }
}
