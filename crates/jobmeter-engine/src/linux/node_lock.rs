//! Who of several meters on a node records the machine: whoever holds one byte of a file in the user's runtime folder.
//!
//! The lock is a POSIX record lock (`F_SETLK`). The kernel frees it when its holder ends, however that ends. It belongs to
//! the holder's table of descriptors: children do not inherit it, and their closing of the file does not free it. All
//! jobs of a user share one file, each with a byte of its own, so that no file has to be removed when a job is over.
//! The folder is never a network file system, on which locks may hang and would reach across nodes.

use crate::linux::sys;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

const FILE: &str = "nodes.lock";

/// File systems that one machine has for itself: tmpfs, ramfs, ext, xfs, btrfs, zfs, f2fs, overlayfs, bcachefs.
const LOCAL: [i64; 9] = [
    0x0102_1994,
    0x8584_58f6,
    0xef53,
    0x5846_5342,
    0x9123_683e,
    0x2fc1_2fc1,
    0xf2f5_2010,
    0x794c_7630,
    0xca45_1a4e,
];

/// The byte of one job on one node, held or not.
#[derive(Debug)]
pub struct NodeLock {
    file: OwnedFd,
    at: libc::off_t,
}

/// What came of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// It is ours, until this process ends or the lock is dropped.
    Ours,
    /// Another process has it.
    Others,
    /// The kernel refuses to lock, so that nobody can say whose it is.
    Refused,
}

impl NodeLock {
    /// Opens the file; nothing is locked yet. The error says why no agreement is possible.
    pub fn open(key: &str) -> io::Result<NodeLock> {
        let mut reasons = Vec::new();
        for (base, is_private) in bases() {
            match open_in(&base, is_private) {
                Ok(file) => return Ok(NodeLock { file, at: place_of(key) }),
                Err(error) => reasons.push(format!("{}: {error}", base.display())),
            }
        }
        Err(io::Error::other(reasons.join("; ")))
    }

    /// One system call; never waits.
    pub fn take(&self) -> Taken {
        match self.set(libc::F_WRLCK) {
            Ok(()) => Taken::Ours,
            Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => Taken::Others,
            Err(_) => Taken::Refused,
        }
    }

    fn set(&self, kind: libc::c_int) -> io::Result<()> {
        // SAFETY: an all-zero flock is valid, and every field that the kernel reads is set.
        let mut lock: libc::flock = unsafe { std::mem::zeroed() };
        lock.l_type = kind as libc::c_short;
        lock.l_whence = libc::SEEK_SET as libc::c_short;
        (lock.l_start, lock.l_len) = (self.at, 1);
        // SAFETY: the descriptor is open, and the kernel only reads the structure.
        sys::check(unsafe { libc::fcntl(self.file.as_raw_fd(), libc::F_SETLK, &raw const lock) }).map(drop)
    }
}

/// The folders, best first, and whether each is to be the user's own already.
fn bases() -> Vec<(PathBuf, bool)> {
    let uid = own_uid();
    let given = std::env::var_os("XDG_RUNTIME_DIR").filter(|value| !value.is_empty()).map(PathBuf::from);
    let given = given.filter(|path| path.is_absolute()).map(|path| (path, true));
    let usual = [(PathBuf::from(format!("/run/user/{uid}")), true), (PathBuf::from("/tmp"), false)];
    given.into_iter().chain(usual).collect()
}

fn open_in(base: &Path, is_private: bool) -> io::Result<OwnedFd> {
    if is_private {
        let found = std::fs::metadata(base)?;
        if !found.is_dir() || found.uid() != own_uid() {
            return Err(io::Error::other("not a folder of this user"));
        }
    }
    let folder = base.join(format!("jobmeter-{}", own_uid()));
    match std::fs::DirBuilder::new().mode(0o700).create(&folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    // The folder itself, whatever its name is made to mean meanwhile.
    let folder = open_at(libc::AT_FDCWD, &folder, libc::O_DIRECTORY | libc::O_PATH, 0)?;
    let found = stat(&folder)?;
    if found.st_uid != own_uid() || found.st_mode & 0o077 != 0 {
        return Err(io::Error::other("its jobmeter folder is open to others, or another user's"));
    }
    let flags = libc::O_RDWR | libc::O_CREAT | libc::O_NONBLOCK;
    let file = open_at(folder.as_raw_fd(), Path::new(FILE), flags, 0o600)?;
    let found = stat(&file)?;
    if found.st_mode & libc::S_IFMT != libc::S_IFREG || found.st_uid != own_uid() {
        return Err(io::Error::other("its lock is no file of this user"));
    }
    if !is_local(&file) {
        return Err(io::Error::other("on a file system that other nodes may share"));
    }
    Ok(file)
}

/// Links are not followed.
fn open_at(folder: libc::c_int, path: &Path, flags: libc::c_int, mode: libc::c_uint) -> io::Result<OwnedFd> {
    let path = std::ffi::CString::new(path.as_os_str().as_bytes())?;
    let flags = flags | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    // SAFETY: `path` is NUL-terminated; a fresh descriptor is ours to own.
    unsafe { sys::check(libc::openat(folder, path.as_ptr(), flags, mode)).map(|fd| OwnedFd::from_raw_fd(fd)) }
}

fn stat(file: &OwnedFd) -> io::Result<libc::stat> {
    let mut found = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the kernel fills the structure when it returns 0.
    unsafe {
        sys::check(libc::fstat(file.as_raw_fd(), found.as_mut_ptr()))?;
        Ok(found.assume_init())
    }
}

fn is_local(file: &OwnedFd) -> bool {
    let mut found = std::mem::MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: the kernel fills the structure when it returns 0.
    let kind = unsafe {
        match libc::fstatfs(file.as_raw_fd(), found.as_mut_ptr()) {
            0 => found.assume_init().f_type,
            _ => return false,
        }
    };
    #[allow(clippy::unnecessary_cast, reason = "musl has another type")]
    LOCAL.contains(&(kind as i64))
}

fn own_uid() -> u32 {
    // SAFETY: geteuid cannot fail.
    unsafe { libc::geteuid() }
}

/// FNV-1a over the key: a place in the file that no two jobs of a user share.
fn place_of(key: &str) -> libc::off_t {
    let sum = key
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    (sum >> 2) as libc::off_t
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::control;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("jobmeter-lock-{name}-{}", std::process::id()));
        let _former = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a folder");
        folder
    }

    fn lock_in(base: &Path, key: &str) -> NodeLock {
        NodeLock { file: open_in(base, true).expect("a file"), at: place_of(key) }
    }

    /// Whether a child process gets it. The child makes one system call and leaves.
    fn is_free_for_child(lock: &NodeLock) -> bool {
        // SAFETY: nothing else happens in the child.
        let pid = unsafe {
            match libc::fork() {
                0 => libc::_exit(i32::from(lock.take() == Taken::Ours)),
                pid => pid,
            }
        };
        let reaped = control::wait(control::Pid::new(pid).expect("a child")).expect("its end");
        libc::WEXITSTATUS(reaped.status) == 1
    }

    #[test]
    fn one_process_has_it_until_it_ends_and_another_job_has_another() {
        let base = folder("one");
        let lock = lock_in(&base, "slurm-1 n1");
        assert!(is_free_for_child(&lock));
        assert_eq!(lock.take(), Taken::Ours, "it was freed with its holder");
        assert_eq!(lock.take(), Taken::Ours, "asking again changes nothing");
        assert!(!is_free_for_child(&lock), "the child has the descriptor and not the lock");
        assert_eq!(lock.take(), Taken::Ours, "a child that ends frees nothing of ours");
        assert!(!is_free_for_child(&lock));
        let other_job = NodeLock { at: place_of("slurm-2 n1"), ..lock };
        assert!(is_free_for_child(&other_job));
        std::fs::remove_dir_all(&base).expect("ours");
    }

    #[test]
    fn a_folder_that_is_not_to_be_trusted_is_refused() {
        let base = folder("hostile");
        let own = base.join(format!("jobmeter-{}", own_uid()));
        let says = |part: &str| {
            let error = open_in(&base, true).expect_err(part).to_string();
            assert!(error.contains(part), "{error}");
        };
        std::fs::create_dir(base.join("elsewhere")).expect("a folder");
        symlink(base.join("elsewhere"), &own).expect("a link");
        assert!(open_in(&base, true).is_err(), "a link in the place of the folder");
        std::fs::remove_file(&own).expect("ours");
        std::fs::write(&own, "a file").expect("a file");
        assert!(open_in(&base, true).is_err(), "a file in the place of the folder");
        std::fs::remove_file(&own).expect("ours");
        std::fs::create_dir(&own).expect("a folder");
        std::fs::set_permissions(&own, std::fs::Permissions::from_mode(0o777)).expect("open to all");
        says("open to others");
        std::fs::set_permissions(&own, std::fs::Permissions::from_mode(0o700)).expect("private");
        symlink("/etc/passwd", own.join(FILE)).expect("a link");
        assert!(open_in(&base, true).is_err(), "a link in the place of the lock");
        std::fs::remove_file(own.join(FILE)).expect("ours");
        std::fs::create_dir(own.join(FILE)).expect("a folder");
        assert!(open_in(&base, true).is_err(), "a folder in the place of the lock");
        std::fs::remove_dir(own.join(FILE)).expect("ours");
        assert!(open_in(&base, true).is_ok());
        assert!(open_in(&base.join("nowhere"), true).is_err(), "no folder");
        assert!(open_in(Path::new("/proc"), false).is_err(), "no file can be made");
        std::fs::remove_dir_all(&base).expect("ours");
    }

    #[test]
    fn keys_have_places_of_their_own() {
        let places: std::collections::HashSet<_> =
            (0..100_000).map(|number| place_of(&format!("slurm-{number} n1"))).collect();
        assert_eq!(places.len(), 100_000);
        assert!(places.iter().all(|place| *place >= 0 && *place < libc::off_t::MAX));
    }
}
