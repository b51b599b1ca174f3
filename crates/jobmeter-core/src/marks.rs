//! Marks from the job in any language: a named pipe under the user's runtime directory, found by the pid of
//! the meter, so that the job's environment stays untouched. One line per mark: `KIND PID TID NAME`.

use crate::event::MarkKind;
use crate::probe::stat;
use crate::sys;
use std::ffi::CString;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A line and its name fit one atomic write.
const LONGEST_LINE: usize = libc::PIPE_BUF;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    pub kind: MarkKind,
    pub pid: i32,
    pub tid: i32,
    pub name: String,
}

impl Mark {
    fn to_line(&self) -> Vec<u8> {
        let kind = match self.kind {
            MarkKind::Point => "mark",
            MarkKind::Begin => "begin",
            MarkKind::End => "end",
        };
        let name: String = self.name.chars().map(|c| if c == '\n' { ' ' } else { c }).collect();
        let mut line = format!("{kind} {} {} {name}", self.pid, self.tid).into_bytes();
        line.truncate(LONGEST_LINE - 1);
        line.push(b'\n');
        line
    }

    fn from_line(line: &[u8]) -> Option<Mark> {
        let text = String::from_utf8_lossy(line);
        let mut words = text.splitn(4, ' ');
        let kind = match words.next()? {
            "mark" => MarkKind::Point,
            "begin" => MarkKind::Begin,
            "end" => MarkKind::End,
            _ => return None,
        };
        let pid = words.next()?.parse().ok()?;
        let tid = words.next()?.parse().ok()?;
        Some(Mark { kind, pid, tid, name: words.next()?.trim_end().to_owned() })
    }
}

/// The directory of the pipes, made 0700 and ours. In memory where that is possible, for the job waits for it.
fn directory() -> io::Result<PathBuf> {
    match std::env::var_os("XDG_RUNTIME_DIR").filter(|dir| !dir.is_empty()) {
        Some(base) => directory_in(Path::new(&base)),
        None => directory_in(Path::new("/dev/shm")).or_else(|_| directory_in(&std::env::temp_dir())),
    }
}

fn directory_in(base: &Path) -> io::Result<PathBuf> {
    // SAFETY: geteuid cannot fail.
    let uid = unsafe { libc::geteuid() };
    let dir = base.join(format!("jobmeter-{uid}"));
    let meta = std::fs::symlink_metadata(&dir).or_else(|_| {
        match std::fs::DirBuilder::new().mode(0o700).create(&dir) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => std::fs::symlink_metadata(&dir),
        }
    })?;
    if !meta.is_dir() || meta.uid() != uid || meta.mode() & 0o077 != 0 {
        return Err(io::Error::other(format!("{} is not a private directory of this user", dir.display())));
    }
    Ok(dir)
}

fn pipe_path(pid: i32) -> io::Result<PathBuf> {
    Ok(directory()?.join(format!("{pid}.marks")))
}

/// The receiving end; the pipe goes away with it.
pub struct MarkReceiver {
    file: OwnedFd,
    path: PathBuf,
    pending: Vec<u8>,
}

impl MarkReceiver {
    /// A pipe under our own pid.
    pub fn create() -> io::Result<MarkReceiver> {
        let path = pipe_path(std::process::id() as i32)?;
        let c_path = CString::new(path.as_os_str().as_encoded_bytes())?;
        // SAFETY: `c_path` is NUL-terminated.
        let make = || sys::check(unsafe { libc::mkfifo(c_path.as_ptr(), 0o600) });
        make().or_else(|error| match error.kind() {
            // Left by one that was killed and had our pid.
            io::ErrorKind::AlreadyExists => std::fs::remove_file(&path).and_then(|()| make()),
            _ => Err(error),
        })?;
        let flags = libc::O_RDWR | libc::O_NONBLOCK | libc::O_CLOEXEC;
        // SAFETY: `c_path` is NUL-terminated; a fresh descriptor is ours to own. Opened for both ends, the
        // pipe never reads as ended when a writer goes.
        let file = unsafe { OwnedFd::from_raw_fd(sys::check(libc::open(c_path.as_ptr(), flags))?) };
        Ok(MarkReceiver { file, path, pending: Vec::new() })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Hands over what has come. Until that is done the pipe is locked, which tells the senders to wait: the
    /// counters at a boundary are read before the work behind it begins, however busy the machine is.
    pub fn each(&mut self, mut handle: impl FnMut(Mark)) {
        if unread_bytes(self.file.as_raw_fd()) == 0 {
            return;
        }
        set_lock(self.file.as_raw_fd(), libc::F_WRLCK);
        self.take().into_iter().for_each(&mut handle);
        set_lock(self.file.as_raw_fd(), libc::F_UNLCK);
    }

    /// All whole lines that have come.
    pub fn take(&mut self) -> Vec<Mark> {
        let mut chunk = [0u8; LONGEST_LINE];
        loop {
            // SAFETY: reads at most `chunk.len()` bytes into `chunk`.
            let count = unsafe { libc::read(self.file.as_raw_fd(), chunk.as_mut_ptr().cast(), chunk.len()) };
            if count <= 0 {
                break;
            }
            self.pending.extend_from_slice(&chunk[..count as usize]);
        }
        let Some(end) = self.pending.iter().rposition(|byte| *byte == b'\n') else {
            // A line without an end that is longer than any of ours is noise.
            if self.pending.len() > 2 * LONGEST_LINE {
                self.pending.clear();
            }
            return Vec::new();
        };
        let whole: Vec<u8> = self.pending.drain(..=end).collect();
        whole.split(|byte| *byte == b'\n').filter_map(Mark::from_line).collect()
    }
}

impl AsRawFd for MarkReceiver {
    fn as_raw_fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }
}

impl Drop for MarkReceiver {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.path));
    }
}

/// How long a sender waits for the meter to take its mark: a meter that is stopped must not hold up the job.
const PATIENCE_NS: u64 = 100_000_000;

/// Sends a mark to the meter above this process: the one named by `JOBMETER_MARKS`, else the nearest ancestor
/// that has a pipe. Returns when the meter has taken it, so that the work behind the mark is not counted before
/// it.
pub fn send(mark: &Mark) -> io::Result<()> {
    let mut pipe = match std::env::var_os("JOBMETER_MARKS") {
        Some(path) => open_pipe(&PathBuf::from(path))?,
        None => nearest_pipe()?,
    };
    pipe.write_all(&mark.to_line())?;
    wait_until_taken(pipe.as_raw_fd());
    Ok(())
}

fn open_pipe(path: &std::path::Path) -> io::Result<std::fs::File> {
    std::fs::OpenOptions::new().write(true).custom_flags(libc::O_NONBLOCK).open(path)
}

fn wait_until_taken(pipe: RawFd) {
    let deadline_ns = sys::monotonic_ns() + PATIENCE_NS;
    while (unread_bytes(pipe) > 0 || is_locked(pipe)) && sys::monotonic_ns() < deadline_ns {
        std::thread::sleep(std::time::Duration::from_micros(50));
    }
}

/// 0 also where the kernel cannot say: then nobody waits.
fn unread_bytes(pipe: RawFd) -> libc::c_int {
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
fn set_lock(pipe: RawFd, kind: libc::c_int) {
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

/// The pipe of the nearest ancestor that reads one. A meter that was killed leaves its pipe behind, and its pid may
/// come again: a pipe that nobody reads is passed over.
fn nearest_pipe() -> io::Result<std::fs::File> {
    let mut buffer = [0u8; 1024];
    let mut pid = std::process::id() as i32;
    while pid > 1 {
        match open_pipe(&pipe_path(pid)?) {
            Ok(pipe) => return Ok(pipe),
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ENXIO)) => {}
            Err(error) => return Err(error),
        }
        pid = stat::parse(sys::read_proc(pid, "stat", &mut buffer)?).map_or(0, |stat| stat.parent_pid);
    }
    Err(io::Error::new(io::ErrorKind::NotFound, "no jobmeter measures this process"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_go_both_ways_whatever_the_name() {
        for name in ["load", "epoch 1", "a\nb", "x y  z"] {
            let mark = Mark { kind: MarkKind::Begin, pid: 7, tid: 9, name: name.to_owned() };
            let line = mark.to_line();
            let read = Mark::from_line(&line[..line.len() - 1]).expect("reads");
            assert_eq!((read.kind, read.pid, read.tid), (MarkKind::Begin, 7, 9));
            assert_eq!(read.name, name.replace('\n', " ").trim_end());
        }
        assert_eq!(Mark::from_line(b"nonsense"), None);
        let long = Mark { kind: MarkKind::Point, pid: 1, tid: 1, name: "x".repeat(10_000) };
        assert_eq!(long.to_line().len(), LONGEST_LINE);
    }

    #[test]
    fn a_pipe_that_a_killed_meter_left_is_passed_over() {
        let stale = pipe_path(std::process::id() as i32).expect("a directory for pipes");
        drop(MarkReceiver::create().expect("a pipe"));
        let c_path = CString::new(stale.as_os_str().as_encoded_bytes()).expect("a path");
        // SAFETY: `c_path` is NUL-terminated.
        assert_eq!(unsafe { libc::mkfifo(c_path.as_ptr(), 0o600) }, 0);
        let found = nearest_pipe();
        std::fs::remove_file(&stale).expect("remove the pipe");
        // The tests may themselves run under a meter, which is then found further up.
        if let Err(error) = found {
            assert_eq!(error.kind(), io::ErrorKind::NotFound, "{error}");
        }
    }
}
