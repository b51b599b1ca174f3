//! What is known of the memory of a process that has ended.

use super::parts::{Huge, Parts, anon_by_faults_bytes, mapped_by_faults_bytes};

/// The last readings of a process, and what the kernel said of it at its end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LastReadings {
    /// Its final high-water mark, or one that includes it.
    pub final_mark_bytes: Option<u64>,
    /// Its mark when it was last read, and the page faults that it took afterwards.
    pub read_mark_bytes: u64,
    pub faults_after: Option<u64>,
    /// The most anonymous memory that it can have had up to its last reading since the last full tick, and all of its page
    /// faults since that tick.
    pub anon_bytes: u64,
    pub faults_since_full: Option<u64>,
    /// Anonymous memory at the last full tick; 0 where it is younger, and for a copy the most that ticks have seen.
    pub anon_before_bytes: u64,
    /// All anonymous memory at the last full tick, where that has read it.
    pub anon_at_full_bytes: Option<u64>,
    /// Mapped files and shared memory when it was last read.
    pub file_bytes: u64,
    /// Where it was a forked copy of a process that lived on.
    pub copy: Option<CopyReadings>,
    /// The same by its last reading alone: what it had changed by then, and what its parent has changed by now.
    pub read_copy_bytes: Option<u64>,
    /// What a copy had at the last full tick and its parent no longer.
    pub given_up: Option<GivenUp>,
    /// Its mark when it was last read as a copy, where the kernel told it: it had no more from its parent.
    pub inherited_mark_bytes: Option<u64>,
    /// Where it has become another program since it was last read.
    pub before_exec: Option<BeforeExec>,
    /// The last full tick could not see its memory, huge pages among it.
    pub was_hidden: bool,
}

/// Memory that a parent has given back while its copies still have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GivenUp {
    pub parent_pid: i32,
    pub bytes: u64,
}

/// A process that execs leaves its memory and its high-water mark behind: the final mark does not tell of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct BeforeExec {
    /// The most that it held up to its last reading.
    pub read_bytes: u64,
    /// Its page faults afterwards, of which each can have added a page; a program's also a piece of a file.
    pub faults: u64,
    /// How long it was a forked copy at most, where it was nothing else before the present program; the maximum where nobody knows. A copy maps no files besides those of its
    /// parent.
    pub copy_ns: Option<u64>,
    /// What the present program has, at least: the faults for it came after the exec, or as it took up its arguments.
    pub present: Present,
    /// The most that it had in huge pages, where more is known than what the machine gave out: the rest was of last programs.
    pub huge_at_most_bytes: Option<u64>,
}

/// Memory of a program, as far as it is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Present {
    pub anon_bytes: u64,
    pub file_bytes: u64,
}

impl Present {
    /// The least of page faults in which it can have come, besides huge pages.
    fn least_faults(&self, huge_bytes: u64) -> u64 {
        let small = |bytes: u64| bytes.saturating_sub(huge_bytes);
        small(self.anon_bytes) / anon_by_faults_bytes(1)
            + small(self.file_bytes) / mapped_by_faults_bytes(1, 0)
    }
}

/// Huge pages are not cleared faster than this.
const HUGE_BYTES_PER_NS: u64 = 40;

impl BeforeExec {
    /// A page for each fault is its own, the rest of what a fault can have mapped is of files. `huge_bytes` is what the machine gave out in
    /// huge pages meanwhile.
    pub(crate) fn at_most(&self, huge_bytes: u64) -> Parts {
        // More than all of them: it came in another way.
        let present = Some(self.present.least_faults(huge_bytes)).filter(|present| *present <= self.faults);
        let faults = self.faults - present.unwrap_or(0);
        let pages_bytes = anon_by_faults_bytes(faults);
        let huge_bytes = huge_bytes.min(self.huge_at_most_bytes.unwrap_or(u64::MAX));
        let (huge_bytes, around_bytes) = match self.copy_ns {
            Some(copy_ns) => (huge_bytes.min(copy_ns.saturating_mul(HUGE_BYTES_PER_NS)), 0),
            None => (huge_bytes, mapped_by_faults_bytes(faults, 0).saturating_sub(pages_bytes)),
        };
        let own_bytes = self.read_bytes.saturating_add(pages_bytes).saturating_add(huge_bytes);
        Parts { around_bytes, ..Parts::of(own_bytes, 0) }
    }
}

/// Of a forked copy only what it changed counts; the rest is its parent's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CopyReadings {
    /// All page faults of its life, and those after its last reading.
    pub faults: u64,
    /// The most that it has changed or added, huge pages apart.
    pub changed_bytes: u64,
    pub faults_after: u64,
    /// Page faults of its parent in that time: what the parent changed, the copy kept as it was.
    pub parent_faults: u64,
    /// Resident memory when it was last read; where it never was, what it had at least from its parent.
    pub rss_bytes: u64,
}

impl CopyReadings {
    /// What it changed, and what its parent changed and it kept as it was.
    fn unlike_parent_bytes(&self) -> u64 {
        self.changed_bytes.saturating_add(anon_by_faults_bytes(self.parent_faults))
    }
}

impl LastReadings {
    /// It counts with what it changed, beside its parent.
    pub(crate) fn is_copy(&self) -> bool {
        self.copy.is_some() || self.read_copy_bytes.is_some()
    }

    /// Page faults that it has taken since the last full tick, at least; `after_record` of them may have come after its exit record.
    pub(crate) fn faults_at_least(&self, after_record: u64) -> u64 {
        let faults = self.faults_since_full.or(self.copy.map(|copy| copy.faults));
        faults.unwrap_or(0).saturating_sub(after_record)
    }

    /// The most that a forked copy can have from its parent, beside what it changed; 0 for others.
    pub(crate) fn inherited_bytes(&self) -> u64 {
        let mark_bytes = self.inherited_mark_bytes.or(self.final_mark_bytes);
        if self.is_copy() { mark_bytes.unwrap_or(self.read_mark_bytes) } else { 0 }
    }

    /// What it held when it was last read, besides what is its parent's.
    pub(crate) fn before_bytes(&self, huge: Huge) -> u64 {
        let of_copy = self.read_copy_bytes.map(|bytes| bytes.saturating_add(huge.anon_since_start_bytes));
        self.read_mark_bytes.min(of_copy.unwrap_or(u64::MAX))
    }

    /// The same of anonymous memory, huge pages apart.
    pub(crate) fn before_anon_bytes(&self) -> u64 {
        self.anon_bytes.min(self.read_copy_bytes.unwrap_or(u64::MAX))
    }

    /// The most anonymous memory that it had, besides what is its parent's and huge pages; also as another program, since its
    /// faults count on.
    fn anon_at_most_bytes(&self) -> Option<u64> {
        let by_faults = self.faults_since_full.map(|faults| {
            self.anon_before_bytes.saturating_add(anon_by_faults_bytes(faults)).max(self.anon_bytes)
        });
        let changed = self.copy.map(|copy| copy.unlike_parent_bytes());
        [by_faults, changed].into_iter().flatten().min()
    }

    /// The most that it held; `None` where nothing bounds it.
    pub(crate) fn at_most(&self, huge: Huge) -> Option<Parts> {
        let by_faults = self.faults_after.map(|faults| {
            self.read_mark_bytes.saturating_add(mapped_by_faults_bytes(faults, huge.since_tick_bytes))
        });
        let changed = self.copy.map(|copy| {
            // Files that it mapped after its last reading: by its faults, and as far as its mark rose above what it had.
            let risen_bytes =
                self.final_mark_bytes.map_or(u64::MAX, |mark| mark.saturating_sub(copy.rss_bytes));
            // Huge pages that the parent got since are none that it had before.
            let risen_bytes = risen_bytes.saturating_add(huge.since_tick_bytes);
            let mapped_bytes = mapped_by_faults_bytes(copy.faults_after, huge.since_tick_bytes);
            copy.unlike_parent_bytes()
                .saturating_add(huge.anon_since_start_bytes)
                .saturating_add(self.file_bytes)
                .saturating_add(mapped_bytes.min(risen_bytes))
        });
        let last_program_bytes = [self.final_mark_bytes, by_faults, changed].into_iter().flatten().min()?;
        if last_program_bytes == u64::MAX {
            // Huge pages were not counted: faults bound nothing.
            return None;
        }
        let last_program = Parts::of(last_program_bytes, self.file_bytes);
        let huge_bytes = huge.since_tick_bytes.saturating_add(huge.anon_since_start_bytes);
        let before = self.before_exec.map(|before| before.at_most(huge_bytes));
        let parts = before.map_or(last_program, |before| last_program.worst_with(before));
        Some(parts.with_anon(self.anon_at_most_bytes().unwrap_or(u64::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_HUGE: Huge = Huge { since_tick_bytes: 0, anon_since_start_bytes: 0 };

    fn copy_of(faults: u64, faults_after: u64, parent_faults: u64, rss_bytes: u64) -> CopyReadings {
        CopyReadings { faults, changed_bytes: faults * 4096, faults_after, parent_faults, rss_bytes }
    }

    #[test]
    fn without_a_mark_or_faults_nothing_is_known() {
        assert_eq!(LastReadings { read_mark_bytes: 5, ..LastReadings::default() }.at_most(NO_HUGE), None);
    }

    #[test]
    fn the_smallest_bound_holds() {
        let read =
            LastReadings { read_mark_bytes: 1_000_000, faults_after: Some(3), ..LastReadings::default() };
        assert_eq!(read.at_most(NO_HUGE), Some(Parts::of(1_000_000 + 3 * 65_536, 0)));
        let huge = Huge { since_tick_bytes: 2 << 20, anon_since_start_bytes: 0 };
        assert_eq!(read.at_most(huge), Some(Parts::of(1_000_000 + 3 * 65_536 + (2 << 20), 0)));
        let marked = LastReadings { final_mark_bytes: Some(1_050_000), ..read };
        assert_eq!(marked.at_most(NO_HUGE), Some(Parts::of(1_050_000, 0)));
    }

    #[test]
    fn faults_bound_nothing_where_huge_pages_were_not_counted() {
        let read =
            LastReadings { read_mark_bytes: 1_000_000, faults_after: Some(3), ..LastReadings::default() };
        assert_eq!(read.at_most(Huge::UNKNOWN), None);
        let marked = LastReadings { final_mark_bytes: Some(1_050_000), ..read };
        assert_eq!(marked.at_most(Huge::UNKNOWN), Some(Parts::of(1_050_000, 0)));
    }

    #[test]
    fn what_it_held_before_an_exec_is_not_in_its_final_mark() {
        let before_exec = Some(BeforeExec {
            read_bytes: 1_000_000,
            faults: 500,
            copy_ns: Some(9),
            ..BeforeExec::default()
        });
        let read = LastReadings { final_mark_bytes: Some(1_500_000), before_exec, ..LastReadings::default() };
        assert_eq!(read.at_most(NO_HUGE), Some(Parts::of(1_000_000 + 500 * 4096, 0)));
        let larger = LastReadings { final_mark_bytes: Some(9_000_000), ..read };
        assert_eq!(larger.at_most(NO_HUGE), Some(Parts::of(9_000_000, 0)));
        // A program, unlike a copy, maps files and has time to take huge pages: 61 MB were in no bound of one that became another.
        let huge = Huge { since_tick_bytes: 10_000_000, anon_since_start_bytes: 50_000_000 };
        let most = |copy_ns| {
            let before_exec = before_exec.map(|before| BeforeExec { copy_ns, ..before });
            LastReadings { before_exec, ..read }.at_most(huge).map(|most| (most.own_bytes, most.around_bytes))
        };
        let own_bytes = 1_000_000 + 500 * 4096;
        assert_eq!(most(None), Some((own_bytes + 60_000_000, 500 * 15 * 4096)));
        assert_eq!(most(Some(300_000)), Some((own_bytes + 300_000 * HUGE_BYTES_PER_NS, 0)));
        assert_eq!(most(Some(u64::MAX)), Some((own_bytes + 60_000_000, 0)));
    }

    /// Six programs with 60 MB in huge pages each, and one of them had been a copy for 4 ms, which is time for 175 MB.
    #[test]
    fn huge_pages_of_last_programs_are_none_that_others_had_before() {
        let before_exec = Some(BeforeExec { faults: 100, copy_ns: Some(4_000_000), ..BeforeExec::default() });
        let read =
            LastReadings { final_mark_bytes: Some(63_000_000), before_exec, ..LastReadings::default() };
        let huge = Huge { since_tick_bytes: 360_000_000, anon_since_start_bytes: 360_000_000 };
        let own = |huge_at_most_bytes| {
            let before_exec = before_exec.map(|before| BeforeExec { huge_at_most_bytes, ..before });
            LastReadings { before_exec, ..read }.at_most(huge).map(|most| most.own_bytes)
        };
        assert_eq!(own(None), Some(160_000_000 + 100 * 4096));
        assert_eq!(own(Some(10_000_000)), Some(63_000_000));
    }

    /// A compiler was read 20 ms after its exec: all of its faults were held against the shell that it had been.
    #[test]
    fn faults_of_the_present_program_are_none_of_the_one_before() {
        let present = Present { anon_bytes: 300 * 4096, file_bytes: 190 * 65_536 };
        let before_exec = BeforeExec { faults: 500, present, ..BeforeExec::default() };
        let most = |before: BeforeExec, huge_bytes| {
            let most = before.at_most(huge_bytes);
            (most.own_bytes, most.around_bytes)
        };
        assert_eq!(most(before_exec, 0), (10 * 4096, 10 * 15 * 4096));
        assert_eq!(most(before_exec, 200 * 4096), ((223 + 200) * 4096, 223 * 15 * 4096), "in huge pages");
        let too_few = BeforeExec { faults: 489, ..before_exec };
        assert_eq!(most(too_few, 0), (489 * 4096, 489 * 15 * 4096), "somebody else has put pages into it");
    }

    #[test]
    fn a_copy_counts_with_what_it_changed() {
        let copy = copy_of(90, 2, 10, 400_000_000);
        let read = LastReadings {
            final_mark_bytes: Some(500_000_000),
            copy: Some(copy),
            file_bytes: 7_000,
            ..LastReadings::default()
        };
        assert_eq!(
            read.at_most(NO_HUGE),
            Some(Parts::of(100 * 4096 + 7_000 + 2 * 65_536, 7_000).with_anon(100 * 4096))
        );
        let huge = Huge { since_tick_bytes: 1, anon_since_start_bytes: 10 };
        assert_eq!(
            read.at_most(huge),
            Some(Parts::of(100 * 4096 + 7_000 + 2 * 65_536 + 11, 7_000).with_anon(100 * 4096))
        );
    }

    #[test]
    fn a_copy_that_ended_unread_held_what_it_had_changed_before() {
        let read = LastReadings { read_mark_bytes: 500_000, ..LastReadings::default() };
        assert_eq!((read.before_bytes(NO_HUGE), read.inherited_bytes()), (500_000, 0));
        let became = LastReadings {
            final_mark_bytes: Some(27_000_000),
            inherited_mark_bytes: Some(400_000),
            read_copy_bytes: Some(0),
            ..read
        };
        assert_eq!(became.inherited_bytes(), 400_000, "the final mark is that of the program that it became");
        let copy = LastReadings { read_copy_bytes: Some(40_960), ..read };
        assert_eq!((copy.before_bytes(NO_HUGE), copy.inherited_bytes()), (40_960, 500_000));
        let huge = Huge { since_tick_bytes: 0, anon_since_start_bytes: 10 };
        assert_eq!((copy.before_bytes(huge), copy.before_bytes(Huge::UNKNOWN)), (40_970, 500_000));
        assert_eq!(copy.at_most(NO_HUGE), None, "its faults afterwards are not known");
    }

    #[test]
    fn a_copy_whose_mark_did_not_rise_mapped_nothing_more() {
        let copy = copy_of(100, 100, 0, 500_000_000);
        let read =
            |final_mark_bytes| LastReadings { final_mark_bytes, copy: Some(copy), ..LastReadings::default() };
        let own = |mark| read(mark).at_most(NO_HUGE).map(|most| most.own_bytes);
        assert_eq!(own(Some(500_000_000)), Some(100 * 4096));
        assert_eq!(own(Some(500_000_123)), Some(100 * 4096 + 123));
        assert_eq!(own(None), Some(100 * 4096 + 100 * 65_536));
    }

    #[test]
    fn anonymous_memory_by_faults() {
        let anon = |read: LastReadings| read.at_most(NO_HUGE).map(|most| most.anon_bytes);
        let marked = LastReadings { final_mark_bytes: Some(9_000_000), ..LastReadings::default() };
        assert_eq!(anon(marked), Some(9_000_000), "its faults are not known");
        let read = LastReadings { anon_before_bytes: 50_000, faults_since_full: Some(10), ..marked };
        assert_eq!(anon(read), Some(50_000 + 10 * 4096));
        let seen = LastReadings { anon_bytes: 95_000, ..read };
        assert_eq!(anon(seen), Some(95_000), "pages that took no fault of its own");
        let read = LastReadings { anon_bytes: 50_000, ..read };
        assert_eq!(anon(LastReadings { faults_since_full: Some(1 << 40), ..read }), Some(9_000_000));
        let copy = copy_of(7, 7, 2, 0);
        assert_eq!(anon(LastReadings { copy: Some(copy), ..read }), Some(9 * 4096));
        assert_eq!(read.before_anon_bytes(), 50_000);
        assert_eq!(LastReadings { read_copy_bytes: Some(8192), ..read }.before_anon_bytes(), 8192);
    }
}
