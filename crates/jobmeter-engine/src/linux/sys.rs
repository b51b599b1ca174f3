//! The system calls of the hot path, thin and without allocation. Everything here is Linux.

use std::ffi::{CStr, CString};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Turns the -1 of a system call into the error it stands for.
pub fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Nanoseconds of the monotonic clock.
pub fn monotonic_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC).unwrap_or_default()
}

/// The kernel's number of this thread. By system call: glibc has a function for it only since 2.30.
pub fn thread_id() -> libc::pid_t {
    // SAFETY: gettid takes nothing and cannot fail.
    unsafe { libc::syscall(libc::SYS_gettid) as libc::pid_t }
}

/// Nanoseconds of the wall clock since 1970.
pub fn realtime_ns() -> u64 {
    clock_ns(libc::CLOCK_REALTIME).unwrap_or_default()
}

/// CPU time of all threads of `pid`, living and exited, in nanoseconds. Works on other users' processes and
/// on zombies; fails when the process was reaped. The caller makes sure that the pid was not reused.
pub fn process_cpu_ns(pid: i32) -> Option<u64> {
    // The encoding of a process CPU clock in a clock id, fixed kernel ABI: (~pid << 3) | CPUCLOCK_SCHED.
    clock_ns((!pid << 3) | 2)
}

/// CPU time of the calling thread.
pub fn thread_cpu_ns() -> u64 {
    clock_ns(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or_default()
}

fn clock_ns(clock: libc::clockid_t) -> Option<u64> {
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: the kernel fills `time` when it returns 0.
    unsafe {
        if libc::clock_gettime(clock, time.as_mut_ptr()) != 0 {
            return None;
        }
        let time = time.assume_init();
        Some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
    }
}

/// Opens for reading, close-on-exec.
pub fn open_read(path: &CStr) -> io::Result<OwnedFd> {
    open_read_at(libc::AT_FDCWD, path)
}

/// As [`open_read`]; a path that does not begin with `/` is relative to the open `folder`.
pub fn open_read_at(folder: RawFd, path: &CStr) -> io::Result<OwnedFd> {
    open_at(folder, path, libc::O_RDONLY)
}

/// A folder, to list it or to open what is in it.
pub fn open_folder_at(folder: RawFd, path: &CStr) -> io::Result<OwnedFd> {
    open_at(folder, path, libc::O_RDONLY | libc::O_DIRECTORY)
}

fn open_at(folder: RawFd, path: &CStr, flags: libc::c_int) -> io::Result<OwnedFd> {
    // SAFETY: `path` is NUL-terminated; a fresh descriptor is ours to own.
    unsafe {
        let opened = check(libc::openat(folder, path.as_ptr(), flags | libc::O_CLOEXEC));
        let fd = opened.inspect_err(note_shortage)?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// Links to a file or folder.
pub fn links_at(folder: RawFd, path: &CStr) -> Option<u64> {
    let mut found = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: `path` is NUL-terminated, and the kernel fills the structure when it says so.
    unsafe {
        check(libc::fstatat(folder, path.as_ptr(), found.as_mut_ptr(), 0)).ok()?;
        #[allow(clippy::unnecessary_cast, reason = "other machines have another type")]
        Some(found.assume_init().st_nlink as u64)
    }
}

/// How often this process found no free descriptor.
static SHORTAGES: AtomicU64 = AtomicU64::new(0);

/// How often this process found no free descriptor.
pub fn descriptor_shortages() -> u64 {
    SHORTAGES.load(Ordering::Relaxed)
}

/// Whether a file could not be opened for want of a descriptor, of this process or of the machine: that says
/// nothing about the file.
pub fn is_shortage(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

/// Whether a file of `/proc` could not be read because its process has ended, reaped or not.
pub(crate) fn is_gone(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ESRCH | libc::ENOENT))
}

fn note_shortage(error: &io::Error) {
    if is_shortage(error) {
        SHORTAGES.fetch_add(1, Ordering::Relaxed);
    }
}

/// One `pread` at `offset` into `buffer`; the bytes that came.
pub fn pread(fd: RawFd, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    // SAFETY: the kernel writes at most `buffer.len()` bytes.
    let count = unsafe { libc::pread(fd, buffer.as_mut_ptr().cast(), buffer.len(), offset as libc::off_t) };
    if count < 0 {
        return Err(io::Error::last_os_error());
    }
    BYTES_READ.fetch_add(count as u64, Ordering::Relaxed);
    Ok(count as usize)
}

/// Bytes that came by [`pread`], through which all kernel files are read. Inside a program that measures itself the kernel
/// counts them as the program's.
static BYTES_READ: AtomicU64 = AtomicU64::new(0);

/// Bytes that came by [`pread`] so far.
pub fn bytes_read() -> u64 {
    BYTES_READ.load(Ordering::Relaxed)
}

/// In a child after fork, whose counters begin anew.
pub fn forget_bytes_read() {
    BYTES_READ.store(0, Ordering::Relaxed);
}

/// Reads a whole (small) kernel file from offset 0 into a reused buffer, growing it when it is full.
pub fn pread_all(fd: RawFd, buffer: &mut Vec<u8>) -> io::Result<&[u8]> {
    if buffer.capacity() == 0 {
        buffer.reserve(4096);
    }
    let mut filled = 0;
    loop {
        buffer.resize(buffer.capacity(), 0);
        let count = pread(fd, &mut buffer[filled..], filled as u64)?;
        filled += count;
        // The kernel fills at least half a page while there is more to say.
        if count < 2048 {
            buffer.truncate(filled);
            return Ok(buffer);
        }
        if filled == buffer.len() {
            buffer.reserve(buffer.len());
        }
    }
}

/// A kernel file of any size, whose lines may be long: read until nothing more comes.
pub fn read_whole(path: &Path) -> io::Result<Vec<u8>> {
    let path = CString::new(path.as_os_str().as_encoded_bytes())?;
    pread_to_end(open_read(&path)?.as_raw_fd())
}

/// As [`read_whole`], of an open file.
pub fn pread_to_end(fd: RawFd) -> io::Result<Vec<u8>> {
    let mut text = vec![0; 16 * 1024];
    let mut filled = 0;
    loop {
        let count = pread(fd, &mut text[filled..], filled as u64)?;
        filled += count;
        if count == 0 {
            text.truncate(filled);
            return Ok(text);
        }
        if filled == text.len() {
            text.resize(2 * filled, 0);
        }
    }
}

/// One read of a small kernel file: no question for its size before and none for more after.
pub fn read_small<'a>(path: &Path, buffer: &'a mut [u8]) -> io::Result<&'a [u8]> {
    let path = CString::new(path.as_os_str().as_encoded_bytes())?;
    let file = open_read(&path)?;
    let count = pread(file.as_raw_fd(), buffer, 0)?;
    Ok(&buffer[..count])
}

/// The kind of file system at `path`, by the kernel's number for it.
pub fn file_system_magic(path: &Path) -> Option<i64> {
    let path = CString::new(path.as_os_str().as_encoded_bytes()).ok()?;
    let mut stats = MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: `path` is NUL-terminated; the kernel fills `stats` when it returns 0.
    unsafe {
        let got = libc::statfs(path.as_ptr(), stats.as_mut_ptr());
        #[allow(clippy::unnecessary_cast, reason = "musl has another type")]
        (got == 0).then(|| stats.assume_init().f_type as i64)
    }
}

/// Whether two processes live in the same memory; `false` also where the kernel does not tell.
pub fn share_memory(pid: i32, other_pid: i32) -> bool {
    const KCMP_VM: libc::c_int = 1;
    // SAFETY: plain system call that only compares.
    unsafe { libc::syscall(libc::SYS_kcmp, pid, other_pid, KCMP_VM, 0, 0) == 0 }
}

/// A wake-up that another thread can send.
pub struct EventFd(OwnedFd);

impl EventFd {
    /// A new one, not readable yet.
    pub fn new() -> io::Result<EventFd> {
        // SAFETY: plain system call; a fresh descriptor is ours to own.
        unsafe {
            let fd = check(libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK))?;
            Ok(EventFd(OwnedFd::from_raw_fd(fd)))
        }
    }

    /// Makes it readable.
    pub fn notify(&self) {
        let one = 1u64.to_ne_bytes();
        // SAFETY: writes eight bytes from eight; a full counter (EAGAIN) is already a pending wake-up.
        unsafe { libc::write(self.0.as_raw_fd(), one.as_ptr().cast(), 8) };
    }

    /// Makes it unreadable until it is notified again.
    pub fn consume(&self) {
        let mut count = [0u8; 8];
        // SAFETY: reads at most eight bytes into eight.
        unsafe { libc::read(self.0.as_raw_fd(), count.as_mut_ptr().cast(), 8) };
    }
}

impl AsRawFd for EventFd {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// Where a wait itself fails, which it does only under a limit of a few descriptors or with no kernel memory left,
/// the loops look around this often instead.
const BLIND_WAIT_NS: u64 = 10_000_000;

/// Waits until any of `fds` is readable or the monotonic clock shows `until_ns`; returns which, in the same
/// order. Negative ones are passed over. An error says that waiting is not possible: it comes after a short
/// sleep, so that a loop which goes on does not spin.
pub fn wait_readable<const COUNT: usize>(
    fds: [RawFd; COUNT],
    until_ns: Option<u64>,
) -> io::Result<[bool; COUNT]> {
    let mut set = fds.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
    let left = until_ns.map(|until_ns| timespec(until_ns.saturating_sub(monotonic_ns())));
    let left = left.as_ref().map_or(std::ptr::null(), |left| left as *const libc::timespec);
    // SAFETY: the entries of `set` and the time, where there is one, are initialised and live.
    let ready = unsafe { libc::ppoll(set.as_mut_ptr(), COUNT as libc::nfds_t, left, std::ptr::null()) };
    if ready < 0 {
        let error = io::Error::last_os_error();
        if error.kind() == io::ErrorKind::Interrupted {
            return Ok([false; COUNT]);
        }
        std::thread::sleep(std::time::Duration::from_nanos(BLIND_WAIT_NS));
        return Err(error);
    }
    Ok(set.map(|slot| slot.revents != 0))
}

fn timespec(ns: u64) -> libc::timespec {
    libc::timespec {
        tv_sec: (ns / 1_000_000_000) as libc::time_t,
        tv_nsec: (ns % 1_000_000_000) as libc::c_long,
    }
}

/// What this process had used before it became us: `cargo run` and shells exec, and the account goes on.
static CPU_BEFORE_US_NS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

/// The highest resident memory of this process before it became us; `ru_maxrss` outlives exec.
static PEAK_BEFORE_US_BYTES: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(u64::MAX);

/// Call first of all: the meter's own account begins here.
pub fn begin_own_account() {
    let (cpu_ns, peak_bytes) = own_rusage();
    CPU_BEFORE_US_NS.store(cpu_ns, std::sync::atomic::Ordering::Relaxed);
    PEAK_BEFORE_US_BYTES.store(peak_bytes, std::sync::atomic::Ordering::Relaxed);
}

/// Children that work for us, such as the one that writes the record: their CPU time is ours. 0 where there is none.
static HELPERS: [std::sync::atomic::AtomicI32; 2] = [const { std::sync::atomic::AtomicI32::new(0) }; 2];

/// What a child of ours does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Helper {
    /// Writes the record.
    Record,
    /// Asks the GPU drivers.
    Drivers,
}

/// Charges the CPU time of this child to our own account.
pub fn charge_helper(helper: Helper, pid: crate::linux::control::Pid) {
    HELPERS[helper as usize].store(pid.get(), std::sync::atomic::Ordering::Relaxed);
}

fn helpers_cpu_ns() -> u64 {
    let pids = HELPERS.iter().map(|pid| pid.load(std::sync::atomic::Ordering::Relaxed));
    pids.filter(|pid| *pid > 0).filter_map(process_cpu_ns).sum()
}

/// `(CPU ns, peak RSS bytes)` of this process since it became us.
pub fn own_usage() -> (u64, u64) {
    let (cpu_ns, peak_bytes) = own_rusage();
    let cpu_ns = cpu_ns.saturating_sub(CPU_BEFORE_US_NS.load(std::sync::atomic::Ordering::Relaxed));
    (cpu_ns + helpers_cpu_ns(), own_peak_bytes(peak_bytes))
}

/// A peak that has risen since the start is our own. One that has not may be that of the program we were before, and
/// the mark of the address space, which does not outlive exec, is read; that costs twenty times as much.
fn own_peak_bytes(peak_bytes: u64) -> u64 {
    if peak_bytes > PEAK_BEFORE_US_BYTES.load(std::sync::atomic::Ordering::Relaxed) {
        return peak_bytes;
    }
    let mut buffer = [0u8; 4096];
    let status = read_small(Path::new("/proc/self/status"), &mut buffer);
    let status = status.map(crate::linux::proc::status::parse);
    status.ok().and_then(|status| status.peak_rss_bytes).unwrap_or(peak_bytes)
}

/// CPU time of this process and of the children that work for us, since it became us.
pub fn own_cpu_ns() -> u64 {
    let before_ns = CPU_BEFORE_US_NS.load(std::sync::atomic::Ordering::Relaxed);
    this_process_cpu_ns().unwrap_or_default().saturating_sub(before_ns) + helpers_cpu_ns()
}

/// CPU time of this process, all of its threads and all that it was before an exec.
pub fn this_process_cpu_ns() -> Option<u64> {
    clock_ns(libc::CLOCK_PROCESS_CPUTIME_ID)
}

fn own_rusage() -> (u64, u64) {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the out-pointer is valid; rusage is plain data.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    (timeval_ns(usage.ru_utime) + timeval_ns(usage.ru_stime), usage.ru_maxrss as u64 * 1024)
}

/// As nanoseconds.
pub fn timeval_ns(time: libc::timeval) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000
}

/// Lifts the soft limit of open descriptors to the hard one. Call after the job was spawned: it must not
/// inherit this. Returns the soft limit now in force.
pub fn raise_descriptor_limit() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a valid in/out pointer.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) != 0 {
            return 256;
        }
        if limit.rlim_cur < limit.rlim_max {
            let raised = libc::rlimit { rlim_cur: limit.rlim_max, rlim_max: limit.rlim_max };
            if libc::setrlimit(libc::RLIMIT_NOFILE, &raw const raised) == 0 {
                limit.rlim_cur = limit.rlim_max;
            }
        }
    }
    limit.rlim_cur
}

/// The soft limit of open descriptors.
pub fn descriptor_limit() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a valid out-pointer.
    let asked = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    if asked == 0 { limit.rlim_cur } else { 0 }
}

/// How many descriptors this process has open. Since Linux 6.2 the size of the directory says it; before that they
/// are counted, which takes a free one.
pub fn open_descriptors() -> Option<u64> {
    let by_size = std::fs::metadata("/proc/self/fd").map_or(0, |meta| meta.len());
    if by_size > 0 {
        return Some(by_size);
    }
    let mut count = 0;
    let folder = open_folder_at(libc::AT_FDCWD, c"/proc/self/fd").ok()?;
    list_numeric(&folder, &mut [0u8; 4096], |_| count += 1).ok()?;
    // One was the listing's own.
    Some(count - 1)
}

/// A configuration value of the C library, such as the page size.
pub fn sysconf(name: libc::c_int) -> u64 {
    // SAFETY: plain query.
    let value = unsafe { libc::sysconf(name) };
    u64::try_from(value).unwrap_or(1)
}

/// Calls `found` with every all-digit name in an open folder that was not listed before, without allocating.
pub fn list_numeric(folder: &OwnedFd, buffer: &mut [u8], mut found: impl FnMut(i32)) -> io::Result<()> {
    list_entries(folder, buffer, |number, _| number.into_iter().for_each(&mut found))
}

/// Calls `found` with every entry of an open folder that was not listed before, without allocating: its name where that is
/// a number, and whether it is a folder itself. `.` and `..` are left out.
pub fn list_entries(
    folder: &OwnedFd,
    buffer: &mut [u8],
    mut found: impl FnMut(Option<i32>, bool),
) -> io::Result<()> {
    // linux_dirent64: d_ino 8 bytes, d_off 8, d_reclen 2, d_type 1, then the name.
    const TYPE_AT: usize = 18;
    const NAME_AT: usize = 19;
    loop {
        // SAFETY: the kernel writes at most `buffer.len()` bytes.
        let filled = unsafe {
            libc::syscall(libc::SYS_getdents64, folder.as_raw_fd(), buffer.as_mut_ptr(), buffer.len())
        };
        let filled = match filled {
            0 => return Ok(()),
            count if count > 0 => count as usize,
            _ => return Err(io::Error::last_os_error()),
        };
        let mut at = 0;
        while at + NAME_AT < filled {
            let length = usize::from(u16::from_ne_bytes([buffer[at + 16], buffer[at + 17]]));
            let name = &buffer[at + NAME_AT..filled];
            if !name.starts_with(b".\0") && !name.starts_with(b"..\0") {
                let number = crate::linux::proc::scan::number(name)
                    .filter(|(_, rest)| rest.first() == Some(&0))
                    .map(|(number, _)| number as i32);
                found(number, buffer[at + TYPE_AT] == libc::DT_DIR);
            }
            at += length.max(NAME_AT);
        }
    }
}
