//! Sizes, ratios and times as people write them, and back.

use crate::Error;

pub const KIB: u64 = 1 << 10;
pub const MIB: u64 = 1 << 20;
pub const GIB: u64 = 1 << 30;

/// `16GiB`, `20GB`, `512M`, `1.5 TiB` or plain bytes. `KB` counts in thousands, `KiB` in 1024; a bare letter
/// (`16G`) means 1024 as it does for Slurm.
pub fn parse_bytes(text: &str) -> Result<u64, Error> {
    let wrong = || Error::Unit {
        text: text.to_owned(),
        expected: "a size; write it as 16GiB, 20GB, 512M or a number of bytes",
    };
    let trimmed = text.trim();
    let digits = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(digits);
    let number: f64 = number.parse().map_err(|_| wrong())?;
    let unit = unit.trim().to_ascii_lowercase();
    let (letter, rest) = match unit.chars().next() {
        None => return in_range(number).ok_or_else(wrong),
        Some('b') if unit == "b" || unit == "bytes" => return in_range(number).ok_or_else(wrong),
        Some(letter) => (letter, &unit[letter.len_utf8()..]),
    };
    let power = "kmgtpe".find(letter).ok_or_else(wrong)? as i32 + 1;
    let base: f64 = match rest {
        "" | "i" | "ib" => 1024.0,
        "b" => 1000.0,
        _ => return Err(wrong()),
    };
    in_range(number * base.powi(power)).ok_or_else(wrong)
}

fn in_range(bytes: f64) -> Option<u64> {
    (bytes.is_finite() && (0.0..9.2e18).contains(&bytes)).then(|| bytes.round() as u64)
}

/// `1%`, `0.5 %` or `0.01`: a chance strictly between 0 and 1.
pub fn parse_chance(text: &str) -> Result<f64, Error> {
    let trimmed = text.trim();
    let value = match trimmed.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|p| p / 100.0),
        None => trimmed.parse::<f64>(),
    };
    value.ok().filter(|chance| *chance > 0.0 && *chance < 1.0).ok_or_else(|| Error::Unit {
        text: text.to_owned(),
        expected: "a chance between 0 and 1; write it as 1% or 0.01",
    })
}

/// Binary units, three significant digits: `11.2 GiB`.
pub fn show_bytes(bytes: f64) -> String {
    const NAMES: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut value = bytes;
    let mut name = 0;
    while value.abs() >= 1023.95 && name + 1 < NAMES.len() {
        value /= 1024.0;
        name += 1;
    }
    let digits = if name == 0 || value >= 100.0 || value.fract() == 0.0 { 0 } else { 1 };
    format!("{value:.digits$} {}", NAMES[name])
}

/// `45 s`, `12 min`, `3 h 30 min`, `2 d 4 h`.
pub fn show_seconds(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match whole {
        0..=9 => format!("{seconds:.1} s"),
        10..=119 => format!("{whole} s"),
        120..=7199 => format!("{} min", (whole + 30) / 60),
        7200..=172_799 => {
            let minutes = (whole + 30) / 60;
            match minutes % 60 {
                0 => format!("{} h", minutes / 60),
                rest => format!("{} h {rest} min", minutes / 60),
            }
        }
        _ => {
            let hours = (whole + 1800) / 3600;
            match hours % 24 {
                0 => format!("{} d", hours / 24),
                rest => format!("{} d {rest} h", hours / 24),
            }
        }
    }
}

/// Money with as many digits as it needs: `0.0034 USD`, `12.50 EUR`.
pub fn show_money(amount: f64, currency: &str) -> String {
    let digits = match amount.abs() {
        a if a >= 100.0 => 0,
        a if a >= 1.0 => 2,
        a if a >= 0.01 => 4,
        _ => 6,
    };
    format!("{amount:.digits$} {currency}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_in_both_bases() {
        assert_eq!(parse_bytes("16GiB").unwrap(), 16 * GIB);
        assert_eq!(parse_bytes("20GB").unwrap(), 20_000_000_000);
        assert_eq!(parse_bytes("512m").unwrap(), 512 * MIB);
        assert_eq!(parse_bytes(" 1.5 TiB ").unwrap(), 1536 * GIB);
        assert_eq!(parse_bytes("4096").unwrap(), 4096);
        for wrong in ["", "GiB", "4 apples", "-1GB", "1e400", "9999999EiB", "4Gx", "é"] {
            assert!(parse_bytes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn chances_and_their_limits() {
        assert_eq!(parse_chance("1%").unwrap(), 0.01);
        assert_eq!(parse_chance("0.05").unwrap(), 0.05);
        for wrong in ["0", "1", "100%", "-1%", "NaN", "often"] {
            assert!(parse_chance(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn human_figures() {
        assert_eq!(show_bytes(0.0), "0 B");
        assert_eq!(show_bytes(11.2 * GIB as f64), "11.2 GiB");
        assert_eq!(show_bytes(1023.99 * KIB as f64), "1.0 MiB");
        assert_eq!(show_seconds(4.26), "4.3 s");
        assert_eq!(show_seconds(5400.0), "90 min");
        assert_eq!(show_seconds(12_600.0), "3 h 30 min");
        assert_eq!(show_money(0.00345, "USD"), "0.003450 USD");
    }
}
