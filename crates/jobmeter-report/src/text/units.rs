//! The units that the text speaks in. Scaled decimal ones unless the reader asks for others: `iec` for powers of
//! 1024, or one unit throughout, such as GiB for memory or hours for time.

use jobmeter_model::Unit;
use jobmeter_model::format::{Style, format};
use std::str::FromStr;

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
    /// For memory.
    pub ram: Style,
    /// For memory of GPUs.
    pub gpu_ram: Style,
    /// Disk and network.
    pub traffic: Style,
    /// For times.
    pub time: Style,
}

impl Units {
    pub(super) fn ram(self, bytes: u64) -> String {
        format(bytes as f64, Unit::Bytes, self.ram)
    }

    pub(super) fn gpu_ram(self, bytes: u64) -> String {
        format(bytes as f64, Unit::Bytes, self.gpu_ram)
    }

    pub(super) fn traffic(self, bytes: u64) -> String {
        format(bytes as f64, Unit::Bytes, self.traffic)
    }

    pub(super) fn rate(self, bytes_per_s: f64) -> String {
        format(bytes_per_s, Unit::BytesPerSecond, self.traffic)
    }

    pub(super) fn time(self, ns: u64) -> String {
        format(ns as f64, Unit::Nanos, self.time)
    }
}

fn byte_unit(text: &str) -> Result<Style, String> {
    match text {
        "si" => return Ok(Style::Full),
        "iec" => return Ok(Style::Binary),
        _ => {}
    }
    let found = BYTE_UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
    found.map(|&(name, size)| Style::In { name, size }).ok_or_else(|| {
        let names: Vec<&str> = BYTE_UNITS.iter().map(|(name, _)| *name).collect();
        format!("'{text}' is not a unit of memory; write si, iec or one of {}", names.join(", "))
    })
}

fn time_unit(text: &str) -> Result<Style, String> {
    let found = TIME_UNITS.iter().find(|(name, _)| *name == text);
    found.map(|&(name, size)| Style::In { name, size }).ok_or_else(|| {
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
