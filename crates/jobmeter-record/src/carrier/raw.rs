//! System calls that touch nothing but their arguments. The carrier may be a process that shares the memory of
//! jobmeter's main thread, `errno` included: the wrappers of the C library would overwrite what that thread is about
//! to read. Every function returns the error number instead.

use std::ffi::{CStr, c_int, c_long};
use std::sync::atomic::AtomicU32;

type Answer = Result<usize, i32>;

#[cfg(target_arch = "x86_64")]
fn call(number: c_long, arguments: [usize; 5]) -> Answer {
    let result: isize;
    // SAFETY: the kernel clobbers rcx and r11 and leaves the rest; what the arguments point to is up to the callers
    // below, which hand over valid memory.
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") arguments[0],
            in("rsi") arguments[1],
            in("rdx") arguments[2],
            in("r10") arguments[3],
            in("r8") arguments[4],
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack)
        );
    }
    answer(result)
}

#[cfg(target_arch = "aarch64")]
fn call(number: c_long, arguments: [usize; 5]) -> Answer {
    let result: isize;
    // SAFETY: as above; the kernel leaves every register but x0.
    unsafe {
        std::arch::asm!(
            "svc 0",
            in("x8") number,
            inlateout("x0") arguments[0] => result,
            in("x1") arguments[1],
            in("x2") arguments[2],
            in("x3") arguments[3],
            in("x4") arguments[4],
            options(nostack)
        );
    }
    answer(result)
}

/// Elsewhere by the C library: a failing call of the carrier may then show in the main thread's `errno`.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn call(number: c_long, arguments: [usize; 5]) -> Answer {
    // SAFETY: what the arguments point to is up to the callers below, which hand over valid memory.
    let result = unsafe {
        libc::syscall(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4]) as isize
    };
    if result >= 0 {
        return Ok(result as usize);
    }
    // SAFETY: the address of this thread's errno.
    Err(unsafe { *libc::__errno_location() })
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn answer(result: isize) -> Answer {
    if result < 0 { Err(-result as i32) } else { Ok(result as usize) }
}

const HERE: usize = libc::AT_FDCWD as usize;

/// A new file of mode 0600. O_EXCL also refuses a symbolic link, so nobody can point us at another file.
pub(super) fn create(path: &CStr) -> Result<c_int, i32> {
    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC;
    call(libc::SYS_openat, [HERE, path.as_ptr() as usize, flags as usize, 0o600, 0]).map(|fd| fd as c_int)
}

pub(super) fn make_folder(path: &CStr) -> Answer {
    call(libc::SYS_mkdirat, [HERE, path.as_ptr() as usize, 0o700, 0, 0])
}

pub(super) fn remove(path: &CStr) -> Answer {
    call(libc::SYS_unlinkat, [HERE, path.as_ptr() as usize, 0, 0, 0])
}

/// Writes everything.
pub(super) fn write_all(fd: c_int, mut bytes: &[u8]) -> Result<(), i32> {
    while !bytes.is_empty() {
        match call(libc::SYS_write, [fd as usize, bytes.as_ptr() as usize, bytes.len(), 0, 0]) {
            Ok(0) => return Err(libc::EIO),
            Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
            Err(libc::EINTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

pub(super) fn realtime_ns() -> Result<u64, i32> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let clock = libc::CLOCK_REALTIME as usize;
    call(libc::SYS_clock_gettime, [clock, &raw mut time as usize, 0, 0, 0])?;
    Ok(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// When a file was last changed, as its server says: the answer is not taken from a cache.
pub(super) fn changed_unix_ns(fd: c_int) -> Result<u64, i32> {
    const EMPTY_PATH: usize = 0x1000;
    const FORCE_SYNC: usize = 0x2000;
    const CHANGED: usize = 0x80;
    // The kernel's `struct statx`, the same on all machines: 256 bytes, `stx_ctime` at 96.
    let mut found = [0_u64; 32];
    let path = c"".as_ptr() as usize;
    call(
        libc::SYS_statx,
        [fd as usize, path, EMPTY_PATH | FORCE_SYNC, CHANGED, found.as_mut_ptr() as usize],
    )?;
    let [a, b, c, d, ..] = found[13].to_ne_bytes();
    Ok(found[12] * 1_000_000_000 + u64::from(u32::from_ne_bytes([a, b, c, d])))
}

/// The kernel's number for the kind of file system.
pub(super) fn file_system(fd: c_int) -> Result<i64, i32> {
    let mut found = std::mem::MaybeUninit::<libc::statfs>::zeroed();
    call(libc::SYS_fstatfs, [fd as usize, found.as_mut_ptr() as usize, 0, 0, 0])?;
    // SAFETY: zeroed is a valid value, and the kernel has filled it.
    #[allow(clippy::unnecessary_cast, reason = "musl has another type")]
    Ok(unsafe { found.assume_init() }.f_type as i64)
}

pub(super) fn cut(fd: c_int, length: u64) -> Answer {
    call(libc::SYS_ftruncate, [fd as usize, length as usize, 0, 0, 0])
}

pub(super) fn close(fd: c_int) -> Answer {
    call(libc::SYS_close, [fd as usize, 0, 0, 0, 0])
}

/// Closes every descriptor of the calling process but `kept`. Kernels before 5.9 cannot; they stay open until it ends.
pub(super) fn close_all_but(kept: Option<c_int>) {
    let close = |from: usize, to: usize| {
        let _ = call(libc::SYS_close_range, [from, to, 0, 0, 0]);
    };
    match kept.and_then(|kept| usize::try_from(kept).ok()) {
        None => close(0, u32::MAX as usize),
        Some(kept) => {
            if kept > 0 {
                close(0, kept - 1);
            }
            close(kept + 1, u32::MAX as usize);
        }
    }
}

/// The calling process is killed when the thread that made it ends.
pub(super) fn die_with_parent() {
    let _ = call(libc::SYS_prctl, [libc::PR_SET_PDEATHSIG as usize, libc::SIGKILL as usize, 0, 0, 0]);
}

pub(super) fn set_name(name: &CStr) {
    let _ = call(libc::SYS_prctl, [libc::PR_SET_NAME as usize, name.as_ptr() as usize, 0, 0, 0]);
}

pub(super) fn parent() -> Option<usize> {
    call(libc::SYS_getppid, [0; 5]).ok()
}

/// Sleeps while the word holds `value`, at most this long. May return early.
pub(super) fn sleep_while(word: &AtomicU32, value: u32, most: Option<std::time::Duration>) {
    let time = most.map(|most| libc::timespec {
        tv_sec: most.as_secs() as libc::time_t,
        tv_nsec: c_long::from(most.subsec_nanos() as i32),
    });
    let time = time.as_ref().map_or(0, |time| std::ptr::from_ref(time) as usize);
    // Not FUTEX_PRIVATE: the two sides may be processes, though they share the memory.
    let _ =
        call(libc::SYS_futex, [word.as_ptr() as usize, libc::FUTEX_WAIT as usize, value as usize, time, 0]);
}

pub(super) fn wake(word: &AtomicU32) {
    let _ = call(libc::SYS_futex, [word.as_ptr() as usize, libc::FUTEX_WAKE as usize, 1, 0, 0]);
}

pub(super) fn yield_core() {
    let _ = call(libc::SYS_sched_yield, [0; 5]);
}
