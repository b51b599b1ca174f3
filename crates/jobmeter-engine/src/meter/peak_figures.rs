//! The figures of the memory peak: the best sampled sum, between the bounds that the kernel's marks prove.

use super::bounds::with_huge_bytes;
use super::{Meter, OUT_OF_DESCRIPTORS};
use crate::account::moments::{AtTheEnd, Bound, UpperSource};
use crate::account::peaks::Peaks;
use crate::linux::sys;
use jobmeter_model::Stat;
use jobmeter_model::accumulate::AllFigures;
use jobmeter_model::metric::{Metric, Scope};
use jobmeter_model::summary::{Figure, Figures, Number, Quality};

impl Meter {
    pub(super) fn grade_memory(&mut self, all: &mut AllFigures, fork_floor_bytes: u64) {
        let ledger = &self.counters.ledger;
        let reaped_bytes =
            Some(ledger.peak_rss_reaped_bytes).filter(|bytes| ledger.main_usage.is_some() && *bytes > 0);
        // Below the floor the kernel's mark may be ours at the fork, not the job's.
        let job_mark = reaped_bytes.filter(|bytes| *bytes > fork_floor_bytes);
        let is_alone = self.was_alone();
        let [main_proven, descendants_proven, combined_proven] = self.memory.proven_bytes();
        // The kernel counts resident pages per CPU and folds them in batches: its mark may lag by as much.
        let lag_bytes = mark_lag_bytes();

        let main_lower =
            main_proven.max(self.bounds.main_bytes).max(job_mark.filter(|_| is_alone).unwrap_or(0));
        let main_upper = self.main_upper_bytes(reaped_bytes);
        let main_peak = Peak {
            lower_bytes: main_lower,
            upper: main_upper.map(|bytes| Bound { bytes: bytes + lag_bytes, source: UpperSource::Marks }),
        };

        // A mark beyond what main can have reached is a descendant's.
        let beyond_main = job_mark.filter(|bytes| {
            !is_alone && main_upper.is_some_and(|main_bytes| *bytes > main_bytes + lag_bytes)
        });
        let descendants_lower =
            descendants_proven.max(self.bounds.descendant_bytes).max(beyond_main.unwrap_or_default());
        let combined_lower =
            combined_proven.max(main_lower).max(descendants_lower).max(job_mark.unwrap_or_default());

        let group_peak = self.witnesses.group.as_ref().and_then(|group| group.memory_peak_bytes());
        let by_group = group_peak
            .map(|bytes| Bound { bytes: bytes + self.bounds.file_bytes, source: UpperSource::Group });
        let faults_are_whole = !self.counters.accounts_are_short;
        let ledger = &self.counters.ledger;
        let known = AtTheEnd {
            // Each that is taken for as large has a mark that may lag.
            largest_bytes: reaped_bytes.filter(|_| faults_are_whole).map(|bytes| bytes + lag_bytes),
            // It has those that main waited for in it, and every program that main has run.
            main_bytes: ledger.main_usage.map(|usage| usage.peak_rss_bytes + lag_bytes),
            all_are_listed: self.witnesses.follower.is_none() || self.events_are_complete(),
            faults_are_whole,
        };
        let peak = |lower_bytes: u64, peaks: &Peaks| {
            let by_marks = peaks.upper(known).filter(|bound| bound.is_telling(lower_bytes));
            let by_marks = by_marks.map(|bound| Bound { bytes: bound.bytes + lag_bytes, ..bound });
            let upper = by_marks.into_iter().chain(by_group).min_by_key(|bound| bound.bytes);
            // The group misses no page that only the job holds.
            let lower_bytes = by_group.map_or(lower_bytes, |group| lower_bytes.min(group.bytes));
            Peak { lower_bytes, upper }
        };
        let [main, descendants, combined] = if is_alone {
            [main_peak.figure(), Figure::int(0, Quality::Exact), main_peak.figure()]
        } else {
            let combined = peak(combined_lower, &self.bounds.combined);
            let descendants = peak(descendants_lower, &self.bounds.descendants);
            let main = if self.doubts.is_partial { main_peak } else { main_peak.within(&combined) };
            [main, descendants.within(&combined), combined].map(|peak| peak.figure())
        };
        for (scope, figure) in
            [(Scope::Main, main), (Scope::Descendants, descendants), (Scope::Combined, combined)]
        {
            if let Some(figures) = all.scopes.get_mut(&scope) {
                raise_parts(figures, &figure);
                lower_parts(figures, &figure);
                let is_doubtful = self.doubts.is_partial && scope != Scope::Main;
                let figure = if is_doubtful { without_upper(figure) } else { figure };
                figures.set(Metric::RssBytes, Stat::Max, figure);
            }
        }
        if let (Some(cores), Some(figures)) = (self.busy_cores.cores(), all.scopes.get_mut(&Scope::Combined))
        {
            let most = figures.value(Metric::CpuNs, Stat::RateMax).unwrap_or(cores);
            let figure = Figure::float(cores.min(most), Quality::Estimate);
            figures.set(Metric::CoresWhenBusy, Stat::Total, figure);
        }
        if let (Some(bytes), Some(figures)) =
            (self.unmapped.peak_bytes(), all.scopes.get_mut(&Scope::Combined))
        {
            let reason =
                "by the growth of the machine's shared memory, in which other programs may have a part";
            let figure = Figure::int(bytes, Quality::Estimate).because(reason);
            figures.set(Metric::UnmappedMemoryPeakBytes, Stat::Total, figure);
        }
        if let (Some(peak), Some(figures)) = (group_peak, all.scopes.get_mut(&Scope::Combined)) {
            figures.set(
                Metric::CgroupMemoryPeakBytes,
                Stat::Total,
                Figure::int(peak, Quality::Exact).because("page cache and kernel memory included"),
            );
        }
    }

    /// The most that main held: by its own mark and the faults after it was read. `ru_maxrss` counts the children that
    /// main has waited for, but main is not larger.
    fn main_upper_bytes(&mut self, reaped_bytes: Option<u64>) -> Option<u64> {
        let living = self.tree.main().filter(|main| !main.is_zombie());
        let living = living.map(|main| (main.peak_rss_bytes, main.before_exec_bytes()));
        let living = living.and_then(|(mark_bytes, before_bytes)| {
            let huge_bytes = if before_bytes > 0 { self.bounds.huge_anon_since_start_bytes()? } else { 0 };
            Some(mark_bytes.max(with_huge_bytes(before_bytes, huge_bytes)))
        });
        let ended = self.bounds.main_at_most_bytes.into_iter().chain(reaped_bytes).min();
        living.or(ended)
    }
}

/// What is known of a peak.
#[derive(Debug, Clone, Copy)]
struct Peak {
    /// Proven by readings or marks. This is the value that is stated: an estimate beyond it may be too high.
    lower_bytes: u64,
    upper: Option<Bound>,
}

impl Peak {
    /// A part is bounded by the whole as well.
    fn within(self, whole: &Peak) -> Peak {
        let upper = self.upper.into_iter().chain(whole.upper).min_by_key(|bound| bound.bytes);
        Peak { upper, ..self }
    }

    fn figure(&self) -> Figure {
        let upper = self.upper.map(|upper| Number::Int(upper.bytes.max(self.lower_bytes)));
        if self.lower_bytes == 0 {
            return Figure { upper, ..Figure::unavailable("it ended before its memory could be read") };
        }
        let reason = match self.upper {
            Some(upper) => format!("upper bound {}", upper.source.text()),
            None => "no upper bound: processes came and went between ticks".to_owned(),
        };
        let lower = Some(Number::Int(self.lower_bytes));
        Figure { lower, upper, ..Figure::int(self.lower_bytes, Quality::Sampled) }.because(&reason)
    }
}

/// By how much a high-water mark may be too low, or what is in memory be off: percpu_counter batches of the kernel, for each of the three
/// kinds of resident pages.
pub(super) fn mark_lag_bytes() -> u64 {
    let cores = crate::linux::cpus::online().len() as u64;
    let batch_pages = (2 * cores).max(32);
    3 * cores * batch_pages * sys::sysconf(libc::_SC_PAGESIZE)
}

/// A peak of which some processes may be missing.
fn without_upper(figure: Figure) -> Figure {
    let quality = if figure.value.is_some() { Quality::LowerBound } else { figure.quality };
    Figure { quality, upper: None, ..figure }.because(OUT_OF_DESCRIPTORS)
}

/// Only what is proven is stated as the peak: means and parts, which rest on estimates of each tick, are not above it.
fn lower_parts(figures: &mut Figures, total: &Figure) {
    let Some(most) = total.as_f64() else { return };
    for (metric, stat) in [
        (Metric::RssBytes, Stat::Mean),
        (Metric::RssPrivateBytes, Stat::Max),
        (Metric::RssPrivateBytes, Stat::Mean),
    ] {
        if let Some(figure) = figures.get_mut(metric, stat).filter(|figure| figure.as_f64() > Some(most)) {
            *figure = Figure { value: total.value, quality: Quality::Estimate, ..figure.clone() };
        }
    }
}

/// A peak that the kernel knows and sampling missed is private memory more likely than not: keep the parts in
/// step, so that private and shared still add up to the total.
fn raise_parts(figures: &mut Figures, total: &Figure) {
    let peak = |metric| figures.whole(metric, Stat::Max);
    let (Some(total), Some(sampled), Some(private)) =
        (total.as_u64(), peak(Metric::RssBytes), peak(Metric::RssPrivateBytes))
    else {
        return;
    };
    if total > sampled {
        let raised = Figure::int(private + (total - sampled), Quality::Estimate)
            .because("the part that only the kernel's high-water mark saw is taken as private");
        figures.set(Metric::RssPrivateBytes, Stat::Max, raised);
    }
}
