//! Which files the processes of the job map, by the kernel's records: the parts of files that were mapped in an interval are
//! the most that it can have had of files and shared memory, each page counted once, whoever maps it.

use super::record::{FileId, Mapping};
use super::touched::Touched;
use crate::linux::sys;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// The smallest part of a file that has all that was mapped of it.
#[derive(Debug, Clone, Copy)]
struct Part {
    file: FileId,
    from_bytes: u64,
    to_bytes: u64,
    /// The last interval in which a process had it.
    interval: u64,
}

impl Part {
    /// What a process can have of it: no more than was touched, where that is known.
    fn bytes(&self, touched: Option<Touched<'_>>, page_bytes: u64) -> u64 {
        let touched_bytes =
            touched.and_then(|touched| touched.files.pages_of(self.file)).map(|pages| pages * page_bytes);
        (self.to_bytes - self.from_bytes).min(touched_bytes.unwrap_or(u64::MAX))
    }
}

/// The files of one process: shared with the copies that it forks until one of them maps something.
type FilesOfProcess = Arc<BTreeSet<u32>>;

#[derive(Debug, Default)]
pub(super) struct MappedFiles {
    places: HashMap<FileId, u32>,
    parts: Vec<Part>,
    of_process: HashMap<i32, FilesOfProcess>,
    interval: u64,
    /// The files that were mapped in this interval.
    noted: Vec<u32>,
    page_bytes: u64,
    /// A process lived in this interval whose files are not known.
    has_unknown: bool,
    /// Processes whose mappings were read before the record of their fork was.
    listed: HashSet<i32>,
}

impl MappedFiles {
    pub(super) fn new() -> MappedFiles {
        let page_bytes = sys::sysconf(libc::_SC_PAGESIZE);
        MappedFiles { interval: 1, page_bytes, ..MappedFiles::default() }
    }

    /// A process is followed from here on that has mapped nothing yet.
    pub(super) fn begin(&mut self, pid: i32) {
        self.leave(pid);
        self.of_process.insert(pid, FilesOfProcess::default());
    }

    /// What a process has mapped is read now, and the record of its fork may come later, where it `is_unannounced`. What was
    /// mapped before is not known.
    pub(super) fn list(&mut self, pid: i32, is_unannounced: bool) {
        self.exec(pid);
        if is_unannounced {
            self.listed.insert(pid);
        }
    }

    pub(super) fn fork(&mut self, pid: i32, parent_pid: i32) {
        let listed = if self.listed.remove(&pid) { self.of_process.remove(&pid) } else { None };
        self.leave(pid);
        match self.of_process.get(&parent_pid).cloned() {
            Some(mut files) => {
                if let Some(listed) = listed {
                    Arc::make_mut(&mut files).extend(listed.iter());
                }
                self.of_process.insert(pid, files);
            }
            None => self.has_unknown = true,
        }
    }

    /// It becomes another program, of which nothing is mapped yet: what it had mapped is gone, and known from here on.
    pub(super) fn exec(&mut self, pid: i32) {
        self.has_unknown |= !self.of_process.contains_key(&pid);
        self.begin(pid);
    }

    /// A process is gone. Every program maps its own file: one without any has lost its events, as it took on rights of another
    /// user.
    pub(super) fn end(&mut self, pid: i32) {
        self.has_unknown |= self.of_process.get(&pid).is_some_and(|files| files.is_empty());
        self.leave(pid);
    }

    fn leave(&mut self, pid: i32) {
        self.listed.remove(&pid);
        if let Some(files) = self.of_process.remove(&pid) {
            self.note_all(&files);
        }
    }

    pub(super) fn map(&mut self, pid: i32, mapping: &Mapping) {
        let place = self.note(mapping);
        if let Some(files) = self.of_process.get_mut(&pid)
            && !files.contains(&place)
        {
            Arc::make_mut(files).insert(place);
        }
    }

    /// Somebody of the job mapped this in the present interval, or may have.
    pub(super) fn note(&mut self, mapping: &Mapping) -> u32 {
        let Mapping { file, from_bytes, to_bytes } = *mapping;
        let parts = &mut self.parts;
        let place = *self.places.entry(file).or_insert_with(|| {
            parts.push(Part { file, from_bytes, to_bytes, interval: 0 });
            (parts.len() - 1) as u32
        });
        let part = &mut parts[place as usize];
        part.from_bytes = part.from_bytes.min(from_bytes);
        part.to_bytes = part.to_bytes.max(to_bytes);
        self.note_place(place);
        place
    }

    fn note_place(&mut self, place: u32) {
        let part = &mut self.parts[place as usize];
        if std::mem::replace(&mut part.interval, self.interval) != self.interval {
            self.noted.push(place);
        }
    }

    fn note_all(&mut self, files: &BTreeSet<u32>) {
        files.iter().for_each(|place| self.note_place(*place));
    }

    fn bytes<'a>(&self, places: impl Iterator<Item = &'a u32> + Clone, touched: Option<Touched<'_>>) -> u64 {
        let of = |touched| {
            let bytes = |place: &u32| self.parts[*place as usize].bytes(touched, self.page_bytes);
            places.clone().map(bytes).fold(0, u64::saturating_add)
        };
        let touched_bytes = touched.map(|touched| of(Some(touched)).saturating_add(touched.huge_bytes));
        of(None).min(touched_bytes.unwrap_or(u64::MAX))
    }

    /// What one process can have of files and shared memory at most. `touched` has the pages that anybody touched, where
    /// that is known.
    pub(super) fn bytes_of(&self, pid: i32, touched: Option<Touched<'_>>) -> Option<u64> {
        Some(self.bytes(self.of_process.get(&pid)?.iter(), touched))
    }

    /// All that `living` and those that ended in this interval had mapped, and touched; `None` where that is not known. The
    /// next interval begins. Beside a process stands the one whose files it has where its own are not known.
    pub(super) fn take_interval(
        &mut self,
        living: impl Iterator<Item = (i32, Option<i32>)>,
        touched: Option<Touched<'_>>,
    ) -> Option<u64> {
        let mut has_unknown = std::mem::take(&mut self.has_unknown);
        for (pid, parent_pid) in living {
            let inherited = || self.of_process.get(&parent_pid?);
            match self.of_process.get(&pid).or_else(inherited).cloned() {
                Some(files) => self.note_all(&files),
                None => has_unknown = true,
            }
        }
        let bytes = self.bytes(self.noted.iter(), touched);
        self.noted.clear();
        self.interval += 1;
        (!has_unknown).then_some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::super::touched::TouchedFiles;
    use super::*;

    fn part_of(inode: u64, from_bytes: u64, to_bytes: u64) -> Mapping {
        Mapping { file: FileId { device: (8, 1), inode }, from_bytes, to_bytes }
    }

    fn files_of(pids: &[i32]) -> MappedFiles {
        let mut files = MappedFiles::new();
        pids.iter().for_each(|pid| files.begin(*pid));
        files
    }

    fn take(files: &mut MappedFiles, living: &[i32]) -> Option<u64> {
        files.take_interval(living.iter().map(|pid| (*pid, None)), None)
    }

    #[test]
    fn a_file_counts_once_whoever_maps_it() {
        let mut files = files_of(&[1, 2]);
        files.map(1, &part_of(5, 0, 100));
        files.map(2, &part_of(5, 50, 150));
        files.map(2, &part_of(6, 0, 7));
        assert_eq!(
            (files.bytes_of(1, None), files.bytes_of(2, None), files.bytes_of(3, None)),
            (Some(150), Some(157), None)
        );
        assert_eq!(take(&mut files, &[1, 2]), Some(157));
        assert_eq!(take(&mut files, &[1]), Some(150), "the other has ended or was not asked for");
    }

    #[test]
    fn what_was_mapped_and_given_up_counts_in_its_interval() {
        let mut files = files_of(&[1]);
        files.map(1, &part_of(5, 0, 100));
        files.fork(2, 1);
        files.exec(2);
        files.map(2, &part_of(6, 0, 40));
        files.end(2);
        assert_eq!(take(&mut files, &[1]), Some(140));
        assert_eq!(take(&mut files, &[1]), Some(100));
        files.exec(1);
        files.map(1, &part_of(7, 0, 3));
        assert_eq!(take(&mut files, &[1]), Some(103), "both programs ran in it");
        assert_eq!(take(&mut files, &[1]), Some(3));
    }

    /// A process that was born while the mappings of all were read: the record of its fork comes later.
    #[test]
    fn what_was_read_before_the_fork_was_told_stays() {
        let mut files = files_of(&[1]);
        files.map(1, &part_of(5, 0, 100));
        files.list(2, true);
        files.map(2, &part_of(6, 0, 40));
        files.fork(2, 1);
        assert_eq!(files.bytes_of(2, None), Some(140));
        assert_eq!(take(&mut files, &[1, 2]), None, "what was mapped before is not known");
        assert_eq!(take(&mut files, &[1, 2]), Some(140));
        files.fork(2, 1);
        assert_eq!(files.bytes_of(2, None), Some(100), "another one with the same pid");
        files.list(3, true);
        files.map(3, &part_of(6, 0, 40));
        files.end(3);
        files.fork(3, 1);
        assert_eq!(files.bytes_of(3, None), Some(100), "one that came after it");
    }

    #[test]
    fn a_copy_has_what_its_parent_had() {
        let mut files = files_of(&[1]);
        files.map(1, &part_of(5, 0, 100));
        files.fork(2, 1);
        files.map(2, &part_of(6, 0, 40));
        assert_eq!((files.bytes_of(1, None), files.bytes_of(2, None)), (Some(100), Some(140)));
        assert_eq!(
            files.take_interval([(3, Some(2))].into_iter(), None),
            Some(140),
            "one that was forked a moment ago"
        );
        files.end(1);
        assert_eq!(take(&mut files, &[2]), Some(140));
        assert_eq!(take(&mut files, &[2]), Some(140));
    }

    #[test]
    fn a_part_that_grows_counts_from_then_on() {
        let mut files = files_of(&[1, 2]);
        files.map(1, &part_of(5, 100, 200));
        assert_eq!(take(&mut files, &[1]), Some(100));
        files.map(1, &part_of(5, 0, 100));
        files.map(2, &part_of(5, 150, 300));
        assert_eq!(take(&mut files, &[1, 2]), Some(300));
    }

    #[test]
    fn a_process_with_unknown_files_leaves_the_interval_unknown() {
        let mut files = files_of(&[1]);
        assert_eq!(take(&mut files, &[1, 9]), None);
        files.fork(10, 9);
        assert_eq!(take(&mut files, &[1]), None, "it came and may have gone");
        files.exec(9);
        assert_eq!(take(&mut files, &[1, 9]), None, "it had something before");
        assert_eq!(take(&mut files, &[1, 9]), Some(0));
    }
    #[test]
    fn a_program_that_maps_nothing_is_not_followed() {
        let mut files = files_of(&[1]);
        files.map(1, &part_of(5, 0, 100));
        files.fork(2, 1);
        files.exec(2);
        files.end(2);
        assert_eq!(take(&mut files, &[1]), None);
        assert_eq!(take(&mut files, &[1]), Some(100));
    }

    #[test]
    fn of_a_file_counts_what_was_touched() {
        let mut files = files_of(&[1, 2]);
        files.map(1, &part_of(5, 0, 10 * 4096));
        files.map(2, &part_of(5, 0, 10 * 4096));
        files.map(2, &part_of(6, 0, 4096));
        let mut pages = TouchedFiles::default();
        pages.touch(part_of(5, 0, 0).file, 2, 4);
        pages.touch(part_of(6, 0, 0).file, 0, 3);
        let touched = Touched { files: &pages, huge_bytes: 0 };
        assert_eq!(files.bytes_of(1, Some(touched)), Some(3 * files.page_bytes));
        let huge = Touched { huge_bytes: 5000, ..touched };
        assert_eq!(files.bytes_of(1, Some(huge)), Some(3 * files.page_bytes + 5000));
        let both = [(1, None), (2, None)];
        assert_eq!(
            files.take_interval(both.into_iter(), Some(touched)),
            Some(3 * files.page_bytes + 4096),
            "no more than was mapped"
        );
        assert_eq!(
            files.take_interval(both.into_iter(), Some(Touched { huge_bytes: 1 << 30, ..touched })),
            Some(11 * 4096)
        );
        assert_eq!(files.take_interval(both.into_iter(), None), Some(11 * 4096));
    }
}
