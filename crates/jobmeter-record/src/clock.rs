//! Wall-clock time as people write and read it, in their time zone.

use crate::error::RecordError;
use crate::id::days_from_civil;
use jobmeter_model::units::parse_duration_ns;

/// `2026-11-15 22:02:12` in the local time zone.
pub fn local_text(unix_ns: u64) -> String {
    let seconds = (unix_ns / 1_000_000_000) as libc::time_t;
    // SAFETY: a zeroed tm is a valid value (its zone pointer may be null).
    let mut fields: libc::tm = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to values that live through the call.
    if unsafe { libc::localtime_r(&seconds, &mut fields) }.is_null() {
        return crate::id::utc_text(unix_ns);
    }
    let (year, month) = (fields.tm_year + 1900, fields.tm_mon + 1);
    let (day, hour, minute, second) = (fields.tm_mday, fields.tm_hour, fields.tm_min, fields.tm_sec);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
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
    days_from_civil(year, month, day)?;
    // SAFETY: a zeroed tm is a valid value.
    let mut fields: libc::tm = unsafe { std::mem::zeroed() };
    fields.tm_year = i32::try_from(year).ok()? - 1900;
    fields.tm_mon = i32::try_from(month).ok()? - 1;
    fields.tm_mday = i32::try_from(day).ok()?;
    fields.tm_hour = i32::try_from(*hour).ok()?;
    fields.tm_min = i32::try_from(*minute).ok()?;
    fields.tm_sec = i32::try_from(second).ok()?;
    fields.tm_isdst = -1;
    // SAFETY: mktime reads and normalises the struct we own.
    let seconds = unsafe { libc::mktime(&mut fields) };
    u64::try_from(seconds).ok()?.checked_mul(1_000_000_000)
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
