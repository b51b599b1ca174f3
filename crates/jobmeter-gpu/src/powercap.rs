//! CPU package and DRAM energy from the kernel's powercap files (RAPL). Plain file reading, cheap enough for
//! every tick. The counters wrap around at a range that the kernel names; the sums here do not.

use crate::{sign, textfile};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

struct Domain {
    file: File,
    range_uj: u64,
    last_uj: u64,
    total_uj: u64,
}

/// Energy since the probe was opened, summed over sockets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PowercapReading {
    /// Energy of the processor packages.
    pub package_uj: Option<u64>,
    /// Energy of the memory.
    pub dram_uj: Option<u64>,
}

/// The open counters, or why there are none.
#[derive(Default)]
pub struct Powercap {
    package: Vec<Domain>,
    dram: Vec<Domain>,
    /// Why the counters that the kernel offers cannot be read.
    denied: Option<String>,
}

impl Powercap {
    /// Opens all package and DRAM domains under `root/sys/class/powercap`. Never fails: what is missing has
    /// a reason.
    pub fn open(root: &Path) -> Powercap {
        let mut found = Powercap::default();
        if !sign::of_rapl(root) {
            return found;
        }
        let folder = root.join("sys/class/powercap");
        let entries =
            std::fs::read_dir(&folder).map(|list| list.flatten().collect()).unwrap_or_else(|_| Vec::new());
        for entry in entries {
            // `intel-rapl:0`, `intel-rapl:0:2`; the memory-mapped twin counts the same package again.
            if !entry.file_name().to_string_lossy().starts_with("intel-rapl:") {
                continue;
            }
            let path = entry.path();
            let Ok(name) = textfile::line(&path.join("name")) else { continue };
            let list = match name.as_str() {
                "dram" => &mut found.dram,
                name if name.starts_with("package") => &mut found.package,
                _ => continue,
            };
            match Domain::open(&path) {
                Ok(domain) => list.push(domain),
                Err(error) => found.denied = Some(textfile::reason(&path.join("energy_uj"), &error)),
            }
        }
        found
    }

    /// Why the packages' energy is not known.
    pub fn package_reason(&self) -> Option<&str> {
        self.lack_of(&self.package, "the kernel offers no RAPL package domain")
    }

    /// Why the memory's energy is not known.
    pub fn dram_reason(&self) -> Option<&str> {
        self.lack_of(&self.dram, "the kernel offers no RAPL DRAM domain")
    }

    fn lack_of<'a>(&'a self, domains: &[Domain], absent: &'static str) -> Option<&'a str> {
        domains.is_empty().then(|| self.denied.as_deref().unwrap_or(absent))
    }

    /// Call at least once per wrap-around: minutes on a busy socket.
    pub fn read(&mut self) -> PowercapReading {
        PowercapReading { package_uj: sum(&mut self.package), dram_uj: sum(&mut self.dram) }
    }
}

/// Unknown when any socket cannot be read: a part is not the sum.
fn sum(domains: &mut [Domain]) -> Option<u64> {
    if domains.is_empty() {
        return None;
    }
    let mut total_uj = 0;
    let mut whole = true;
    for domain in domains {
        match domain.step() {
            Ok(uj) => total_uj += uj,
            Err(_) => whole = false,
        }
    }
    whole.then_some(total_uj)
}

impl Domain {
    fn open(path: &Path) -> io::Result<Domain> {
        let file = File::open(path.join("energy_uj"))?;
        let last_uj = number(&file)?;
        let range_uj = textfile::number(&path.join("max_energy_range_uj")).unwrap_or(0);
        Ok(Domain { file, range_uj, last_uj, total_uj: 0 })
    }

    fn step(&mut self) -> io::Result<u64> {
        let now_uj = number(&self.file)?;
        self.total_uj += grown(self.last_uj, now_uj, self.range_uj);
        self.last_uj = now_uj;
        Ok(self.total_uj)
    }
}

/// A smaller value than before means one wrap-around; with no range known, a gap.
fn grown(before_uj: u64, now_uj: u64, range_uj: u64) -> u64 {
    if now_uj >= before_uj {
        now_uj - before_uj
    } else if range_uj >= before_uj {
        range_uj - before_uj + now_uj
    } else {
        0
    }
}

fn number(file: &File) -> io::Result<u64> {
    let mut bytes = [0; 32];
    let length = file.read_at(&mut bytes, 0)?;
    let text = std::str::from_utf8(&bytes[..length]).unwrap_or("").trim();
    text.parse().map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "no number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrap_around_is_bridged_and_a_reset_without_range_is_a_gap() {
        assert_eq!(grown(100, 150, 1000), 50);
        assert_eq!(grown(990, 20, 1000), 30);
        assert_eq!(grown(990, 20, 0), 0);
    }
}
