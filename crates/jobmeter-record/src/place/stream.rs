//! Output that is no file of its own: pipes, devices, descriptors that we were started with.

use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// What a pipe that is ready takes without waiting (PIPE_BUF).
const PIECE_BYTES: usize = 4096;
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Writes to the file aside, or to a stream, which may be slow.
#[derive(Debug)]
pub struct OutputWriter {
    file: File,
    /// How long a stream may take nothing; `None` waits as long as its reader does.
    patience: Option<Duration>,
}

impl OutputWriter {
    pub(super) fn to_file(file: File) -> OutputWriter {
        OutputWriter { file, patience: None }
    }

    /// A pipe without a reader is waited for as long as the patience lasts.
    pub(super) fn to_special(path: &Path, patience: Option<Duration>) -> io::Result<OutputWriter> {
        let flags = if patience.is_some() { libc::O_NONBLOCK } else { 0 } | libc::O_NOCTTY | libc::O_NOFOLLOW;
        let start = Instant::now();
        loop {
            match OpenOptions::new().write(true).custom_flags(flags).open(path) {
                Ok(file) => return Ok(OutputWriter { file, patience }),
                Err(error)
                    if error.raw_os_error() == Some(libc::ENXIO)
                        && patience.is_some_and(|patience| start.elapsed() < patience) =>
                {
                    std::thread::sleep(LOOK_AGAIN);
                }
                Err(error) if error.raw_os_error() == Some(libc::ENXIO) => return Err(nobody_reads()),
                Err(error) => return Err(error),
            }
        }
    }

    pub(super) fn to_descriptor(fd: RawFd, patience: Option<Duration>) -> io::Result<OutputWriter> {
        check_descriptor(fd)?;
        // SAFETY: the descriptor was seen open just now, and nobody here closes one that we were started with.
        let own = unsafe { BorrowedFd::borrow_raw(fd) }.try_clone_to_owned()?;
        Ok(OutputWriter { file: File::from(own), patience })
    }

    pub(super) fn try_clone(&self) -> io::Result<OutputWriter> {
        Ok(OutputWriter { file: self.file.try_clone()?, patience: self.patience })
    }

    /// The file itself.
    pub fn into_file(self) -> File {
        self.file
    }

    fn wait(&self, patience: Duration) -> io::Result<()> {
        let mut entry = libc::pollfd { fd: self.file.as_raw_fd(), events: libc::POLLOUT, revents: 0 };
        let wait_ms = i32::try_from(patience.as_millis()).unwrap_or(i32::MAX);
        // SAFETY: poll reads and writes the one entry that we own.
        match unsafe { libc::poll(&mut entry, 1, wait_ms) } {
            0 => Err(nobody_reads()),
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }
}

impl Write for OutputWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(patience) = self.patience else { return self.file.write(bytes) };
        loop {
            self.wait(patience)?;
            // A descriptor that is shared with others may not be made non-blocking: pieces that surely fit.
            match self.file.write(&bytes[..bytes.len().min(PIECE_BYTES)]) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                other => return other,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn nobody_reads() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "nobody reads from it")
}

/// Whether it is open for writing.
pub(super) fn check_descriptor(fd: RawFd) -> io::Result<()> {
    // SAFETY: a query that touches no memory.
    match unsafe { libc::fcntl(fd, libc::F_GETFL) } {
        -1 => Err(io::Error::last_os_error()),
        flags if flags & libc::O_ACCMODE == libc::O_RDONLY => Err(io::Error::from_raw_os_error(libc::EBADF)),
        _ => Ok(()),
    }
}

/// Whether it may be written with the rights that we have.
pub(super) fn check_access(path: &Path) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: the path is NUL-terminated and outlives the call.
    match unsafe { libc::faccessat(libc::AT_FDCWD, path.as_ptr(), libc::W_OK, libc::AT_EACCESS) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
