//! Run identifiers: UTC time to the second, three hexadecimal digits of the second's 4096 parts and five random
//! ones, `20261115T220212-1f3a9c07`. They sort by time as text, so that of two quick runs the later one is the last,
//! and are safe as file names.

use jobmeter_model::calendar::utc_fields;
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

/// The wall clock, as nanoseconds since 1970.
pub fn now_unix_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}

fn random_bits() -> u64 {
    // Early at boot, the pid keeps runs that start together apart.
    crate::os::random_bits().unwrap_or_else(|| now_unix_ns() ^ (u64::from(std::process::id()) << 8))
}

/// `20261115T220212` in UTC.
fn utc_compact(unix_ns: u64) -> String {
    let [year, month, day, hour, minute, second] = utc_fields(unix_ns);
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_moments() {
        assert_eq!(utc_compact(0), "19700101T000000");
        assert_eq!(utc_compact(951_782_400_000_000_000), "20000229T000000");
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
}
