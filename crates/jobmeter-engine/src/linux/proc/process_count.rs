//! How many processes the machine has. Listing `/proc` costs half a microsecond for each of them; its link count holds the
//! number for the price of one `stat`.
//!
//! A folder has a link for itself, one in its parent, and one for each folder in it, and `/proc` counts a process as a
//! folder. That is the number of all processes: where some are not shown (inside a container, with `hidepid`), the first
//! listing does not agree with it, and `/proc` is listed every time.

use super::root::ProcRoot;

/// Links that every folder has.
const OWN_LINKS: u64 = 2;

#[derive(Debug, Default)]
enum Way {
    #[default]
    Unknown,
    /// Links of `/proc` that are no processes.
    ByLinks {
        others: u64,
    },
    ByListing,
}

/// Counts the processes that `/proc` shows.
#[derive(Debug, Default)]
pub(crate) struct ProcessCount {
    way: Way,
}

impl ProcessCount {
    /// The count now. `buffer` is for the listing.
    pub(crate) fn read(&mut self, proc: ProcRoot, buffer: &mut [u8]) -> Option<u64> {
        if let Way::ByLinks { others } = self.way {
            return proc.links()?.checked_sub(others);
        }
        let links_before = proc.links();
        let (mut processes, mut folders) = (0, 0);
        proc.count_folders(buffer, &mut processes, &mut folders).ok()?;
        if let Way::Unknown = self.way
            && links_before == proc.links()
        {
            let others = OWN_LINKS + folders;
            let agrees = links_before == Some(processes + others);
            self.way = if agrees { Way::ByLinks { others } } else { Way::ByListing };
        }
        Some(processes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const BUFFER: usize = 8192;

    #[test]
    fn both_ways_count_the_same() {
        let mut buffer = [0; BUFFER];
        let listed = || {
            let (mut processes, mut folders) = (0, 0);
            let mut buffer = [0; BUFFER];
            ProcRoot::KERNEL.count_folders(&mut buffer, &mut processes, &mut folders).expect("a list");
            processes
        };
        let mut count = ProcessCount::default();
        for _ in 0..100 {
            // Others start processes meanwhile: a count between two listings that agree is theirs.
            let before = listed();
            let counted = count.read(ProcRoot::KERNEL, &mut buffer).expect("a count");
            let after = listed();
            if before == after && matches!(count.way, Way::ByLinks { .. }) {
                assert_eq!(counted, before);
            }
        }
        let is_first_namespace =
            fs::read_link("/proc/self/ns/pid").is_ok_and(|name| name.ends_with("pid:[4026531836]"));
        let hides = fs::read_to_string("/proc/self/mounts").expect("mounts").contains("hidepid");
        if is_first_namespace && !hides {
            assert!(matches!(count.way, Way::ByLinks { .. }), "{:?}", count.way);
        }
    }

    #[test]
    fn a_folder_whose_links_say_something_else_is_listed() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["1", "22", "sys"] {
            fs::create_dir(folder.path().join(name)).expect("made");
        }
        // Processes are files here, which have no link in the folder: as if some were hidden.
        fs::write(folder.path().join("333"), "").expect("written");
        let proc = ProcRoot::at(folder.path()).expect("it is there");
        let mut count = ProcessCount::default();
        for _ in 0..3 {
            assert_eq!(count.read(proc, &mut [0; BUFFER]), Some(3));
        }
        assert!(matches!(count.way, Way::ByListing), "{:?}", count.way);
    }
}
