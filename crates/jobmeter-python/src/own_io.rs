//! What the meter's own thread reads and writes. Its writes are part of the counters of a process that measures itself;
//! its reads of the kernel are taken out by the meter, this one among them.

use jobmeter_engine::linux::sys;
use jobmeter_model::{Column, Event, Sink};
use std::path::Path;
use std::thread::{self, ThreadId};

/// Time of a tick, and the bytes that the thread has read and written until then through system calls.
pub(crate) type OwnRow = (u64, u64, u64);

#[derive(Default)]
pub(crate) struct OwnIo {
    /// Ticks of any other thread (the last one may be the caller's) say nothing about this one.
    thread: Option<ThreadId>,
    pub(crate) rows: Vec<OwnRow>,
}

impl Sink for OwnIo {
    fn define(&mut self, _column: &Column) {}

    fn event(&mut self, _event: &Event) {}

    fn tick(&mut self, t_ns: u64, _values: &[Option<u64>]) {
        let current = thread::current().id();
        if *self.thread.get_or_insert(current) != current {
            return;
        }
        if let Some((read_chars, write_chars)) = read() {
            self.rows.push((t_ns, read_chars, write_chars));
        }
    }
}

fn read() -> Option<(u64, u64)> {
    let mut buffer = [0; 512];
    let text = sys::read_small(Path::new("/proc/thread-self/io"), &mut buffer).ok()?;
    let text = std::str::from_utf8(text).ok()?;
    let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.trim().parse().ok());
    Some((value("rchar:")?, value("wchar:")?))
}
