//! `/proc/PID/statm`: resident pages, the cheapest exact memory figure there is.

use super::scan::Numbers;

/// Memory of a process in pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Statm {
    /// Resident pages, equal to VmRSS.
    pub resident_pages: u64,
    /// Resident pages backed by files or shared memory; copy-on-write sharing is not in it.
    pub shared_pages: u64,
}

/// `None` where it has an unknown format.
pub fn parse(text: &[u8]) -> Option<Statm> {
    let mut numbers = Numbers(text).skip(1);
    Some(Statm { resident_pages: numbers.next()?, shared_pages: numbers.next()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_files_as_the_kernel_writes_them() {
        let parsed = parse(b"2058 418 352 5 0 113 0\n");
        assert_eq!(parsed, Some(Statm { resident_pages: 418, shared_pages: 352 }));
        assert_eq!(parse(b"0 0 0 0 0 0 0\n"), Some(Statm::default()));
        assert_eq!(parse(b""), None);
        assert_eq!(parse(b"12"), None);
    }
}
