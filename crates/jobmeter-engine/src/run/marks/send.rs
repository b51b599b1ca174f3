//! The job's end of the pipe: finds the meter above this process and hands it a mark.

use super::{Mark, pipe, place};
use crate::linux::proc::status;
use crate::linux::sys;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::path::PathBuf;
use std::time::Duration;

/// How long a sender waits for the meter to take its mark: a meter that is stopped must not hold up the job.
const PATIENCE_NS: u64 = 100_000_000;
const SHORTEST_PAUSE: Duration = Duration::from_micros(50);
const LONGEST_PAUSE: Duration = Duration::from_millis(1);

/// Sends a mark to the meter above this process: the one whose pipe is named by `JOBMETER_MARKS`, else the nearest
/// ancestor that has a pipe. Returns when the meter has taken it, so that the work behind the mark is not counted
/// before it.
pub fn send(mark: &Mark) -> io::Result<()> {
    let mut pipe = match std::env::var_os("JOBMETER_MARKS") {
        Some(path) => named_pipe(&PathBuf::from(path))?,
        None => nearest_pipe()?,
    };
    pipe.write_all(&mark.to_line())?;
    wait_until_taken(pipe.as_raw_fd());
    Ok(())
}

fn named_pipe(path: &std::path::Path) -> io::Result<File> {
    pipe::open_for_writing(path).map_err(|error| {
        let text = match pipe::has_no_reader(&error) {
            true => format!("no jobmeter reads {}, which JOBMETER_MARKS names", path.display()),
            false => format!("JOBMETER_MARKS={} is not the pipe of a jobmeter: {error}", path.display()),
        };
        io::Error::new(error.kind(), text)
    })
}

fn wait_until_taken(pipe: RawFd) {
    let deadline_ns = sys::monotonic_ns() + PATIENCE_NS;
    let mut pause = SHORTEST_PAUSE;
    while (unread_bytes(pipe) > 0 || is_locked(pipe)) && sys::monotonic_ns() < deadline_ns {
        std::thread::sleep(pause);
        // What it costs to ask is the job's time.
        pause = (pause * 3 / 2).min(LONGEST_PAUSE);
    }
}

/// 0 also where the kernel cannot say: then nobody waits.
pub(super) fn unread_bytes(pipe: RawFd) -> libc::c_int {
    let mut unread: libc::c_int = 0;
    // SAFETY: FIONREAD writes one int to the out-pointer.
    let asked = unsafe { libc::ioctl(pipe, libc::FIONREAD, &raw mut unread) };
    if asked == 0 { unread } else { 0 }
}

fn lock_request(kind: libc::c_int) -> libc::flock {
    // SAFETY: plain integers, for which zero is a value: the whole file, from its beginning.
    let mut request: libc::flock = unsafe { std::mem::zeroed() };
    request.l_type = kind as libc::c_short;
    request
}

/// Never blocks; a lock that cannot be had only costs a sender its patience.
pub(super) fn set_lock(pipe: RawFd, kind: libc::c_int) {
    let request = lock_request(kind);
    // SAFETY: reads the request.
    unsafe { libc::fcntl(pipe, libc::F_OFD_SETLK, &raw const request) };
}

/// Asks without taking, so that no sender ever holds the meter's pipe.
fn is_locked(pipe: RawFd) -> bool {
    let mut request = lock_request(libc::F_WRLCK);
    // SAFETY: the kernel answers in the request.
    let asked = unsafe { libc::fcntl(pipe, libc::F_OFD_GETLK, &raw mut request) };
    asked == 0 && i32::from(request.l_type) != libc::F_UNLCK
}

/// The pipe of the nearest ancestor that reads one. The walk follows the numbers of the mounted `/proc`, which may be
/// that of an outer PID namespace, and includes PID 1: in a container that may be the meter.
fn nearest_pipe() -> io::Result<File> {
    let dirs = place::existing();
    let boot = place::boot();
    let own_namespace = place::namespace_of("self").unwrap_or_default();
    let mut buffer = vec![0u8; 8192];
    let mut process = "self".to_owned();
    loop {
        let path = PathBuf::from(format!("/proc/{process}/status"));
        let Some(kin) = sys::read_small(&path, &mut buffer).ok().and_then(status::parse_kin) else { break };
        let namespace = place::namespace_of(&process).unwrap_or(own_namespace);
        for dir in &dirs {
            match pipe::open_for_writing(&dir.join(place::name(&boot, namespace, kin.innermost_pid))) {
                Ok(pipe) => return Ok(pipe),
                // A meter that was killed leaves its pipe behind, and its pid may come again.
                Err(error) if error.kind() == io::ErrorKind::NotFound || pipe::has_no_reader(&error) => {}
                Err(error) => return Err(error),
            }
        }
        if kin.parent_pid == 0 {
            break;
        }
        process = kin.parent_pid.to_string();
    }
    Err(io::Error::new(io::ErrorKind::NotFound, "no jobmeter measures this process"))
}
