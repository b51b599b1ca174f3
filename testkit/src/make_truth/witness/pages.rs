//! The oracle of memory: which physical pages the processes of the job map, each counted once.
//!
//! The page maps are read one after the other while the job runs, so one pass may count a page that was given
//! back before another came. Only pages that two passes in a row both found count: they were all there between
//! the two. So a sample is never above the truth, and the highest sample is a lower bound of the peak.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

const PAGE_BYTES: u64 = 4096;
const PRESENT: u64 = 1 << 63;
const FILE_OR_SHARED: u64 = 1 << 61;
const FRAME: u64 = (1 << 55) - 1;

/// A set of page frames.
#[derive(Default)]
struct Frames {
    words: Vec<u64>,
    touched: Vec<usize>,
}

impl Frames {
    /// Adds a frame; returns whether it is new.
    fn insert(&mut self, frame: u64) -> bool {
        let index = (frame / 64) as usize;
        if index >= self.words.len() {
            self.words.resize(index + 1024, 0);
        }
        let bit = 1 << (frame % 64);
        let word = &mut self.words[index];
        if *word == 0 {
            self.touched.push(index);
        }
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    fn contains(&self, frame: u64) -> bool {
        self.words.get((frame / 64) as usize).is_some_and(|word| word & (1 << (frame % 64)) != 0)
    }

    fn clear(&mut self) {
        for index in self.touched.drain(..) {
            self.words[index] = 0;
        }
    }
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sample {
    pub bytes: u64,
    /// The part that is file pages or shared memory.
    pub file_bytes: u64,
}

/// A process and one of its living threads: where the first one has ended, the process's own files are empty.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mapper {
    pub process: i32,
    pub task: i32,
}

impl Mapper {
    pub(crate) fn own() -> Mapper {
        let process = std::process::id() as i32;
        Mapper { process, task: process }
    }

    fn file(self, name: &str) -> String {
        format!("/proc/{}/task/{}/{name}", self.process, self.task)
    }
}

/// Reads page maps; keeps its buffers between samples.
pub(crate) struct Oracle {
    first: Frames,
    second: Frames,
    buffer: Vec<u8>,
    /// Whether the kernel shows frame numbers: to root only.
    pub sees_frames: bool,
}

impl Oracle {
    pub(crate) fn new() -> Oracle {
        let mut oracle = Oracle {
            first: Frames::default(),
            second: Frames::default(),
            buffer: vec![0; 1 << 18],
            sees_frames: true,
        };
        oracle.sees_frames = oracle.sample(&[Mapper::own()], 0).is_some_and(|own| own.bytes > 0);
        oracle
    }

    /// What the processes hold together, or `None` if one pass already shows that it is not more than `above`.
    pub(crate) fn sample(&mut self, processes: &[Mapper], above: u64) -> Option<Sample> {
        if !self.sees_frames {
            let bytes = processes.iter().filter_map(|process| proportional_bytes(*process)).sum();
            return (bytes > above).then_some(Sample { bytes, file_bytes: 0 });
        }
        self.first.clear();
        let mut pages = 0;
        for process in processes {
            let first = &mut self.first;
            each_page(*process, &mut self.buffer, |entry| {
                pages += u64::from(first.insert(entry & FRAME));
            });
        }
        if pages * PAGE_BYTES <= above {
            return None;
        }
        self.second.clear();
        let mut sample = Sample::default();
        for process in processes {
            let (first, second) = (&self.first, &mut self.second);
            each_page(*process, &mut self.buffer, |entry| {
                let frame = entry & FRAME;
                if first.contains(frame) && second.insert(frame) {
                    sample.bytes += PAGE_BYTES;
                    if entry & FILE_OR_SHARED != 0 {
                        sample.file_bytes += PAGE_BYTES;
                    }
                }
            });
        }
        Some(sample)
    }
}

/// Calls `take` with the page map entry of each resident page of a process. What may not be touched holds no
/// pages worth looking for, and the kernel's own pages (vdso) are not counted as resident.
fn each_page(process: Mapper, buffer: &mut [u8], mut take: impl FnMut(u64)) {
    let Ok(maps) = fs::read_to_string(process.file("maps")) else { return };
    let Ok(pagemap) = File::open(process.file("pagemap")) else { return };
    for line in maps.lines() {
        let mut words = line.split_ascii_whitespace();
        let (Some(range), Some(access)) = (words.next(), words.next()) else { continue };
        let is_kernel = words.nth(3).is_some_and(|name| name.starts_with("[v"));
        if is_kernel || access.starts_with("---") {
            continue;
        }
        let Some((start, end)) = range.split_once('-') else { continue };
        let number = |text| u64::from_str_radix(text, 16).unwrap_or_default() / PAGE_BYTES * 8;
        let (mut at, end) = (number(start), number(end));
        while at < end {
            let room = (end - at).min(buffer.len() as u64) as usize;
            let Ok(got @ 8..) = pagemap.read_at(&mut buffer[..room], at) else { break };
            for entry in buffer[..got].chunks_exact(8) {
                let entry = u64::from_ne_bytes(entry.try_into().unwrap_or_default());
                if entry & PRESENT != 0 && entry & FRAME != 0 {
                    take(entry);
                }
            }
            at += got as u64;
        }
    }
}

/// Without frame numbers: the process's pages, each divided by how many processes map it, strangers included.
fn proportional_bytes(process: Mapper) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{}/smaps_rollup", process.process)).ok()?;
    let kib = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    Some(kib.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
}

/// Resident memory of the processes, shared pages counted for each: never below what they hold together.
pub(crate) fn resident_sum_bytes(processes: &[Mapper]) -> u64 {
    let of = |process: &Mapper| {
        let text = fs::read_to_string(process.file("statm")).ok()?;
        text.split(' ').nth(1)?.parse::<u64>().ok()
    };
    processes.iter().filter_map(of).sum::<u64>() * PAGE_BYTES
}

/// Whether two processes have one address space, as far as the kernel tells.
pub(crate) fn share_memory(one: i32, two: i32) -> bool {
    const KCMP_VM: i32 = 1;
    // SAFETY: compares two processes by number; no memory is passed.
    unsafe { libc::syscall(libc::SYS_kcmp, one, two, KCMP_VM, 0, 0) == 0 }
}
