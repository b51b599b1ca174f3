//! The shared golden file, and properties that hold for every number.

use super::*;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// One line of `fixtures/format.json`: what a value reads as.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Case {
    unit: Unit,
    style: String,
    value: f64,
    text: String,
}

const STYLES: [(&str, Style); 3] =
    [("full", Style::Full), ("short", Style::Short), ("rounded", Style::Rounded)];

/// Values around every boundary at which the writing changes, and ties, which languages round differently.
fn values(unit: Unit) -> Vec<f64> {
    let mut values = vec![
        0.0, 0.0001, 0.0004, 0.0005, 0.042, 0.0995, 0.125, 0.5, 0.994, 0.9995, 1.0, 1.005, 1.5, 2.5, 9.99,
        9.995, 12.0, 27.49, 99.94, 99.96, 100.5, 321.0, 999.4, 999.5, 1000.0, 1204.4, 12_345.0, 999_499.0,
        999_500.0, 1e6, 3.21e9, 999.5e9, -1.5e9, -0.001, 1e15, 1.8e19,
    ];
    match unit {
        Unit::Nanos => values.extend([
            412e3, 1.52e9, 59.94e9, 59.95e9, 59.96e9, 75e9, 100e9, 3599.6e9, 3600e9, 7500e9, 86_399.9e9,
            86_400e9, 273_600e9,
        ]),
        Unit::Ppm => values.extend([250_000.0, 314_159.0, 1_250_000.0]),
        Unit::NanosPerSecond => values.extend([1.25e9, 2.5e8, 1e10]),
        Unit::Hertz => values.extend([1.41e9, 2.1e9]),
        _ => {}
    }
    values
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for unit in Unit::ALL {
        for (name, style) in STYLES {
            for value in values(unit) {
                let text = format(value, unit, style);
                // Where a style does not differ from the full one there is nothing to hold.
                if style == Style::Full || text != format(value, unit, Style::Full) {
                    cases.push(Case { unit, style: name.to_owned(), value, text });
                }
            }
        }
    }
    cases
}

/// `UPDATE_GOLDEN=1` writes the file anew; look at the difference, and run the tests of the page and of Python.
#[test]
fn the_golden_file_holds() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/format.json");
    let lines: Vec<String> =
        cases().iter().map(|case| serde_json::to_string(case).expect("a case")).collect();
    let now = std::format!("[\n{}\n]\n", lines.join(",\n"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &now).expect("write the golden file");
    }
    let golden = std::fs::read_to_string(&path).expect("fixtures/format.json");
    let differing: Vec<_> = golden.lines().zip(now.lines()).filter(|(old, new)| old != new).take(5).collect();
    assert!(golden == now, "{} and {} bytes: {differing:#?}", golden.len(), now.len());
}

#[test]
fn amounts_as_the_terminal_writes_them() {
    for (value, unit, text) in [
        (3.21e9, Unit::Bytes, "3.21 GB"),
        (999_999.0, Unit::Bytes, "1.00 MB"),
        (12.0, Unit::Bytes, "12 B"),
        (-1.5e9, Unit::Bytes, "-1.50 GB"),
        (3.21e6, Unit::BytesPerSecond, "3.21 MB/s"),
        (1.52e9, Unit::Nanos, "1.52 s"),
        (200e9, Unit::Nanos, "3 min 20 s"),
        (7500e9, Unit::Nanos, "2 h 05 min"),
        (273_600e9, Unit::Nanos, "3 d 04 h"),
        (412.0, Unit::Nanos, "412 ns"),
        (1.25e9, Unit::NanosPerSecond, "125.0 %"),
        (5.5, Unit::Count, "5.5"),
        (5.0, Unit::Count, "5"),
        (1_234_567.4, Unit::Count, "1,234,567"),
        (2.5, Unit::PerSecond, "2.5/s"),
        (1.25, Unit::Cores, "1.25 cores"),
        (0.275, Unit::Ratio, "27.5 %"),
        (250_000.0, Unit::Ppm, "25.0 %"),
        (1500.0, Unit::Milli, "1.50"),
        (2.5e6, Unit::Microjoules, "2.5 J"),
        (2.5, Unit::Joules, "2.5 J"),
        (2.5e6, Unit::Microwatts, "2.5 W"),
        (2500.0, Unit::Milliwatts, "2.5 W"),
        (2.5, Unit::Watts, "2.5 W"),
        (61_500.0, Unit::Millicelsius, "61.5 °C"),
        (61.5, Unit::Celsius, "61.5 °C"),
        (1.41e9, Unit::Hertz, "1,410 MHz"),
        (1.5, Unit::Grams, "1.50 g"),
        (5.0, Unit::Bits, "5"),
        (0.5, Unit::Plain, "0.500"),
        (-0.001, Unit::Cores, "0.00 cores"),
        (-0.2, Unit::Cores, "-0.20 cores"),
    ] {
        assert_eq!(format(value, unit, Style::Full), text, "{value} {unit:?}");
    }
    assert_eq!(format(f64::NAN, Unit::Bytes, Style::Full), "NaN");
    assert_eq!(format(f64::INFINITY, Unit::Nanos, Style::Full), "inf");
}

#[test]
fn styles_differ_where_they_say_so() {
    let gib = Style::In { name: "GiB", size: 1 << 30 };
    let hour = Style::In { name: "h", size: 3_600_000_000_000 };
    for (value, unit, style, text) in [
        (2e9, Unit::Bytes, Style::Short, "2 GB"),
        (1536.0, Unit::Bytes, Style::Short, "1.54 kB"),
        (500.0, Unit::Bytes, Style::Short, "500 B"),
        (18e6, Unit::Nanos, Style::Short, "18 ms"),
        (75e9, Unit::Nanos, Style::Short, "1 min 15 s"),
        (12.5e9, Unit::Microjoules, Style::Short, "12.5 kJ"),
        (3.2e6, Unit::Joules, Style::Short, "3.2 MJ"),
        (840.0, Unit::Joules, Style::Short, "840 J"),
        (2.0, Unit::Cores, Style::Short, "2"),
        (0.3, Unit::Ratio, Style::Short, "30 %"),
        (0.276, Unit::Ratio, Style::Rounded, "28 %"),
        (120_400.0, Unit::Milliwatts, Style::Rounded, "120 W"),
        (61_500.0, Unit::Millicelsius, Style::Rounded, "62 °C"),
        (1.25, Unit::Cores, Style::Rounded, "1.25 cores"),
        (1.25, Unit::Cores, Style::Bare, "1.25"),
        (0.275, Unit::Ratio, Style::Bare, "27.5"),
        (3.0 * (1u64 << 30) as f64, Unit::Bytes, Style::Binary, "3 GiB"),
        (1000.0, Unit::Bytes, Style::Binary, "1,000 B"),
        (1023.6, Unit::Bytes, Style::Binary, "1 KiB"),
        (1024.0, Unit::BytesPerSecond, Style::Binary, "1 KiB/s"),
        (1.5e9, Unit::Nanos, Style::Binary, "1.50 s"),
        ((3u64 << 29) as f64, Unit::Bytes, gib, "1.5 GiB"),
        ((1u64 << 20) as f64, Unit::Bytes, gib, "0.001 GiB"),
        (5400e9, Unit::Nanos, hour, "1.5 h"),
        (5.0, Unit::Count, hour, "5"),
    ] {
        assert_eq!(format(value, unit, style), text, "{value} {unit:?} {style:?}");
    }
}

#[test]
fn numbers_keep_three_digits() {
    for (value, text) in [
        (0.0, "0"),
        (0.0421, "0.0421"),
        (0.0004, "4.0e-4"),
        (3.456, "3.46"),
        (27.49, "27.5"),
        (1204.4, "1,204"),
        (2.0, "2"),
        (-1204.6, "-1,205"),
        (2e15, "2.00e15"),
    ] {
        assert_eq!(number(value), text);
    }
    assert_eq!(count(0), "0");
    assert_eq!(count(999), "999");
    assert_eq!(count(1_234_567), "1,234,567");
    assert_eq!(count(u64::MAX), "18,446,744,073,709,551,615");
    assert_eq!((grouped(-0.4), grouped(-1000.0)), ("0".to_owned(), "-1,000".to_owned()));
}

proptest::proptest! {
    /// What was written can be read again, to within the digits that were kept.
    #[test]
    fn a_size_is_read_back(bytes in 0u64..1 << 60) {
        let text = format(bytes as f64, Unit::Bytes, Style::Full);
        let back = crate::units::parse_bytes(&text.replace("PB", "000 TB").replace("EB", "000000 TB"));
        // PB and EB are written, and read as no input.
        if !text.contains("PB") && !text.contains("EB") {
            let back = back.expect("a size") as f64;
            proptest::prop_assert!((back - bytes as f64).abs() <= bytes as f64 * 0.0051 + 0.5, "{text}");
        }
    }

    #[test]
    fn counts_keep_every_digit(value: u64) {
        proptest::prop_assert_eq!(count(value).replace(',', ""), value.to_string());
    }

    #[test]
    fn no_number_is_written_without_a_digit(value in -1e30f64..1e30) {
        for unit in Unit::ALL {
            for (_, style) in STYLES {
                let text = format(value, unit, style);
                let has_digit = text.contains(|letter: char| letter.is_ascii_digit());
                proptest::prop_assert!(has_digit, "{} {:?}", value, unit);
            }
        }
    }
}
