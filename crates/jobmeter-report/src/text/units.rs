//! The units that the text speaks in. Scaled decimal ones unless the reader asks for others: `iec` for powers of
//! 1024, or one unit throughout, such as GiB for memory or hours for time.

use crate::format::number;
use jobmeter_model::units::{format_bytes, format_duration_ns, format_rate};
use std::str::FromStr;

/// How an amount of bytes is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ByteUnit {
    /// The decimal unit that fits: `3.21 GB`.
    #[default]
    Si,
    /// The binary unit that fits: `2.99 GiB`.
    Iec,
    /// Always this one.
    Fixed { name: &'static str, bytes: u64 },
}

/// How a time is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TimeUnit {
    /// What reads best: `1.52 s`, `2 h 05 min`.
    #[default]
    Fitting,
    /// Always this one.
    Fixed { name: &'static str, ns: u64 },
}

const BYTE_UNITS: [(&str, u64); 9] = [
    ("B", 1),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
];

const TIME_UNITS: [(&str, u64); 5] = [
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
];

/// The choice for each kind of figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Units {
    pub ram: ByteUnit,
    pub gpu_ram: ByteUnit,
    /// Disk and network.
    pub traffic: ByteUnit,
    pub time: TimeUnit,
}

impl ByteUnit {
    fn show(self, bytes: f64) -> String {
        match self {
            ByteUnit::Si => format_bytes(bytes as u64),
            ByteUnit::Iec => binary(bytes),
            ByteUnit::Fixed { name, bytes: unit } => format!("{} {name}", number(bytes / unit as f64)),
        }
    }

    fn show_rate(self, bytes_per_s: f64) -> String {
        match self {
            ByteUnit::Si => format_rate(bytes_per_s),
            _ => format!("{}/s", self.show(bytes_per_s)),
        }
    }
}

fn binary(bytes: f64) -> String {
    const NAMES: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut value = bytes;
    let mut names = NAMES.into_iter();
    let mut name = names.next().unwrap_or_default();
    // What rounds up to 1,024 is one of the next unit.
    while value >= 1023.5
        && let Some(next) = names.next()
    {
        (value, name) = (value / 1024.0, next);
    }
    format!("{} {name}", number(if name == "B" { value.round() } else { value }))
}

impl Units {
    pub(super) fn ram(self, bytes: u64) -> String {
        self.ram.show(bytes as f64)
    }

    pub(super) fn gpu_ram(self, bytes: u64) -> String {
        self.gpu_ram.show(bytes as f64)
    }

    pub(super) fn traffic(self, bytes: u64) -> String {
        self.traffic.show(bytes as f64)
    }

    pub(super) fn rate(self, bytes_per_s: f64) -> String {
        self.traffic.show_rate(bytes_per_s)
    }

    pub(super) fn time(self, ns: u64) -> String {
        match self.time {
            TimeUnit::Fitting => format_duration_ns(ns),
            TimeUnit::Fixed { name, ns: unit } => format!("{} {name}", number(ns as f64 / unit as f64)),
        }
    }
}

fn byte_unit(text: &str) -> Result<ByteUnit, String> {
    match text {
        "si" => return Ok(ByteUnit::Si),
        "iec" => return Ok(ByteUnit::Iec),
        _ => {}
    }
    let found = BYTE_UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
    found.map(|&(name, bytes)| ByteUnit::Fixed { name, bytes }).ok_or_else(|| {
        let names: Vec<&str> = BYTE_UNITS.iter().map(|(name, _)| *name).collect();
        format!("'{text}' is not a unit of memory; write si, iec or one of {}", names.join(", "))
    })
}

fn time_unit(text: &str) -> Result<TimeUnit, String> {
    let found = TIME_UNITS.iter().find(|(name, _)| *name == text);
    found.map(|&(name, ns)| TimeUnit::Fixed { name, ns }).ok_or_else(|| {
        let names: Vec<&str> = TIME_UNITS.iter().map(|(name, _)| *name).collect();
        format!("'{text}' is not a unit of time; write one of {}", names.join(", "))
    })
}

/// `si`, `iec`, or choices such as `ram=GiB,gpu=MiB,time=h`; what is not named keeps its unit, the later word wins.
impl FromStr for Units {
    type Err = String;

    fn from_str(text: &str) -> Result<Units, String> {
        let mut units = Units::default();
        for word in text.split(',').map(str::trim) {
            match word.split_once('=') {
                None if matches!(word, "si" | "iec") => {
                    let all = byte_unit(word)?;
                    units = Units { ram: all, gpu_ram: all, traffic: all, time: units.time };
                }
                Some(("ram", unit)) => units.ram = byte_unit(unit)?,
                Some(("gpu", unit)) => units.gpu_ram = byte_unit(unit)?,
                Some(("time", unit)) => units.time = time_unit(unit)?,
                _ => {
                    return Err(format!(
                        "'{word}' chooses no unit; write si, iec, or choices such as ram=GiB,gpu=MiB,time=h"
                    ));
                }
            }
        }
        Ok(units)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_its_unit_and_the_rest_keeps_the_usual_one() {
        let units: Units = "ram=GiB,gpu=mib,time=h".parse().unwrap();
        assert_eq!(units.ram(3 << 29), "1.5 GiB");
        assert_eq!(units.ram(1 << 20), "0.001 GiB");
        assert_eq!(units.gpu_ram(81_920 << 20), "81,920 MiB");
        assert_eq!(units.traffic(3_210_000_000), "3.21 GB");
        assert_eq!(units.rate(3_210_000.0), "3.21 MB/s");
        assert_eq!(units.time(5_400_000_000_000), "1.5 h");
        let units: Units = "iec, gpu=GB".parse().unwrap();
        assert_eq!((units.ram(3 << 29), units.gpu_ram(3_000_000_000)), ("1.5 GiB".into(), "3 GB".into()));
        assert_eq!((units.rate(1024.0), units.time(1_520_000_000)), ("1 KiB/s".into(), "1.52 s".into()));
        assert_eq!("si".parse(), Ok(Units::default()));
        assert_eq!(Units::default().ram(999_999), "1.00 MB");
    }

    #[test]
    fn what_is_no_unit_is_refused_with_those_there_are() {
        for (text, part) in [
            ("", "chooses no unit"),
            ("GiB", "write si, iec"),
            ("disk=GB", "chooses no unit"),
            ("ram=GiBi", "B, kB, MB, GB, TB, KiB, MiB, GiB, TiB"),
            ("time=H", "ms, s, min, h, d"),
        ] {
            let error = text.parse::<Units>().unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
