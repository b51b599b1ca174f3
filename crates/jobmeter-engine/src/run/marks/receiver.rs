//! The meter's end of the pipe.

use super::send::{set_lock, unread_bytes};
use super::{LONGEST_LINE, Mark, pipe, place};
use crate::linux::sys;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// The receiving end; the pipe goes away with it.
pub struct MarkReceiver {
    file: OwnedFd,
    path: PathBuf,
    pending: Vec<u8>,
}

/// Opens the pipe of this process. The text says what is wrong where it could not be had, or only in another place
/// than usual.
pub fn receive() -> (Option<MarkReceiver>, Option<String>) {
    let failed = |reasons: &[String]| format!("marks from the job cannot be taken: {}", reasons.join("; "));
    match place::choose() {
        Err(refused) => (None, Some(failed(&refused))),
        Ok((dir, refused)) => match MarkReceiver::create_in(&dir) {
            Err(error) => (None, Some(failed(&[format!("{}: {error}", dir.display())]))),
            Ok(receiver) if refused.is_empty() => (Some(receiver), None),
            Ok(receiver) => {
                let text = format!("marks are taken in {} instead: {}", dir.display(), refused.join("; "));
                (Some(receiver), Some(text))
            }
        },
    }
}

impl MarkReceiver {
    fn create_in(dir: &Path) -> io::Result<MarkReceiver> {
        let boot = place::boot();
        let namespace = place::namespace_of("self").unwrap_or_default();
        let path = dir.join(place::name(&boot, namespace, std::process::id() as i32));
        // A pipe under its final name has a reader, or had one that is gone: a sweep relies on it.
        let mut new_path = path.clone().into_os_string();
        new_path.push(pipe::NEW);
        let new_path = PathBuf::from(new_path);
        let file = make_pipe(&new_path)?;
        if let Err(error) = std::fs::rename(&new_path, &path) {
            drop(std::fs::remove_file(&new_path));
            return Err(error);
        }
        Ok(MarkReceiver { file, path, pending: Vec::new() })
    }

    /// Where marks are sent to.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the pipes of meters that were killed, once in the life of a program. Not at the start: a job of a
    /// millisecond need not wait for it.
    pub fn sweep(&self) {
        static HAS_SWEPT: AtomicBool = AtomicBool::new(false);
        if !HAS_SWEPT.swap(true, Ordering::Relaxed)
            && let Some(dir) = self.path.parent()
        {
            pipe::sweep(dir, &place::boot());
        }
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

/// A new pipe, open for both ends: so it never reads as ended when a writer goes.
fn make_pipe(path: &Path) -> io::Result<OwnedFd> {
    let c_path = CString::new(path.as_os_str().as_encoded_bytes())?;
    // SAFETY: `c_path` is NUL-terminated.
    let make = || sys::check(unsafe { libc::mkfifo(c_path.as_ptr(), 0o600) });
    make().or_else(|error| match error.kind() {
        // Left by a meter that was killed and had our pid.
        io::ErrorKind::AlreadyExists => std::fs::remove_file(path).and_then(|()| make()),
        _ => Err(error),
    })?;
    let flags = libc::O_RDWR | libc::O_NONBLOCK | libc::O_CLOEXEC | libc::O_NOFOLLOW;
    // SAFETY: `c_path` is NUL-terminated; a fresh descriptor is ours to own.
    let opened = sys::check(unsafe { libc::open(c_path.as_ptr(), flags) });
    // SAFETY: as above.
    let opened = opened.map(|fd| unsafe { OwnedFd::from_raw_fd(fd) });
    opened.inspect_err(|_| drop(std::fs::remove_file(path)))
}
