//! How true the counters of a run are, from what could not be read and from the signs that accounts went missing.

use super::amounts::Gaps;
use super::cpu::CpuTotal;
use jobmeter_model::Stat;
use jobmeter_model::accumulate::AllFigures;
use jobmeter_model::metric::{Metric, Scope};
use jobmeter_model::summary::{Figure, Figures, Number, Quality};

const CPU: [Metric; 3] = [Metric::CpuNs, Metric::CpuUserNs, Metric::CpuSystemNs];
const CHARS: [Metric; 2] = [Metric::ReadCharsBytes, Metric::WriteCharsBytes];
const STORAGE: [Metric; 2] = [Metric::ReadStorageBytes, Metric::WriteStorageBytes];
const FAULTS: [Metric; 2] = [Metric::FaultsMinor, Metric::FaultsMajor];
const SWITCHES: [Metric; 2] = [Metric::SwitchesVoluntary, Metric::SwitchesInvoluntary];

const REFUSED: &str =
    "the kernel shows a process's bytes only to its own user; run jobmeter as that user or as root";
const SOME_UNREAD: &str = "the bytes of some processes could not be read";
const MAIN_THREADS: &str =
    "of the main threads of processes that were not reaped by us, without their children";
const LIVING_THREADS: &str = "of the threads that lived at the last read";
const MAYBE_OF_MAIN: &str = "many short threads: the kernel loses a little of each in its accounts, and whose the rest of the cgroup's count is cannot be told";

/// What the grades of the counters rest on.
#[derive(Debug, Clone)]
pub(crate) struct CounterSigns {
    pub cpu: CpuTotal,
    /// Of the main process; `None` when nothing is known of it.
    pub main: Option<Gaps>,
    /// Waited-for children are in main's bytes: they are taken from its threads instead.
    pub main_has_waited: bool,
    pub combined: Gaps,
    /// Main never had a child: it is the whole.
    pub was_alone: bool,
}

impl CounterSigns {
    /// Whether the value of a counter is known at all. Without the bytes of main the rest says nothing of the job.
    pub(crate) fn is_known(&self, scope: Scope, metric: Metric) -> bool {
        let main = self.main.unwrap_or_default();
        let chars_are_missing = main.chars || (self.main.is_none() && self.combined.chars);
        if CHARS.contains(&metric) {
            return !chars_are_missing;
        }
        // Storage of the whole is in the usage of a reaped process too.
        let storage_is_missing = if scope == Scope::Combined { self.combined.storage } else { main.storage };
        !(STORAGE.contains(&metric) && storage_is_missing && main.storage)
    }

    pub(crate) fn grade(&self, all: &mut AllFigures) {
        for scope in Scope::JOB {
            let Some(figures) = all.scopes.get_mut(&scope) else { continue };
            match scope {
                Scope::Main if !self.was_alone => self.grade_main(figures),
                _ => self.grade_whole(figures),
            }
            if scope == Scope::Descendants && self.cpu.main_is_short {
                self.grade_rest(figures);
            }
            for metric in CHARS.into_iter().chain(STORAGE) {
                if !self.is_known(scope, metric) {
                    figures.set(metric, Stat::Total, Figure::unavailable(REFUSED));
                }
            }
        }
    }

    fn grade_main(&self, figures: &mut Figures) {
        regrade(figures, &CPU[1..], Quality::Estimate, self.cpu.split_reason);
        if self.cpu.main_is_short {
            let reason = self.cpu.reason.as_deref().unwrap_or_default();
            regrade(figures, &CPU[..1], Quality::LowerBound, reason);
            if self.cpu.accounts_are_short {
                for metrics in [CHARS, STORAGE, FAULTS, SWITCHES] {
                    regrade(figures, &metrics, Quality::LowerBound, reason);
                }
            }
        }
        let Some(gaps) = self.main else { return };
        if gaps.switches {
            regrade(figures, &SWITCHES, Quality::LowerBound, "of the main thread");
        }
        if self.main_has_waited {
            regrade(figures, &CHARS, Quality::LowerBound, LIVING_THREADS);
            regrade(figures, &STORAGE, Quality::LowerBound, LIVING_THREADS);
        }
    }

    /// Of descendants and of the whole job.
    fn grade_whole(&self, figures: &mut Figures) {
        let cpu = &self.cpu;
        let reason = cpu.reason.as_deref();
        if let Some(figure) = known(figures, Metric::CpuNs) {
            figure.quality = cpu.quality;
            figure.reason = cpu.reason.clone();
            if let (Some((lower_ns, upper_ns)), Some(value)) = (cpu.bounds_ns, figure.as_u64()) {
                // The same for the descendants: what is uncertain is all theirs.
                figure.lower = Some(Number::Int(value.saturating_sub(cpu.total_ns - lower_ns)));
                figure.upper = Some(Number::Int(value + (upper_ns - cpu.total_ns)));
            }
        }
        regrade(figures, &CPU[1..], cpu.split.max(cpu.quality), cpu.split_reason);
        if self.combined.switches {
            regrade(figures, &SWITCHES, Quality::LowerBound, MAIN_THREADS);
        }
        if self.combined.chars {
            regrade(figures, &CHARS, Quality::LowerBound, SOME_UNREAD);
        }
        if self.combined.storage {
            regrade(figures, &STORAGE, Quality::LowerBound, SOME_UNREAD);
        }
        if cpu.accounts_are_short {
            let reason = reason.unwrap_or("the accounts of some processes are missing");
            for metrics in [CHARS, STORAGE, FAULTS, SWITCHES] {
                regrade(figures, &metrics, Quality::LowerBound, reason);
            }
        }
    }

    /// Of descendants, where the main process is short of what its threads lost: what the group counted beyond the accounts is
    /// in their time, and may be main's.
    fn grade_rest(&self, figures: &mut Figures) {
        let beyond_ns = self.cpu.beyond_accounts_ns;
        let Some(figure) = known(figures, Metric::CpuNs).filter(|_| beyond_ns > 0) else { return };
        let Some(value) = figure.as_u64() else { return };
        figure.quality = Quality::Estimate;
        figure.lower = Some(Number::Int(value.saturating_sub(beyond_ns)));
        figure.upper = Some(Number::Int(value));
        figure.reason = Some(MAYBE_OF_MAIN.to_owned());
    }
}

fn known(figures: &mut Figures, metric: Metric) -> Option<&mut Figure> {
    figures.get_mut(metric, Stat::Total).filter(|figure| figure.value.is_some())
}

fn regrade(figures: &mut Figures, metrics: &[Metric], quality: Quality, reason: &str) {
    for metric in metrics {
        if let Some(figure) = known(figures, *metric) {
            figure.quality = quality;
            figure.reason = Some(reason.to_owned());
        }
    }
}

/// What was sampled over processes of which some may be missing is too low, if anything.
pub(crate) fn grade_partial(all: &mut AllFigures, reason: &str) {
    for scope in [Scope::Descendants, Scope::Combined] {
        let figures = all.scopes.get_mut(&scope);
        for figure in figures.into_iter().flat_map(|figures| figures.values_mut()) {
            if figure.quality == Quality::Sampled && figure.value.is_some() {
                figure.quality = Quality::LowerBound;
                figure.reason = Some(reason.to_owned());
            }
        }
    }
}

/// A part of the job was never read: everything that is known of the whole is a lower bound.
pub(crate) fn grade_unread(all: &mut AllFigures, reason: &str) {
    for scope in [Scope::Descendants, Scope::Combined] {
        let figures = all.scopes.get_mut(&scope);
        let known = figures.into_iter().flat_map(|figures| figures.values_mut());
        for figure in known.filter(|figure| figure.value.is_some()) {
            figure.quality = figure.quality.max(Quality::LowerBound);
            figure.upper = None;
            figure.reason = Some(reason.to_owned());
        }
    }
}

#[cfg(test)]
#[path = "grade_tests.rs"]
mod tests;
