//! Files of a process that stay open from one read to the next.

use super::{Presence, Process, Scale};
use crate::linux::control::Pid;
use crate::linux::proc::root::ProcRoot;
use crate::linux::{pidfd, sys};
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
            &self.exit,
        ];
        files.into_iter().flatten().count() as u64
    }

    /// Closes the kept descriptors. Figures that were read stay; later reads open their file each time.
    pub fn close_files(&mut self) {
        self.keeps_all = false;
        (self.statm_file, self.stat_file, self.children_file) = (None, None, None);
        (self.io_file, self.status_file, self.queue.file) = (None, None, None);
        self.exit = None;
    }

    /// Whether it is time for a descriptor of the process itself: a tick after it was found, where somebody else will reap it.
    pub(crate) fn wants_exit(&self) -> bool {
        !self.has_asked_exit && !self.is_main && self.slow_at_ns > 0
    }

    /// [`Process::read_fast`], and from now on a descriptor tells how it ends, where that `may_be_kept`.
    pub(crate) fn read_and_follow_exit(
        &mut self,
        may_be_kept: bool,
        scale: Scale,
        buffer: &mut [u8],
    ) -> Presence {
        self.has_asked_exit = true;
        let pid = Pid::new(self.id.pid).filter(|_| may_be_kept && self.proc.is_kernels());
        let opened = pid.and_then(|pid| pidfd::open(pid).ok());
        let presence = self.read_fast(scale, buffer);
        // It is there after the descriptor was opened: that is of no other process.
        self.exit = opened.filter(|_| presence == Presence::Here);
        presence
    }

    /// How it ended, where it is gone and the kernel tells.
    pub(crate) fn told_status(&self) -> Option<i32> {
        self.exit.as_ref().and_then(pidfd::wait_status)
    }
}
