//! Values with units as people write them: `8GiB`, `250ms`, `1h30m`, `5%`. The other way is [`crate::format`].

use crate::format::{Style, format};
use crate::unit::Unit;

/// Why a value with a unit could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitError(pub String);

impl std::fmt::Display for UnitError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UnitError {}

fn split_number(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let value: f64 = number.parse().ok()?;
    value.is_finite().then_some((value, unit))
}

/// Reads `512`, `8GiB`, `1.5 GB`, `300M` (M, G … alone mean powers of 1024, as `ulimit` and Slurm do).
pub fn parse_bytes(text: &str) -> Result<u64, UnitError> {
    let wrong = || UnitError(format!("'{text}' is not a size; write one like 512MiB, 8GiB or 2GB"));
    let (value, unit) = split_number(text.trim()).ok_or_else(wrong)?;
    let factor: f64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kib" => 1024.0,
        "m" | "mib" => 1024f64.powi(2),
        "g" | "gib" => 1024f64.powi(3),
        "t" | "tib" => 1024f64.powi(4),
        "kb" => 1e3,
        "mb" => 1e6,
        "gb" => 1e9,
        "tb" => 1e12,
        _ => return Err(wrong()),
    };
    let bytes = value * factor;
    if bytes > u64::MAX as f64 / 2.0 {
        return Err(wrong());
    }
    Ok(bytes.round() as u64)
}

/// Reads `250ms`, `10m`, `1h30m`, `1.5s`, `2d`; a bare number means seconds.
pub fn parse_duration_ns(text: &str) -> Result<u64, UnitError> {
    let wrong = || UnitError(format!("'{text}' is not a time; write one like 250ms, 10s, 1h30m or 2d"));
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err(wrong());
    }
    let mut total_ns = 0f64;
    while !rest.is_empty() {
        let (value, tail) = split_number(rest).ok_or_else(wrong)?;
        let unit_end = tail.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(tail.len());
        let (unit, next) = tail.split_at(unit_end);
        let factor_ns = match unit.trim() {
            "ns" => 1.0,
            "us" | "µs" | "μs" => 1e3,
            "ms" => 1e6,
            "s" | "sec" | "" => 1e9,
            "m" | "min" => 60e9,
            "h" => 3600e9,
            "d" => 86_400e9,
            "w" => 604_800e9,
            _ => return Err(wrong()),
        };
        total_ns += value * factor_ns;
        rest = next;
    }
    if total_ns > i64::MAX as f64 {
        return Err(wrong());
    }
    Ok(total_ns.round() as u64)
}

/// Reads `5%` or `0.05` as 0.05.
pub fn parse_ratio(text: &str) -> Result<f64, UnitError> {
    let wrong = || UnitError(format!("'{text}' is not a share; write one like 5% or 0.05"));
    let (value, unit) = split_number(text.trim()).ok_or_else(wrong)?;
    match unit.trim() {
        "" => Ok(value),
        "%" => Ok(value / 100.0),
        _ => Err(wrong()),
    }
}

/// `3.21 GB`: decimal units, as storage and RAM are sold and the peers print.
pub fn format_bytes(bytes: u64) -> String {
    format(bytes as f64, Unit::Bytes, Style::Full)
}

/// `12.3 MB/s`.
pub fn format_rate(bytes_per_s: f64) -> String {
    format(bytes_per_s, Unit::BytesPerSecond, Style::Full)
}

/// `412 µs`, `1.52 s`, `3 min 20 s`, `2 h 05 min`, `3 d 04 h`.
pub fn format_duration_ns(ns: u64) -> String {
    format(ns as f64, Unit::Nanos, Style::Full)
}

pub use crate::format::count as format_count;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_read_as_people_write_them() {
        assert_eq!(parse_bytes("8GiB"), Ok(8 << 30));
        assert_eq!(parse_bytes("1.5 GB"), Ok(1_500_000_000));
        assert_eq!(parse_bytes("300M"), Ok(300 << 20));
        assert!(
            parse_bytes("eight").is_err() && parse_bytes("8 apples").is_err() && parse_bytes("").is_err()
        );
        assert_eq!(parse_duration_ns("250ms"), Ok(250_000_000));
        assert_eq!(parse_duration_ns("1h30m"), Ok(5_400_000_000_000));
        assert_eq!(parse_duration_ns("0.5"), Ok(500_000_000));
        assert!(parse_duration_ns("").is_err() && parse_duration_ns("-1s").is_err());
        assert_eq!(parse_ratio("5%"), Ok(0.05));
    }

    #[test]
    fn every_unit_means_what_it_says() {
        let sizes = [
            ("7", 7),
            ("7b", 7),
            ("7k", 7 << 10),
            ("7KiB", 7 << 10),
            ("7m", 7 << 20),
            ("7MiB", 7 << 20),
            ("7g", 7 << 30),
            ("7GiB", 7 << 30),
            ("7t", 7 << 40),
            ("7TiB", 7 << 40),
            ("7kB", 7_000),
            ("7MB", 7_000_000),
            ("7GB", 7_000_000_000),
            ("7TB", 7_000_000_000_000),
        ];
        for (text, bytes) in sizes {
            assert_eq!(parse_bytes(text), Ok(bytes), "{text}");
        }
        let times = [
            ("3ns", 3),
            ("3us", 3_000),
            ("3µs", 3_000),
            ("3μs", 3_000),
            ("3ms", 3_000_000),
            ("3s", 3_000_000_000),
            ("3sec", 3_000_000_000),
            ("3", 3_000_000_000),
            ("3m", 180_000_000_000),
            ("3min", 180_000_000_000),
            ("3h", 10_800_000_000_000),
            ("3d", 259_200_000_000_000),
            ("3w", 1_814_400_000_000_000),
        ];
        for (text, ns) in times {
            assert_eq!(parse_duration_ns(text), Ok(ns), "{text}");
        }
        assert_eq!(parse_ratio("0.5"), Ok(0.5));
        assert!(parse_ratio("5 apples").is_err());
    }

    #[test]
    fn what_does_not_fit_is_refused_and_the_mistake_is_named() {
        // Half of what 64 bits hold, so that sums of two still fit.
        assert_eq!(parse_bytes("8388607TiB"), Ok(8_388_607 << 40));
        assert_eq!(parse_bytes("9223372036854775808"), Ok(1 << 63), "just what fits");
        let error = parse_bytes("8388609TiB").expect_err("too much");
        assert_eq!(error.to_string(), "'8388609TiB' is not a size; write one like 512MiB, 8GiB or 2GB");
        assert_eq!(parse_duration_ns("9223372036854775808ns"), Ok(1 << 63), "just what fits");
        assert!(parse_duration_ns("16000w").is_err());
    }

    #[test]
    fn text_has_three_digits() {
        assert_eq!(format_rate(12_300_000.0), "12.3 MB/s");
        assert_eq!(format_bytes(3_210_000_000), "3.21 GB");
        assert_eq!(format_bytes(999_999), "1.00 MB");
        assert_eq!(format_bytes(12), "12 B");
        assert_eq!(format_duration_ns(1_520_000_000), "1.52 s");
        assert_eq!(format_duration_ns(200_000_000_000), "3 min 20 s");
        assert_eq!(format_count(1_234_567), "1,234,567");
    }
}
