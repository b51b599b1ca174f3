//! Files of a process that stay open from one read to the next.

use super::Process;
use crate::linux::proc::root::ProcRoot;
use crate::linux::sys;
use std::os::fd::{AsRawFd, OwnedFd};

/// Reads `name` of `pid`, from the kept descriptor if there is one; it is kept from now on with `keep`.
pub(super) fn read_kept<'a>(
    file: &mut Option<OwnedFd>,
    keep: bool,
    (proc, pid): (ProcRoot, i32),
    name: &str,
    buffer: &'a mut [u8],
) -> std::io::Result<&'a [u8]> {
    if !keep {
        let length = proc.read(pid, name, buffer)?;
        return Ok(&buffer[..length]);
    }
    if file.is_none() {
        *file = Some(proc.open(pid, name)?);
    }
    let length = sys::pread(file.as_ref().map_or(-1, AsRawFd::as_raw_fd), buffer, 0)?;
    Ok(&buffer[..length])
}

impl Process {
    /// Descriptors that it holds.
    pub fn kept_files(&self) -> u64 {
        let files = [
            &self.statm_file,
            &self.stat_file,
            &self.children_file,
            &self.io_file,
            &self.status_file,
            &self.queue.file,
        ];
        files.into_iter().flatten().count() as u64
    }

    /// Closes the kept descriptors. Figures that were read stay; later reads open their file each time.
    pub fn close_files(&mut self) {
        self.keeps_all = false;
        (self.statm_file, self.stat_file, self.children_file) = (None, None, None);
        (self.io_file, self.status_file, self.queue.file) = (None, None, None);
    }
}
