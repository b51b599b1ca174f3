//! Wall-clock time as people write and read it, in their time zone.

use crate::error::RecordError;
use crate::os;
use jobmeter_model::calendar::{days_from_civil, utc_text};
use jobmeter_model::units::parse_duration_ns;

/// `2026-11-15 22:02:12` in the local time zone.
pub fn local_text(unix_ns: u64) -> String {
    match os::local_fields(unix_ns / 1_000_000_000) {
        Some([year, month, day, hour, minute, second]) => {
            format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
        }
        None => utc_text(unix_ns),
    }
}

/// Reads `2026-11-15`, `2026-11-15 22:00`, `2026-11-15T22:00:05` (local time), or `2d`, `36h`: so long ago.
pub fn parse_moment(text: &str, now_unix_ns: u64) -> Result<u64, RecordError> {
    let wrong = || {
        RecordError::Invalid(format!(
            "'{}' is not a moment; write one like 2026-11-15, 2026-11-15T22:00 or 2d (two days ago)",
            crate::text::printable(text)
        ))
    };
    if let Ok(ago_ns) = parse_duration_ns(text)
        && !text.contains('-')
    {
        return Ok(now_unix_ns.saturating_sub(ago_ns));
    }
    parse_local(text.trim()).ok_or_else(wrong)
}

fn parse_local(text: &str) -> Option<u64> {
    let (date, time) = match text.split_once(['T', ' ']) {
        Some((date, time)) => (date, time),
        None => (text, "00:00"),
    };
    let date = numbers(date, '-')?;
    let time = numbers(time, ':')?;
    let [year, month, day] = date.try_into().ok()?;
    let [hour, minute, rest @ ..] = time.as_slice() else { return None };
    let second = match rest {
        [] => 0,
        [second] => *second,
        _ => return None,
    };
    if *hour > 23 || *minute > 59 || second > 60 {
        return None;
    }
    let wanted = seconds_by_calendar([year, month, day, *hour, *minute, second])?;
    unix_of_local(wanted)?.checked_mul(1_000_000_000)
}

/// Seconds from 1970 to this date and time, both taken as UTC.
fn seconds_by_calendar([year, month, day, hour, minute, second]: [u64; 6]) -> Option<u64> {
    Some(days_from_civil(year, month, day)? * 86_400 + hour * 3600 + minute * 60 + second)
}

/// The moment at which the local clock shows `wanted`. Of an hour that comes twice in a year either may be meant; in
/// one that is left out it is a moment next to it.
fn unix_of_local(wanted: u64) -> Option<u64> {
    let mut unix_seconds = wanted;
    // The offset at the first guess may be that of the other half of the year.
    for _ in 0..2 {
        let shown = seconds_by_calendar(os::local_fields(unix_seconds)?)?;
        unix_seconds = (unix_seconds + wanted).checked_sub(shown)?;
    }
    Some(unix_seconds)
}

fn numbers(text: &str, separator: char) -> Option<Vec<u64>> {
    text.split(separator)
        .map(|part| if part.bytes().all(|byte| byte.is_ascii_digit()) { part.parse().ok() } else { None })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_come_back_in_any_zone() {
        for moment in ["2026-11-15 22:02:12", "2000-02-29 00:00:00", "2026-07-01 12:30:00"] {
            let unix_ns = parse_moment(moment, 0).unwrap();
            assert_eq!(local_text(unix_ns), moment);
        }
        assert_eq!(parse_moment("2026-11-15", 0).unwrap(), parse_moment("2026-11-15T00:00", 0).unwrap());
    }

    #[test]
    fn so_long_ago() {
        let now = 10 * 86_400_000_000_000;
        assert_eq!(parse_moment("2d", now).unwrap(), 8 * 86_400_000_000_000);
        assert_eq!(parse_moment("90d", now).unwrap(), 0);
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "yesterday", "2026-13-01", "2026-02-30", "2026-11-15T25:00", "2026-11", "-3", "1:2"]
        {
            assert!(parse_moment(text, 0).is_err(), "{text}");
        }
    }
}
