//! The few system calls that the workloads are made of, each with its `unsafe` in one place.

use std::io;
use std::time::Duration;

pub const PAGE_BYTES: usize = 4096;

/// Runs `body` in a forked child and ends the child with its return value as exit code; no destructor or
/// `atexit` handler of the parent runs twice.
pub fn fork_child(body: impl FnOnce() -> i32) -> io::Result<i32> {
    // SAFETY: the workloads that fork have one thread, so the child may use everything the parent could.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => exit_now(body()),
        pid => Ok(pid),
    }
}

/// Ends the process (all threads) without clean-up.
pub fn exit_now(code: i32) -> ! {
    // SAFETY: `_exit` takes any code and never returns.
    unsafe { libc::_exit(code) }
}

/// Waits for one child and returns its raw status.
pub fn wait_for(pid: i32) -> io::Result<i32> {
    wait_with(pid, 0).map(|(_, status)| status)
}

/// `waitpid` that is not disturbed by signals; returns (pid, raw status).
pub fn wait_with(pid: i32, flags: i32) -> io::Result<(i32, i32)> {
    let mut status = 0;
    loop {
        // SAFETY: `status` outlives the call.
        match unsafe { libc::waitpid(pid, &mut status, flags) } {
            -1 => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
            found => return Ok((found, status)),
        }
    }
}

/// Waits until no child is left, whatever kind of child it is. Returns how many were reaped.
pub fn wait_all() -> u64 {
    let mut reaped = 0;
    while wait_with(-1, libc::__WALL).is_ok() {
        reaped += 1;
    }
    reaped
}

/// CPU time of the calling process (`CLOCK_PROCESS_CPUTIME_ID`), thread, or wall time (`CLOCK_MONOTONIC`).
pub fn clock_ns(clock: libc::clockid_t) -> u64 {
    try_clock_ns(clock).unwrap_or_default()
}

/// Any clock; `None` where it cannot be read, for example because the process it belongs to is gone.
pub fn try_clock_ns(clock: libc::clockid_t) -> Option<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` outlives the call.
    let failed = unsafe { libc::clock_gettime(clock, &mut time) } != 0;
    (!failed).then_some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// The clock that counts CPU time of all threads of a process, living and exited; children excluded.
pub fn cpu_clock_of(pid: i32) -> libc::clockid_t {
    (!pid << 3) | 2
}

/// Keeps one thread busy until the given clock has advanced by `ns`.
pub fn burn_ns(clock: libc::clockid_t, ns: u64) {
    let end = clock_ns(clock) + ns;
    let mut x = 1_u64;
    while clock_ns(clock) < end {
        for _ in 0..500 {
            x = std::hint::black_box(x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        }
    }
}

pub fn sleep_ms(ms: u64) {
    std::thread::sleep(Duration::from_millis(ms));
}

/// Sleeps until a moment of `CLOCK_MONOTONIC`: a loop paced by it does not drift.
pub fn sleep_until_ns(monotonic_ns: u64) {
    let time = libc::timespec {
        tv_sec: (monotonic_ns / 1_000_000_000) as i64,
        tv_nsec: (monotonic_ns % 1_000_000_000) as i64,
    };
    // SAFETY: `time` outlives the call; no remainder is asked for.
    while unsafe {
        libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &time, std::ptr::null_mut())
    } == libc::EINTR
    {}
}

/// Blocks until a signal ends the process.
pub fn pause_for_ever() -> ! {
    loop {
        // SAFETY: `pause` has no arguments.
        unsafe { libc::pause() };
    }
}

pub struct Usage {
    pub cpu_ns: u64,
    pub max_rss_bytes: u64,
}

/// `RUSAGE_SELF` or `RUSAGE_CHILDREN` of the calling process.
pub fn usage(who: i32) -> Usage {
    // SAFETY: rusage is plain data; all zero is a valid value that the call overwrites.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` outlives the call.
    unsafe { libc::getrusage(who, &mut usage) };
    Usage {
        cpu_ns: timeval_ns(usage.ru_utime) + timeval_ns(usage.ru_stime),
        max_rss_bytes: usage.ru_maxrss as u64 * 1024,
    }
}

pub fn timeval_ns(time: libc::timeval) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000
}

/// Sets what happens on a signal: `SIG_DFL` or `SIG_IGN`, with flags such as `SA_NOCLDWAIT`.
pub fn set_action(signal: i32, handler: libc::sighandler_t, flags: i32) {
    // SAFETY: sigaction is plain data; handler is SIG_DFL or SIG_IGN, no function of ours.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler;
        action.sa_flags = flags;
        libc::sigaction(signal, &action, std::ptr::null_mut());
    }
}

/// The calling process's own resident memory, from statm.
pub fn own_rss_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    text.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or_default() * PAGE_BYTES as u64
}

/// A pipe as (read end, write end), inherited by children that do not exec.
pub fn pipe() -> io::Result<(std::os::fd::OwnedFd, std::os::fd::OwnedFd)> {
    use std::os::fd::FromRawFd;
    let mut ends = [0; 2];
    // SAFETY: `ends` has room for two descriptors.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: both descriptors were just made and belong to nobody else.
    Ok(unsafe { (FromRawFd::from_raw_fd(ends[0]), FromRawFd::from_raw_fd(ends[1])) })
}

/// Blocks until every copy of the write end is closed.
pub fn wait_for_eof(read_end: &std::os::fd::OwnedFd) {
    use std::os::fd::AsRawFd;
    let mut byte = 0_u8;
    // SAFETY: one byte is read into one byte.
    while unsafe { libc::read(read_end.as_raw_fd(), (&raw mut byte).cast(), 1) } > 0 {}
}

/// An anonymous or file mapping of 4K pages (huge pages refused), unmapped when dropped.
pub struct Pages {
    start: *mut u8,
    bytes: usize,
}

impl Pages {
    pub fn private(bytes: usize) -> io::Result<Pages> {
        Pages::map(bytes, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1)
    }

    pub fn shared(bytes: usize) -> io::Result<Pages> {
        Pages::map(bytes, libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1)
    }

    pub fn shared_file(file: &std::fs::File, bytes: usize) -> io::Result<Pages> {
        use std::os::fd::AsRawFd;
        Pages::map(bytes, libc::MAP_SHARED, file.as_raw_fd())
    }

    fn map(bytes: usize, flags: i32, fd: i32) -> io::Result<Pages> {
        let bytes = bytes.next_multiple_of(PAGE_BYTES);
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the kernel chooses a free address range.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, flags, fd, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the range was just mapped; the advice cannot harm and may be refused.
        unsafe { libc::madvise(start, bytes, libc::MADV_NOHUGEPAGE) };
        Ok(Pages { start: start.cast(), bytes })
    }

    /// Writes one byte to each page of the first `bytes`.
    pub fn touch(&self, bytes: usize) {
        for offset in (0..bytes.min(self.bytes)).step_by(PAGE_BYTES) {
            // SAFETY: the offset lies inside the mapping, which is writable.
            unsafe { self.start.add(offset).write_volatile(1) };
        }
    }

    /// Reads one byte of each page, so that it is mapped here too.
    pub fn look(&self) {
        for offset in (0..self.bytes).step_by(PAGE_BYTES) {
            // SAFETY: the offset lies inside the mapping, which is readable.
            unsafe { self.start.add(offset).read_volatile() };
        }
    }

    pub fn touch_all(&self) {
        self.touch(self.bytes);
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the range is ours and no reference into it exists.
        unsafe { libc::munmap(self.start.cast(), self.bytes) };
    }
}
