//! Records of the pages of files that processes touch, by two trace points of the kernel, of all CPUs. For root, on kernels that
//! have them (Linux 6.13).

use super::record::{FileId, u32_at, u64_at};
use super::shared_ring::SharedRing;
use super::touched::TouchedFiles;
use crate::linux::perf_event::{Attributes, SET_OUTPUT};
use crate::linux::sys;
use crate::linux::tracefs::TraceFs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// Data pages per CPU: 4,000 records.
const DATA_PAGES: usize = 64;
const RECORD_BYTES: u64 = 64;

/// Each ring is 256 KiB of locked memory.
const MAX_CPUS: usize = 32;

/// So many records are taken at once, and so many more per second. Each costs its process 0.25 µs and us less: a machine that
/// touches files faster than this is not followed any more.
const MOST_AT_ONCE: u64 = 50_000;
const MOST_PER_S: u64 = 50_000;

const LOST: u32 = 2;
const SAMPLE: u32 = 9;

/// Behind the header and a length of four bytes stand the fields of the trace point.
const FIELDS_AT: usize = 12;
const FIELDS: [&str; 3] = [
    "field:unsigned long i_ino;\toffset:8;\tsize:8;",
    "field:dev_t s_dev;\toffset:16;\tsize:4;",
    "field:unsigned long index;\toffset:24;\tsize:8;",
];
const LAST_FIELD: &str = "field:unsigned long last_index;\toffset:32;\tsize:8;";

pub(super) struct TouchRing {
    cpus: Vec<SharedRing>,
    /// The second event of each CPU, whose records are in the ring of the first.
    _others: Vec<OwnedFd>,
    /// The number of the trace point that tells a range of pages.
    range: u64,
    opened_ns: u64,
    taken: u64,
    files: TouchedFiles,
}

impl TouchRing {
    pub(super) fn open(online: &[i32]) -> io::Result<TouchRing> {
        if online.len() > MAX_CPUS {
            return Err(io::Error::other("too many CPUs"));
        }
        let trace = TraceFs::open()?;
        let range =
            trace.number_of("filemap/mm_filemap_map_pages", &[&FIELDS[..], &[LAST_FIELD]].concat())?;
        let single = trace.number_of("filemap/mm_filemap_fault", &FIELDS)?;
        let page_bytes = sys::sysconf(libc::_SC_PAGESIZE) as usize;
        let watermark_bytes = (DATA_PAGES * page_bytes / 2) as u32;
        let (mut cpus, mut others) = (Vec::new(), Vec::new());
        for cpu in online {
            let event = Attributes::trace_point(range, watermark_bytes).open(-1, *cpu)?;
            let ring = SharedRing::map(event, DATA_PAGES)?;
            let other = Attributes::trace_point(single, watermark_bytes).open(-1, *cpu)?;
            // SAFETY: both are descriptors of perf events.
            sys::check(unsafe { libc::ioctl(other.as_raw_fd(), SET_OUTPUT, ring.as_raw_fd()) })?;
            cpus.push(ring);
            others.push(other);
        }
        let opened_ns = sys::monotonic_ns();
        Ok(TouchRing { cpus, _others: others, range, opened_ns, taken: 0, files: TouchedFiles::default() })
    }

    pub(super) fn fds(&self) -> impl Iterator<Item = RawFd> {
        self.cpus.iter().map(|cpu| cpu.as_raw_fd())
    }

    /// What was touched up to the last [`TouchRing::drain`].
    pub(super) fn files(&self) -> &TouchedFiles {
        &self.files
    }

    pub(super) fn files_mut(&mut self) -> &mut TouchedFiles {
        &mut self.files
    }

    /// Takes out all records; returns whether none is missing and they are not too many.
    pub(super) fn drain(&mut self) -> bool {
        let (files, range) = (&mut self.files, self.range);
        let (mut taken, mut is_whole) = (0, true);
        for cpu in &mut self.cpus {
            let may_miss = cpu.drain(RECORD_BYTES, |bytes| match u32_at(bytes, 0) {
                Some(SAMPLE) => {
                    taken += 1;
                    if let Some((file, first, last)) = parse(bytes, range) {
                        files.touch(file, first, last);
                    }
                }
                Some(LOST) | None => is_whole = false,
                Some(_) => {}
            });
            is_whole &= !may_miss;
        }
        self.taken += taken;
        let elapsed_ms = sys::monotonic_ns().saturating_sub(self.opened_ns) / 1_000_000;
        is_whole && self.taken <= MOST_AT_ONCE + MOST_PER_S * elapsed_ms / 1000
    }
}

/// The file, and the first and the last page.
fn parse(bytes: &[u8], range: u64) -> Option<(FileId, u64, u64)> {
    let kind = u64::from(u32_at(bytes, FIELDS_AT)? & 0xffff);
    let (inode, device) = (u64_at(bytes, FIELDS_AT + 8)?, u32_at(bytes, FIELDS_AT + 16)?);
    let first = u64_at(bytes, FIELDS_AT + 24)?;
    let last = if kind == range { u64_at(bytes, FIELDS_AT + 32)? } else { first };
    // As the kernel keeps it: 20 bits of minor number.
    Some((FileId { device: (device >> 20, device & 0xf_ffff), inode }, first, last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_and_every_truncation() {
        let record = |kind: u32| {
            let words = [SAMPLE, 64 << 16, 44, kind, 4711, 326_279, 0, 254 << 20 | 3, 0, 207, 0, 222, 0, 0];
            words.into_iter().flat_map(u32::to_ne_bytes).collect::<Vec<u8>>()
        };
        let file = FileId { device: (254, 3), inode: 326_279 };
        assert_eq!(parse(&record(0x1_0000 | 598), 598), Some((file, 207, 222)));
        assert_eq!(parse(&record(597), 598), Some((file, 207, 207)));
        let whole = record(598);
        for length in 0..whole.len() {
            parse(&whole[..length], 598);
        }
    }
}
