//! Numbers of the kernel's trace points. They are in a file system that need not be mounted: it is opened without a place in
//! the tree of files, so that nobody else sees it.

use crate::linux::sys;
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

pub(crate) struct TraceFs {
    root: OwnedFd,
}

impl TraceFs {
    /// Needs CAP_SYS_ADMIN.
    pub(crate) fn open() -> io::Result<TraceFs> {
        const CLOSE_ON_EXEC: libc::c_uint = 1;
        const CREATE: libc::c_uint = 6;
        const NULL: *const libc::c_void = std::ptr::null();
        // SAFETY: the name outlives the call; each call returns a fresh descriptor that is ours to own, or an error.
        unsafe {
            let system = owned(libc::syscall(libc::SYS_fsopen, c"tracefs".as_ptr(), CLOSE_ON_EXEC))?;
            let system_fd = system.as_raw_fd();
            sys::check(libc::syscall(libc::SYS_fsconfig, system_fd, CREATE, NULL, NULL, 0) as libc::c_int)?;
            let root = owned(libc::syscall(libc::SYS_fsmount, system_fd, CLOSE_ON_EXEC, 0))?;
            Ok(TraceFs { root })
        }
    }

    /// The number of a trace point, `group/name`, if its records have all of `fields`, as its description words them.
    pub(crate) fn number_of(&self, trace_point: &str, fields: &[&str]) -> io::Result<u64> {
        let format = self.read(&format!("events/{trace_point}/format"))?;
        if !fields.iter().all(|field| format.contains(field)) {
            return Err(io::Error::other("its records are not as expected"));
        }
        let number = self.read(&format!("events/{trace_point}/id"))?;
        number.trim().parse().map_err(io::Error::other)
    }

    fn read(&self, path: &str) -> io::Result<String> {
        let file = open_below(self.root.as_raw_fd(), &CString::new(path)?)?;
        String::from_utf8(sys::pread_to_end(file.as_raw_fd())?).map_err(io::Error::other)
    }
}

/// # Safety
/// `result` is what a system call returned that makes a descriptor.
unsafe fn owned(result: libc::c_long) -> io::Result<OwnedFd> {
    let fd = sys::check(result as libc::c_int)?;
    // SAFETY: by the caller's word it is fresh.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn open_below(folder: RawFd, path: &CStr) -> io::Result<OwnedFd> {
    // SAFETY: `path` is NUL-terminated; a fresh descriptor is ours to own.
    unsafe { owned(libc::openat(folder, path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC).into()) }
}
