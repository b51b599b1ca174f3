//! Linux: runs may be under way, and a name may lead to a pipe or a device.

use jobmeter_engine::linux::control::{self, Pid};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

/// Opens for reading. A pipe without a writer does not block.
pub fn open_without_waiting(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)
}

pub(crate) fn read_at(file: &File, out: &mut [u8], offset: u64) -> io::Result<usize> {
    file.read_at(out, offset)
}

/// `None` early at boot, when the kernel has no randomness yet.
pub(crate) fn random_bits() -> Option<u64> {
    let mut bytes = [0u8; 8];
    // SAFETY: the kernel fills at most the eight bytes we own. By number: glibc 2.17 has no function.
    let got =
        unsafe { libc::syscall(libc::SYS_getrandom, bytes.as_mut_ptr(), bytes.len(), libc::GRND_NONBLOCK) };
    (got == bytes.len() as libc::c_long).then(|| u64::from_ne_bytes(bytes))
}

/// Whether the main process of a run on this host still runs. A zombie does not.
pub(crate) fn is_running_here(host: &str, pid: i32) -> bool {
    host == host_name() && Pid::new(pid).is_some_and(|pid| control::exists(pid) && !is_zombie(pid))
}

fn is_zombie(pid: Pid) -> bool {
    let stat = std::fs::read(format!("/proc/{}/stat", pid.get())).unwrap_or_default();
    let name_end = stat.iter().rposition(|byte| *byte == b')').unwrap_or(0);
    matches!(stat.get(name_end + 2), Some(b'Z' | b'X'))
}

fn host_name() -> String {
    let mut name = [0u8; 256];
    // SAFETY: the call fills at most the bytes we own; the last one stays zero.
    if unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) } != 0 {
        return String::new();
    }
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
    String::from_utf8_lossy(&name[..end]).into_owned()
}
