//! Figures as people read them: a title, a value with its unit, and how true it is.

use crate::format;
use jobmeter_model::{Figure, Metric, Number, Quality, Unit};

/// What a key of the summary means.
pub(super) struct Meaning {
    pub(super) title: String,
    unit: Shown,
}

#[derive(Clone, Copy)]
enum Shown {
    Bytes,
    BytesPerSecond,
    Duration,
    Cores,
    Ratio,
    Count,
    CountPerSecond,
    Milli,
    Watts,
    Energy,
    Celsius,
    Hertz,
}

const SUFFIXES: [(&str, &str); 5] = [
    ("_per_s_max", ", highest rate"),
    ("_per_s_mean", ", mean rate"),
    ("_max", ", highest"),
    ("_mean", ", mean"),
    ("_min", ", lowest"),
];

/// The meaning of a key, from the one metric table.
pub(super) fn meaning(key: &str) -> Meaning {
    for (prefix, title, unit) in [
        ("cores_used", "Cores in use", Shown::Cores),
        ("hardware_ratio", "Share of the cores for the job", Shown::Ratio),
        ("gpu_hardware_ratio", "Share of the GPUs", Shown::Ratio),
        ("gpu_idle_ns", "Idle for", Shown::Duration),
        ("gpu_idle_energy_uj", "Energy while idle", Shown::Energy),
        ("gpu_watched_ns", "Watched for", Shown::Duration),
    ] {
        if let Some(rest) = key.strip_prefix(prefix) {
            let suffix = SUFFIXES.iter().find(|(suffix, _)| *suffix == rest).map_or("", |(_, words)| words);
            return Meaning { title: format!("{title}{suffix}"), unit };
        }
    }
    let (base, suffix) = SUFFIXES
        .iter()
        .find_map(|(suffix, words)| key.strip_suffix(suffix).map(|base| (base, (*suffix, *words))))
        .unwrap_or((key, ("", "")));
    let Some(metric) = Metric::from_key(base).or_else(|| Metric::from_key(key)) else {
        return Meaning { title: key.replace('_', " "), unit: by_name(key) };
    };
    let info = metric.info();
    let rate = suffix.0.starts_with("_per_s");
    let unit = match (info.unit, rate) {
        (Unit::Bytes, false) => Shown::Bytes,
        (Unit::Bytes | Unit::BytesPerSecond, _) => Shown::BytesPerSecond,
        (Unit::Nanos, false) => Shown::Duration,
        (Unit::Nanos, true) => Shown::Cores,
        (Unit::Count | Unit::Bits, false) => Shown::Count,
        (Unit::Count | Unit::Bits, true) => Shown::CountPerSecond,
        (Unit::Ppm, _) => Shown::Ratio,
        (Unit::Milli, _) => Shown::Milli,
        (Unit::Microjoules, true) | (Unit::Milliwatts, _) => Shown::Watts,
        (Unit::Microjoules, false) => Shown::Energy,
        (Unit::Millicelsius, _) => Shown::Celsius,
        (Unit::Hertz, _) => Shown::Hertz,
    };
    Meaning { title: format!("{}{}", info.title, suffix.1), unit }
}

/// A key that the table does not know still ends in its unit.
fn by_name(key: &str) -> Shown {
    if key.contains("_bytes") {
        if key.contains("per_s") { Shown::BytesPerSecond } else { Shown::Bytes }
    } else if key.contains("_ns") {
        Shown::Duration
    } else if key.contains("_ratio") {
        Shown::Ratio
    } else {
        Shown::Count
    }
}

impl Meaning {
    fn number(&self, key: &str, number: Number) -> String {
        let value = number.as_f64();
        let info = Metric::from_key(key.split("_per_s").next().unwrap_or(key)).map(Metric::info);
        match self.unit {
            Shown::Bytes => format::bytes(value),
            Shown::BytesPerSecond => format!("{}/s", format::bytes(value)),
            Shown::Duration => format::duration(value.max(0.0) as u64),
            // A rate of nanoseconds may come per second or already as cores.
            Shown::Cores if key.contains("_ns_per_s") => format::number(value / 1e9),
            Shown::Cores => format::number(value),
            Shown::Ratio if key.contains("_ppm") => format!("{} %", format::number(value / 1e4)),
            Shown::Ratio => format!("{} %", format::number(value * 100.0)),
            Shown::Count => match number {
                Number::Int(value) => format::grouped(value.min(i64::MAX as u64) as i64),
                Number::Float(value) => format::number(value),
            },
            Shown::CountPerSecond => format!("{}/s", format::number(value)),
            Shown::Milli => format::number(value / 1e3),
            Shown::Watts => {
                let micro = info.is_some_and(|info| info.unit == Unit::Microjoules);
                format!("{} W", format::number(value / if micro { 1e6 } else { 1e3 }))
            }
            Shown::Energy => format!("{} kJ", format::number(value / 1e9)),
            Shown::Celsius => format!("{} °C", format::number(value / 1e3)),
            Shown::Hertz => format!("{} MHz", format::number(value / 1e6)),
        }
    }
}

/// The value, or a dash; never a made-up zero.
pub(super) fn value(key: &str, figure: &Figure) -> String {
    figure.value.map_or_else(|| "–".to_owned(), |number| meaning(key).number(key, number))
}

/// The unrounded number, for those who copy it.
pub(super) fn raw(figure: &Figure) -> String {
    match figure.value {
        None => String::new(),
        Some(Number::Int(value)) => value.to_string(),
        Some(Number::Float(value)) => value.to_string(),
    }
}

/// The bounds in words, where there are any.
pub(super) fn bounds(key: &str, figure: &Figure) -> Option<String> {
    let text = |number| meaning(key).number(key, number);
    match (figure.lower, figure.upper) {
        (Some(lower), Some(upper)) if text(lower) == text(upper) => {
            Some(format!("bounds agree to {}", text(upper)))
        }
        (Some(lower), Some(upper)) => Some(format!("between {} and {}", text(lower), text(upper))),
        (None, Some(upper)) => Some(format!("at most {}", text(upper))),
        (Some(lower), None) => Some(format!("at least {}", text(lower))),
        (None, None) => None,
    }
}

pub(super) fn quality(quality: Quality) -> (&'static str, &'static str) {
    match quality {
        Quality::Exact => ("exact", "exact"),
        Quality::Sampled => ("sampled", "sampled"),
        Quality::LowerBound => ("lower", "lower bound"),
        Quality::Estimate => ("estimate", "estimate"),
        Quality::Unavailable => ("missing", "not available"),
    }
}
