//! The whole machine: `/proc/stat`, `meminfo`, `diskstats`, `net/dev`, `pressure/*`, `loadavg`, read on kept-open
//! descriptors into reused buffers.

use super::scan::{Numbers, keyed, lines, number};
use crate::linux::{descriptors, sys};
use std::ffi::CString;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

/// One reading; every figure is `None` where its file or line is missing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SystemReading {
    /// All cores together.
    pub cpu: Option<CpuTicks>,
    /// Busy ticks by core number; an offline core is missing.
    pub cores: Vec<(u32, CpuTicks)>,
    /// Processes and threads that were started since boot.
    pub forks: Option<u64>,
    /// Levels of memory.
    pub memory: Memory,
    /// Load of the last minute, in thousandths.
    pub load1_milli: Option<u64>,
    /// Processes and threads that exist, from loadavg.
    pub tasks: Option<u64>,
    /// Time in which some task waited for a core.
    pub psi_cpu_some_us: Option<u64>,
    /// Time in which some, and in which all tasks waited for memory.
    pub psi_memory_us: (Option<u64>, Option<u64>),
    /// Time in which some, and in which all tasks waited for storage.
    pub psi_io_us: (Option<u64>, Option<u64>),
    /// Block devices.
    pub disks: Vec<Traffic>,
    /// Network interfaces.
    pub networks: Vec<Traffic>,
}

/// Clock ticks since boot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuTicks {
    /// Programs, those with a lower priority included.
    pub user: u64,
    /// The kernel, interrupts included.
    pub system: u64,
    /// Nothing to do.
    pub idle: u64,
    /// Nothing to do, and a task waits for storage.
    pub iowait: u64,
    /// Taken by the hypervisor.
    pub steal: u64,
}

impl CpuTicks {
    /// All that is neither idle nor waiting for I/O.
    pub fn busy(&self) -> u64 {
        self.user + self.system
    }
}

/// Levels of the machine's memory; `None` where a line is missing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Memory {
    /// `MemTotal`.
    pub total_bytes: Option<u64>,
    /// `MemFree`.
    pub free_bytes: Option<u64>,
    /// `MemAvailable`.
    pub available_bytes: Option<u64>,
    /// `Buffers`.
    pub buffers_bytes: Option<u64>,
    /// `Cached`.
    pub cached_bytes: Option<u64>,
    /// Shared memory: tmpfs, memfd, System V and shared anonymous mappings, mapped or not.
    pub shared_memory_bytes: Option<u64>,
    /// `SReclaimable`.
    pub reclaimable_bytes: Option<u64>,
    /// `Active`.
    pub active_bytes: Option<u64>,
    /// `Inactive`.
    pub inactive_bytes: Option<u64>,
    /// `SwapTotal`.
    pub swap_total_bytes: Option<u64>,
    /// `SwapFree`.
    pub swap_free_bytes: Option<u64>,
}

/// Bytes in (read, received) and out (written, sent) of a device since boot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Traffic {
    /// The kernel's name for it.
    pub name: String,
    /// Read or received.
    pub in_bytes: u64,
    /// Written or sent.
    pub out_bytes: u64,
    /// Counted in the machine's sum: whole disks, not partitions; interfaces other than loopback.
    pub in_sum: bool,
}

/// The open descriptors and the last reading.
pub struct SystemProbe {
    /// Opened by the first reading of all. None of them is kept where descriptors are few.
    files: Option<[Option<OwnedFd>; Source::ALL.len()]>,
    keeps_files: bool,
    buffer: Vec<u8>,
    /// As last read.
    pub reading: SystemReading,
    root: PathBuf,
}

/// A file of the machine, in the order in which they are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Stat,
    Memory,
    Load,
    Disks,
    Networks,
    PressureCpu,
    PressureMemory,
    PressureIo,
}

impl Source {
    const ALL: [Source; 8] = [
        Source::Stat,
        Source::Memory,
        Source::Load,
        Source::Disks,
        Source::Networks,
        Source::PressureCpu,
        Source::PressureMemory,
        Source::PressureIo,
    ];

    fn open(self, root: &Path) -> Option<OwnedFd> {
        let path = match self {
            Source::Stat => "proc/stat",
            Source::Memory => "proc/meminfo",
            Source::Load => "proc/loadavg",
            Source::Disks => "proc/diskstats",
            Source::Networks => "proc/net/dev",
            Source::PressureCpu => "proc/pressure/cpu",
            Source::PressureMemory => "proc/pressure/memory",
            Source::PressureIo => "proc/pressure/io",
        };
        let path = CString::new(root.join(path).into_os_string().into_encoded_bytes()).ok()?;
        sys::open_read(&path).ok()
    }
}

impl SystemProbe {
    /// `root` is `/`, or a fake root in tests.
    pub fn open(root: &Path) -> SystemProbe {
        SystemProbe {
            files: None,
            keeps_files: false,
            buffer: Vec::with_capacity(8192),
            reading: SystemReading::default(),
            root: root.to_owned(),
        }
    }

    /// The last reading stays.
    pub fn close(&mut self) {
        self.files = Some(Default::default());
        self.keeps_files = true;
        self.buffer = Vec::new();
    }

    /// Whether everything was read at least once.
    pub fn was_read(&self) -> bool {
        self.files.is_some()
    }

    /// Reads only what one reading alone can tell: memory and load.
    pub fn read_levels(&mut self) {
        for source in [Source::Memory, Source::Load] {
            let file = source.open(&self.root);
            let text = file.and_then(|fd| sys::pread_all(fd.as_raw_fd(), &mut self.buffer).ok());
            if let Some(text) = text {
                take(source, text, &self.root, &mut self.reading);
            }
        }
    }

    /// Reads the memory anew, after a reading of everything.
    pub fn read_memory(&mut self) {
        let opened = if self.keeps_files { None } else { Source::Memory.open(&self.root) };
        let kept = self.files.as_ref().and_then(|files| files[Source::Memory as usize].as_ref());
        let text =
            kept.or(opened.as_ref()).and_then(|fd| sys::pread_all(fd.as_raw_fd(), &mut self.buffer).ok());
        if let Some(text) = text {
            take(Source::Memory, text, &self.root, &mut self.reading);
        }
    }

    /// Reads everything anew into `reading`.
    pub fn read(&mut self) {
        let files = self.files.get_or_insert_with(|| {
            self.keeps_files = descriptors::spare_one().is_ok();
            if self.keeps_files {
                Source::ALL.map(|source| source.open(&self.root))
            } else {
                Default::default()
            }
        });
        let mut reading = std::mem::take(&mut self.reading);
        for (source, kept) in Source::ALL.into_iter().zip(files.iter()) {
            let opened = if self.keeps_files { None } else { source.open(&self.root) };
            let file = kept.as_ref().or(opened.as_ref());
            let text = file.and_then(|fd| sys::pread_all(fd.as_raw_fd(), &mut self.buffer).ok());
            if let Some(text) = text {
                take(source, text, &self.root, &mut reading);
            }
        }
        self.reading = reading;
    }
}

/// What the file `source` says goes into `reading`.
fn take(source: Source, text: &[u8], root: &Path, reading: &mut SystemReading) {
    match source {
        Source::Stat => parse_stat(text, reading),
        Source::Memory => reading.memory = parse_meminfo(text),
        Source::Load => parse_loadavg(text, reading),
        Source::Disks => {
            let sys_block = root.join("sys/block");
            update_traffic(&mut reading.disks, text, parse_disk_line, |name| is_whole_disk(&sys_block, name));
        }
        Source::Networks => {
            update_traffic(&mut reading.networks, text, parse_network_line, |name| name != "lo");
        }
        Source::PressureCpu => reading.psi_cpu_some_us = parse_pressure(text).0,
        Source::PressureMemory => reading.psi_memory_us = parse_pressure(text),
        Source::PressureIo => reading.psi_io_us = parse_pressure(text),
    }
}

fn parse_stat(text: &[u8], reading: &mut SystemReading) {
    reading.cores.clear();
    for line in lines(text) {
        if let Some(rest) = line.strip_prefix(b"cpu ") {
            reading.cpu = parse_cpu(rest);
        } else if let Some(rest) = line.strip_prefix(b"cpu") {
            if let Some((core, rest)) = number(rest)
                && let Some(ticks) = parse_cpu(rest)
            {
                reading.cores.push((core as u32, ticks));
            }
        } else if let Some(forks) = keyed(line, b"processes ") {
            reading.forks = Some(forks);
        }
    }
}

/// user nice system idle iowait irq softirq steal; guest time is already inside user.
fn parse_cpu(text: &[u8]) -> Option<CpuTicks> {
    let mut numbers = Numbers(text);
    let mut next = || numbers.next();
    let (user, nice, system, idle) = (next()?, next()?, next()?, next()?);
    let (iowait, irq, softirq, steal) = (next(), next(), next(), next());
    Some(CpuTicks {
        user: user + nice,
        system: system + irq.unwrap_or_default() + softirq.unwrap_or_default(),
        idle,
        iowait: iowait.unwrap_or_default(),
        steal: steal.unwrap_or_default(),
    })
}

fn parse_meminfo(text: &[u8]) -> Memory {
    let mut memory = Memory::default();
    for line in lines(text) {
        let kib = |key: &[u8]| keyed(line, key).map(|value| value * 1024);
        let slot = match line.first() {
            Some(b'M') if line.starts_with(b"MemTotal:") => (&mut memory.total_bytes, kib(b"MemTotal:")),
            Some(b'M') if line.starts_with(b"MemFree:") => (&mut memory.free_bytes, kib(b"MemFree:")),
            Some(b'M') if line.starts_with(b"MemAvailable:") => {
                (&mut memory.available_bytes, kib(b"MemAvailable:"))
            }
            Some(b'B') if line.starts_with(b"Buffers:") => (&mut memory.buffers_bytes, kib(b"Buffers:")),
            Some(b'C') if line.starts_with(b"Cached:") => (&mut memory.cached_bytes, kib(b"Cached:")),
            Some(b'S') if line.starts_with(b"Shmem:") => (&mut memory.shared_memory_bytes, kib(b"Shmem:")),
            Some(b'S') if line.starts_with(b"SReclaimable:") => {
                (&mut memory.reclaimable_bytes, kib(b"SReclaimable:"))
            }
            Some(b'A') if line.starts_with(b"Active:") => (&mut memory.active_bytes, kib(b"Active:")),
            Some(b'I') if line.starts_with(b"Inactive:") => (&mut memory.inactive_bytes, kib(b"Inactive:")),
            Some(b'S') if line.starts_with(b"SwapTotal:") => {
                (&mut memory.swap_total_bytes, kib(b"SwapTotal:"))
            }
            Some(b'S') if line.starts_with(b"SwapFree:") => (&mut memory.swap_free_bytes, kib(b"SwapFree:")),
            _ => continue,
        };
        *slot.0 = slot.1;
    }
    memory
}

/// `0.52 0.58 0.59 1/467 12345`
fn parse_loadavg(text: &[u8], reading: &mut SystemReading) {
    let mut words = text.split(|byte| *byte == b' ');
    reading.load1_milli = words.next().and_then(|word| {
        let (whole, rest) = number(word)?;
        let (hundredths, _) = number(rest.strip_prefix(b".")?)?;
        Some(whole * 1000 + hundredths * 10)
    });
    reading.tasks = words.nth(2).and_then(|word| {
        let slash = word.iter().position(|byte| *byte == b'/')?;
        number(&word[slash + 1..]).map(|(value, _)| value)
    });
}

/// Totals in microseconds: `(some, full)`.
fn parse_pressure(text: &[u8]) -> (Option<u64>, Option<u64>) {
    let total = |prefix: &[u8]| {
        let line = lines(text).find(|line| line.starts_with(prefix))?;
        let at = line.windows(6).position(|window| window == b"total=")?;
        number(&line[at + 6..]).map(|(value, _)| value)
    };
    (total(b"some"), total(b"full"))
}

/// Name and bytes in and out of a `diskstats` line; sectors are 512 bytes whatever the disk says.
fn parse_disk_line(line: &[u8]) -> Option<(&[u8], u64, u64)> {
    let mut words = line.split(|byte| *byte == b' ').filter(|word| !word.is_empty()).skip(2);
    let name = words.next()?;
    let mut field = |skip: usize| number(words.nth(skip)?).map(|(value, _)| value);
    let read_sectors = field(2)?;
    let written_sectors = field(3)?;
    Some((name, read_sectors * 512, written_sectors * 512))
}

fn parse_network_line(line: &[u8]) -> Option<(&[u8], u64, u64)> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let start = line.iter().position(|byte| *byte != b' ')?;
    let mut numbers = Numbers(&line[colon + 1..]);
    let received = numbers.next()?;
    let sent = numbers.nth(7)?;
    Some((line.get(start..colon)?, received, sent))
}

/// Updates the list in place: the order of devices hardly ever changes, so no name is allocated again.
fn update_traffic(
    list: &mut Vec<Traffic>,
    text: &[u8],
    parse: impl Fn(&[u8]) -> Option<(&[u8], u64, u64)>,
    in_sum: impl Fn(&str) -> bool,
) {
    let mut filled = 0;
    for (name, in_bytes, out_bytes) in lines(text).filter_map(parse) {
        match list.get_mut(filled) {
            Some(entry) if entry.name.as_bytes() == name => {
                entry.in_bytes = in_bytes;
                entry.out_bytes = out_bytes;
            }
            _ => {
                let name = String::from_utf8_lossy(name).into_owned();
                let in_sum = in_sum(&name);
                list.truncate(filled);
                list.push(Traffic { name, in_bytes, out_bytes, in_sum });
            }
        }
        filled += 1;
    }
    list.truncate(filled);
}

/// A disk of its own: listed in sys/block (partitions are not) and not stacked on others (dm, md, loop, ram).
fn is_whole_disk(sys_block: &Path, name: &str) -> bool {
    let stacked = ["dm-", "md", "loop", "ram", "zram"].iter().any(|prefix| name.starts_with(prefix));
    !stacked && sys_block.join(name).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_as_the_kernel_writes_them() {
        let mut reading = SystemReading::default();
        parse_stat(
            b"cpu  100 1 50 1000 7 2 3 4 0 0\ncpu0 60 1 30 500 3 2 3 4 0 0\ncpu2 40 0 20 500 4 0 0 0 0 0\nintr 1 2\nctxt 12\nbtime 5\nprocesses 991\nprocs_running 1\n",
            &mut reading,
        );
        let cpu = reading.cpu.expect("cpu line");
        assert_eq!((cpu.user, cpu.system, cpu.idle, cpu.iowait, cpu.steal), (101, 55, 1000, 7, 4));
        assert_eq!(reading.cores.iter().map(|core| core.0).collect::<Vec<_>>(), [0, 2]);
        assert_eq!(reading.forks, Some(991));
        parse_loadavg(b"1.52 0.58 0.59 1/467 12345\n", &mut reading);
        assert_eq!((reading.load1_milli, reading.tasks), (Some(1520), Some(467)));
        let pressure = b"some avg10=0.00 avg60=0.00 avg300=0.00 total=123\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=45\n";
        assert_eq!(parse_pressure(pressure), (Some(123), Some(45)));
        assert_eq!(
            parse_disk_line(b" 254       0 vda 16 1 2000 3 4 5 600 7 8 9 10 0 0 0 0 0 0"),
            Some((&b"vda"[..], 2000 * 512, 600 * 512))
        );
        assert_eq!(
            parse_network_line(b"  eth0: 1500 10 0 0 0 0 0 0 700 5 0 0 0 0 0 0"),
            Some((&b"eth0"[..], 1500, 700))
        );
        assert_eq!(parse_network_line(b" face |bytes    packets errs"), None);
    }

    #[test]
    fn an_interface_that_goes_away_leaves_the_list() {
        let mut list = Vec::new();
        let before = b"  lo: 1 0 0 0 0 0 0 0 1 0\neth0: 5 0 0 0 0 0 0 0 6 0\nwg0: 1 0 0 0 0 0 0 0 1 0\n";
        update_traffic(&mut list, before, parse_network_line, |name| name != "lo");
        assert_eq!(list.len(), 3);
        assert!(!list[0].in_sum);
        update_traffic(
            &mut list,
            b"  lo: 1 0 0 0 0 0 0 0 1 0\nwg0: 2 0 0 0 0 0 0 0 1 0\n",
            parse_network_line,
            |_| true,
        );
        assert_eq!(list.iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>(), ["lo", "wg0"]);
    }
}
