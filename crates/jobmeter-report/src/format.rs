//! Numbers for people, and strings of the job made harmless to look at.

use jobmeter_model::Unit;
pub use jobmeter_model::format::{Style, count, format, number};

/// `3.21 GB`.
pub fn bytes(value: u64) -> String {
    format(value as f64, Unit::Bytes, Style::Full)
}

/// `4.21 s`, `3 min 07 s`.
pub fn duration(ns: u64) -> String {
    format(ns as f64, Unit::Nanos, Style::Full)
}

/// A value of a chart; its title says whether it counts cores.
pub fn measure(unit: Unit, value: f64) -> String {
    format(value, unit, if unit == Unit::Cores { Style::Bare } else { Style::Full })
}

/// Cores where the word stands beside the number.
pub fn cores(value: f64) -> String {
    format(value, Unit::Cores, Style::Bare)
}

/// Rounded up to the three digits that are shown.
pub fn rounded_up(value: f64) -> f64 {
    let step = 10f64.powi((value.max(100.0).log10().floor() as i32) - 2);
    (value / step).ceil() * step
}

/// A time that somebody chose: `50 ms`, `8 min`.
pub fn chosen_duration(ns: u64) -> String {
    format(ns as f64, Unit::Nanos, Style::Short)
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
        out.push_str(&format!("… ({} more characters)", count(left as u64)));
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
    fn dates_agree_with_known_days() {
        assert_eq!(instant(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(instant(951_782_400_000_000_000), "2000-02-29 00:00:00 UTC");
        assert_eq!(instant(1_794_780_132_000_000_000), "2026-11-15 22:02:12 UTC");
    }

    #[test]
    fn a_bound_is_rounded_up_to_three_digits() {
        for (value, rounded) in [
            (801.2e6, 802e6),
            (8.0e9, 8.0e9),
            (8.011e9, 8.02e9),
            (5.0, 5.0),
            (999.1, 1000.0),
            (655.4e6, 656e6),
        ] {
            assert_eq!(rounded_up(value), rounded, "{value}");
        }
    }

    #[test]
    fn direction_marks_and_controls_become_visible() {
        assert_eq!(visible("a\u{202e}b\u{1b}[31m", 99), "a\\u{202e}b\\u{1b}[31m");
        assert_eq!(visible("abcdef", 3), "abc… (3 more characters)");
        assert_eq!(visible("日本語", 3), "日本語");
        assert_eq!(command_line(&["a b".into(), "it's".into(), "x".into()]), r"'a b' 'it'\''s' x");
    }
}
