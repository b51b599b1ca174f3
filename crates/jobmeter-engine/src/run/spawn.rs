//! Starting the job so that it cannot tell: argv verbatim; streams, terminal, directory, environment, umask,
//! signal mask and dispositions, priorities, descriptors and limits as it would have had without us.

use crate::linux::cgroup::JobGroup;
use crate::linux::control::{self, Pid};
use crate::linux::sys;
use std::ffi::{CString, OsString};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStringExt;

/// Signals that are passed on to the job.
pub const FORWARDED: [libc::c_int; 8] = [
    libc::SIGTERM,
    libc::SIGINT,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGWINCH,
    libc::SIGTSTP,
];

/// Why a command did not start.
#[derive(Debug)]
pub enum SpawnError {
    /// The command does not exist or may not be run; the job's fault.
    Exec(io::Error),
    /// An argument holds a NUL byte.
    Argument,
    /// We could not fork; our fault.
    Fork(io::Error),
}

/// Takes signals out of their handlers into a descriptor. Made before the fork; what the process had before
/// is given back to the child.
pub struct SignalPlan {
    original_mask: libc::sigset_t,
    original_child_action: libc::sigaction,
    descriptor: OwnedFd,
}

/// A signal that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrived {
    /// Its number.
    pub signal: i32,
    /// Sent by a process to us; otherwise by the kernel (a terminal) to the whole foreground group.
    pub by_user: bool,
}

impl SignalPlan {
    /// Blocks the signals that are to be passed on, and opens a descriptor for them.
    pub fn install() -> io::Result<SignalPlan> {
        // SAFETY: the sets and actions are initialised by the calls that fill them before they are read.
        unsafe {
            let mut watched = MaybeUninit::<libc::sigset_t>::uninit();
            libc::sigemptyset(watched.as_mut_ptr());
            let mut watched = watched.assume_init();
            for signal in FORWARDED.into_iter().chain([libc::SIGCHLD, libc::SIGCONT]) {
                libc::sigaddset(&raw mut watched, signal);
            }
            let mut original_mask = MaybeUninit::<libc::sigset_t>::uninit();
            sys::check(libc::sigprocmask(libc::SIG_BLOCK, &raw const watched, original_mask.as_mut_ptr()))?;
            // A parent of ours may have ignored SIGCHLD: then the kernel would reap the job behind our back.
            let mut default = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
            default.sa_sigaction = libc::SIG_DFL;
            let mut original_child_action = MaybeUninit::<libc::sigaction>::uninit();
            sys::check(libc::sigaction(
                libc::SIGCHLD,
                &raw const default,
                original_child_action.as_mut_ptr(),
            ))?;
            let fd =
                sys::check(libc::signalfd(-1, &raw const watched, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK))?;
            Ok(SignalPlan {
                original_mask: original_mask.assume_init(),
                original_child_action: original_child_action.assume_init(),
                descriptor: OwnedFd::from_raw_fd(fd),
            })
        }
    }

    /// The next signal that arrived, if any.
    pub fn next(&self) -> Option<Arrived> {
        next_signal(self.descriptor.as_raw_fd())
    }

    /// Stops ourselves by `signal`, as the job was stopped by it; returns when we are continued.
    pub fn stop_by(&self, signal: i32) {
        // SAFETY: lets one signal through with its default action and closes the gate behind it.
        unsafe {
            let mut only = MaybeUninit::<libc::sigset_t>::uninit();
            libc::sigemptyset(only.as_mut_ptr());
            let mut only = only.assume_init();
            libc::sigaddset(&raw mut only, signal);
            drop(control::send(Pid::own(), signal));
            libc::sigprocmask(libc::SIG_UNBLOCK, &raw const only, std::ptr::null_mut());
            libc::sigprocmask(libc::SIG_BLOCK, &raw const only, std::ptr::null_mut());
        }
    }
}

/// The next signal that waits in a signal descriptor, if any; does not block.
pub(crate) fn next_signal(descriptor: RawFd) -> Option<Arrived> {
    let mut info = MaybeUninit::<libc::signalfd_siginfo>::uninit();
    let size = size_of::<libc::signalfd_siginfo>();
    // SAFETY: the kernel writes whole records of `size` bytes.
    unsafe {
        let count = libc::read(descriptor, info.as_mut_ptr().cast(), size);
        if count != size as isize {
            return None;
        }
        let info = info.assume_init();
        Some(Arrived { signal: info.ssi_signo as i32, by_user: info.ssi_code <= 0 })
    }
}

impl AsRawFd for SignalPlan {
    fn as_raw_fd(&self) -> i32 {
        self.descriptor.as_raw_fd()
    }
}

/// A process that was just started.
pub struct Spawned {
    /// Its number.
    pub pid: Pid,
    /// When it was started, by the monotonic clock.
    pub started_ns: u64,
    exec_report: OwnedFd,
}

impl Spawned {
    /// Waits until the command has replaced our copy, or says why it could not.
    pub fn wait_exec(&self) -> Result<(), SpawnError> {
        let mut code = [0u8; 4];
        loop {
            // SAFETY: reads at most four bytes into four.
            let count = unsafe { libc::read(self.exec_report.as_raw_fd(), code.as_mut_ptr().cast(), 4) };
            match count {
                4 => {
                    // It is on its way out.
                    control::wait(self.pid);
                    return Err(SpawnError::Exec(io::Error::from_raw_os_error(i32::from_ne_bytes(code))));
                }
                -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
                _ => return Ok(()),
            }
        }
    }
}

/// Forks as libc does, or into `birthplace`, a v2 control group.
///
/// # Safety
/// As fork: the child makes only async-signal-safe calls until it execs.
unsafe fn fork_into(birthplace: &OwnedFd) -> io::Result<i32> {
    const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;
    /// `struct clone_args` of the kernel, as far as the group.
    #[repr(C, align(8))]
    #[derive(Default)]
    struct CloneArguments {
        flags: u64,
        pidfd: u64,
        child_tid: u64,
        parent_tid: u64,
        exit_signal: u64,
        stack: u64,
        stack_size: u64,
        tls: u64,
        set_tid: u64,
        set_tid_size: u64,
        cgroup: u64,
    }
    let arguments = CloneArguments {
        flags: CLONE_INTO_CGROUP,
        exit_signal: libc::SIGCHLD as u64,
        cgroup: birthplace.as_raw_fd() as u64,
        ..CloneArguments::default()
    };
    // SAFETY: without CLONE_VM the child gets a copy of everything, stack included, and returns here like fork.
    let pid = unsafe { libc::syscall(libc::SYS_clone3, &raw const arguments, size_of::<CloneArguments>()) };
    sys::check(pid as libc::c_int)
}

/// Forks; the child is born into `group` or joins it, and execs `command`. `attach` runs in the parent while the
/// child still waits, when something has to be tied to it before it runs.
pub fn spawn(
    command: &[OsString],
    signals: &SignalPlan,
    mut group: Option<&mut JobGroup>,
    attach: Option<&mut dyn FnMut(i32)>,
) -> Result<Spawned, SpawnError> {
    let arguments: Vec<CString> = command
        .iter()
        .map(|argument| CString::new(argument.clone().into_vec()).map_err(|_| SpawnError::Argument))
        .collect::<Result<_, _>>()?;
    let mut pointers: Vec<*const libc::c_char> = arguments.iter().map(|argument| argument.as_ptr()).collect();
    pointers.push(std::ptr::null());
    let (report_read, report_write) = pipe().map_err(SpawnError::Fork)?;
    let gate = match attach.is_some() {
        true => Some(pipe().map_err(SpawnError::Fork)?),
        false => None,
    };
    let started_ns = sys::monotonic_ns();
    // SAFETY: between fork and exec the child makes only async-signal-safe calls on memory prepared above.
    let born = group.as_ref().and_then(|group| unsafe { fork_into(group.birthplace()?).ok() });
    let pid = match born {
        Some(pid) => pid,
        None => {
            if let Some(group) = group.as_mut().filter(|group| group.birthplace().is_some()) {
                // An older kernel, or a group that takes nobody by birth: then by joining, or not at all.
                drop(group.open_joins());
            }
            // SAFETY: as above.
            unsafe { sys::check(libc::fork()).map_err(SpawnError::Fork)? }
        }
    };
    let joins = group.as_ref().map_or(&[][..], |group| group.joins());
    if pid == 0 {
        // SAFETY: as above; this branch never returns.
        unsafe {
            for join in joins {
                libc::write(join.as_raw_fd(), b"0".as_ptr().cast(), 1);
            }
            if let Some((gate_read, gate_write)) = &gate {
                libc::close(gate_write.as_raw_fd());
                let mut byte = 0u8;
                libc::read(gate_read.as_raw_fd(), (&raw mut byte).cast(), 1);
            }
            libc::sigaction(libc::SIGCHLD, &raw const signals.original_child_action, std::ptr::null_mut());
            libc::sigprocmask(libc::SIG_SETMASK, &raw const signals.original_mask, std::ptr::null_mut());
            libc::execvp(pointers[0], pointers.as_ptr());
            let code = (*libc::__errno_location()).to_ne_bytes();
            libc::write(report_write.as_raw_fd(), code.as_ptr().cast(), 4);
            libc::_exit(127);
        }
    }
    if let Some(attach) = attach {
        attach(pid);
    }
    drop(gate);
    drop(report_write);
    let Some(pid) = Pid::new(pid) else {
        return Err(SpawnError::Fork(io::Error::other("the kernel gave the child no pid")));
    };
    Ok(Spawned { pid, started_ns, exec_report: report_read })
}

fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    // SAFETY: `ends` takes two fresh descriptors, ours to own.
    unsafe {
        sys::check(libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC))?;
        Ok((OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])))
    }
}

/// Orphans of the job come to us instead of init, so that their last figures are not lost.
pub fn become_subreaper() -> bool {
    // SAFETY: plain prctl; not inherited by children.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0 }
}
