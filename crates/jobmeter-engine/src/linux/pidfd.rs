//! Descriptors of processes: they tell that a process has ended, and on newer kernels how, also of processes that
//! are not our children or that somebody else has reaped.

use crate::linux::control::Pid;
use crate::linux::sys;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Readable once the process has ended. Close-on-exec.
pub fn open(pid: Pid) -> io::Result<OwnedFd> {
    // SAFETY: plain system call; a fresh descriptor is ours to own.
    unsafe {
        let fd = sys::check(libc::syscall(libc::SYS_pidfd_open, pid.get(), 0) as libc::c_int)?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// `struct pidfd_info` of the kernel, in its first published size.
#[repr(C)]
#[derive(Default)]
struct PidfdInfo {
    mask: u64,
    cgroup_id: u64,
    pid: u32,
    thread_group: u32,
    parent: u32,
    credentials: [u32; 8],
    wait_status: i32,
}

const PIDFD_INFO_EXIT: u64 = 1 << 3;

/// `_IOWR(0xFF, 11, struct pidfd_info)`.
const PIDFD_GET_INFO: libc::c_ulong =
    (3 << 30) | ((size_of::<PidfdInfo>() as libc::c_ulong) << 16) | (0xFF << 8) | 11;

/// The wait status of a process that has ended and was reaped, by whomever. `None` before that, and on kernels
/// before 6.15, which do not keep it.
pub fn wait_status(process: &OwnedFd) -> Option<i32> {
    let mut info = PidfdInfo { mask: PIDFD_INFO_EXIT, ..PidfdInfo::default() };
    // SAFETY: the kernel reads and writes at most the size that the request names.
    let answered = unsafe { libc::ioctl(process.as_raw_fd(), PIDFD_GET_INFO as _, &raw mut info) };
    (answered == 0 && info.mask & PIDFD_INFO_EXIT != 0).then_some(info.wait_status)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::control;

    #[test]
    fn the_status_outlives_the_process_where_the_kernel_keeps_it() {
        #[expect(clippy::zombie_processes, reason = "it is reaped by its pid")]
        let child = std::process::Command::new("sh").args(["-c", "exit 7"]).spawn().expect("a child");
        let pid = Pid::new(child.id() as i32).expect("above zero");
        let process = open(pid).expect("a descriptor");
        assert_eq!(wait_status(&process), None, "it was not reaped yet");
        let reaped = control::wait(pid).expect("our child");
        match wait_status(&process) {
            Some(status) => assert_eq!(status, reaped.status),
            None => eprintln!("this kernel does not tell exit codes by descriptor: nothing to compare"),
        }
    }
}
