//! The kernel's list of the children of a thread.

use crate::linux::proc::root::ProcRoot;
use crate::linux::sys;
use std::os::fd::AsRawFd;

/// Tells each pid of an open list.
pub fn read_children_of(file: i32, buffer: &mut [u8], found: &mut dyn FnMut(i32)) {
    let mut offset = 0u64;
    let mut carried = 0usize;
    loop {
        let Ok(count) = sys::pread(file, &mut buffer[carried..], offset) else { return };
        if count == 0 {
            return;
        }
        offset += count as u64;
        let filled = carried + count;
        let mut at = 0;
        // Each pid is followed by a blank; what has none yet is continued by the next read.
        while let Some(length) = buffer[at..filled].iter().position(|byte| *byte == b' ') {
            if let Some((pid, _)) = crate::linux::proc::scan::number(&buffer[at..at + length]) {
                found(pid as i32);
            }
            at += length + 1;
        }
        buffer.copy_within(at..filled, 0);
        carried = filled - at;
        // procfs fills at least half a page while there is more to say: a shorter answer was the last.
        if carried == 0 && count < 2048 {
            return;
        }
    }
}

/// Children of one thread.
pub fn read_thread_children(
    proc: ProcRoot,
    pid: i32,
    tid: i32,
    buffer: &mut [u8],
    found: &mut dyn FnMut(i32),
) {
    if let Ok(file) = proc.open_task(pid, tid, "children") {
        read_children_of(file.as_raw_fd(), buffer, found);
    }
}
