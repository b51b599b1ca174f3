//! Run identifiers: UTC time to the second, three hexadecimal digits of the second's 4096 parts and five random
//! ones, `20261115T220212-1f3a9c07`. They sort by time as text, so that of two quick runs the later one is the last,
//! and are safe as file names.

use std::time::{SystemTime, UNIX_EPOCH};

/// A new identifier for a run that begins at this moment of the wall clock.
pub fn new_run_id(started_unix_ns: u64) -> String {
    let random = random_bits() & 0xf_ffff;
    let part = started_unix_ns % 1_000_000_000 * 4096 / 1_000_000_000;
    format!("{}-{part:03x}{random:05x}", utc_compact(started_unix_ns))
}

/// Whether a text may be an identifier, whole or as a prefix: nothing that means something in a path.
pub fn is_id_like(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 64
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

pub fn now_unix_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}

fn random_bits() -> u64 {
    let mut bytes = [0u8; 8];
    // SAFETY: the kernel fills at most the eight bytes we own.
    let got = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), libc::GRND_NONBLOCK) };
    if got == bytes.len() as isize {
        return u64::from_ne_bytes(bytes);
    }
    // Early at boot. The pid keeps runs that start together apart.
    now_unix_ns() ^ (u64::from(std::process::id()) << 8)
}

/// `20261115T220212` in UTC.
pub(crate) fn utc_compact(unix_ns: u64) -> String {
    let [year, month, day, hour, minute, second] = utc_fields(unix_ns);
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}")
}

/// `2026-11-15 22:02:12` in UTC.
pub fn utc_text(unix_ns: u64) -> String {
    let [year, month, day, hour, minute, second] = utc_fields(unix_ns);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
}

fn utc_fields(unix_ns: u64) -> [u64; 6] {
    let seconds = unix_ns / 1_000_000_000;
    let (year, month, day) = civil_from_days(seconds / 86_400);
    [year, month, day, seconds / 3600 % 24, seconds / 60 % 60, seconds % 60]
}

/// The Gregorian date so many days after 1970-01-01, counting years from March so that the leap day
/// comes last.
fn civil_from_days(days: u64) -> (u64, u64, u64) {
    const DAYS_PER_ERA: u64 = 146_097;
    const DAYS_BEFORE_1970: u64 = 719_468;
    let shifted = days + DAYS_BEFORE_1970;
    let (era, day_of_era) = (shifted / DAYS_PER_ERA, shifted % DAYS_PER_ERA);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (400 * era + year_of_era + u64::from(month <= 2), month, day)
}

/// The inverse of [`civil_from_days`]; `None` for what is no date from 1970 on.
pub(crate) fn days_from_civil(year: u64, month: u64, day: u64) -> Option<u64> {
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let year_from_march = if month <= 2 { year - 1 } else { year };
    let month_from_march = (month + 9) % 12;
    let era = year_from_march / 400;
    let year_of_era = year_from_march % 400;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    let days = (era * 146_097 + day_of_era).checked_sub(719_468)?;
    (civil_from_days(days) == (year, month, day)).then_some(days)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_moments() {
        assert_eq!(utc_compact(0), "19700101T000000");
        assert_eq!(utc_compact(951_782_400_000_000_000), "20000229T000000");
        assert_eq!(utc_text(1_794_780_132_999_999_999), "2026-11-15 22:02:12");
    }

    #[test]
    fn identifiers_have_their_shape_and_differ() {
        let (a, b) = (new_run_id(1_794_780_132_000_000_000), new_run_id(1_794_780_132_000_000_000));
        assert!(a.starts_with("20261115T220212-") && a.len() == 24 && is_id_like(&a), "{a}");
        assert_ne!(a, b);
    }

    #[test]
    fn runs_of_the_same_second_sort_by_time() {
        let ids: Vec<String> =
            (0..1000).map(|ms| new_run_id(1_794_780_132_000_000_000 + ms * 1_000_000)).collect();
        assert!(ids.is_sorted(), "{ids:?}");
    }

    proptest! {
        #[test]
        fn days_come_back(days in 0u64..2_900_000) {
            let (year, month, day) = civil_from_days(days);
            prop_assert_eq!(days_from_civil(year, month, day), Some(days));
        }
    }

    #[test]
    fn no_such_day() {
        assert_eq!(days_from_civil(2026, 2, 29), None);
        assert_eq!(days_from_civil(2026, 13, 1), None);
        assert_eq!(days_from_civil(1969, 1, 1), None);
    }
}
