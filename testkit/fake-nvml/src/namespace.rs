//! What a driver tells of PIDs to a caller in a PID namespace of its own, as it was seen of real ones.

use crate::parts::Namespace;

/// Major and minor number of `550.54.15`.
pub fn version(text: &str) -> (u32, u32) {
    let mut parts = text.split('.').map(|part| part.parse().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
}

/// Drivers 535.43 to 535.97 wrote entries of 32 bytes into the third version of the process lists.
pub fn long_entries(driver: &str) -> bool {
    ((535, 43)..(535, 98)).contains(&version(driver))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    offset: u32,
    lists_translated: bool,
    memory_known: bool,
    utilization_translated: bool,
}

impl Rules {
    /// From 535.113 on the lists have the namespace's PIDs, up to 560 with the memory 0, since it is looked for
    /// under the wrong number; the utilisation has the host's PIDs up to 565.
    pub fn new(namespace: Option<&Namespace>, driver: &str) -> Rules {
        let version = version(driver);
        let lists_translated = version >= (535, 113);
        Rules {
            offset: namespace.map_or(0, |namespace| namespace.host_pid_offset),
            lists_translated,
            memory_known: namespace.is_none() || !lists_translated || version >= (565, 0),
            utilization_translated: version >= (570, 0),
        }
    }

    /// The PID in the process lists; `None` is "not listed".
    pub fn listed(self, pid: u32, outside: bool) -> Option<u32> {
        self.shown(pid, outside, self.lists_translated)
    }

    /// The PID of a utilisation sample.
    pub fn sampled(self, pid: u32, outside: bool) -> Option<u32> {
        self.shown(pid, outside, self.utilization_translated)
    }

    pub fn memory(self, bytes: u64) -> u64 {
        if self.memory_known { bytes } else { 0 }
    }

    fn shown(self, pid: u32, outside: bool, translated: bool) -> Option<u32> {
        match (translated, outside) {
            (false, false) => Some(pid + self.offset),
            (false, true) => Some(pid),
            (true, false) => Some(pid),
            (true, true) => None,
        }
    }
}
