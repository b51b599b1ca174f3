//! The figures of the memory peak: the best sampled sum, between the bounds that the kernel's marks prove.

use super::{Meter, OUT_OF_DESCRIPTORS};
use crate::linux::sys;
use jobmeter_model::accumulate::AllFigures;
use jobmeter_model::metric::Scope;
use jobmeter_model::summary::{Figure, Figures, Number, Quality};

impl Meter {
    pub(super) fn grade_memory(&mut self, all: &mut AllFigures, fork_floor_bytes: u64) {
        let key = "rss_bytes_max";
        let sampled = |all: &AllFigures, scope| {
            all.scopes.get(&scope).and_then(|figures| figures.get(key)).and_then(Figure::as_u64)
        };
        let reaped_bytes = Some(self.counters.ledger.peak_rss_reaped_bytes)
            .filter(|bytes| self.counters.ledger.main_usage.is_some() && *bytes > 0);
        // Below the floor the kernel's mark may be ours at the fork, not the job's.
        let job_mark = reaped_bytes.filter(|bytes| *bytes > fork_floor_bytes);
        let is_alone = self.was_alone();

        let main_sampled = sampled(all, Scope::Main).unwrap_or_default();
        let main_lower =
            main_sampled.max(self.peaks.main_bytes).max(job_mark.filter(|_| is_alone).unwrap_or(0));
        // Of a process that has ended the mark is older than its end: no bound.
        let main_fresh = self
            .tree
            .main()
            .filter(|main| !main.is_zombie())
            .map(|main| main.peak_rss_bytes.max(main_sampled));
        // The kernel counts resident pages per CPU and folds them in batches: its mark may lag by as much.
        let lag_bytes = mark_lag_bytes();
        let main_upper = reaped_bytes.or(main_fresh).map(|bytes| bytes.max(main_lower) + lag_bytes);
        let main_figure = bounded(main_lower, main_upper);

        let descendants_sampled = sampled(all, Scope::Descendants).unwrap_or_default();
        let beyond_main =
            job_mark.filter(|bytes| !is_alone && *bytes > main_lower.max(main_sampled)).filter(|_| {
                // Only when main itself cannot have reached it: its own mark was read and is smaller.
                self.peaks.main_bytes > 0 && self.main_has_waited()
            });
        let descendants_lower =
            descendants_sampled.max(self.peaks.descendant_bytes).max(beyond_main.unwrap_or_default());

        let combined_sampled = sampled(all, Scope::Combined).unwrap_or_default();
        let combined_lower = combined_sampled
            .max(main_lower)
            .max(self.peaks.descendant_bytes)
            .max(job_mark.unwrap_or_default());
        let group_peak = self.witnesses.group.as_ref().and_then(|group| group.memory_peak_bytes());
        let (combined_figure, descendants_figure) = if is_alone {
            (main_figure.clone(), Figure::int(0, Quality::Exact))
        } else {
            let largest = reaped_bytes.filter(|_| !self.counters.accounts_are_short);
            let upper = self.peaks.upper(largest, group_peak, self.events_are_complete(), lag_bytes);
            let above = |lower: u64, bytes: Option<u64>| bytes.map(|bytes| bytes.max(lower) + lag_bytes);
            let figure = |lower: u64| Figure {
                likely_upper: above(lower, upper.likely).map(Number::Int),
                ..bounded(lower, above(lower, upper.certain))
            };
            (figure(combined_lower), figure(descendants_lower))
        };
        for (scope, figure) in [
            (Scope::Main, main_figure),
            (Scope::Descendants, descendants_figure),
            (Scope::Combined, combined_figure),
        ] {
            if let Some(figures) = all.scopes.get_mut(&scope) {
                raise_parts(figures, &figure);
                let is_doubtful = self.doubts.is_partial && scope != Scope::Main;
                figures.insert(key.to_owned(), if is_doubtful { without_upper(figure) } else { figure });
            }
        }
        if let (Some(peak), Some(figures)) = (group_peak, all.scopes.get_mut(&Scope::Combined)) {
            figures.insert(
                "cgroup_memory_peak_bytes".to_owned(),
                Figure::int(peak, Quality::Exact).because("page cache and kernel memory included"),
            );
        }
    }
}

/// By how much a high-water mark may be too low: percpu_counter batches of the kernel, for each of the three
/// kinds of resident pages.
fn mark_lag_bytes() -> u64 {
    let cores = crate::linux::cpus::online().len() as u64;
    let batch_pages = (2 * cores).max(32);
    3 * cores * batch_pages * sys::sysconf(libc::_SC_PAGESIZE)
}

/// A peak between bounds.
fn bounded(lower: u64, upper: Option<u64>) -> Figure {
    if lower == 0 {
        // Nobody ever saw it in memory: that is no measurement of nought.
        let mut figure = Figure::unavailable("it ended before its memory could be read");
        figure.upper = upper.map(Number::Int);
        return figure;
    }
    let mut figure = Figure::int(lower, Quality::Sampled);
    figure.lower = Some(Number::Int(lower));
    figure.upper = upper.map(Number::Int);
    if upper.is_none() {
        figure.reason = Some("no upper bound: processes came and went between ticks".to_owned());
    }
    figure
}

/// A peak of which some processes may be missing.
fn without_upper(figure: Figure) -> Figure {
    let quality = if figure.value.is_some() { Quality::LowerBound } else { figure.quality };
    Figure { quality, upper: None, likely_upper: None, ..figure }.because(OUT_OF_DESCRIPTORS)
}

/// A peak that the kernel knows and sampling missed is private memory more likely than not: keep the parts in
/// step, so that private and shared still add up to the total.
fn raise_parts(figures: &mut Figures, total: &Figure) {
    let get = |key: &str| figures.get(key).and_then(Figure::as_u64);
    let (Some(total), Some(sampled), Some(private)) =
        (total.as_u64(), get("rss_bytes_max"), get("rss_private_bytes_max"))
    else {
        return;
    };
    if total > sampled {
        let raised = Figure::int(private + (total - sampled), Quality::Estimate)
            .because("the part that only the kernel's high-water mark saw is taken as private");
        figures.insert("rss_private_bytes_max".to_owned(), raised);
    }
}
