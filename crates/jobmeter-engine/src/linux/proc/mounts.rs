//! Space per mount: `statvfs` of local file systems. Network and user-space file systems are not asked: a
//! server that does not answer would hold us up for ever.

use crate::linux::sys;
use std::ffi::CString;
use std::mem::MaybeUninit;
use std::path::Path;

/// A local file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// Where it is mounted. Hostile text.
    pub path: String,
    /// Its type, such as `ext4`.
    pub file_system: String,
}

/// Space on a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// Its size.
    pub total_bytes: u64,
    /// What is taken.
    pub used_bytes: u64,
    /// What an ordinary user may still use.
    pub free_bytes: u64,
}

const LOCAL: [&str; 15] = [
    "ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "vfat", "exfat", "ntfs3", "bcachefs", "overlay",
    "jfs", "reiserfs", "nilfs2",
];

/// Local mounts, one per device: bind mounts of the same device show the same space.
pub fn local_mounts(root: &Path) -> Vec<Mount> {
    let text = sys::read_whole(&root.join("proc/self/mounts")).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let mut devices = Vec::new();
    let mut mounts = Vec::new();
    for line in text.lines() {
        let mut words = line.split(' ');
        let (Some(device), Some(path), Some(file_system)) = (words.next(), words.next(), words.next()) else {
            continue;
        };
        if LOCAL.contains(&file_system) && !devices.contains(&device) {
            devices.push(device);
            mounts.push(Mount { path: unescape(path), file_system: file_system.to_owned() });
        }
    }
    mounts
}

/// The kernel writes blank, tab, newline and backslash as `\040` and the like.
pub(crate) fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let code = rest.get(at + 1..at + 4).and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match code {
            Some(byte) => {
                out.push(char::from(byte));
                rest = &rest[at + 4..];
            }
            None => {
                out.push('\\');
                rest = &rest[at + 1..];
            }
        }
    }
    out.push_str(rest);
    out
}

/// By statvfs; `None` where it cannot be asked.
pub fn space(path: &str) -> Option<Space> {
    let path = CString::new(path).ok()?;
    let mut stats = MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: `path` is NUL-terminated and `stats` is filled when the call returns 0.
    let stats = unsafe {
        if libc::statvfs(path.as_ptr(), stats.as_mut_ptr()) != 0 {
            return None;
        }
        stats.assume_init()
    };
    let block = stats.f_frsize;
    Some(Space {
        total_bytes: stats.f_blocks * block,
        used_bytes: (stats.f_blocks - stats.f_bfree) * block,
        free_bytes: stats.f_bavail * block,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_of_the_mount_table() {
        assert_eq!(unescape("/a\\040b"), "/a b");
        assert_eq!(unescape("/a\\"), "/a\\");
        assert_eq!(unescape("/plain"), "/plain");
    }

    #[test]
    fn the_root_has_space() {
        let root = space("/").expect("statvfs of /");
        assert!(root.total_bytes >= root.used_bytes);
    }
}
