//! Where the pipes lie, and what they are called. The name holds the boot, the PID namespace and the pid: the
//! directory may be shared by containers, and on a network file system by machines, which number their processes
//! alike.

use crate::linux::sys;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

pub(super) const SUFFIX: &str = ".marks";

/// Directories in which a meter may put its pipe, best first. In memory where that is possible, for the job waits
/// for it; the last one is in the user's home, where nobody else can take our name.
fn bases() -> Vec<PathBuf> {
    let from_env = |key| std::env::var_os(key).filter(|value| !value.is_empty()).map(PathBuf::from);
    let mut bases: Vec<PathBuf> = from_env("XDG_RUNTIME_DIR").into_iter().collect();
    bases.push(PathBuf::from("/dev/shm"));
    bases.push(std::env::temp_dir());
    bases.extend(from_env("HOME").map(|home| home.join(".cache")));
    bases
}

pub(super) fn own_uid() -> u32 {
    // SAFETY: geteuid cannot fail.
    unsafe { libc::geteuid() }
}

/// Our directories that exist and are private, in the order in which meters choose them.
pub(super) fn existing() -> Vec<PathBuf> {
    let candidates = bases().into_iter().map(|base| directory_in(&base));
    candidates.filter(|dir| std::fs::symlink_metadata(dir).is_ok_and(|meta| is_private(&meta))).collect()
}

/// The first directory that is ours or can be made so, and why better ones were passed over. A base that does not
/// exist is no reason for a word; a name of ours that somebody else holds is.
pub(super) fn choose() -> Result<(PathBuf, Vec<String>), Vec<String>> {
    let mut refused = Vec::new();
    for base in bases() {
        match make_private(&base) {
            Ok(dir) => return Ok((dir, refused)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => refused.push(error.to_string()),
        }
    }
    Err(refused)
}

fn directory_in(base: &Path) -> PathBuf {
    base.join(format!("jobmeter-{}", own_uid()))
}

fn is_private(meta: &std::fs::Metadata) -> bool {
    meta.is_dir() && meta.uid() == own_uid() && meta.mode() & 0o077 == 0
}

fn make_private(base: &Path) -> io::Result<PathBuf> {
    let dir = directory_in(base);
    let at = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", dir.display()));
    match std::fs::DirBuilder::new().mode(0o700).create(&dir) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(at(error)),
        _ => {}
    }
    let meta = std::fs::symlink_metadata(&dir).map_err(at)?;
    if meta.is_dir() && meta.uid() == own_uid() && !is_private(&meta) {
        std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o700)).map_err(at)?;
    } else if !is_private(&meta) {
        return Err(io::Error::other(format!("{} is not a directory of this user", dir.display())));
    }
    Ok(dir)
}

/// The beginning of this boot's names, so that pipes of other machines or of an earlier boot are known as such.
/// The kernel gives all containers of a machine the same.
pub fn boot() -> String {
    let mut buffer = [0; 64];
    let id = sys::read_small(Path::new("/proc/sys/kernel/random/boot_id"), &mut buffer).unwrap_or_default();
    id.iter().filter(|byte| byte.is_ascii_hexdigit()).take(12).map(|byte| char::from(*byte)).collect()
}

/// The name of the pipe of a meter: `pid` is its number in its own PID namespace.
pub(super) fn name(boot: &str, namespace: u64, pid: i32) -> String {
    format!("{boot}-{namespace}-{pid}{SUFFIX}")
}

/// The inode of a process's PID namespace; `None` where the kernel does not show it to us.
pub fn namespace_of(process: &str) -> Option<u64> {
    let link = std::fs::read_link(format!("/proc/{process}/ns/pid")).ok()?;
    link.to_str()?.strip_prefix("pid:[")?.strip_suffix(']')?.parse().ok()
}
