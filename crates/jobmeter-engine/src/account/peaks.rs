//! An upper bound of the memory peak. The run is cut into intervals from one full tick to the next. In each interval
//! the tree held at most what its living processes can have held (by their high-water marks, or by what they
//! had plus what their page faults can have added) plus the same for those that ended in it and lived together.

use super::ended::{BeforeExec, GivenUp};
use super::family::living_at_most;
use super::growth::Growth;
use super::moments::{Amounts, AtTheEnd, Bound, Front, Moment};
use super::parts::{Huge, Parts, WhileRead, anon_by_faults_bytes, is_loose, mapped_by_faults_bytes};
use super::together::together;
use super::windows::Windows;

/// A process that lives at a full tick.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Living {
    pub pid: i32,
    pub parent_pid: i32,
    pub is_main: bool,
    /// Forked and not replaced by exec.
    pub is_copy: bool,
    /// It was born after the full tick before, and stands among those that ended with the time of its birth.
    pub counts_from_birth: bool,
    /// Anonymous memory now, and when it was first seen.
    pub anon_bytes: u64,
    pub anon_at_birth_bytes: u64,
    /// Page faults of its parent when this copy was first seen, or earlier.
    pub parent_faults_at_birth: u64,
    /// The most that ticks have seen of it since the full tick before.
    pub max_rss_bytes: u64,
    /// The most anonymous memory that it can have had at one of these ticks.
    pub max_anon_bytes: u64,
    /// Anonymous memory at the full tick before; 0 where it is younger, and for a copy the most that ticks have seen.
    pub anon_before_bytes: u64,
    /// The least and the most that ticks have seen of its files and shared memory since then.
    pub min_file_bytes: u64,
    pub max_file_bytes: u64,
    /// The same now.
    pub file_bytes: u64,
    /// The kernel's high-water mark, read at this tick or unchanged since it was read.
    pub mark_bytes: u64,
    /// What it held since the full tick before as another program, of which the mark does not tell.
    pub before_exec: Option<BeforeExec>,
    /// The most that a copy can have changed or added since its fork, huge pages apart.
    pub changed_bytes: u64,
    /// Page faults of its own: since its fork, and since the full tick before.
    pub faults: u64,
    pub faults_since: u64,
}

impl Living {
    /// The most that it can have held since the full tick before, besides what it inherited and did not change: memory of
    /// its own, and mapped files and shared memory as ticks have seen them.
    pub(crate) fn at_most(&self, huge: Huge) -> Parts {
        let rss_bytes = self.rss_at_most_bytes(huge);
        if !self.is_copy {
            let file_bytes = self.file_bytes_in(rss_bytes, huge);
            return self.with_before_exec(Parts::of(rss_bytes, file_bytes), huge);
        }
        let changed_bytes = self
            .changed_bytes
            .saturating_add(huge.anon_since_start_bytes)
            .saturating_add(rss_bytes.saturating_sub(self.max_rss_bytes));
        let own_bytes = changed_bytes.min(rss_bytes.saturating_sub(self.min_file_bytes));
        let anon_bytes = self.changed_bytes.min(rss_bytes);
        Parts { own_bytes, file_bytes: self.max_file_bytes.min(rss_bytes), around_bytes: 0, anon_bytes }
    }

    /// How much of `rss_bytes` is of files and shared memory: as much as it has mapped now, if all of its anonymous memory at its most
    /// has room beside it. It had no more than both together at any time.
    fn file_bytes_in(&self, rss_bytes: u64, huge: Huge) -> u64 {
        let anon_bytes = self.anon_at_most_bytes().saturating_add(huge.since_tick_bytes);
        self.min_file_bytes.max(self.file_bytes.min(rss_bytes.saturating_sub(anon_bytes)))
    }

    /// All that it can have had in memory as the program that it is.
    pub(super) fn rss_at_most_bytes(&self, huge: Huge) -> u64 {
        let grown_bytes = mapped_by_faults_bytes(self.faults_since, huge.since_tick_bytes);
        self.mark_bytes.min(self.max_rss_bytes.saturating_add(grown_bytes))
    }

    /// `parts` are what it had as the program that it is.
    fn with_before_exec(&self, parts: Parts, huge: Huge) -> Parts {
        let before = self.before_exec.map(|before| before.at_most(huge.since_tick_bytes));
        before.map_or(parts, |before| parts.worst_with(before)).with_anon(self.anon_at_most_bytes())
    }

    /// The most anonymous memory of its own, also as a program that it ran before: its faults count on. Ticks may have seen
    /// more where another process has put pages into its memory.
    fn anon_at_most_bytes(&self) -> u64 {
        let by_faults_bytes = self.anon_before_bytes.saturating_add(anon_by_faults_bytes(self.faults_since));
        by_faults_bytes.max(self.max_anon_bytes)
    }

    /// The bound of a descendant that was forked at `fork_ns`, after the last full tick, and has forked nobody itself. It counts
    /// from its fork on, so not together with processes that ended before it.
    pub(crate) fn born_at(&self, fork_ns: u64, huge: Huge) -> Ended {
        Ended { fork_ns, ..Ended::at_unknown_times(Some(self.at_most(huge))) }
    }

    /// Its bound as another program where that is far above its mark, or by its faults where it has no mark and that is far above
    /// what ticks have seen: the largest mark of all may turn out to be less.
    pub(crate) fn as_loose(&self, huge: Huge, are_files_known: bool) -> Option<Ended> {
        let known_bytes = if self.mark_bytes == u64::MAX { self.max_rss_bytes } else { self.mark_bytes };
        let at_most = self.with_before_exec(Parts::of(self.rss_at_most_bytes(huge), 0), huge);
        let is_loose = is_loose(at_most, known_bytes, are_files_known);
        is_loose.then(|| Ended { is_loose, is_main: self.is_main, ..Ended::at_unknown_times(Some(at_most)) })
    }

    /// Inherited memory that its parent may have given up since: `parent_anon_bytes` is what the parent still has.
    pub(super) fn inherited_beyond_bytes(&self, parent_anon_bytes: u64) -> u64 {
        self.anon_at_birth_bytes.min(self.anon_bytes).saturating_sub(parent_anon_bytes)
    }
}

/// A process that lived since the full tick before and is gone, or that no tick has seen yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ended {
    /// When it began and ended; 0 and the maximum where that is not known.
    pub fork_ns: u64,
    pub end_ns: u64,
    /// The most that it held, where a mark or its faults tell.
    pub at_most: Option<Parts>,
    /// That rests on many page faults and says little: the largest mark of all may turn out to be less.
    pub is_loose: bool,
    /// The most that a forked copy can have from its parent besides, which counts with the parent.
    pub inherited_bytes: u64,
    /// The last full tick could not see its memory.
    pub was_hidden: bool,
    /// Where nothing bounds it: anonymous memory that it had when it was last read, and a page for each fault that is known to be its own,
    /// until `end_ns`.
    pub unread_anon_bytes: u64,
    /// Where nothing bounds it, or that is loose: what it had when it was last read, and from when on it can have got more; 0 where that
    /// is not known.
    pub read_bytes: u64,
    pub grows_since_ns: u64,
    pub is_main: bool,
}

impl Ended {
    /// One that lives, and that a tick could not read: as large as the largest of all, which may be known at the end.
    pub(crate) fn as_the_largest(fork_ns: u64) -> Ended {
        Ended { fork_ns, is_loose: true, ..Ended::at_unknown_times(Some(Parts::UNBOUNDED)) }
    }

    /// What the machine gave out while it grew tells more than what else bounds it.
    pub(super) fn is_bound_by_window(&self) -> bool {
        self.at_most.is_none() || self.is_loose && self.grows_since_ns > 0
    }

    /// Huge pages that it got since its birth are in no bound of its own.
    pub(crate) fn may_hold_unread_huge(&self) -> bool {
        self.at_most.is_none() || self.inherited_bytes > 0 || self.was_hidden
    }

    pub(crate) fn at_unknown_times(at_most: Option<Parts>) -> Ended {
        Ended {
            fork_ns: 0,
            end_ns: u64::MAX,
            at_most,
            is_loose: false,
            inherited_bytes: 0,
            was_hidden: false,
            unread_anon_bytes: 0,
            read_bytes: 0,
            grows_since_ns: 0,
            is_main: false,
        }
    }
}

/// A parent of living copies that ended since the full tick before, or was read late. It is among the ended, and counts until now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EndedParent {
    pub pid: i32,
    /// Page faults of all its life.
    pub faults: u64,
    pub is_main: bool,
}

/// Everything that is known of the time between two full ticks.
#[derive(Debug, Default)]
pub(crate) struct Interval {
    pub living: Vec<Living>,
    pub ended: Vec<Ended>,
    pub ended_parents: Vec<EndedParent>,
    /// By those of the ended that were copies.
    pub given_up: Vec<GivenUp>,
    /// Processes that ended unseen may be missing in `ended`.
    pub has_unlisted: bool,
    /// Page faults since the full tick before of all that ended, listed or not. `None` where some parent discards the
    /// accounts of its children.
    pub ended_faults: Option<u64>,
    /// Page faults of the machine since then; `None` where some that `ended` without a bound may have taken theirs before, unread.
    pub machine_faults: Option<u64>,
    /// How many of either are known to be of one of those `ended` without a bound.
    pub counted_faults: u64,
    /// What those `ended` without a bound held when they were last read: all of it, and anonymous memory of which it is not known when it
    /// was free.
    pub ended_before_bytes: u64,
    pub ended_before_anon_bytes: u64,
    /// Some that ended have not been waited for yet: their page faults will be in a later interval.
    pub has_unwaited: bool,
    pub while_read: WhileRead,
    pub huge: Huge,
    /// Huge pages of anonymous memory that the machine has given out since the first of those was born who may have some of which no
    /// tick knows; `None` where that is not known.
    pub huge_since_births_bytes: Option<u64>,
    /// Files and shared memory that the whole machine had mapped at either end.
    pub mapped_bytes: Option<u64>,
    /// The most that all processes of the job had mapped of files and shared memory together, each page counted once.
    pub files_bytes: Option<u64>,
    /// When memory grew, where every process is listed.
    pub growth: Option<Growth>,
    /// What the machine had counted at several times, where those bound who `ended` without a bound.
    pub windows: Option<Windows>,
}

impl Interval {
    /// Huge pages that any of the processes can have got besides what ticks have seen. What a forked copy changed, and what a
    /// process had that ended unread, it may have got since its birth.
    fn huge_once_bytes(&self) -> u64 {
        let since_birth = self.has_unlisted
            || self.living.iter().any(|process| process.is_copy)
            || self.ended.iter().any(Ended::may_hold_unread_huge);
        let since_births = self.huge_since_births_bytes.filter(|_| !self.has_unlisted);
        match since_birth {
            true => {
                let births_bytes = since_births.unwrap_or(self.huge.anon_since_start_bytes);
                self.huge.since_tick_bytes.max(births_bytes)
            }
            false => self.huge.since_tick_bytes,
        }
    }

    fn may_have_unlisted(&self) -> bool {
        self.has_unlisted && self.ended_faults != Some(0)
    }

    /// What the job can have held, at every moment that may be its worst.
    fn moments(&self, ended: &EndedByFaults) -> impl Iterator<Item = Moment> {
        let living = living_at_most(&self.living, &self.ended_parents, &self.given_up, self.huge);
        let plus = |bytes: Option<u64>, more_bytes: u64| bytes.map(|bytes| bytes.saturating_add(more_bytes));
        // What nobody else maps: huge pages that any of them got, and files.
        let once_bytes = plus(self.files_bytes, self.huge_once_bytes());
        let (mapped_bytes, anon_bytes) = (ended.mapped_bytes, ended.anon_bytes);
        let machine_anon_bytes = ended.machine_anon_bytes;
        together(&self.ended, self.growth.as_ref(), self.windows.as_ref()).map(move |alive| {
            let mut parts = alive.parts;
            parts.add(living);
            // Each with its files here: huge pages are then in its bound, and need not be added for the whole interval.
            let bounded_bytes = parts
                .together_bytes(None, self.files_bytes)
                .saturating_add(alive.loose_beyond_window_bytes)
                .saturating_add(self.while_read.mapped_bytes(self.files_bytes));
            let anon_total_bytes = parts.anon_bytes.saturating_add(self.while_read.anon_bytes());
            Moment {
                loose: alive.loose,
                unbounded: (!self.may_have_unlisted()).then_some(alive.unbounded),
                with_files: Amounts {
                    certain_bytes: parts
                        .together_bytes(self.mapped_bytes, self.files_bytes)
                        .saturating_add(self.while_read.mapped_bytes(self.files_bytes)),
                    loose_bytes: alive.loose_bytes,
                    loose_main_bytes: alive.loose_main.alone_bytes(),
                    by_faults_bytes: plus(mapped_bytes, self.ended_before_bytes),
                    by_machine_bytes: None,
                },
                files_once: plus(once_bytes, anon_total_bytes).map(|certain_bytes| Amounts {
                    certain_bytes,
                    loose_bytes: alive.loose_anon_bytes,
                    loose_main_bytes: alive.loose_main.anon_bytes,
                    by_faults_bytes: plus(anon_bytes, self.ended_before_anon_bytes + alive.unread_anon_bytes),
                    by_machine_bytes: plus(
                        machine_anon_bytes,
                        self.ended_before_anon_bytes + alive.unread_anon_bytes,
                    ),
                }),
                grown_bytes: alive.grown_bytes.and_then(|grown_bytes| plus(once_bytes, grown_bytes)),
                by_window_bytes: plus(
                    alive.in_window_bytes,
                    bounded_bytes.saturating_add(self.files_bytes.unwrap_or(0)),
                ),
            }
        })
    }

    /// The same without main. What copies of it have from it then counts once, for all of them; whoever was born in this time
    /// may have had all of it from its fork to its exec.
    pub(crate) fn without_main(mut self) -> Interval {
        let living =
            self.living.iter().filter(|process| process.is_main).map(|main| Some(main.at_most(self.huge)));
        let ended = self.ended.iter().filter(|ended| ended.is_main).map(|ended| ended.at_most);
        // `None` where nothing bounds a main that ended.
        let mains: Option<Vec<Parts>> = living.chain(ended).collect();
        // Its copies may have memory of main: both together are bounded by growth, and by what the machine counted.
        self.growth = None;
        self.windows = None;
        self.living.retain(|process| !process.is_main);
        self.ended.retain(|ended| !ended.is_main);
        self.ended_parents.retain(|parent| !parent.is_main);
        let has_newborns = !self.ended.is_empty() || self.may_have_unlisted();
        let inherited = self.ended.iter().map(|ended| ended.inherited_bytes);
        let main_bytes = mains.iter().flatten().map(|most| if has_newborns { most.anon_bytes } else { 0 });
        let inherited_bytes = inherited.chain(main_bytes).max().unwrap_or(0);
        if inherited_bytes > 0 {
            self.ended.push(Ended::at_unknown_times(Some(Parts::of(inherited_bytes, 0))));
        }
        if has_newborns && mains.is_none() {
            self.ended.push(Ended::at_unknown_times(None));
        }
        self
    }
}

/// The upper bound of one scope.
#[derive(Debug, Default)]
pub(crate) struct Peaks {
    by_marks: Worst,
    /// The same with what is known of growth, from the first interval on in which that was known.
    by_growth: Option<Worst>,
    /// The last interval has dead that were not waited for: what their page faults allow is not known.
    has_unwaited: bool,
}

/// The worst moments.
#[derive(Debug, Default, Clone)]
struct Worst {
    moments: Front,
    /// Moments of the last interval, and of those before while some of their dead were not waited for. Page faults that come
    /// to light in the next interval may be of a process that lived in them.
    pending: Front,
}

impl Worst {
    fn take(
        &mut self,
        interval: &Interval,
        ended: &EndedByFaults,
        moments: &mut dyn Iterator<Item = Moment>,
    ) {
        let mut pending = Front::default();
        for mut moment in std::mem::take(&mut self.pending).0 {
            moment.with_files.add_faults(ended.mapped_bytes);
            if let Some(once) = &mut moment.files_once {
                once.add_faults(ended.anon_bytes);
            }
            if interval.may_have_unlisted() {
                moment.unbounded = None;
            }
            if interval.has_unwaited { &mut pending } else { &mut self.moments }.note(moment);
        }
        moments.for_each(|moment| pending.note(moment));
        self.pending = pending;
    }
}

impl Peaks {
    /// At a full tick.
    pub(crate) fn take(&mut self, interval: &Interval) {
        let ended = EndedByFaults::of(interval);
        if interval.growth.is_some() && self.by_growth.is_none() {
            self.by_growth = Some(self.by_marks.clone());
        }
        let moments: Vec<Moment> = interval.moments(&ended).collect();
        if let Some(by_growth) = &mut self.by_growth {
            by_growth.take(interval, &ended, &mut moments.iter().copied());
        }
        let mut by_marks = moments.iter().map(|moment| Moment { grown_bytes: None, ..*moment });
        self.by_marks.take(interval, &ended, &mut by_marks);
        self.has_unwaited = interval.has_unwaited;
    }

    /// The upper bound of the whole run, or `None` where nothing bounds processes that ended unread.
    pub(crate) fn upper(&self, known: AtTheEnd) -> Option<Bound> {
        let worst = self.by_growth.as_ref().filter(|_| known.all_are_listed).unwrap_or(&self.by_marks);
        let moments = worst.moments.0.iter().map(|moment| (moment, true));
        let pending = worst.pending.0.iter().map(|moment| (moment, !self.has_unwaited));
        let bounds: Option<Vec<Bound>> = moments
            .chain(pending)
            .map(|(moment, has_all_faults)| moment.bound(known, has_all_faults))
            .collect();
        bounds?.into_iter().max_by_key(|bound| bound.bytes)
    }
}

/// What those that ended in an interval without a bound of their own can have added with their page faults.
struct EndedByFaults {
    mapped_bytes: Option<u64>,
    /// Anonymous memory, huge pages apart, by those faults of which it is not known whose they are.
    anon_bytes: Option<u64>,
    /// The same by the faults of the machine.
    machine_anon_bytes: Option<u64>,
}

impl EndedByFaults {
    fn of(interval: &Interval) -> EndedByFaults {
        let not_counted_bytes =
            |faults: u64| anon_by_faults_bytes(faults.saturating_sub(interval.counted_faults));
        let huge_bytes = |faults| if faults > 0 { interval.huge.since_tick_bytes } else { 0 };
        let mapped = interval.ended_faults.map(|faults| mapped_by_faults_bytes(faults, huge_bytes(faults)));
        EndedByFaults {
            mapped_bytes: mapped.filter(|bytes| *bytes < u64::MAX),
            // Where some were not waited for yet, theirs come to light later, and are not taken off once more then.
            anon_bytes: interval.ended_faults.map(not_counted_bytes),
            machine_anon_bytes: interval.machine_faults.map(not_counted_bytes),
        }
    }
}

#[cfg(test)]
#[path = "peaks_tests.rs"]
pub(super) mod tests;

#[cfg(test)]
#[path = "peaks_growth_tests.rs"]
mod growth_tests;

#[cfg(test)]
#[path = "peaks_unread_tests.rs"]
mod unread_tests;
