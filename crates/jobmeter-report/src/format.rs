//! Numbers for people, and strings of the job made harmless to look at.

use crate::data::Measure;

const BYTE_UNITS: [&str; 7] = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];

/// About three significant digits: `0.042`, `3.14`, `27.5`, `1,204`.
pub fn number(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 {
        "0".to_owned()
    } else if size >= 1e15 {
        format!("{value:.2e}")
    } else if size >= 99.95 {
        grouped(value.round() as i64)
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

/// Thousands set apart: `1,204,991`.
pub fn grouped(value: i64) -> String {
    let digits = value.unsigned_abs().to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3 + 1);
    if value < 0 {
        out.push('-');
    }
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// In powers of 1000, as the summary has them.
pub fn bytes(value: f64) -> String {
    let mut value = value;
    let mut unit = 0;
    while value.abs() >= 999.5 && unit + 1 < BYTE_UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    if unit == 0 {
        format!("{} B", number(value.round()))
    } else {
        format!("{} {}", number(value), BYTE_UNITS[unit])
    }
}

/// `840 J`, `12.5 kJ`, `3.2 MJ`.
pub fn energy(microjoules: u64) -> String {
    let joules = microjoules as f64 / 1e6;
    match joules {
        joules if joules < 999.5 => format!("{} J", number(joules)),
        joules if joules < 999.5e3 => format!("{} kJ", number(joules / 1e3)),
        joules => format!("{} MJ", number(joules / 1e6)),
    }
}

/// `18 ms`, `4.21 s`, `3 min 07 s`, `2 h 14 min`, `3 d 04 h`.
pub fn duration(ns: u64) -> String {
    let seconds = ns as f64 / 1e9;
    if ns == 0 {
        return "0 s".to_owned();
    }
    if seconds < 1e-6 {
        return format!("{ns} ns");
    }
    if seconds < 1e-3 {
        return format!("{} µs", number(seconds * 1e6));
    }
    if seconds < 0.9995 {
        return format!("{} ms", number(seconds * 1e3));
    }
    if seconds < 99.95 {
        return format!("{} s", number(seconds));
    }
    let whole = seconds.round() as u64;
    let (days, hours, minutes, rest) = (whole / 86_400, whole / 3_600 % 24, whole / 60 % 60, whole % 60);
    if days > 0 {
        format!("{days} d {hours:02} h")
    } else if hours > 0 {
        format!("{hours} h {minutes:02} min")
    } else {
        format!("{minutes} min {rest:02} s")
    }
}

pub fn measure(kind: Measure, value: f64) -> String {
    match kind {
        Measure::Cores => number(value),
        Measure::Bytes => bytes(value),
        Measure::BytesPerSecond => format!("{}/s", bytes(value)),
        Measure::Count | Measure::Plain => number(value),
        Measure::CountPerSecond => format!("{}/s", number(value)),
        Measure::Ratio => format!("{} %", number(value * 100.0)),
        Measure::Watts => format!("{} W", number(value)),
        Measure::Celsius => format!("{} °C", number(value)),
        Measure::Hertz => format!("{} MHz", number(value / 1e6)),
    }
}

/// UTC to the second: `2026-11-15 22:02:12 UTC`.
pub fn instant(unix_ns: u64) -> String {
    let seconds = unix_ns / 1_000_000_000;
    let (year, month, day) = civil(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

/// Calendar date of a day number since 1970, by counting years from March so that leap days come last.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

/// A string of the job as it may be shown: control and direction-changing characters become visible escapes
/// (they could reorder or hide the text around them), and no more than `limit` characters are kept.
pub fn visible(text: &str, limit: usize) -> String {
    let mut out = String::with_capacity(text.len().min(limit * 4));
    let mut chars = text.chars();
    for _ in 0..limit {
        let Some(letter) = chars.next() else { return out };
        if letter == '\n' || letter == '\t' {
            out.push(' ');
        } else if letter.is_control() || is_invisible_format(letter) {
            out.extend(letter.escape_unicode());
        } else {
            out.push(letter);
        }
    }
    let left = chars.count();
    if left > 0 {
        out.push_str(&format!("… ({} more characters)", grouped(left as i64)));
    }
    out
}

fn is_invisible_format(letter: char) -> bool {
    matches!(letter,
        '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// With a capital, as a sentence begins.
pub fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// A command line as one would type it: arguments quoted where a shell needs it.
pub fn command_line(arguments: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,+@%".contains(c);
    let quoted = arguments.iter().map(|argument| {
        if !argument.is_empty() && argument.chars().all(plain) {
            argument.clone()
        } else {
            format!("'{}'", argument.replace('\'', r"'\''"))
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_three_digits() {
        let cases =
            [(0.0, "0"), (0.0421, "0.0421"), (3.456, "3.46"), (27.49, "27.5"), (1204.4, "1,204"), (2.0, "2")];
        for (value, text) in cases {
            assert_eq!(number(value), text);
        }
        assert_eq!(bytes(1536.0), "1.54 kB");
        assert_eq!(bytes(999.9 * 1000.0), "1 MB");
        assert_eq!(duration(187_000_000_000), "3 min 07 s");
        assert_eq!(duration(8_040_000_000_000), "2 h 14 min");
        assert_eq!(duration(18_000_000), "18 ms");
    }

    #[test]
    fn dates_agree_with_known_days() {
        assert_eq!(instant(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(instant(951_782_400_000_000_000), "2000-02-29 00:00:00 UTC");
        assert_eq!(instant(1_794_780_132_000_000_000), "2026-11-15 22:02:12 UTC");
    }

    #[test]
    fn direction_marks_and_controls_become_visible() {
        assert_eq!(visible("a\u{202e}b\u{1b}[31m", 99), "a\\u{202e}b\\u{1b}[31m");
        assert_eq!(visible("abcdef", 3), "abc… (3 more characters)");
        assert_eq!(visible("日本語", 3), "日本語");
        assert_eq!(command_line(&["a b".into(), "it's".into(), "x".into()]), r"'a b' 'it'\''s' x");
    }
}
