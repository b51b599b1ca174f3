//! In what a figure or a series is counted. One list for stored integers, for figures and for the axes of charts.

use serde::{Deserialize, Serialize};

/// The unit of a number. [`crate::format::format`] writes it for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Bytes of memory or traffic.
    Bytes,
    /// Bytes in each second.
    BytesPerSecond,
    /// Nanoseconds.
    Nanos,
    /// Time per time: a billion is one core, or one whole second of pressure in each second.
    NanosPerSecond,
    /// How many there are.
    Count,
    /// How many there are in each second.
    PerSecond,
    /// Cores in use: nanoseconds of CPU per nanosecond of time.
    Cores,
    /// A share; 1 is all of it.
    Ratio,
    /// Parts per million of one device or core: 1,000,000 is one fully busy.
    Ppm,
    /// Thousandths of a plain number (load average).
    Milli,
    /// Millionths of a joule.
    Microjoules,
    /// Energy.
    Joules,
    /// Millionths of a watt.
    Microwatts,
    /// Thousandths of a watt.
    Milliwatts,
    /// Power.
    Watts,
    /// Thousandths of a degree Celsius.
    Millicelsius,
    /// Degrees Celsius.
    Celsius,
    /// Cycles per second.
    Hertz,
    /// Mass, of carbon dioxide.
    Grams,
    /// A set of flags, one bit each.
    Bits,
    /// A number without a unit, or a figure of a newer version whose unit is not known.
    Plain,
}

impl Unit {
    /// Every unit.
    pub const ALL: [Unit; 21] = [
        Unit::Bytes,
        Unit::BytesPerSecond,
        Unit::Nanos,
        Unit::NanosPerSecond,
        Unit::Count,
        Unit::PerSecond,
        Unit::Cores,
        Unit::Ratio,
        Unit::Ppm,
        Unit::Milli,
        Unit::Microjoules,
        Unit::Joules,
        Unit::Microwatts,
        Unit::Milliwatts,
        Unit::Watts,
        Unit::Millicelsius,
        Unit::Celsius,
        Unit::Hertz,
        Unit::Grams,
        Unit::Bits,
        Unit::Plain,
    ];

    /// The unit of a counter's growth in each second.
    pub fn per_second(self) -> Unit {
        match self {
            Unit::Bytes => Unit::BytesPerSecond,
            Unit::Nanos => Unit::NanosPerSecond,
            Unit::Count => Unit::PerSecond,
            Unit::Microjoules => Unit::Microwatts,
            Unit::Joules => Unit::Watts,
            _ => Unit::Plain,
        }
    }

    /// The unit that ends a key which no metric explains: a newer file may hold figures that this version does not
    /// know.
    pub fn of_unknown_key(key: &str) -> Unit {
        let is_rate = key.contains("_per_s");
        match key {
            key if key.contains("_bytes") && is_rate => Unit::BytesPerSecond,
            key if key.contains("_bytes") => Unit::Bytes,
            key if key.contains("_ns") && is_rate => Unit::NanosPerSecond,
            key if key.contains("_ns") => Unit::Nanos,
            key if key.contains("_ratio") => Unit::Ratio,
            key if key.contains("_ppm") => Unit::Ppm,
            _ => Unit::Plain,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_in_a_second_has_its_own_unit() {
        for (unit, rate) in [
            (Unit::Bytes, Unit::BytesPerSecond),
            (Unit::Nanos, Unit::NanosPerSecond),
            (Unit::Count, Unit::PerSecond),
            (Unit::Microjoules, Unit::Microwatts),
            (Unit::Joules, Unit::Watts),
            (Unit::Ratio, Unit::Plain),
        ] {
            assert_eq!(unit.per_second(), rate, "{unit:?}");
        }
    }

    #[test]
    fn a_key_of_a_newer_version_still_says_its_unit() {
        for (key, unit) in [
            ("shmem_bytes_max", Unit::Bytes),
            ("new_bytes_per_s_max", Unit::BytesPerSecond),
            ("stall_ns", Unit::Nanos),
            ("stall_ns_per_s_mean", Unit::NanosPerSecond),
            ("cache_ratio_mean", Unit::Ratio),
            ("npu_busy_ppm_max", Unit::Ppm),
            ("something_new", Unit::Plain),
            ("something_per_s_max", Unit::Plain),
        ] {
            assert_eq!(Unit::of_unknown_key(key), unit, "{key}");
        }
    }

    #[test]
    fn all_units_are_listed_once_and_keep_their_names() {
        let names: std::collections::BTreeSet<String> =
            Unit::ALL.iter().map(|unit| serde_json::to_string(unit).expect("a name")).collect();
        assert_eq!(names.len(), Unit::ALL.len());
        assert!(names.contains("\"bytes_per_second\"") && names.contains("\"nanos_per_second\""));
    }
}
