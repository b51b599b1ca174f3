//! What only the threads of a process tell.

use super::super::bounds::FAULTS_AFTER_RECORD;
use super::{Process, Scale};
use crate::linux::proc::{io, stat, statm};
use crate::linux::sys;
use std::os::fd::AsRawFd;

/// So many threads of a process are asked for its memory where the first one has none.
const MOST_ASKED: usize = 8;

impl Process {
    /// It is on its way out and has no memory any more, but is no zombie yet.
    pub(crate) fn is_exiting(&self) -> bool {
        !self.shows_memory() && self.stat.is_exiting() && self.stat.state != b'Z' && self.stat.threads <= 1
    }

    /// It will never have memory again.
    pub(crate) fn has_given_memory_back(&self) -> bool {
        self.is_zombie() || self.is_exiting()
    }

    /// All page faults of its life, where it was read after it had given its memory back.
    pub(crate) fn final_faults(&self) -> Option<u64> {
        let is_zombie = self.stat.state == b'Z' && self.stat.threads <= 1;
        let exiting = self.is_exiting().then(|| self.stat.faults() + FAULTS_AFTER_RECORD);
        is_zombie.then(|| self.stat.faults()).or(exiting)
    }

    /// Its first thread has ended, or is about to: `statm` is all zero, while other threads still have the memory.
    pub(crate) fn hides_memory(&self) -> bool {
        !self.shows_memory() && !self.has_given_memory_back()
    }

    /// It does so now, and its memory was seen since the last full tick.
    pub(crate) fn has_begun_to_hide_memory(&self) -> bool {
        self.hides_memory() && !self.hid_memory && self.max_rss_bytes > 0
    }

    /// Reads the memory of a process without its first thread by another thread, and from now on.
    pub(crate) fn follow_living_thread(&mut self, scale: Scale, buffer: &mut [u8]) {
        let mut tids = [0i32; MOST_ASKED];
        let mut count = 0;
        let listed = self.proc.list_threads(self.id.pid, buffer, |tid| {
            if tid != self.id.pid && count < tids.len() {
                tids[count] = tid;
                count += 1;
            }
        });
        if listed.is_err() {
            return;
        }
        for tid in &tids[..count] {
            let Ok(file) = self.proc.open_task(self.id.pid, *tid, "statm") else { continue };
            let Ok(length) = sys::pread(file.as_raw_fd(), buffer, 0) else { continue };
            // A thread that is about to end has no memory either.
            if let Some(statm) = statm::parse(&buffer[..length]).filter(|statm| statm.resident_pages > 0) {
                let is_first_seen = self.peak_rss_bytes == 0;
                self.take_statm(statm, scale);
                if is_first_seen {
                    self.note_memory_at_birth();
                }
                (self.statm_file, self.statm_is_of_thread) = (Some(file), true);
                return;
            }
        }
    }

    /// Whether a thread other than `except` runs, or waits for a core; taken for granted where there are more than `most`.
    pub(crate) fn has_running_thread(&self, except: i32, most: usize, buffer: &mut [u8]) -> bool {
        let mut tids = Vec::with_capacity(most);
        if self.proc.list_threads(self.id.pid, buffer, |tid| tids.push(tid)).is_err() || tids.len() > most {
            return true;
        }
        tids.into_iter().filter(|tid| *tid != except).any(|tid| {
            let file = self.proc.open_task(self.id.pid, tid, "stat").ok();
            let length = file.and_then(|file| sys::pread(file.as_raw_fd(), buffer, 0).ok());
            let stat = length.and_then(|length| stat::parse(&buffer[..length]));
            stat.is_some_and(|stat| stat.state == b'R')
        })
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
        let tids = &mut tids[..count];
        // This thread may be one of them: what it reads here would be in its own count if that came later.
        let own_tid = sys::thread_id();
        if let Some(own) = tids.iter().position(|tid| *tid == own_tid) {
            tids.swap(0, own);
        }
        for tid in tids {
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

#[cfg(test)]
mod tests {
    use crate::meter::tree::Tree;

    /// Run alone in a process: what other tests read at the same time would count.
    #[test]
    fn reading_the_threads_of_our_own_process_does_not_count_as_its_reading() {
        const CHILD: &str = "JOBMETER_TEST_OWN_IO";
        if std::env::var_os(CHILD).is_none() {
            let name = "meter::process::threads::tests::reading_the_threads_of_our_own_process_does_not_count_as_its_reading";
            let mut alone = std::process::Command::new(std::env::current_exe().expect("this program"));
            let ended =
                alone.args(["--exact", name, "--test-threads=1"]).env(CHILD, "1").output().expect("run");
            assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stdout));
            return;
        }
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let stopped = std::sync::Arc::new(std::sync::Mutex::new(stopped));
        for _ in 0..20 {
            let stopped = std::sync::Arc::clone(&stopped);
            std::thread::spawn(move || drop(stopped.lock().map(|stopped| stopped.recv())));
        }
        let read = std::thread::spawn(|| {
            // As in a Python program: the thread that reads was made after others.
            let mut tree = Tree::new(None);
            tree.open_main(std::process::id() as i32).expect("we live");
            let (main, buffer) = tree.get_mut(std::process::id() as i32).expect("there");
            main.hosts_meter = true;
            let own = main.read_own_io(buffer).expect("bytes of threads").read_chars_bytes;
            main.read_slow(1, buffer);
            (own, main.io.expect("bytes of the process").read_chars_bytes)
        });
        let (of_threads, of_process) = read.join().expect("it ends");
        assert_eq!(of_threads, of_process);
        drop(stop);
    }
}
