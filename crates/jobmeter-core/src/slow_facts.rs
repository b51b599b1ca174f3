//! What changes slowly about the machine and is dear to ask: its mounts, and how many processes it has. Short runs
//! that follow each other closely share one reading.

use crate::probe::mounts::{self, Mount};
use crate::sys;
use std::cell::{Cell, RefCell};
use std::path::Path;

/// Listing all processes costs half a microsecond for each of them.
pub const COUNT_PERIOD_NS: u64 = 1_000_000_000;

// Per thread, so that a fork cannot leave them locked; each with the time of its reading.
thread_local! {
    static MOUNTS: RefCell<(u64, Vec<Mount>)> = const { RefCell::new((0, Vec::new())) };
    static PROCESSES: Cell<Option<(u64, u64)>> = const { Cell::new(None) };
}

/// The local mounts, no older than [`COUNT_PERIOD_NS`].
pub fn local_mounts(root: &Path) -> Vec<Mount> {
    if root != Path::new("/") {
        return mounts::local_mounts(root);
    }
    let now_ns = sys::monotonic_ns();
    MOUNTS.with_borrow_mut(|(read_at_ns, known)| {
        if known.is_empty() || now_ns >= *read_at_ns + COUNT_PERIOD_NS {
            (*read_at_ns, *known) = (now_ns, mounts::local_mounts(root));
        }
        known.clone()
    })
}

/// The number of processes, no older than [`COUNT_PERIOD_NS`]; `None` where they cannot be listed.
pub fn process_count(now_ns: u64, buffer: &mut [u8]) -> Option<u64> {
    let recent = PROCESSES.get().filter(|(read_at_ns, _)| now_ns < read_at_ns + COUNT_PERIOD_NS);
    let counted = recent.or_else(|| {
        let mut count = 0;
        sys::list_numeric(c"/proc", buffer, |_| count += 1).ok()?;
        Some((now_ns, count))
    });
    PROCESSES.set(counted);
    counted.map(|(_, count)| count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_kept_for_a_while() {
        let counted = process_count(5, &mut vec![0; 8192]).expect("/proc can be listed");
        assert!(counted >= 1);
        // Without room to list anything: this is the count of before.
        assert_eq!(process_count(5 + COUNT_PERIOD_NS - 1, &mut []), Some(counted));
        let again = process_count(5 + COUNT_PERIOD_NS, &mut vec![0; 8192]);
        assert!(again.is_some_and(|again| again >= 1));
    }

    #[test]
    fn mounts_of_a_fake_root_are_its_own() {
        assert_eq!(local_mounts(Path::new("/")), mounts::local_mounts(Path::new("/")));
        assert_eq!(local_mounts(Path::new("/nonexistent")), Vec::new());
    }
}
