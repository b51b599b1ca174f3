//! Where procfs is: the kernel's own `/proc`, or a folder that a test has laid out like it. All files of processes are
//! opened through it, without allocating.

use super::stat::{self, Stat};
use crate::linux::sys;
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::Path;

/// A place where procfs is. [`ProcRoot::KERNEL`] holds no descriptor: `/proc` is opened by its name.
#[derive(Debug, Clone, Copy, Default)]
pub struct ProcRoot {
    folder: Option<&'static OwnedFd>,
}

impl ProcRoot {
    /// `/proc`.
    pub const KERNEL: ProcRoot = ProcRoot { folder: None };

    /// Whether its processes are those of the kernel that we run on.
    pub(crate) fn is_kernels(self) -> bool {
        self.folder.is_none()
    }

    /// Another folder. It stays open until the program ends, so that the handle can be copied into every process.
    pub fn at(folder: &Path) -> io::Result<ProcRoot> {
        let path = CString::new(folder.as_os_str().as_encoded_bytes())?;
        let folder = sys::open_folder_at(libc::AT_FDCWD, &path)?;
        Ok(ProcRoot { folder: Some(Box::leak(Box::new(folder))) })
    }

    /// What a path of [`PathBuffer`] is relative to; the kernel's paths are absolute and need nothing.
    fn descriptor(self) -> RawFd {
        self.folder.map_or(libc::AT_FDCWD, AsRawFd::as_raw_fd)
    }

    fn path(self, parts: &[&[u8]]) -> PathBuffer {
        PathBuffer::build(if self.folder.is_some() { b"" } else { b"/proc/" }, parts)
    }

    fn process_path(self, pid: i32, leaf: &str) -> PathBuffer {
        self.path(&[digits(pid).as_slice(), b"/", leaf.as_bytes()])
    }

    /// Opens a file of the machine, such as `vmstat`.
    pub fn open_machine(self, name: &str) -> io::Result<OwnedFd> {
        sys::open_read_at(self.descriptor(), self.path(&[name.as_bytes()]).as_c_str())
    }

    /// Opens `PID/LEAF`.
    pub fn open(self, pid: i32, leaf: &str) -> io::Result<OwnedFd> {
        sys::open_read_at(self.descriptor(), self.process_path(pid, leaf).as_c_str())
    }

    /// Opens `PID/task/TID/LEAF`.
    pub fn open_task(self, pid: i32, tid: i32, leaf: &str) -> io::Result<OwnedFd> {
        let (pid, tid) = (digits(pid), digits(tid));
        let path = self.path(&[pid.as_slice(), b"/task/", tid.as_slice(), b"/", leaf.as_bytes()]);
        sys::open_read_at(self.descriptor(), path.as_c_str())
    }

    /// One read of `PID/LEAF` without keeping it open.
    pub fn read(self, pid: i32, leaf: &str, buffer: &mut [u8]) -> io::Result<usize> {
        sys::pread(self.open(pid, leaf)?.as_raw_fd(), buffer, 0)
    }

    /// `PID/stat`; `None` where it cannot be read or has an unknown format.
    pub fn stat(self, pid: i32, buffer: &mut [u8]) -> Option<Stat> {
        let length = self.read(pid, "stat", buffer).ok()?;
        stat::parse(&buffer[..length])
    }

    /// The words of its command line; empty where they cannot be read.
    pub fn command_line(self, pid: i32) -> Vec<Vec<u8>> {
        let text = self.open(pid, "cmdline").and_then(|file| sys::pread_to_end(file.as_raw_fd()));
        let text = text.unwrap_or_default();
        let text = text.strip_suffix(&[0]).unwrap_or(&text);
        if text.is_empty() {
            return Vec::new();
        }
        text.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect()
    }

    /// Calls `found` with the pid of every process.
    pub fn list_processes(self, buffer: &mut [u8], found: impl FnMut(i32)) -> io::Result<()> {
        let path = self.path(&[b"."]);
        sys::list_numeric(&sys::open_folder_at(self.descriptor(), path.as_c_str())?, buffer, found)
    }

    /// Adds to `processes` and to the other `folders` of procfs.
    pub(crate) fn count_folders(
        self,
        buffer: &mut [u8],
        processes: &mut u64,
        folders: &mut u64,
    ) -> io::Result<()> {
        let path = self.path(&[b"."]);
        let folder = sys::open_folder_at(self.descriptor(), path.as_c_str())?;
        sys::list_entries(&folder, buffer, |number, is_folder| match number {
            Some(_) => *processes += 1,
            None => *folders += u64::from(is_folder),
        })
    }

    /// Links of the folder of all processes.
    pub(crate) fn links(self) -> Option<u64> {
        sys::links_at(self.descriptor(), self.path(&[b"."]).as_c_str())
    }

    /// Calls `found` with the number of every thread.
    pub fn list_threads(self, pid: i32, buffer: &mut [u8], found: impl FnMut(i32)) -> io::Result<()> {
        let path = self.process_path(pid, "task");
        sys::list_numeric(&sys::open_folder_at(self.descriptor(), path.as_c_str())?, buffer, found)
    }
}

/// A path in a small fixed buffer: no allocation for `/proc/123/statm`.
struct PathBuffer {
    bytes: [u8; 64],
}

impl PathBuffer {
    fn build(prefix: &[u8], parts: &[&[u8]]) -> PathBuffer {
        let mut path = PathBuffer { bytes: [0; 64] };
        let mut at = 0;
        for part in std::iter::once(&prefix).chain(parts) {
            path.bytes[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        }
        path
    }

    fn as_c_str(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.bytes).unwrap_or(c"")
    }
}

struct Digits {
    bytes: [u8; 11],
    start: usize,
}

impl Digits {
    fn as_slice(&self) -> &[u8] {
        &self.bytes[self.start..]
    }
}

fn digits(value: i32) -> Digits {
    let mut out = Digits { bytes: [0; 11], start: 11 };
    let mut rest = value.unsigned_abs();
    loop {
        out.start -= 1;
        out.bytes[out.start] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            return out;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_processes_and_threads() {
        let text = |path: PathBuffer| path.as_c_str().to_str().expect("ASCII").to_owned();
        assert_eq!(
            text(ProcRoot::KERNEL.process_path(4_194_304, "smaps_rollup")),
            "/proc/4194304/smaps_rollup"
        );
        assert_eq!(text(ProcRoot::KERNEL.path(&[digits(0).as_slice()])), "/proc/0");
        let here = ProcRoot::at(&std::env::temp_dir()).expect("a folder");
        assert_eq!(text(here.process_path(10, "stat")), "10/stat");
        let longest = i32::MAX;
        assert!(ProcRoot::KERNEL.open_task(longest, longest, "children").is_err());
    }

    #[test]
    fn the_kernels_own_root_knows_us() {
        let (own_pid, mut buffer) = (std::process::id() as i32, [0; 4096]);
        assert!(ProcRoot::KERNEL.stat(own_pid, &mut buffer).is_some_and(|stat| stat.start_ticks > 0));
        let mut pids = Vec::new();
        ProcRoot::KERNEL.list_processes(&mut buffer, |pid| pids.push(pid)).expect("a list");
        assert!(pids.contains(&own_pid));
        let mut tids = Vec::new();
        ProcRoot::KERNEL.list_threads(own_pid, &mut buffer, |tid| tids.push(tid)).expect("a list");
        assert!(tids.contains(&sys::thread_id()));
        let words: Vec<Vec<u8>> = std::env::args().map(String::into_bytes).collect();
        assert_eq!(ProcRoot::KERNEL.command_line(own_pid), words);
    }
}
