//! Every signal that jobmeter sends and every child that it waits for goes through this module, by a [`Pid`]. To
//! the kernel a pid of 0 or below means a process group or "everybody": no such number can be made here, so a
//! failed fork can never turn into a signal to the whole machine. A test keeps the raw calls out of other files.

use crate::linux::sys::timeval_ns;
use std::io;
use std::mem::MaybeUninit;
use std::num::NonZeroI32;

/// The id of one process: above zero by construction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pid(NonZeroI32);

impl Pid {
    /// `None` for 0 and below, which stand for groups and for errors.
    pub fn new(raw: i32) -> Option<Pid> {
        NonZeroI32::new(raw).filter(|raw| raw.get() > 0).map(Pid)
    }

    /// The calling process.
    pub fn own() -> Pid {
        // The kernel gives out ids from 1 on.
        Pid::new(std::process::id() as i32).unwrap_or(Pid(NonZeroI32::MAX))
    }

    /// As a number.
    pub fn get(self) -> i32 {
        self.0.get()
    }
}

impl std::fmt::Display for Pid {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(out)
    }
}

/// Sends `signal` to one process. Fails when it is gone (ESRCH) or not ours to signal (EPERM).
pub fn send(pid: Pid, signal: i32) -> io::Result<()> {
    // SAFETY: plain system call; `pid` names one process.
    crate::linux::sys::check(unsafe { libc::kill(pid.get(), signal) }).map(drop)
}

/// Whether the process exists, also one of another user's and a zombie.
pub fn exists(pid: Pid) -> bool {
    send(pid, 0).map_or_else(|error| error.raw_os_error() == Some(libc::EPERM), |()| true)
}

/// Whether `tid` is a thread of this process.
pub fn is_own_thread(tid: Pid) -> bool {
    // SAFETY: plain system call; signal 0 sends nothing, it only asks whether the thread exists.
    unsafe { libc::syscall(libc::SYS_tgkill, Pid::own().get(), tid.get(), 0) == 0 }
}

/// What `wait4` said of a reaped process.
#[derive(Clone, Copy)]
pub struct Reaped {
    /// Of the process that was reaped.
    pub pid: i32,
    /// As `wait` gives it.
    pub status: i32,
    /// The process and all children it waited for.
    pub usage: Usage,
}

/// `struct rusage` of a reaped process and all children it waited for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// In user mode.
    pub user_ns: u64,
    /// In the kernel.
    pub system_ns: u64,
    /// The largest resident peak among the process and the children it waited for; at least what its parent had
    /// when it was forked.
    pub peak_rss_bytes: u64,
    /// Without I/O.
    pub faults_minor: u64,
    /// With I/O.
    pub faults_major: u64,
    /// Bytes fetched from block storage.
    pub read_storage_bytes: u64,
    /// Bytes written to block storage.
    pub write_storage_bytes: u64,
    /// It waited for something.
    pub switches_voluntary: u64,
    /// Its time was up.
    pub switches_involuntary: u64,
}

impl Usage {
    /// User and system together.
    pub fn cpu_ns(&self) -> u64 {
        self.user_ns + self.system_ns
    }
}

impl From<libc::rusage> for Usage {
    fn from(usage: libc::rusage) -> Usage {
        const BLOCK_BYTES: u64 = 512;
        Usage {
            user_ns: timeval_ns(usage.ru_utime),
            system_ns: timeval_ns(usage.ru_stime),
            peak_rss_bytes: usage.ru_maxrss as u64 * 1024,
            faults_minor: usage.ru_minflt as u64,
            faults_major: usage.ru_majflt as u64,
            read_storage_bytes: usage.ru_inblock as u64 * BLOCK_BYTES,
            write_storage_bytes: usage.ru_oublock as u64 * BLOCK_BYTES,
            switches_voluntary: usage.ru_nvcsw as u64,
            switches_involuntary: usage.ru_nivcsw as u64,
        }
    }
}

/// A child that has ended and was not reaped yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waiting {
    /// This one, with its wait status; it stays a zombie until it is reaped.
    Ended(Pid, i32),
    /// There are such children, and none has ended.
    NoneEnded,
    /// There is no such child: none at all, or somebody else has reaped it.
    NoChild,
}

/// Looks for a child that has ended, `pid` or any, and leaves it as it is. Only children of the calling thread:
/// a driver's library may wait for helpers of its own on another.
pub fn peek_child(pid: Option<Pid>) -> Waiting {
    let (kind, id) = pid.map_or((libc::P_ALL, 0), |pid| (libc::P_PID, pid.get() as libc::id_t));
    peek(kind, id, libc::__WALL | libc::__WNOTHREAD)
}

fn peek(kind: libc::idtype_t, id: libc::id_t, which: libc::c_int) -> Waiting {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    let flags = libc::WEXITED | libc::WNOWAIT | libc::WNOHANG | which;
    // SAFETY: `info` is zeroed, so si_pid reads 0 when nothing waits.
    unsafe {
        if libc::waitid(kind, id, info.as_mut_ptr(), flags) != 0 {
            return match io::Error::last_os_error().raw_os_error() {
                Some(libc::ECHILD) => Waiting::NoChild,
                _ => Waiting::NoneEnded,
            };
        }
        let info = info.assume_init();
        let status = match info.si_code {
            libc::CLD_EXITED => info.si_status() << 8,
            libc::CLD_DUMPED => info.si_status() | 0x80,
            _ => info.si_status(),
        };
        Pid::new(info.si_pid()).map_or(Waiting::NoneEnded, |pid| Waiting::Ended(pid, status))
    }
}

/// Takes a stop or continue report of `pid`: `(si_code, signal)`.
pub fn take_stop_report(pid: Pid) -> Option<(i32, i32)> {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    let flags = libc::WSTOPPED | libc::WCONTINUED | libc::WNOHANG;
    // SAFETY: as above.
    unsafe {
        if libc::waitid(libc::P_PID, pid.get() as libc::id_t, info.as_mut_ptr(), flags) != 0 {
            return None;
        }
        let info = info.assume_init();
        (info.si_pid() != 0).then(|| (info.si_code, info.si_status()))
    }
}

/// Reaps `pid` if it has ended; does not wait. An error of ECHILD says that it is no child of ours any more.
pub fn reap(pid: Pid) -> io::Result<Option<Reaped>> {
    wait4(pid, libc::__WALL | libc::WNOHANG | libc::__WNOTHREAD)
}

/// Reaps any child that has ended, of any thread of ours. Does not wait.
pub fn reap_any() -> Option<Reaped> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: both out-pointers are valid; rusage is plain data. -1 stands for "any child" in wait4, which only
    // looks at our own.
    unsafe {
        let got = libc::wait4(-1, &raw mut status, libc::__WALL | libc::WNOHANG, usage.as_mut_ptr());
        (got > 0).then(|| Reaped { pid: got, status, usage: usage.assume_init().into() })
    }
}

/// What became of `pid`, a child of any thread of ours, without reaping it.
pub fn look_at(pid: Pid) -> Waiting {
    peek(libc::P_PID, pid.get() as libc::id_t, libc::__WALL)
}

/// Waits until `pid`, a child of ours, has ended, and reaps it. `None` when it is no child of ours: somebody
/// else has reaped it, and its status is not to be had.
pub fn wait(pid: Pid) -> Option<Reaped> {
    loop {
        match wait4(pid, libc::__WALL) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other.ok().flatten(),
        }
    }
}

fn wait4(pid: Pid, flags: libc::c_int) -> io::Result<Option<Reaped>> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: both out-pointers are valid; rusage is plain data.
    unsafe {
        let got =
            crate::linux::sys::check(libc::wait4(pid.get(), &raw mut status, flags, usage.as_mut_ptr()))?;
        Ok((got == pid.get()).then(|| Reaped { pid: got, status, usage: usage.assume_init().into() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_pid_stands_for_a_group_or_for_everybody() {
        for raw in [0, -1, -4312, i32::MIN] {
            assert_eq!(Pid::new(raw), None, "{raw}");
        }
        assert_eq!(Pid::new(4312).map(Pid::get), Some(4312));
        assert_eq!(Pid::own().get(), std::process::id() as i32);
    }

    #[test]
    fn a_child_is_seen_waited_for_and_then_no_child_any_more() {
        #[expect(clippy::zombie_processes, reason = "it is reaped by the function under test")]
        let child = std::process::Command::new("true").spawn().expect("a child");
        let pid = Pid::new(child.id() as i32).expect("above zero");
        assert!(exists(pid));
        let reaped = wait(pid).expect("our child");
        assert_eq!((reaped.pid, reaped.status), (pid.get(), 0));
        assert!(wait(pid).is_none(), "reaped once");
        assert_eq!(peek_child(Some(pid)), Waiting::NoChild);
    }
}
