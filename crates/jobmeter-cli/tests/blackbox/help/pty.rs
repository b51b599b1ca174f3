//! A real terminal: the test holds the master side, the program under test has the slave as its controlling
//! terminal.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

pub(crate) struct Terminal {
    master: File,
    slave_path: String,
    seen: Arc<Mutex<Vec<u8>>>,
}

impl Terminal {
    pub(crate) fn open() -> Terminal {
        // SAFETY: plain calls; the descriptor is checked before it is owned.
        let master = unsafe {
            let fd = libc::posix_openpt(libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC);
            assert!(fd >= 0, "no pseudo terminal");
            assert_eq!(libc::grantpt(fd), 0);
            assert_eq!(libc::unlockpt(fd), 0);
            File::from_raw_fd(fd)
        };
        let mut name = [0 as libc::c_char; 64];
        // SAFETY: the buffer has 64 bytes and the call ends the name with a zero.
        let slave_path = unsafe {
            assert_eq!(libc::ptsname_r(master.as_raw_fd(), name.as_mut_ptr(), name.len()), 0);
            std::ffi::CStr::from_ptr(name.as_ptr()).to_str().expect("a UTF-8 name").to_owned()
        };
        Terminal { master, slave_path, seen: Arc::default() }
    }

    /// Starts a command as leader of a new session with this terminal as its standard streams, and collects what
    /// it prints from then on.
    pub(crate) fn start(&mut self, mut command: Command) -> Child {
        let open = || {
            let slave = OpenOptions::new().read(true).write(true).open(&self.slave_path);
            Stdio::from(slave.expect("open the slave side"))
        };
        command.stdin(open()).stdout(open()).stderr(open());
        // SAFETY: both calls are async-signal-safe.
        unsafe {
            command.pre_exec(|| {
                libc::setsid();
                libc::ioctl(0, libc::TIOCSCTTY, 0);
                Ok(())
            });
        }
        let child = command.spawn().expect("start in the terminal");
        drop(command);
        let mut reader = self.master.try_clone().expect("clone the master side");
        let seen = Arc::clone(&self.seen);
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            // The last slave side closed: EIO.
            while let Ok(count @ 1..) = reader.read(&mut buffer) {
                seen.lock().expect("not poisoned").extend_from_slice(&buffer[..count]);
            }
        });
        child
    }

    pub(crate) fn press(&mut self, keys: &[u8]) {
        self.master.write_all(keys).expect("write to the terminal");
    }

    pub(crate) fn resize(&self, rows: u16, columns: u16) {
        let size = libc::winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        // SAFETY: the size outlives the call.
        unsafe { libc::ioctl(self.master.as_raw_fd(), libc::TIOCSWINSZ, &size) };
    }

    pub(crate) fn seen(&self) -> String {
        String::from_utf8_lossy(&self.seen.lock().expect("not poisoned")).into_owned()
    }
}
