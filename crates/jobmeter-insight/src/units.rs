//! Amounts in the words of advice: bytes and times as the terminal writes them, and money. Reading sizes and shares is the
//! business of `jobmeter_model::units`.

use crate::Error;
use jobmeter_model::Unit;
use jobmeter_model::format::{Style, format};

/// Bytes in a mebibyte.
pub const MIB: u64 = 1 << 20;
/// Bytes in a gibibyte.
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

/// As everywhere else: `12.0 GB`.
pub fn show_bytes(bytes: f64) -> String {
    format(bytes, Unit::Bytes, Style::Full)
}

/// Memory of a server on offer, in powers of two as vendors name it: `16 GiB`.
pub fn show_capacity(bytes: u64) -> String {
    format(bytes as f64, Unit::Bytes, Style::Binary)
}

/// As everywhere else: `4.26 s`, `12 min 00 s`, `3 h 30 min`.
pub fn show_seconds(seconds: f64) -> String {
    format(seconds * 1e9, Unit::Nanos, Style::Full)
}

/// Money as people write it: `12.50 EUR`, `0.12 USD`, `0.0053 EUR`; a hundredth of a cent is the least that is told.
pub fn show_money(amount: f64, currency: &str) -> String {
    match amount.abs() {
        0.0 => format!("0 {currency}"),
        least if least < 0.0001 => format!("less than 0.0001 {currency}"),
        small if small < 1.0 => {
            let text = format!("{amount:.4}");
            let shown = text.strip_suffix("00").unwrap_or(&text);
            format!("{shown} {currency}")
        }
        some if some < 100.0 => format!("{amount:.2} {currency}"),
        _ => format!("{amount:.0} {currency}"),
    }
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
        assert_eq!(show_bytes(11.2e9), "11.2 GB");
        assert_eq!(show_capacity(16 * GIB), "16 GiB");
        assert_eq!(show_seconds(4.26), "4.26 s");
        assert_eq!(show_seconds(12_600.0), "3 h 30 min");
        for (amount, text) in [
            (0.0, "0 EUR"),
            (0.000_004, "less than 0.0001 EUR"),
            (0.0053, "0.0053 EUR"),
            (0.12, "0.12 EUR"),
            (0.123_456, "0.1235 EUR"),
            (12.5, "12.50 EUR"),
            (1234.5, "1234 EUR"),
        ] {
            assert_eq!(show_money(amount, "EUR"), text);
        }
    }
}
