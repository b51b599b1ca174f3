//! Workloads that use a known amount of CPU time, in the shapes that polling meters miss.

use crate::sys;
use std::io;
use std::process::Command;

const MS: u64 = 1_000_000;

/// Burns `ms` of CPU time in this process.
pub fn burn(ms: u64) {
    sys::burn_ns(libc::CLOCK_PROCESS_CPUTIME_ID, ms * MS);
}

/// `count` children one after the other, each burning `ms` and waited for.
pub fn spawn_short(count: u64, ms: u64) -> io::Result<()> {
    for _ in 0..count {
        let pid = sys::fork_child(|| {
            burn(ms);
            0
        })?;
        sys::wait_for(pid)?;
    }
    Ok(())
}

/// As `spawn_short`, but each child is a program of its own, started with posix_spawn (vfork semantics).
pub fn spawn_exec(count: u64, ms: u64) -> io::Result<()> {
    let program = std::env::current_exe()?;
    for _ in 0..count {
        let status = Command::new(&program).args(["burn", &ms.to_string()]).status()?;
        if !status.success() {
            return Err(io::Error::other("a spawned child failed"));
        }
    }
    Ok(())
}

/// `count` threads at once, each burning `ms` of its own thread clock.
pub fn threads(count: u64, ms: u64) {
    let threads: Vec<_> = (0..count)
        .map(|_| std::thread::spawn(move || sys::burn_ns(libc::CLOCK_THREAD_CPUTIME_ID, ms * MS)))
        .collect();
    for thread in threads {
        let _ = thread.join();
    }
}

/// `count` short threads, two at a time: each does a little and ends.
pub fn churn(count: u64) -> io::Result<()> {
    for _ in 0..count / 2 {
        let start = || {
            std::thread::Builder::new()
                .stack_size(64 << 10)
                .spawn(|| std::hint::black_box((0..500).sum::<u64>()))
        };
        let (one, two) = (start()?, start()?);
        let _ = (one.join(), two.join());
    }
    Ok(())
}

/// `count` double-forked daemons, each in a session of its own, burning `ms`. Returns when all have started;
/// none of them is a child of the caller any more.
pub fn daemons(count: u64, ms: u64) -> io::Result<()> {
    for _ in 0..count {
        let pid = sys::fork_child(|| {
            // SAFETY: setsid has no arguments; a fresh child is never a group leader, so it succeeds.
            unsafe { libc::setsid() };
            let daemon = sys::fork_child(|| {
                burn(ms);
                0
            });
            i32::from(daemon.is_err())
        })?;
        sys::wait_for(pid)?;
    }
    Ok(())
}

/// The hole in the conservation law: a parent whose children are reaped by the kernel into nobody.
/// `how` is `ignore` (SIGCHLD set to SIG_IGN) or `nocldwait` (SA_NOCLDWAIT).
pub fn autoreap(how: &str, count: u64, ms: u64) -> io::Result<()> {
    match how {
        "ignore" => sys::set_action(libc::SIGCHLD, libc::SIG_IGN, 0),
        "nocldwait" => sys::set_action(libc::SIGCHLD, libc::SIG_DFL, libc::SA_NOCLDWAIT),
        _ => return Err(io::Error::other(format!("'{how}' is neither ignore nor nocldwait"))),
    }
    for _ in 0..count {
        let pid = sys::fork_child(|| {
            burn(ms);
            0
        })?;
        // With auto-reaping on, waitpid blocks until the child is gone and then says ECHILD.
        let _ = sys::wait_for(pid);
    }
    Ok(())
}
