//! The Gregorian calendar in UTC: days since 1970 as dates, and back. Every date that jobmeter writes or reads goes
//! through here.

/// A moment as year, month, day, hour, minute and second in UTC.
pub fn utc_fields(unix_ns: u64) -> [u64; 6] {
    let seconds = unix_ns / 1_000_000_000;
    let (year, month, day) = civil_from_days(seconds / 86_400);
    [year, month, day, seconds / 3600 % 24, seconds / 60 % 60, seconds % 60]
}

/// `2026-11-15` in UTC.
pub fn utc_date(unix_ns: u64) -> String {
    let [year, month, day, ..] = utc_fields(unix_ns);
    format!("{year:04}-{month:02}-{day:02}")
}

/// `2026-11-15 22:02:12` in UTC.
pub fn utc_text(unix_ns: u64) -> String {
    let [.., hour, minute, second] = utc_fields(unix_ns);
    format!("{} {hour:02}:{minute:02}:{second:02}", utc_date(unix_ns))
}

/// The date so many days after 1970-01-01, counting years from March so that the leap day comes last.
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

/// Days from 1970-01-01 to this date; `None` for what is no date from 1970 on.
pub fn days_from_civil(year: u64, month: u64, day: u64) -> Option<u64> {
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

    #[test]
    fn known_moments() {
        assert_eq!(utc_text(0), "1970-01-01 00:00:00");
        assert_eq!(utc_date(951_782_400_000_000_000), "2000-02-29");
        assert_eq!(utc_text(1_794_780_132_999_999_999), "2026-11-15 22:02:12");
    }

    #[test]
    fn every_day_until_the_year_9900_comes_back() {
        for days in 0..2_900_000 {
            let (year, month, day) = civil_from_days(days);
            assert_eq!(days_from_civil(year, month, day), Some(days));
        }
    }

    #[test]
    fn no_such_day() {
        for (year, month, day) in [(2026, 2, 29), (2026, 13, 1), (1969, 1, 1), (2026, 4, 31), (2026, 1, 0)] {
            assert_eq!(days_from_civil(year, month, day), None, "{year}-{month}-{day}");
        }
    }
}
