//! An upper bound of the memory peak. The run is cut into intervals from one full tick to the next. In each interval
//! the tree held at most what its living processes can have held (by their high-water marks, or by what they
//! had plus what their page faults can have added) plus the same for those that ended in it and lived together.

/// Fault-around maps up to this much of a file with one fault.
const FAULT_AROUND_BYTES: u64 = 64 * 1024;
/// Anonymous memory grows by one page with each fault; huge pages are counted apart.
pub(crate) const PAGE_BYTES: u64 = 4096;

/// At most this many moments are kept; beyond that, two are merged into one that is at least as bad as both.
const MAX_MOMENTS: usize = 64;

/// The most that a process held: memory that counts as its own, and mapped files and shared memory that others may map as
/// well.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Parts {
    pub own_bytes: u64,
    pub file_bytes: u64,
}

impl Parts {
    /// Splits `total_bytes`; files are at most the whole.
    pub(crate) fn of(total_bytes: u64, file_bytes: u64) -> Parts {
        let file_bytes = file_bytes.min(total_bytes);
        Parts { own_bytes: total_bytes - file_bytes, file_bytes }
    }

    fn add(&mut self, other: Parts) {
        self.own_bytes = self.own_bytes.saturating_add(other.own_bytes);
        self.file_bytes = self.file_bytes.saturating_add(other.file_bytes);
    }

    fn take_off(&mut self, other: Parts) {
        self.own_bytes = self.own_bytes.saturating_sub(other.own_bytes);
        self.file_bytes = self.file_bytes.saturating_sub(other.file_bytes);
    }

    /// What the parts of several processes come to together, where the whole machine maps `mapped_bytes` of files.
    fn together_bytes(&self, mapped_bytes: Option<u64>) -> u64 {
        let file_bytes = self.file_bytes.min(mapped_bytes.unwrap_or(u64::MAX));
        self.own_bytes.saturating_add(file_bytes)
    }
}

/// What a process can have mapped with so many page faults; `huge_bytes` for huge pages meanwhile.
pub(crate) fn mapped_by_faults_bytes(faults: u64, huge_bytes: u64) -> u64 {
    faults.saturating_mul(FAULT_AROUND_BYTES).saturating_add(huge_bytes)
}

/// A bound by faults may exceed the last mark by an eighth and this much before the largest mark is preferred.
const LOOSE_BYTES: u64 = 1 << 20;

/// Whether a bound by many faults says little beside the mark that was read.
pub(crate) fn is_loose(at_most_bytes: u64, mark_bytes: u64) -> bool {
    at_most_bytes > mark_bytes / 8 * 9 + LOOSE_BYTES
}

/// A process that lives at a full tick.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Living {
    pub pid: i32,
    pub parent_pid: i32,
    pub is_main: bool,
    /// Forked and not replaced by exec.
    pub is_copy: bool,
    /// Anonymous memory now, and when it was first seen.
    pub anon_bytes: u64,
    pub anon_at_birth_bytes: u64,
    /// Page faults of its parent when this copy was first seen, or earlier.
    pub parent_faults_at_birth: u64,
    /// The most that ticks have seen of it since the full tick before.
    pub max_rss_bytes: u64,
    /// The least and the most that ticks have seen of its files and shared memory since then.
    pub min_file_bytes: u64,
    pub max_file_bytes: u64,
    /// The kernel's high-water mark, read at this tick or unchanged since it was read.
    pub mark_bytes: u64,
    /// The most that it can have held since the full tick before as another program, of which the mark does not tell.
    pub before_exec_bytes: u64,
    /// Page faults of its own: since its fork, and since the full tick before.
    pub faults: u64,
    pub faults_since: u64,
}

impl Living {
    /// The most that it can have held since the full tick before, besides what it inherited and did not change: memory of
    /// its own, and mapped files and shared memory as ticks have seen them.
    pub(crate) fn at_most(&self, huge: Huge) -> Parts {
        let grown_bytes = mapped_by_faults_bytes(self.faults_since, huge.since_tick_bytes);
        let rss_bytes = self.mark_bytes.min(self.max_rss_bytes.saturating_add(grown_bytes));
        let rss_bytes = rss_bytes.max(self.before_exec_bytes);
        if !self.is_copy {
            return Parts::of(rss_bytes, self.min_file_bytes);
        }
        // Every page that a copy has changed or added took a fault of its own.
        let changed_bytes = (self.faults * PAGE_BYTES)
            .saturating_add(huge.anon_since_start_bytes)
            .saturating_add(rss_bytes.saturating_sub(self.max_rss_bytes));
        let own_bytes = changed_bytes.min(rss_bytes.saturating_sub(self.min_file_bytes));
        Parts { own_bytes, file_bytes: self.max_file_bytes.min(rss_bytes) }
    }

    /// The bound of a process that was forked at `fork_ns`, after the last full tick, and has forked nobody itself. It counts
    /// from its fork on, so not together with processes that ended before it.
    pub(crate) fn born_at(&self, fork_ns: u64, huge: Huge) -> Ended {
        Ended { fork_ns, is_main: self.is_main, ..Ended::at_unknown_times(Some(self.at_most(huge))) }
    }

    /// Its bound as another program where that is far above its mark: the largest mark of all may turn out to be less.
    pub(crate) fn as_loose(&self) -> Option<Ended> {
        let is_loose = is_loose(self.before_exec_bytes, self.mark_bytes);
        is_loose.then(|| Ended {
            is_loose,
            is_main: self.is_main,
            ..Ended::at_unknown_times(Some(Parts::of(self.before_exec_bytes, 0)))
        })
    }

    /// Inherited memory that its parent may have given up since: `parent_anon_bytes` is what the parent still has.
    fn inherited_beyond_bytes(&self, parent_anon_bytes: u64) -> u64 {
        self.anon_at_birth_bytes.min(self.anon_bytes).saturating_sub(parent_anon_bytes)
    }
}

/// Huge pages that the machine gave out, each of which a single fault can have mapped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Huge {
    /// Of all kinds, since the full tick before.
    pub since_tick_bytes: u64,
    /// Of anonymous memory, since the run began.
    pub anon_since_start_bytes: u64,
}

impl Huge {
    /// Nobody counted them.
    pub(crate) const UNKNOWN: Huge = Huge { since_tick_bytes: u64::MAX, anon_since_start_bytes: u64::MAX };
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
    pub is_main: bool,
}

impl Ended {
    pub(crate) fn at_unknown_times(at_most: Option<Parts>) -> Ended {
        Ended { fork_ns: 0, end_ns: u64::MAX, at_most, is_loose: false, inherited_bytes: 0, is_main: false }
    }
}

/// Everything that is known of the time between two full ticks.
#[derive(Debug, Default)]
pub(crate) struct Interval {
    pub living: Vec<Living>,
    pub ended: Vec<Ended>,
    /// Processes that ended unseen may be missing in `ended`.
    pub has_unlisted: bool,
    /// Page faults since the full tick before of all that ended, listed or not. `None` where some parent discards the
    /// accounts of its children.
    pub ended_faults: Option<u64>,
    /// What those `ended` without a bound held when they were last read.
    pub ended_before_bytes: u64,
    /// Some that ended have not been waited for yet: their page faults will be in a later interval.
    pub has_unwaited: bool,
    pub huge: Huge,
    /// Files and shared memory that the whole machine had mapped at either end.
    pub mapped_bytes: Option<u64>,
}

impl Interval {
    /// The same without main. What copies of it have from it then counts once, for all of them.
    pub(crate) fn without_main(mut self) -> Interval {
        self.living.retain(|process| !process.is_main);
        self.ended.retain(|ended| !ended.is_main);
        let inherited_bytes = self.ended.iter().map(|ended| ended.inherited_bytes).max().unwrap_or(0);
        if inherited_bytes > 0 {
            self.ended.push(Ended::at_unknown_times(Some(Parts::of(inherited_bytes, 0))));
        }
        self
    }
}

/// The most that the tree can have held at one moment, up to what is not known before the end: the largest mark of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Moment {
    certain_bytes: u64,
    /// Processes with a loose bound, and the sum of those bounds.
    loose: u64,
    loose_bytes: u64,
    /// Processes without a bound of their own; `None` where nobody counted them.
    unbounded: Option<u64>,
    /// What those can have held together, by their page faults.
    by_faults_bytes: Option<u64>,
}

impl Moment {
    fn is_at_least(&self, other: &Moment) -> bool {
        let most = |value: Option<u64>| value.unwrap_or(u64::MAX);
        self.certain_bytes >= other.certain_bytes
            && self.loose >= other.loose
            && self.loose_bytes >= other.loose_bytes
            && most(self.unbounded) >= most(other.unbounded)
            && most(self.by_faults_bytes) >= most(other.by_faults_bytes)
    }

    fn worse_of(&self, other: &Moment) -> Moment {
        let most = |a: Option<u64>, b: Option<u64>| a.zip(b).map(|(a, b)| a.max(b));
        Moment {
            certain_bytes: self.certain_bytes.max(other.certain_bytes),
            loose: self.loose.max(other.loose),
            loose_bytes: self.loose_bytes.max(other.loose_bytes),
            unbounded: most(self.unbounded, other.unbounded),
            by_faults_bytes: most(self.by_faults_bytes, other.by_faults_bytes),
        }
    }

    fn bound(&self, largest_bytes: Option<u64>) -> Option<Bound> {
        if self.loose == 0 && self.unbounded == Some(0) {
            return Some(Bound { bytes: self.certain_bytes, source: UpperSource::Marks });
        }
        let each_largest = |count: u64| largest_bytes.map(|each| count.saturating_mul(each));
        let of_loose = least(each_largest(self.loose), Some(self.loose_bytes))?;
        let of_unbounded = match self.unbounded {
            Some(0) => Bound { bytes: 0, ..of_loose },
            unbounded => least(unbounded.and_then(each_largest), self.by_faults_bytes)?,
        };
        let larger = if of_loose.bytes > of_unbounded.bytes { of_loose } else { of_unbounded };
        let more_bytes = of_loose.bytes.saturating_add(of_unbounded.bytes);
        Some(Bound { bytes: self.certain_bytes.saturating_add(more_bytes), source: larger.source })
    }
}

/// The smaller of what the largest mark of all and page faults allow.
fn least(by_largest: Option<u64>, by_faults: Option<u64>) -> Option<Bound> {
    match (by_largest, by_faults) {
        (Some(bytes), by_faults) if by_faults.is_none_or(|faults| bytes <= faults) => {
            Some(Bound { bytes, source: UpperSource::LargestMark })
        }
        (_, by_faults) => Some(Bound { bytes: by_faults?, source: UpperSource::Faults }),
    }
}

/// What an upper bound rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UpperSource {
    /// High-water marks of all processes that lived together.
    Marks,
    /// The same; a process whose mark was not read counts with the largest mark of any process.
    LargestMark,
    /// The same; a process whose mark was not read counts with what its page faults can have mapped.
    Faults,
    /// The peak of the job's own cgroup.
    Group,
}

impl UpperSource {
    pub(crate) fn text(self) -> &'static str {
        match self {
            UpperSource::Marks => "by the kernel's high-water marks of the processes that lived together",
            UpperSource::LargestMark => {
                "by high-water marks; processes that ended unread are taken for as large as the largest"
            }
            UpperSource::Faults => "by high-water marks, and page faults of processes that ended unread",
            UpperSource::Group => "by the peak of the job's own cgroup",
        }
    }
}

/// An upper bound and what it rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bound {
    pub bytes: u64,
    pub source: UpperSource,
}

/// What is known only when the run is over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AtTheEnd {
    /// The largest mark of any process, where it is certain.
    pub largest_bytes: Option<u64>,
    /// The processes that intervals listed turned out to be all that there were.
    pub all_are_listed: bool,
    /// No process discarded the accounts of its children, their page faults among them.
    pub faults_are_whole: bool,
}

/// The upper bound of one scope.
#[derive(Debug, Default)]
pub(crate) struct Peaks {
    moments: Front,
    /// Moments of the last interval, and of those before while some of their dead were not waited for. Page faults that come
    /// to light in the next interval may be of a process that lived in them.
    pending: Front,
    /// The last interval has dead that were not waited for: what their page faults allow is not known.
    has_unwaited: bool,
}

/// A Pareto front: the moments of which none is at most another in all respects. One of them turns out the worst.
#[derive(Debug, Default)]
struct Front(Vec<Moment>);

impl Front {
    fn note(&mut self, moment: Moment) {
        if self.0.iter().any(|known| known.is_at_least(&moment)) {
            return;
        }
        self.0.retain(|known| !moment.is_at_least(known));
        let merged = if self.0.len() < MAX_MOMENTS { None } else { self.0.pop() };
        self.0.push(merged.map_or(moment, |other| moment.worse_of(&other)));
    }
}

impl Peaks {
    /// At a full tick.
    pub(crate) fn take(&mut self, interval: &Interval) {
        let ended_bytes = interval.ended_faults.map(|faults| {
            mapped_by_faults_bytes(faults, if faults > 0 { interval.huge.since_tick_bytes } else { 0 })
        });
        let ended_bytes = ended_bytes.filter(|bytes| *bytes < u64::MAX);
        let has_unlisted = interval.has_unlisted && interval.ended_faults != Some(0);
        let mut pending = Front::default();
        for mut moment in std::mem::take(&mut self.pending).0 {
            moment.by_faults_bytes =
                moment.by_faults_bytes.zip(ended_bytes).map(|(before, now)| before.saturating_add(now));
            if has_unlisted {
                moment.unbounded = None;
            }
            if interval.has_unwaited { &mut pending } else { &mut self.moments }.note(moment);
        }
        let living = living_at_most(&interval.living, interval.huge);
        let by_faults_bytes = ended_bytes.map(|bytes| bytes.saturating_add(interval.ended_before_bytes));
        for alive in together(&interval.ended) {
            let mut parts = alive.parts;
            parts.add(living);
            pending.note(Moment {
                certain_bytes: parts.together_bytes(interval.mapped_bytes),
                loose: alive.loose,
                loose_bytes: alive.loose_bytes,
                unbounded: (!has_unlisted).then_some(alive.unbounded),
                by_faults_bytes,
            });
        }
        (self.pending, self.has_unwaited) = (pending, interval.has_unwaited);
    }

    /// The upper bound of the whole run, or `None` where nothing bounds processes that ended unread.
    pub(crate) fn upper(&self, known: AtTheEnd) -> Option<Bound> {
        let moments = self.moments.0.iter().map(|moment| (moment, true));
        let pending = self.pending.0.iter().map(|moment| (moment, !self.has_unwaited));
        let bounds: Option<Vec<Bound>> = moments
            .chain(pending)
            .map(|(moment, has_all_faults)| {
                let unbounded = moment.unbounded.filter(|_| known.all_are_listed);
                let by_faults_bytes =
                    moment.by_faults_bytes.filter(|_| known.faults_are_whole && has_all_faults);
                Moment { unbounded, by_faults_bytes, ..*moment }.bound(known.largest_bytes)
            })
            .collect();
        bounds?.into_iter().max_by_key(|bound| bound.bytes)
    }
}

/// The most that the living held together: a forked copy counts with what it changed, and what it inherited counts once,
/// with its parent, or for the copies together where the parent no longer has it.
fn living_at_most(living: &[Living], huge: Huge) -> Parts {
    let mut total = Parts::default();
    living.iter().for_each(|process| total.add(process.at_most(huge)));
    let mut families: Vec<Family<'_>> = Vec::new();
    for copy in living.iter().filter(|process| process.is_copy) {
        match families.iter_mut().find(|family| family.parent_pid == copy.parent_pid) {
            Some(family) => family.take(copy),
            None => {
                let parent = living.iter().find(|other| other.pid == copy.parent_pid);
                let mut family = Family { parent_pid: copy.parent_pid, parent, ..Family::default() };
                family.take(copy);
                families.push(family);
            }
        }
    }
    total.own_bytes += families.iter().map(Family::beyond_parent_bytes).sum::<u64>();
    total
}

/// The copies of one parent.
#[derive(Default)]
struct Family<'a> {
    parent_pid: i32,
    parent: Option<&'a Living>,
    /// The most that one of them has and the parent no longer.
    given_up_bytes: u64,
    inherited_bytes: u64,
    /// The most page faults of the parent since one of them was born.
    parent_faults: u64,
}

impl Family<'_> {
    fn take(&mut self, copy: &Living) {
        let parent_anon_bytes = self.parent.map_or(0, |parent| parent.anon_bytes);
        self.given_up_bytes = self.given_up_bytes.max(copy.inherited_beyond_bytes(parent_anon_bytes));
        self.inherited_bytes += copy.anon_at_birth_bytes;
        let faults = self.parent.map_or(0, |parent| parent.faults);
        self.parent_faults = self.parent_faults.max(faults.saturating_sub(copy.parent_faults_at_birth));
    }

    /// Inherited memory that is no longer the parent's: it gave it up, or changed it, with a fault for each page, while the
    /// copies kept what was there before.
    fn beyond_parent_bytes(&self) -> u64 {
        self.given_up_bytes + (self.parent_faults * PAGE_BYTES).min(self.inherited_bytes)
    }
}

/// Of the processes that ended: what those held at most that lived at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Alive {
    parts: Parts,
    loose: u64,
    loose_bytes: u64,
    unbounded: u64,
}

impl Alive {
    fn step(&mut self, process: &Ended, is_fork: bool) {
        let moved = |count: u64, by: u64| if is_fork { count + by } else { count.saturating_sub(by) };
        match process.at_most {
            None => self.unbounded = moved(self.unbounded, 1),
            Some(most) if process.is_loose => {
                self.loose = moved(self.loose, 1);
                self.loose_bytes = moved(self.loose_bytes, most.own_bytes.saturating_add(most.file_bytes));
            }
            Some(most) if is_fork => self.parts.add(most),
            Some(most) => self.parts.take_off(most),
        }
    }
}

/// For each moment at which a process began, and for one without any of them.
fn together(ended: &[Ended]) -> impl Iterator<Item = Alive> {
    let mut edges: Vec<(u64, bool, &Ended)> = ended
        .iter()
        .flat_map(|process| [(process.fork_ns, true, process), (process.end_ns, false, process)])
        .collect();
    // Ends come before beginnings at the same time.
    edges.sort_unstable_by_key(|(t_ns, is_fork, _)| (*t_ns, *is_fork));
    let mut alive = Alive::default();
    let steps = edges.into_iter().filter_map(move |(_, is_fork, process)| {
        alive.step(process, is_fork);
        is_fork.then_some(alive)
    });
    std::iter::once(Alive::default()).chain(steps)
}

#[cfg(test)]
#[path = "peaks_tests.rs"]
mod tests;
