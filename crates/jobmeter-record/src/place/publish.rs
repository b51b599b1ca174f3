//! The last step: the whole file under its final name.

use super::aside::Aside;
use super::is_unsupported;
use std::ffi::CString;
use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io::{self, Seek};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

pub(super) struct Placed {
    /// Open for writing, at its end.
    pub(super) file: File,
    /// False where the content was copied and the file aside is still to be removed.
    pub(super) aside_is_gone: bool,
}

pub(super) fn publish(aside: &Aside, file: File) -> io::Result<Placed> {
    match &aside.replaces {
        Some(old) => replace(aside, file, old),
        None if aside.force => {
            std::fs::rename(&aside.path, &aside.target).map(|()| Placed { file, aside_is_gone: true })
        }
        None => place_new(&Way::ALL, &aside.path, &aside.target, file),
    }
}

/// A file that is a mount point, or another's in a sticky folder, cannot be renamed over, but written perhaps.
fn replace(aside: &Aside, file: File, old: &Metadata) -> io::Result<Placed> {
    if aside.path.parent() == aside.target.parent() {
        take_over(&file, old)?;
        match std::fs::rename(&aside.path, &aside.target) {
            Ok(()) => return Ok(Placed { file, aside_is_gone: true }),
            Err(error) => {
                let place = open_in_place(&aside.target).map_err(|_| error)?;
                return copy(file, place);
            }
        }
    }
    copy(file, open_in_place(&aside.target)?)
}

/// Owner, group and permissions of the file that is replaced. Its group's permissions go to no other group.
fn take_over(file: &File, old: &Metadata) -> io::Result<()> {
    let new = file.metadata()?;
    let mut mode = old.mode() & 0o777;
    let owner = (new.uid() != old.uid()).then(|| old.uid());
    let group = (new.gid() != old.gid()).then(|| old.gid());
    if owner.is_some() && std::os::unix::fs::fchown(file, owner, None).is_err() {
        // Only root may give a file away; it is ours from now on.
    }
    if group.is_some() && std::os::unix::fs::fchown(file, None, group).is_err() {
        mode &= 0o707;
    }
    file.set_permissions(Permissions::from_mode(mode))
}

/// The existing file, opened for writing and not yet changed.
pub(super) fn open_in_place(target: &Path) -> io::Result<File> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file = OpenOptions::new().write(true).custom_flags(flags).open(target)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::from_raw_os_error(libc::EINVAL)),
    }
}

fn copy(mut from: File, mut to: File) -> io::Result<Placed> {
    from.rewind()?;
    let length = io::copy(&mut from, &mut to)?;
    to.set_len(length)?;
    Ok(Placed { file: to, aside_is_gone: false })
}

/// How a file gets a name only if that is free. Not every file system knows each of them.
#[derive(Debug, Clone, Copy)]
enum Way {
    /// `renameat2` with `RENAME_NOREPLACE`.
    Rename,
    /// A second name, which fails where there is one.
    Link,
    /// An exclusive new file that gets a copy. Others may see it grow.
    Copy,
}

impl Way {
    const ALL: [Way; 3] = [Way::Rename, Way::Link, Way::Copy];
}

fn place_new(ways: &[Way], aside: &Path, target: &Path, file: File) -> io::Result<Placed> {
    for way in ways {
        let placed = match way {
            Way::Rename => rename_new(aside, target).map(|()| true),
            Way::Link => std::fs::hard_link(aside, target).map(|()| false),
            Way::Copy => return copy_new(target, file),
        };
        match placed {
            Ok(aside_is_gone) => return Ok(Placed { file, aside_is_gone }),
            Err(error) if is_unsupported(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP))
}

fn rename_new(aside: &Path, target: &Path) -> io::Result<()> {
    let (aside, target) =
        (CString::new(aside.as_os_str().as_bytes())?, CString::new(target.as_os_str().as_bytes())?);
    let here = libc::AT_FDCWD;
    // SAFETY: both paths are NUL-terminated and outlive the call. By number, for the C libraries without a wrapper.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_renameat2,
            here,
            aside.as_ptr(),
            here,
            target.as_ptr(),
            libc::RENAME_NOREPLACE,
        )
    };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn copy_new(target: &Path, file: File) -> io::Result<Placed> {
    let flags = libc::O_NOFOLLOW;
    let new = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .custom_flags(flags)
        .open(target)?;
    copy(file, new).inspect_err(|_| drop(std::fs::remove_file(target)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// A name, and the ways that a file system of that kind has.
    const SYSTEMS: [(&str, &[Way]); 3] =
        [("usual", &Way::ALL), ("old kernel", &[Way::Link, Way::Copy]), ("no hard links", &[Way::Copy])];

    #[test]
    fn a_new_file_is_placed_by_every_way_and_replaces_nothing() {
        for (name, ways) in SYSTEMS {
            let folder = tempfile::tempdir().expect("a folder");
            let (aside, target) = (folder.path().join("aside"), folder.path().join("target"));
            let fill = || {
                let mut file = OpenOptions::new()
                    .read(true)
                    .write(true)
                    .create(true)
                    .truncate(true)
                    .open(&aside)
                    .expect("made");
                file.write_all(b"head").expect("filled");
                file
            };
            let mut placed = place_new(ways, &aside, &target, fill()).expect(name);
            placed.file.write_all(b", tail").expect("goes on at the end");
            assert_eq!(std::fs::read_to_string(&target).expect("there"), "head, tail", "{name}");
            let again = place_new(ways, &aside, &target, fill()).err().expect("the name is taken");
            assert_eq!(again.kind(), io::ErrorKind::AlreadyExists, "{name}");
            std::fs::remove_file(&target).expect("removed");
            std::os::unix::fs::symlink(folder.path().join("nowhere"), &target).expect("a link");
            let onto_link = place_new(ways, &aside, &target, fill()).err().expect("a link is a name as well");
            assert_eq!(onto_link.kind(), io::ErrorKind::AlreadyExists, "{name}");
            assert!(!folder.path().join("nowhere").exists(), "{name}: the link was followed");
        }
    }
}
