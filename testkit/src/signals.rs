//! A job that counts the signals it gets, and a small shell that gives a job a terminal of its own.

use crate::sys;
use std::ffi::{CString, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// What a job may be sent; TERM ends the report, so that "exactly once" can be told from "not yet".
const REPORTED: &[i32] = &[
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGTERM,
    libc::SIGWINCH,
    libc::SIGCONT,
];

/// Writes `ready`, then one line per signal received (`signal NUMBER code CODE`), and exits with 42 after TERM.
/// With `with_stop`, TSTP keeps its default action, so that the job can be stopped and continued.
pub fn report(file: &Path, with_stop: bool) -> io::Result<i32> {
    let mut out = File::create(file)?;
    // SAFETY: sigset_t is plain data, initialised by sigemptyset.
    let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: `set` is valid for all three calls and every number is a real signal.
    unsafe {
        libc::sigemptyset(&mut set);
        for &signal in REPORTED {
            libc::sigaddset(&mut set, signal);
        }
        if !with_stop {
            libc::sigaddset(&mut set, libc::SIGTSTP);
        }
        libc::sigprocmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
    }
    // A signal that is ignored by default (WINCH, CONT) is queued while blocked only on some paths; a handler
    // makes the kernel queue it always.
    for signal in [libc::SIGWINCH, libc::SIGCONT] {
        let handler: extern "C" fn(i32) = do_nothing;
        sys::set_action(signal, handler as *const () as libc::sighandler_t, 0);
    }
    writeln!(out, "ready {}", std::process::id())?;
    loop {
        // SAFETY: siginfo_t is plain data that the call overwrites.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        // SAFETY: both pointers are valid for the call.
        let signal = unsafe { libc::sigwaitinfo(&set, &mut info) };
        if signal < 0 {
            continue;
        }
        writeln!(out, "signal {signal} code {}", info.si_code)?;
        if signal == libc::SIGTERM {
            return Ok(42);
        }
    }
}

extern "C" fn do_nothing(_: i32) {}

/// Plays an interactive shell: runs the command in a process group of its own in the foreground of the
/// controlling terminal, writes each stop and the end to `file`, and continues the job after each stop.
pub fn job_control(file: &Path, command: &[OsString]) -> io::Result<i32> {
    let mut out = File::create(file)?;
    sys::set_action(libc::SIGTTOU, libc::SIG_IGN, 0);
    let arguments: Vec<CString> =
        command.iter().map(|word| CString::new(word.as_bytes())).collect::<Result<_, _>>()?;
    let mut pointers: Vec<_> = arguments.iter().map(|word| word.as_ptr()).collect();
    pointers.push(std::ptr::null());
    let pid = sys::fork_child(|| {
        foreground(0);
        sys::set_action(libc::SIGTTOU, libc::SIG_DFL, 0);
        // SAFETY: the array ends with a null pointer and its strings live until exec.
        unsafe { libc::execvp(pointers[0], pointers.as_ptr()) };
        127
    })?;
    foreground(pid);
    loop {
        let (_, status) = sys::wait_with(pid, libc::WUNTRACED)?;
        if libc::WIFSTOPPED(status) {
            writeln!(out, "stopped {}", libc::WSTOPSIG(status))?;
            // SAFETY: the group is our child's own.
            unsafe { libc::kill(-pid, libc::SIGCONT) };
        } else if libc::WIFSIGNALED(status) {
            writeln!(out, "signaled {}", libc::WTERMSIG(status))?;
            return Ok(0);
        } else {
            writeln!(out, "exited {}", libc::WEXITSTATUS(status))?;
            return Ok(0);
        }
    }
}

/// Gives a process (0: the caller) a group of its own and the terminal. Done by parent and child, as shells do:
/// whoever comes first, it has happened before it matters.
fn foreground(pid: i32) {
    // SAFETY: plain calls on process ids and descriptor 0.
    unsafe {
        libc::setpgid(pid, pid);
        let group = if pid == 0 { libc::getpgrp() } else { pid };
        libc::tcsetpgrp(0, group);
    }
}
