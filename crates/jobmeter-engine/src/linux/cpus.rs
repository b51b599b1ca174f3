//! The CPUs of the machine that are switched on.

use crate::linux::sys;
use once_cell::race::OnceBox;
use std::os::fd::AsRawFd;

/// Their numbers. Asked once: it takes a file.
pub fn online() -> &'static [i32] {
    static ONLINE: OnceBox<Vec<i32>> = OnceBox::new();
    ONLINE.get_or_init(|| {
        let mut buffer = [0u8; 512];
        let read = sys::open_read(c"/sys/devices/system/cpu/online")
            .and_then(|file| sys::pread(file.as_raw_fd(), &mut buffer, 0));
        let listed = read.ok().and_then(|length| parse(std::str::from_utf8(&buffer[..length]).ok()?));
        Box::new(listed.unwrap_or_else(|| (0..sys::sysconf(libc::_SC_NPROCESSORS_ONLN) as i32).collect()))
    })
}

/// `0-3,6`.
fn parse(text: &str) -> Option<Vec<i32>> {
    let mut cpus = Vec::new();
    for range in text.trim().split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        cpus.extend(first.parse::<i32>().ok()?..=last.parse::<i32>().ok()?);
    }
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus() {
        assert_eq!(parse("0\n"), Some(vec![0]));
        assert_eq!(parse("0-2,5,7-8\n"), Some(vec![0, 1, 2, 5, 7, 8]));
        assert_eq!(parse(""), None);
        assert_eq!(parse("0-x"), None);
    }

    #[test]
    fn as_many_as_the_c_library_says() {
        assert_eq!(online().len() as u64, sys::sysconf(libc::_SC_NPROCESSORS_ONLN));
    }
}
