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
    pub cpu: Option<CpuTicks>,
    /// Busy ticks by core number; an offline core is missing.
    pub cores: Vec<(u32, CpuTicks)>,
    pub forks: Option<u64>,
    pub memory: Memory,
    pub load1_milli: Option<u64>,
    /// Processes and threads that exist, from loadavg.
    pub tasks: Option<u64>,
    pub psi_cpu_some_us: Option<u64>,
    pub psi_memory_us: (Option<u64>, Option<u64>),
    pub psi_io_us: (Option<u64>, Option<u64>),
    pub disks: Vec<Traffic>,
    pub networks: Vec<Traffic>,
}

/// Clock ticks since boot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuTicks {
    pub user: u64,
    pub system: u64,
    pub idle: u64,
    pub iowait: u64,
    pub steal: u64,
}

impl CpuTicks {
    pub fn busy(&self) -> u64 {
        self.user + self.system
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Memory {
    pub total_bytes: Option<u64>,
    pub free_bytes: Option<u64>,
    pub available_bytes: Option<u64>,
    pub buffers_bytes: Option<u64>,
    pub cached_bytes: Option<u64>,
    /// Shared memory: tmpfs, memfd, System V and shared anonymous mappings, mapped or not.
    pub shared_memory_bytes: Option<u64>,
    pub reclaimable_bytes: Option<u64>,
    pub active_bytes: Option<u64>,
    pub inactive_bytes: Option<u64>,
    pub swap_total_bytes: Option<u64>,
    pub swap_free_bytes: Option<u64>,
}

/// Bytes in (read, received) and out (written, sent) of a device since boot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Traffic {
    pub name: String,
    pub in_bytes: u64,
    pub out_bytes: u64,
    /// Counted in the machine's sum: whole disks, not partitions; interfaces other than loopback.
    pub in_sum: bool,
}

/// The open descriptors and the last reading.
pub struct SystemProbe {
    /// Opened by the first reading of all. None of them is kept where descriptors are few.
    files: Option<[Option<OwnedFd>; 8]>,
    keeps_files: bool,
    buffer: Vec<u8>,
    pub reading: SystemReading,
    root: PathBuf,
}

const FILES: [&str; 8] = [
    "proc/stat",
    "proc/meminfo",
    "proc/loadavg",
    "proc/diskstats",
    "proc/net/dev",
    "proc/pressure/cpu",
    "proc/pressure/memory",
    "proc/pressure/io",
];

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

    pub fn was_read(&self) -> bool {
        self.files.is_some()
    }

    /// Reads only what one reading alone can tell: memory and load.
    pub fn read_levels(&mut self) {
        for (path, parse) in [
            (
                FILES[1],
                (|text, reading| reading.memory = parse_meminfo(text)) as fn(&[u8], &mut SystemReading),
            ),
            (FILES[2], parse_loadavg),
        ] {
            let file = open(&self.root, path);
            let text = file.and_then(|fd| sys::pread_all(fd.as_raw_fd(), &mut self.buffer).ok());
            if let Some(text) = text {
                parse(text, &mut self.reading);
            }
        }
    }

    /// Reads everything anew into `reading`.
    pub fn read(&mut self) {
        let files = self.files.get_or_insert_with(|| {
            self.keeps_files = descriptors::spare_one().is_ok();
            if self.keeps_files { FILES.map(|path| open(&self.root, path)) } else { Default::default() }
        });
        let mut reading = std::mem::take(&mut self.reading);
        for (index, kept) in files.iter().enumerate() {
            let opened = if self.keeps_files { None } else { open(&self.root, FILES[index]) };
            let file = kept.as_ref().or(opened.as_ref());
            let text = file.and_then(|fd| sys::pread_all(fd.as_raw_fd(), &mut self.buffer).ok());
            let Some(text) = text else { continue };
            match index {
                0 => parse_stat(text, &mut reading),
                1 => reading.memory = parse_meminfo(text),
                2 => parse_loadavg(text, &mut reading),
                3 => {
                    let sys_block = self.root.join("sys/block");
                    update_traffic(&mut reading.disks, text, parse_disk_line, |name| {
                        is_whole_disk(&sys_block, name)
                    });
                }
                4 => update_traffic(&mut reading.networks, text, parse_network_line, |name| name != "lo"),
                5 => reading.psi_cpu_some_us = parse_pressure(text).0,
                6 => reading.psi_memory_us = parse_pressure(text),
                _ => reading.psi_io_us = parse_pressure(text),
            }
        }
        self.reading = reading;
    }
}

fn open(root: &Path, path: &str) -> Option<OwnedFd> {
    let path = CString::new(root.join(path).into_os_string().into_encoded_bytes()).ok()?;
    sys::open_read(&path).ok()
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
