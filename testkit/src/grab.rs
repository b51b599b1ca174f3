//! Ways to get memory that do not look like touching it page by page: what counts page faults, reads marks late or
//! looks at one thread only is led astray by one of them.

use crate::sys;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

const HUGE_BYTES: usize = 2 << 20;
/// What one fault on a file maps around it, by the kernel's default.
const AROUND_BYTES: usize = 64 << 10;
const MADV_POPULATE_WRITE: i32 = 23;

/// Takes `bytes` in the way that `how` says, holds them for `hold_ms` and ends, with `-exec` behind it as another program; `file` has that
/// many bytes.
pub fn grab(how: &str, bytes: usize, hold_ms: u64, file: &Path) -> io::Result<()> {
    let private = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    let (how, ends_as_another) = match how {
        "exec" => ("touch", true),
        _ => how.strip_suffix("-exec").map_or((how, false), |how| (how, true)),
    };
    match how {
        "touch" => touch(map(bytes, private, None)?, bytes, sys::PAGE_BYTES),
        "populate" => _ = map(bytes, private | libc::MAP_POPULATE, None)?,
        "advise" => {
            let start = map(bytes, private, None)?;
            // SAFETY: the range was just mapped.
            check(unsafe { libc::madvise(start.0.cast(), bytes, MADV_POPULATE_WRITE) })?;
        }
        "huge" => huge(bytes)?,
        "file" => {
            let file = File::open(file)?;
            look(map(bytes, libc::MAP_PRIVATE, Some(&file))?, bytes, AROUND_BYTES);
        }
        "file-populate" => {
            let file = File::open(file)?;
            map(bytes, libc::MAP_PRIVATE | libc::MAP_POPULATE, Some(&file))?;
        }
        "shared" => _ = map(bytes, libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_POPULATE, None)?,
        "orphan" => {
            touch(map(bytes, private, None)?, bytes, sys::PAGE_BYTES);
            // The child has all of it without a single fault; the parent is gone at once.
            sys::fork_child(|| {
                sys::sleep_ms(hold_ms);
                0
            })?;
            return Ok(());
        }
        "leader" => leader(bytes, hold_ms)?,
        _ => return Err(io::Error::other(format!("'{how}' is no way to get memory"))),
    }
    sys::sleep_ms(hold_ms);
    if ends_as_another { Err(Command::new("/bin/true").exec()) } else { Ok(()) }
}

/// Start of a mapping that lives as long as the process.
struct Start(*mut u8);

// SAFETY: a plain address; whoever uses it says why that is sound.
unsafe impl Send for Start {}

fn check(result: i32) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn map(bytes: usize, flags: i32, file: Option<&File>) -> io::Result<Start> {
    let access = if file.is_some() { libc::PROT_READ } else { libc::PROT_READ | libc::PROT_WRITE };
    let fd = file.map_or(-1, |file| file.as_raw_fd());
    // SAFETY: the kernel chooses a free address range.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, flags, fd, 0) };
    if start == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(Start(start.cast())) }
}

fn touch(start: Start, bytes: usize, step: usize) {
    for offset in (0..bytes).step_by(step) {
        // SAFETY: inside the mapping, which is writable and never unmapped.
        unsafe { start.0.add(offset).write_volatile(1) };
    }
}

fn look(start: Start, bytes: usize, step: usize) {
    for offset in (0..bytes).step_by(step) {
        // SAFETY: inside the mapping, which is readable and never unmapped.
        unsafe { start.0.add(offset).read_volatile() };
    }
}

/// One fault for each huge page, where the kernel gives them to those who ask.
fn huge(bytes: usize) -> io::Result<()> {
    let room = bytes + HUGE_BYTES;
    let start = map(room, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, None)?;
    // SAFETY: the range was just mapped; the advice may be refused, then every page is touched below all the same.
    unsafe { libc::madvise(start.0.cast(), room, libc::MADV_HUGEPAGE) };
    let skip = start.0.align_offset(HUGE_BYTES);
    // SAFETY: the aligned start lies inside the mapping.
    touch(Start(unsafe { start.0.add(skip) }), bytes, HUGE_BYTES);
    Ok(())
}

/// The first thread ends, the second takes the memory: `statm` of the process is all zero meanwhile.
fn leader(bytes: usize, hold_ms: u64) -> io::Result<()> {
    let start = map(bytes, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, None)?;
    let (started_send, started) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let _ = started_send.send(());
        sys::sleep_ms(5);
        touch(start, bytes, sys::PAGE_BYTES);
        sys::sleep_ms(hold_ms);
        sys::exit_now(0);
    });
    let _ = started.recv();
    // SAFETY: the raw call ends this thread only; nothing it owns is used by the other thread.
    unsafe { libc::syscall(libc::SYS_exit, 0) };
    unreachable!("the exit system call returned")
}
