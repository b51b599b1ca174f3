//! Who owns a file, and whether we have more rights than our caller.

use crate::trust::Found;
pub(crate) use jobmeter_engine::linux::elevated::is_elevated;
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Opens a file that only we or root can have written. Who may write the folder does not matter: others can put
/// files there, but none that belongs to us. Neither a pipe nor a device of that name is opened.
pub(crate) fn open_own(path: &Path) -> io::Result<Found> {
    let meta = match path.symlink_metadata() {
        Ok(meta) => meta,
        // Also behind a folder of somebody else, as after `sudo -u`, there is nothing for us.
        Err(_) => return Ok(Found::Nothing),
    };
    // A link says where to read: whoever made it could choose any file, such as one that is no TOML.
    let is_link = meta.is_symlink();
    if is_link && let Some(reason) = owner_doubt(&meta, "the link") {
        return Ok(Found::Untrusted(reason));
    }
    let Ok(target) = path.metadata() else { return Ok(Found::Nothing) };
    if let Some(reason) = doubt(&target) {
        return Ok(Found::Untrusted(reason));
    }
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY | if is_link { 0 } else { libc::O_NOFOLLOW };
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(_) if target.uid() != own_uid() => {
            return Ok(Found::Untrusted("it belongs to root, who lets nobody else read it".to_owned()));
        }
        Err(error) => return Err(error),
    };
    // What was opened may be another file than the one looked at.
    Ok(match doubt(&file.metadata()?) {
        Some(reason) => Found::Untrusted(reason),
        None => Found::Trusted(file),
    })
}

fn doubt(meta: &Metadata) -> Option<String> {
    if !meta.is_file() {
        return Some("it is not a plain file".to_owned());
    }
    owner_doubt(meta, "it").or_else(|| {
        let is_open = meta.mode() & 0o022 != 0;
        is_open.then(|| format!("others may write it (mode {:04o}); chmod go-w helps", meta.mode() & 0o7777))
    })
}

fn owner_doubt(meta: &Metadata, what: &str) -> Option<String> {
    let is_known = [own_uid(), 0].contains(&meta.uid());
    (!is_known).then(|| format!("{what} belongs to user {}, not to you or root", meta.uid()))
}

fn own_uid() -> u32 {
    // SAFETY: geteuid has no arguments and cannot fail.
    unsafe { libc::geteuid() }
}

/// The user's own file is found through the environment. With more rights than the caller's it is read only if it is
/// the caller's: otherwise a sentence about what is wrong in it would tell of a file that the caller may not read.
pub(crate) fn is_callers(file: &File) -> bool {
    // SAFETY: getuid has no arguments and cannot fail.
    let caller = unsafe { libc::getuid() };
    !is_elevated() || file.metadata().is_ok_and(|meta| meta.uid() == caller)
}
