//! How the clock of a file server stands to ours: the server stamps a file that is made between two readings of our clock.
//! Only what a server stamps itself tells of its clock: NFS does when a file is made; on local file systems, Lustre or
//! Ceph the stamp is our own.

use super::raw;
use super::slot::{Place, Slot};
use jobmeter_model::job::StoreTime;
use std::ffi::c_int;

/// The kernel's number for NFS.
pub(super) const NFS: i64 = 0x6969;
/// Clocks drift apart: they are compared again after this time.
const AGAIN_AFTER_NS: u64 = 300_000_000_000;

/// When the clocks were last compared.
#[derive(Debug, Default)]
pub(super) struct ServerTime {
    at_ns: Option<u64>,
}

/// Before the run file is made: our clock, where the comparison is wanted.
pub(super) fn before(place: &Place) -> Option<u64> {
    place.time_file.as_ref().and_then(|_| raw::realtime_ns().ok())
}

impl ServerTime {
    /// The run file was just made.
    pub(super) fn note_made(&mut self, slot: &Slot, fd: c_int, before_unix_ns: Option<u64>) {
        if let Some(before_unix_ns) = before_unix_ns {
            self.at_ns = Some(before_unix_ns);
            note(slot, fd, before_unix_ns);
        }
    }

    /// After a write: makes another file for it, now and then.
    pub(super) fn note_again_if_due(&mut self, slot: &Slot) {
        let Some((file, at_ns)) = slot.place.time_file.as_ref().zip(self.at_ns) else { return };
        let Ok(before_unix_ns) = raw::realtime_ns() else { return };
        if before_unix_ns.abs_diff(at_ns) < AGAIN_AFTER_NS {
            return;
        }
        self.at_ns = Some(before_unix_ns);
        if let Ok(fd) = raw::create(file) {
            note(slot, fd, before_unix_ns);
            let _ = raw::close(fd);
            let _ = raw::remove(file);
        }
    }
}

fn note(slot: &Slot, fd: c_int, before_unix_ns: u64) {
    // Not the time of its content: a client may set that by its own clock.
    let stamp = raw::changed_unix_ns(fd).and_then(|stamp_unix_ns| {
        let after_unix_ns = raw::realtime_ns()?;
        Ok((StoreTime { before_unix_ns, after_unix_ns, stamp_unix_ns }, raw::file_system(fd)?))
    });
    if let Ok((time, file_system)) = stamp {
        slot.note_time(time, file_system);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::carrier::slot::Turn;
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt;

    /// Here the server is this machine: its clock is ours, up to a step.
    #[test]
    fn a_file_that_is_made_between_two_readings_has_a_time_between_them() {
        let path = std::env::temp_dir().join(format!("jobmeter-time-{}", std::process::id()));
        let name = |path: &std::path::Path| CString::new(path.as_os_str().as_bytes()).expect("no NUL");
        let (file, time_file) = (name(&path), Some(name(&path.with_extension("time"))));
        let slot = Slot::new(Place { file, opened: None, folders: Vec::new(), time_file }, Vec::new());
        let mut time = ServerTime::default();
        let before_unix_ns = before(&slot.place);
        let fd = raw::create(&slot.place.file).expect("a file");
        time.note_made(&slot, fd, before_unix_ns);
        let check = || {
            let (time, file_system) = slot.take_time().expect("a comparison");
            assert!(time.before_unix_ns <= time.after_unix_ns && file_system != 0, "{time:?}");
            // A local stamp is up to a tick of the kernel old.
            let least = time.before_unix_ns - 10_000_000;
            assert!((least..=time.after_unix_ns).contains(&time.stamp_unix_ns), "{time:?}");
        };
        check();
        time.note_again_if_due(&slot);
        assert!(slot.take_time().is_none(), "it is not due yet");
        time.at_ns = Some(0);
        time.note_again_if_due(&slot);
        check();
        assert!(!path.with_extension("time").exists(), "its file is short-lived");
        assert!(slot.give_turn(Turn::Busy, Turn::Idle));
        raw::close(fd).expect("close");
        std::fs::remove_file(&path).expect("ours");
    }
}
