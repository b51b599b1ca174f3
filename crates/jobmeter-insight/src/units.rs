//! Amounts as requests state them: memory in powers of two, times in whole minutes, money. Reading sizes and shares is
//! the business of `jobmeter_model::units`.

use crate::Error;

pub const MIB: u64 = 1 << 20;
pub const GIB: u64 = 1 << 30;

/// A chance strictly between 0 and 1, as `1%` or `0.01`.
pub fn parse_chance(text: &str) -> Result<f64, Error> {
    let chance =
        jobmeter_model::units::parse_ratio(text).ok().filter(|chance| *chance > 0.0 && *chance < 1.0);
    chance.ok_or_else(|| Error::Unit {
        text: text.to_owned(),
        expected: "a chance between 0 and 1; write it as 1% or 0.01",
    })
}

/// Binary units, because every scheduler counts so: `11.2 GiB`.
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
        assert_eq!(show_bytes(1023.99 * 1024.0), "1.0 MiB");
        assert_eq!(show_seconds(4.26), "4.3 s");
        assert_eq!(show_seconds(5400.0), "90 min");
        assert_eq!(show_seconds(12_600.0), "3 h 30 min");
        assert_eq!(show_money(0.00345, "USD"), "0.003450 USD");
    }
}
