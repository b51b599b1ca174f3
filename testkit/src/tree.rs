//! Workloads about the process tree: unusual ways to be a child, crowds and storms.

use crate::{cpu, sys, truth};
use std::io;
use std::path::Path;

/// The main thread ends at once; another thread burns `ms` and then ends the process with `code`. The kernel
/// shows such a process as a zombie with no memory while it works.
pub fn leader_exit(ms: u64, code: i32) -> ! {
    let (started_read, started_write) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let _ = started_read.send(());
        sys::burn_ns(libc::CLOCK_THREAD_CPUTIME_ID, ms * 1_000_000);
        sys::exit_now(code);
    });
    let _ = started_write.recv();
    // SAFETY: the raw call ends this thread only; nothing it owns is used by the other thread.
    unsafe { libc::syscall(libc::SYS_exit, 0) };
    unreachable!("the exit system call returned")
}

/// Children made by `clone` without an exit signal: plain `wait` does not see them, `__WALL` does.
pub fn clone_without_sigchld(count: u64, ms: u64) -> io::Result<()> {
    for _ in 0..count {
        // SAFETY: no flags, no new stack: this is fork without SIGCHLD, in a process with one thread.
        match unsafe { libc::syscall(libc::SYS_clone, 0, 0, 0, 0, 0) } {
            -1 => return Err(io::Error::last_os_error()),
            0 => {
                cpu::burn(ms);
                sys::exit_now(0)
            }
            pid => sys::wait_with(pid as i32, libc::__WALL)?,
        };
    }
    Ok(())
}

/// `count` children that have ended and are not waited for while `ms` pass.
pub fn zombies(count: u64, ms: u64) -> io::Result<()> {
    for _ in 0..count {
        sys::fork_child(|| 0)?;
    }
    sys::sleep_ms(ms);
    sys::wait_all();
    Ok(())
}

/// `count` living processes (this one included) for `hold_ms`. They end when this process does, however it ends:
/// they wait for the end of a pipe that only it holds open.
pub fn many(count: u64, hold_ms: u64, truth_file: &Path) -> io::Result<()> {
    let (read_end, write_end) = sys::pipe()?;
    let mut write_end = Some(write_end);
    for _ in 1..count {
        sys::fork_child(|| {
            drop(write_end.take());
            sys::wait_for_eof(&read_end);
            0
        })?;
    }
    truth::write(truth_file, &[("processes", count.to_string())])?;
    sys::sleep_ms(hold_ms);
    drop(write_end.take());
    let reaped = sys::wait_all();
    truth::write(truth_file, &[("processes", (reaped + 1).to_string())])
}

/// Forks `per_second` children for `seconds`, evenly paced; each ends at once and is waited for soon after.
pub fn storm(per_second: u64, seconds: u64, truth_file: &Path) -> io::Result<()> {
    let start = sys::clock_ns(libc::CLOCK_MONOTONIC);
    let total = per_second * seconds;
    for index in 0..total {
        sys::sleep_until_ns(start + index * 1_000_000_000 / per_second);
        sys::fork_child(|| 0)?;
        // Not waiting for this very child lets it end on another core meanwhile.
        while matches!(sys::wait_with(-1, libc::WNOHANG), Ok((1.., _))) {}
    }
    sys::wait_all();
    let wall_ns = sys::clock_ns(libc::CLOCK_MONOTONIC) - start;
    truth::write(truth_file, &[("processes", (total + 1).to_string()), ("wall_ns", wall_ns.to_string())])
}

/// A child left running when the main process ends: it lives until `ms` have passed, then writes `file`. Its pid
/// is written at once, to the same name with the extension `pid`.
pub fn leave_behind(ms: u64, file: &Path) -> io::Result<()> {
    let child = sys::fork_child(|| {
        sys::sleep_ms(ms);
        let own_pid = std::process::id().to_string();
        i32::from(truth::write(file, &[("finished_pid", own_pid)]).is_err())
    })?;
    truth::write(&file.with_extension("pid"), &[("child", child.to_string())])
}

/// A tree of two that ignores TERM, INT and HUP; writes both pids to `file` and waits for something stronger.
pub fn stubborn(file: &Path) -> io::Result<()> {
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
        sys::set_action(signal, libc::SIG_IGN, 0);
    }
    let child = sys::fork_child(|| sys::pause_for_ever())?;
    truth::write(file, &[("parent", std::process::id().to_string()), ("child", child.to_string())])?;
    sys::pause_for_ever()
}
