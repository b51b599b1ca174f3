//! Numbers for people. The one place where a value is rounded and given its unit: terminal, page, notebook and advice
//! write the same figure in the same way. `fixtures/format.json` holds this, the page's script and the Python package
//! to the same text.

use crate::unit::Unit;

/// How much room there is, and in which units the reader thinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Style {
    /// Three digits in the decimal unit that fits: `3.21 GB`, `2 h 05 min`, `27.5 %`.
    #[default]
    Full,
    /// As few digits as the number needs, for axes, narrow columns and amounts that were chosen: `2 GB`, `50 ms`, `8 min`.
    Short,
    /// Shares, power and temperature without decimals, for sentences: `28 %`, `120 W`.
    Rounded,
    /// The number alone, where a word for the unit stands beside it: `1.25`.
    Bare,
    /// Bytes in powers of 1024: `2.99 GiB`.
    Binary,
    /// Bytes or times always in this unit: `1.5 h`.
    In {
        /// What the unit is called.
        name: &'static str,
        /// How many bytes or nanoseconds it is.
        size: u64,
    },
}

const DECIMAL: [&str; 7] = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
const BINARY: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/// A value in its unit, as text for people.
///
/// ```
/// use jobmeter_model::{Style, Unit, format::format};
///
/// assert_eq!(format(3.21e9, Unit::Bytes, Style::Full), "3.21 GB");
/// assert_eq!(format(75e9, Unit::Nanos, Style::Full), "1 min 15 s");
/// ```
pub fn format(value: f64, unit: Unit, style: Style) -> String {
    if !value.is_finite() {
        return value.to_string();
    }
    let text = size(value.abs(), unit, style);
    // What rounds to nothing has no sign.
    let is_zero = !text.contains(|letter: char| ('1'..='9').contains(&letter));
    if value < 0.0 && !is_zero { format!("-{text}") } else { text }
}

/// A value that is not negative.
fn size(value: f64, unit: Unit, style: Style) -> String {
    match (unit, style) {
        (Unit::Bytes, _) => bytes(value, style),
        (Unit::BytesPerSecond, _) => format!("{}/s", bytes(value, style)),
        (Unit::Nanos, Style::In { name, size }) => format!("{} {name}", number(value / size as f64)),
        (Unit::Nanos, _) => duration(value, style),
        (Unit::Microjoules, Style::Short) => energy(value / 1e6),
        (Unit::Joules, Style::Short) => energy(value),
        _ => {
            let (factor, digits, name) = plain(unit);
            let scaled = value * factor;
            let number = match style {
                Style::Short => number(scaled),
                Style::Rounded if scaled < 999.5 && matches!(name, " %" | " W" | " °C") => {
                    format!("{scaled:.0}")
                }
                _ if unit == Unit::PerSecond => number(scaled),
                _ if unit == Unit::Count && !(scaled < 1000.0 && scaled.fract() != 0.0) => grouped(scaled),
                // Decimals of thousands say nothing.
                _ if scaled >= 999.95 && unit != Unit::Bits => grouped(scaled),
                _ => format!("{scaled:.digits$}"),
            };
            let name = match (style, unit) {
                (Style::Bare, _) | (Style::Short, Unit::Cores) => "",
                _ => name,
            };
            format!("{number}{name}")
        }
    }
}

/// The factor from the unit to what is written, the digits behind the point, and the name behind the number.
fn plain(unit: Unit) -> (f64, usize, &'static str) {
    match unit {
        Unit::NanosPerSecond => (1e-7, 1, " %"),
        // A median or a mean may lie between two counts.
        Unit::Count => (1.0, 1, ""),
        Unit::PerSecond => (1.0, 2, "/s"),
        Unit::Cores => (1.0, 2, " cores"),
        Unit::Ratio => (100.0, 1, " %"),
        Unit::Ppm => (1e-4, 1, " %"),
        Unit::Milli => (1e-3, 2, ""),
        Unit::Microjoules => (1e-6, 1, " J"),
        Unit::Joules => (1.0, 1, " J"),
        Unit::Microwatts => (1e-6, 1, " W"),
        Unit::Milliwatts => (1e-3, 1, " W"),
        Unit::Watts => (1.0, 1, " W"),
        Unit::Millicelsius => (1e-3, 1, " °C"),
        Unit::Celsius => (1.0, 1, " °C"),
        Unit::Hertz => (1e-6, 0, " MHz"),
        Unit::Grams => (1.0, 2, " g"),
        Unit::Bits => (1.0, 0, ""),
        Unit::Bytes | Unit::BytesPerSecond | Unit::Nanos | Unit::Plain => (1.0, 3, ""),
    }
}

fn bytes(value: f64, style: Style) -> String {
    match style {
        Style::Binary => scaled(value, 1024.0, 1023.5, &BINARY, number),
        Style::Short => scaled(value, 1000.0, 999.5, &DECIMAL, number),
        Style::In { name, size } => format!("{} {name}", number(value / size as f64)),
        Style::Full | Style::Rounded | Style::Bare => scaled(value, 1000.0, 999.5, &DECIMAL, three_digits),
    }
}

/// In the first unit in which the value is below `limit`, the amount that rounds up to a whole step.
fn scaled(value: f64, step: f64, limit: f64, names: &[&str], show: fn(f64) -> String) -> String {
    let mut value = value;
    let mut names = names.iter();
    let mut name = names.next().copied().unwrap_or_default();
    let smallest = name;
    while value >= limit
        && let Some(next) = names.next()
    {
        (value, name) = (value / step, next);
    }
    if name == smallest {
        return format!("{} {name}", number(value.round()));
    }
    format!("{} {name}", show(value))
}

/// Three significant digits: 3.21, 32.1, 321.
fn three_digits(value: f64) -> String {
    match value {
        v if v < 9.995 => format!("{v:.2}"),
        v if v < 99.95 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

/// `412 µs`, `1.52 s`, `3 min 20 s`, `2 h 05 min`, `3 d 04 h`.
fn duration(ns: f64, style: Style) -> String {
    let show = if style == Style::Short { number } else { three_digits };
    let ns = ns.round();
    if ns == 0.0 {
        return "0 s".to_owned();
    }
    if ns < 1000.0 {
        return format!("{ns:.0} ns");
    }
    for (limit_ns, unit_ns, name) in [(999_500.0, 1e3, "µs"), (999.5e6, 1e6, "ms"), (59.95e9, 1e9, "s")] {
        if ns < limit_ns {
            return format!("{} {name}", show(ns / unit_ns));
        }
    }
    let (whole, name, part, part_name) = match (ns / 1e9).round() as u64 {
        s if s < 3600 => (s / 60, "min", s % 60, "s"),
        s if s < 86_400 => (s / 3600, "h", s % 3600 / 60, "min"),
        s => (s / 86_400, "d", s % 86_400 / 3600, "h"),
    };
    match (style, part) {
        (Style::Short, 0) => format!("{whole} {name}"),
        _ => format!("{whole} {name} {part:02} {part_name}"),
    }
}

/// `840 J`, `12.5 kJ`, `3.2 MJ`.
fn energy(joules: f64) -> String {
    match joules {
        joules if joules < 999.5 => format!("{} J", number(joules)),
        joules if joules < 999.5e3 => format!("{} kJ", number(joules / 1e3)),
        joules => format!("{} MJ", number(joules / 1e6)),
    }
}

/// About three significant digits and none that say nothing: `0.042`, `3.14`, `27.5`, `1,204`.
pub fn number(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 {
        "0".to_owned()
    } else if size >= 1e15 {
        format!("{value:.2e}")
    } else if size >= 99.95 {
        grouped(value)
    } else if size >= 9.995 {
        trimmed(format!("{value:.1}"))
    } else if size >= 0.0995 {
        trimmed(format!("{value:.2}"))
    } else if size >= 0.0005 {
        trimmed(format!("{value:.4}"))
    } else {
        format!("{value:.1e}")
    }
}

fn trimmed(text: String) -> String {
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A whole number with its thousands set apart: `1,204,991`.
pub fn grouped(value: f64) -> String {
    let whole = format!("{:.0}", value.abs().round());
    let mut out = String::with_capacity(whole.len() + whole.len() / 3 + 1);
    if value < 0.0 && whole != "0" {
        out.push('-');
    }
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `12,345,678`.
pub fn count(value: u64) -> String {
    // Above 2^53 a float would round.
    let digits = value.to_string();
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| std::str::from_utf8(group).unwrap_or_default())
        .collect();
    groups.join(",")
}

#[cfg(test)]
mod tests;
