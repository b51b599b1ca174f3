//! How true the counters of a run are: where they come from, and the signs that some of them went missing.

use super::{Meter, OUT_OF_DESCRIPTORS, Target, account_values, is_io};
use crate::account::ledger::Account;
use jobmeter_model::accumulate::AllFigures;
use jobmeter_model::metric::{Metric, Scope};
use jobmeter_model::summary::{Figure, Figures, Quality};

/// How the CPU total was settled.
pub(super) struct CpuTotal {
    pub(super) total_ns: u64,
    pub(super) system_ns: u64,
    quality: Quality,
    reason: Option<String>,
}

impl Meter {
    pub(super) fn settle_cpu(&self, combined: Account) -> CpuTotal {
        let ledger = |quality, reason| CpuTotal {
            total_ns: combined.cpu_ns,
            system_ns: combined.system_ns,
            quality,
            reason,
        };
        let exceeds =
            |other_ns: u64, slack: f64| other_ns as f64 > combined.cpu_ns as f64 * (1.0 + slack) + 2e6;
        if let Some(group) = self.witnesses.group.as_ref().and_then(|group| group.cpu()) {
            if !exceeds(group.total_ns, 0.002) {
                return ledger(Quality::Exact, None);
            }
            return CpuTotal {
                total_ns: group.total_ns,
                system_ns: group.system_ns.unwrap_or(combined.system_ns),
                quality: Quality::Exact,
                reason: Some(
                    "by the job's own cgroup: a process discards its children's accounts".to_owned(),
                ),
            };
        }
        let clock_ns = self.witnesses.clocks.total_ns();
        if let Some(clock_ns) = clock_ns.filter(|clock_ns| exceeds(*clock_ns, 0.01)) {
            return CpuTotal {
                total_ns: clock_ns,
                system_ns: combined.system_ns,
                quality: Quality::LowerBound,
                reason: Some(
                    "a process discards its children's accounts; by an inherited perf clock, which misses the end of each process"
                        .to_owned(),
                ),
            };
        }
        if self.doubts.is_partial {
            return ledger(Quality::LowerBound, Some(OUT_OF_DESCRIPTORS.to_owned()));
        }
        if self.counters.ledger.has_hole {
            let reason =
                "a process discards its children's accounts, or left the tree; no cgroup could be made";
            return ledger(Quality::LowerBound, Some(reason.to_owned()));
        }
        match self.target {
            Target::Child(_) => ledger(Quality::Exact, None),
            Target::Own => ledger(
                Quality::Exact,
                self.tree
                    .processes
                    .iter()
                    .any(|process| process.has_waited())
                    .then(|| "time of children that ended is known to 10 ms".to_owned()),
            ),
            Target::Attached(_) if self.has_main() => ledger(Quality::Exact, None),
            Target::Attached(_) => ledger(
                Quality::LowerBound,
                Some("the process was not our child: what it used after the last tick is missing".to_owned()),
            ),
        }
    }

    pub(super) fn grade_counters(&self, figures: &mut AllFigures, has_main: bool, cpu: &CpuTotal) {
        let waited = self.main_has_waited();
        for scope in [Scope::Descendants, Scope::Combined] {
            let Some(figures) = figures.scopes.get_mut(&scope) else { continue };
            for metric in [Metric::CpuNs, Metric::CpuUserNs, Metric::CpuSystemNs] {
                regrade(figures, metric.key(), cpu.quality, cpu.reason.as_deref());
            }
            for key in ["cores_used_mean", "hardware_ratio_mean"] {
                regrade(figures, key, cpu.quality, None);
            }
            if self.counters.ledger.has_hole || self.doubts.is_partial || cpu.quality == Quality::LowerBound {
                for (metric, _) in account_values(None) {
                    if !matches!(metric, Metric::CpuNs | Metric::CpuUserNs | Metric::CpuSystemNs) {
                        regrade(figures, metric.key(), Quality::LowerBound, cpu.reason.as_deref());
                    }
                }
            }
            if !matches!(self.target, Target::Child(_)) {
                for metric in [Metric::SwitchesVoluntary, Metric::SwitchesInvoluntary] {
                    let reason = "of the main threads only: the process was not our child";
                    regrade(figures, metric.key(), Quality::LowerBound, Some(reason));
                }
            }
        }
        if let Some(main) = figures.scopes.get_mut(&Scope::Main).filter(|_| has_main)
            && waited
        {
            for metric in [Metric::SwitchesVoluntary, Metric::SwitchesInvoluntary] {
                let reason = "of the main thread: the kernel adds waited-for children to the rest";
                regrade(main, metric.key(), Quality::LowerBound, Some(reason));
            }
            for metric in [
                Metric::ReadCharsBytes,
                Metric::WriteCharsBytes,
                Metric::ReadStorageBytes,
                Metric::WriteStorageBytes,
            ] {
                let reason = "of the threads that lived at the last read";
                regrade(main, metric.key(), Quality::LowerBound, Some(reason));
            }
        }
        if self.counters.io_denied {
            for scope in Scope::JOB {
                let Some(figures) = figures.scopes.get_mut(&scope) else { continue };
                for (metric, _) in account_values(None).into_iter().filter(|(metric, _)| is_io(*metric)) {
                    figures.insert(
                        metric.key().to_owned(),
                        Figure::unavailable(
                            "the kernel shows a process's bytes only to its own user; run jobmeter as that user or as root",
                        ),
                    );
                }
            }
        }
    }

    pub(super) fn grade_counts(&self, all: &mut AllFigures) {
        if let Some(figures) = all.scopes.get_mut(&Scope::Combined)
            && (self.was_alone() || self.events_are_complete())
        {
            figures.insert(
                "processes_total".to_owned(),
                Figure::int(self.out.sums.processes_seen, Quality::Exact),
            );
        }
    }

    /// What was sampled over processes of which some may be missing is too low, if anything.
    pub(super) fn grade_partial(&self, all: &mut AllFigures) {
        for scope in [Scope::Descendants, Scope::Combined] {
            let figures = all.scopes.get_mut(&scope).filter(|_| self.doubts.is_partial);
            for figure in figures.into_iter().flat_map(|figures| figures.values_mut()) {
                if figure.quality == Quality::Sampled && figure.value.is_some() {
                    figure.quality = Quality::LowerBound;
                    figure.reason = Some(OUT_OF_DESCRIPTORS.to_owned());
                }
            }
        }
    }
}

fn regrade(figures: &mut Figures, key: &str, quality: Quality, reason: Option<&str>) {
    if let Some(figure) = figures.get_mut(key).filter(|figure| figure.value.is_some()) {
        figure.quality = quality;
        if let Some(reason) = reason {
            figure.reason = Some(reason.to_owned());
        }
    }
}
