//! What a job can have held at one moment between two full ticks, and the worst of such moments.

/// At most this many moments are kept; beyond that, two are merged into one that is at least as bad as both.
pub(super) const MAX_MOMENTS: usize = 64;

/// A sum of this size has a part that nothing bounds.
const NO_BOUND_BYTES: u64 = u64::MAX >> 1;

/// The most that the tree can have held at one moment, up to what is not known before the end: the largest mark of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moment {
    /// Processes with a loose bound.
    pub(super) loose: u64,
    /// Processes without a bound of their own; `None` where nobody counted them.
    pub(super) unbounded: Option<u64>,
    pub(super) with_files: Amounts,
    /// Anonymous memory, and all files that the job had mapped, once; `None` where those are not known.
    pub(super) files_once: Option<Amounts>,
    /// All of it by what the job had and how far it can have grown by then, where that is known.
    pub(super) grown_bytes: Option<u64>,
    /// All of it but a loose main, where those without a bound of their own have at most what the machine gave out while they grew.
    pub(super) by_window_bytes: Option<u64>,
}

/// What the processes of a moment held at most, in one of two ways of counting files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Amounts {
    pub(super) certain_bytes: u64,
    /// The sum of the loose bounds of descendants.
    pub(super) loose_bytes: u64,
    /// The loose bound of main, of which more may be known at the end.
    pub(super) loose_main_bytes: u64,
    /// What those without a bound of their own can have held together, by their page faults.
    pub(super) by_faults_bytes: Option<u64>,
    /// The same by the page faults of the whole machine, which are counted whether or not a parent waits for its children.
    pub(super) by_machine_bytes: Option<u64>,
}

impl Amounts {
    /// Worse than any other.
    const UNKNOWN: Amounts = Amounts {
        certain_bytes: u64::MAX,
        loose_bytes: u64::MAX,
        loose_main_bytes: u64::MAX,
        by_faults_bytes: None,
        by_machine_bytes: None,
    };

    fn is_at_least(&self, other: &Amounts) -> bool {
        self.certain_bytes >= other.certain_bytes
            && self.loose_bytes >= other.loose_bytes
            && self.loose_main_bytes >= other.loose_main_bytes
            && self.by_faults_bytes.unwrap_or(u64::MAX) >= other.by_faults_bytes.unwrap_or(u64::MAX)
            && self.by_machine_bytes.unwrap_or(u64::MAX) >= other.by_machine_bytes.unwrap_or(u64::MAX)
    }

    fn worse_of(&self, other: &Amounts) -> Amounts {
        Amounts {
            certain_bytes: self.certain_bytes.max(other.certain_bytes),
            loose_bytes: self.loose_bytes.max(other.loose_bytes),
            loose_main_bytes: self.loose_main_bytes.max(other.loose_main_bytes),
            by_faults_bytes: self.by_faults_bytes.zip(other.by_faults_bytes).map(|(a, b)| a.max(b)),
            by_machine_bytes: self.by_machine_bytes.zip(other.by_machine_bytes).map(|(a, b)| a.max(b)),
        }
    }

    pub(super) fn add_faults(&mut self, more_bytes: Option<u64>) {
        let both = self.by_faults_bytes.zip(more_bytes);
        self.by_faults_bytes = both.map(|(before, more)| before.saturating_add(more));
    }

    fn bound(&self, loose: u64, unbounded: Option<u64>, largest_bytes: Option<u64>) -> Option<Bound> {
        if loose == 0 && unbounded == Some(0) {
            return Some(Bound { bytes: self.certain_bytes, source: UpperSource::Marks });
        }
        let each_largest = |count: u64| largest_bytes.map(|each| count.saturating_mul(each));
        let of_loose = least(each_largest(loose), Some(self.loose_bytes))?;
        let of_unbounded = match unbounded {
            Some(0) => Bound { bytes: 0, ..of_loose },
            unbounded => {
                let by_faults_bytes = self.by_faults_bytes.into_iter().chain(self.by_machine_bytes).min();
                least(unbounded.and_then(each_largest), by_faults_bytes)?
            }
        };
        let larger = if of_loose.bytes > of_unbounded.bytes { of_loose } else { of_unbounded };
        let more_bytes = of_loose.bytes.saturating_add(of_unbounded.bytes);
        Some(Bound { bytes: self.certain_bytes.saturating_add(more_bytes), source: larger.source })
    }
}

impl Moment {
    fn is_at_least(&self, other: &Moment) -> bool {
        let most = |value: Option<u64>| value.unwrap_or(u64::MAX);
        let known = |amounts: Option<Amounts>| amounts.unwrap_or(Amounts::UNKNOWN);
        self.loose >= other.loose
            && most(self.unbounded) >= most(other.unbounded)
            && self.with_files.is_at_least(&other.with_files)
            && known(self.files_once).is_at_least(&known(other.files_once))
            && most(self.grown_bytes) >= most(other.grown_bytes)
            && most(self.by_window_bytes) >= most(other.by_window_bytes)
    }

    /// The least that its bound can turn out to be.
    fn bound_at_least_bytes(&self) -> u64 {
        let once_bytes = self.files_once.map_or(u64::MAX, |once| once.certain_bytes);
        let whole_bytes = self.grown_bytes.into_iter().chain(self.by_window_bytes).min();
        self.with_files.certain_bytes.min(once_bytes).min(whole_bytes.unwrap_or(u64::MAX))
    }

    /// Whether its bound is at most that of `other`, whatever comes to light.
    fn is_within(&self, other: &Moment) -> bool {
        other.is_at_least(self) || self.grown_bytes.is_some_and(|bytes| bytes <= other.bound_at_least_bytes())
    }

    pub(super) fn worse_of(&self, other: &Moment) -> Moment {
        let once = self.files_once.zip(other.files_once);
        Moment {
            loose: self.loose.max(other.loose),
            unbounded: self.unbounded.zip(other.unbounded).map(|(a, b)| a.max(b)),
            with_files: self.with_files.worse_of(&other.with_files),
            files_once: once.map(|(a, b)| a.worse_of(&b)),
            grown_bytes: self.grown_bytes.zip(other.grown_bytes).map(|(a, b)| a.max(b)),
            by_window_bytes: self.by_window_bytes.zip(other.by_window_bytes).map(|(a, b)| a.max(b)),
        }
    }

    /// The smallest of what the two ways of counting files and growth give.
    pub(super) fn bound(&self, known: AtTheEnd, has_all_faults: bool) -> Option<Bound> {
        let unbounded = self.unbounded.filter(|_| known.all_are_listed);
        let of_loose_main = |bytes: u64| bytes.min(known.main_bytes.unwrap_or(u64::MAX));
        let of = |amounts: Amounts| {
            let by_faults_bytes =
                amounts.by_faults_bytes.filter(|_| known.faults_are_whole && has_all_faults);
            let main_bytes = of_loose_main(amounts.loose_main_bytes);
            let certain_bytes = amounts.certain_bytes.saturating_add(main_bytes);
            let by_machine_bytes = amounts.by_machine_bytes.filter(|_| unbounded.is_some());
            let amounts = Amounts { by_faults_bytes, by_machine_bytes, certain_bytes, ..amounts };
            amounts.bound(self.loose, unbounded, known.largest_bytes)
        };
        let once = self.files_once.and_then(of);
        let once = once.map(|bound| Bound { source: UpperSource::FilesOnce, ..bound });
        let grown = self.grown_bytes.map(|bytes| Bound { bytes, source: UpperSource::Growth });
        let by_window_bytes = self.by_window_bytes.filter(|_| unbounded.is_some());
        let are_files_known = self.files_once.is_some();
        let source = if are_files_known { UpperSource::Window } else { UpperSource::WideWindow };
        let main_bytes = of_loose_main(self.with_files.loose_main_bytes);
        let window = by_window_bytes.map(|bytes| Bound { bytes: bytes.saturating_add(main_bytes), source });
        let least = of(self.with_files).into_iter().chain(once).chain(grown).chain(window);
        let least = least.min_by_key(|bound| bound.bytes);
        least.filter(|bound| bound.bytes < NO_BOUND_BYTES)
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

/// A Pareto front: the moments of which none is at most another in all respects. One of them turns out the worst.
#[derive(Debug, Default, Clone)]
pub(super) struct Front(pub(super) Vec<Moment>);

impl Front {
    pub(super) fn note(&mut self, moment: Moment) {
        if self.0.iter().any(|known| moment.is_within(known)) {
            return;
        }
        self.0.retain(|known| !known.is_within(&moment));
        let merged = if self.0.len() < MAX_MOMENTS { None } else { self.0.pop() };
        self.0.push(merged.map_or(moment, |other| moment.worse_of(&other)));
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
    /// Anonymous memory by readings and page faults; files and shared memory by what was mapped, each page once.
    FilesOnce,
    /// Anonymous memory at the last reading and what page faults have added by the moment; files and shared memory as above.
    Growth,
    /// As `Marks`; processes that ended unread by what the whole machine gave out while they lived.
    Window,
    /// The same, where each page fault may have mapped a piece of a file.
    WideWindow,
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
            UpperSource::FilesOnce => {
                "by page faults and high-water marks, with every file that was mapped counted once"
            }
            UpperSource::Growth => {
                "by readings and the times of page faults, with every file that was mapped counted once"
            }
            UpperSource::Window | UpperSource::WideWindow => {
                "by high-water marks; processes that ended unread by what the machine gave out while they lived"
            }
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

/// A wide bound further above what was seen than this says nothing that one could act on.
const MOST_OF_SEEN: u64 = 3;

impl Bound {
    /// Whether it tells something of a peak of which `seen_bytes` were seen.
    pub(crate) fn is_telling(&self, seen_bytes: u64) -> bool {
        self.source != UpperSource::WideWindow || self.bytes <= seen_bytes.saturating_mul(MOST_OF_SEEN)
    }
}

/// What is known only when the run is over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AtTheEnd {
    /// The largest mark of any process, where it is certain.
    pub largest_bytes: Option<u64>,
    /// The most that main held in any of its programs, by what `wait` told of it.
    pub main_bytes: Option<u64>,
    /// The processes that intervals listed turned out to be all that there were.
    pub all_are_listed: bool,
    /// No process discarded the accounts of its children, their page faults among them.
    pub faults_are_whole: bool,
}
