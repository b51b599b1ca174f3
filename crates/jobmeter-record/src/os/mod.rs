//! What reading a run needs of the operating system, once for Linux and once for all others. Measuring needs Linux;
//! reading does not.

#[cfg_attr(target_os = "linux", path = "linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "elsewhere.rs")]
mod system;

pub use system::open_without_waiting;
pub(crate) use system::{is_running_here, random_bits, read_at};

/// Year, month, day, hour, minute and second in the local time zone; `None` where the system cannot tell.
pub(crate) fn local_fields(unix_seconds: u64) -> Option<[u64; 6]> {
    let seconds = libc::time_t::try_from(unix_seconds).ok()?;
    // SAFETY: a zeroed tm is a valid value (its zone pointer may be null).
    let mut fields: libc::tm = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to values that live through the call.
    #[cfg(unix)]
    let is_known = unsafe { !libc::localtime_r(&seconds, &mut fields).is_null() };
    // SAFETY: as above.
    #[cfg(windows)]
    let is_known = unsafe { libc::localtime_s(&mut fields, &seconds) == 0 };
    let [year, month] = [fields.tm_year + 1900, fields.tm_mon + 1];
    let all = [year, month, fields.tm_mday, fields.tm_hour, fields.tm_min, fields.tm_sec];
    is_known.then(|| all.map(|field| u64::try_from(field).unwrap_or(0)))
}
