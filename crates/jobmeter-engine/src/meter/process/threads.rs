//! What only the threads of a process tell.

use super::Process;
use crate::linux::proc::io;
use crate::linux::sys;
use std::os::fd::AsRawFd;

impl Process {
    /// After the thread leader has exited, its statm is all zero; another thread still shows the memory.
    pub fn follow_living_thread(&mut self, buffer: &mut [u8]) {
        let mut other = None;
        let listed = self.proc.list_threads(self.id.pid, buffer, |tid| {
            if tid != self.id.pid {
                other = Some(tid);
            }
        });
        if listed.is_ok()
            && let Some(tid) = other
        {
            self.statm_file = self.proc.open_task(self.id.pid, tid, "statm").ok();
            self.statm_is_of_thread = true;
        }
    }

    /// Bytes moved by the threads that live now; children excluded, exited threads missing.
    pub fn read_own_io(&self, buffer: &mut [u8]) -> Option<io::Io> {
        let meters_chars = if self.hosts_meter { sys::bytes_read() } else { 0 };
        let mut total = io::Io::default();
        let mut tids = [0i32; 256];
        let mut count = 0;
        let listed = self.proc.list_threads(self.id.pid, buffer, |tid| {
            if count < tids.len() {
                tids[count] = tid;
                count += 1;
            }
        });
        listed.ok()?;
        for tid in &tids[..count] {
            let file = self.proc.open_task(self.id.pid, *tid, "io").ok()?;
            let length = sys::pread(file.as_raw_fd(), buffer, 0).ok()?;
            let own = io::parse(&buffer[..length])?;
            total.read_chars_bytes += own.read_chars_bytes;
            total.write_chars_bytes += own.write_chars_bytes;
            total.read_storage_bytes += own.read_storage_bytes;
            total.write_storage_bytes += own.write_storage_bytes;
        }
        Some(total.without_read_chars(meters_chars))
    }
}
