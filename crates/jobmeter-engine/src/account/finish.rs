//! From the meter to the summary: final figures, their quality and their bounds.

use crate::account::ledger::Account;
use crate::linux::sys;
use crate::meter::{Meter, OUT_OF_DESCRIPTORS, Target, account_values, is_io};
use jobmeter_model::accumulate::{AllFigures, Divisors};
use jobmeter_model::event::Event;
use jobmeter_model::metric::{EntityKind, Metric, Scope};
use jobmeter_model::summary::{
    EntityFigures, Figure, Figures, Limits, Number, Overhead, Quality, RunInfo, SCHEMA_VERSION, Source,
    Summary, Verdict,
};

/// What the caller knows at the end.
pub struct Ending {
    pub verdict: Verdict,
    pub limits: Limits,
    /// When the job ended, monotonic; now when it goes on without us.
    pub ended_ns: u64,
    /// Our own resident memory when the child was forked: ru_maxrss is never below it.
    pub fork_floor_bytes: u64,
}

/// A run whose counters are settled, and whose figures are still to be made of them.
pub struct Settled {
    ending: Ending,
    wall_ns: u64,
    cpu: CpuTotal,
    has_main: bool,
    extras: Vec<(Vec<Source>, Vec<EntityFigures>)>,
    overhead: Overhead,
}

/// How the CPU total was settled.
struct CpuTotal {
    total_ns: u64,
    system_ns: u64,
    quality: Quality,
    reason: Option<String>,
}

impl Meter {
    /// The summary as of now, for a run that goes on.
    pub fn snapshot(&self, info: &RunInfo) -> Summary {
        let wall_ns = self.elapsed_ns();
        let figures = self.sums.figures(self.divisors(info, wall_ns));
        let verdict = Verdict {
            kind: "running".to_owned(),
            exit_code: None,
            signal: None,
            core_dumped: false,
            text: "still running".to_owned(),
            evidence: Vec::new(),
        };
        self.assemble(info, verdict, Limits::default(), figures, wall_ns)
    }

    /// The last word. The caller has taken the last tick; sinks have the settled values when this returns.
    pub fn finish(&mut self, info: &RunInfo, ending: Ending) -> Summary {
        let settled = self.settle(ending);
        self.sum_up(info, settled)
    }

    /// The part of the end that cannot wait: counters are settled and told to the sinks, sources are closed.
    pub fn settle(&mut self, ending: Ending) -> Settled {
        let wall_ns = ending.ended_ns.saturating_sub(self.started_ns);
        self.end_events();
        self.note_unshown();
        let (main, combined) = self.accounts();
        let cpu = self.settle_cpu(combined);
        self.emit_settled(main, combined, &cpu, wall_ns);
        let extras = self.finish_extras();
        Settled { ending, wall_ns, cpu, has_main: main.is_some(), extras, overhead: self.overhead() }
    }

    /// The part of the end that can: nothing is read any more.
    pub fn sum_up(&mut self, info: &RunInfo, settled: Settled) -> Summary {
        let Settled { ending, wall_ns, cpu, has_main, extras, overhead } = settled;
        let mut figures = self.sums.figures(self.divisors(info, wall_ns));
        self.grade_counters(&mut figures, has_main, &cpu);
        self.grade_memory(&mut figures, ending.fork_floor_bytes);
        self.grade_counts(&mut figures);
        self.grade_partial(&mut figures);
        let mut summary = self.assemble(info, ending.verdict, ending.limits, figures, wall_ns);
        summary.overhead = overhead;
        for (sources, entities) in extras {
            summary.sources.extend(sources);
            merge_facts(&mut summary.gpus, entities);
        }
        summary
    }

    fn divisors(&self, info: &RunInfo, wall_ns: u64) -> Divisors {
        Divisors { expected_cores: info.expected_cores, system_cores: info.system_cores, wall_ns }
    }

    fn settle_cpu(&self, combined: Account) -> CpuTotal {
        let ledger = |quality, reason| CpuTotal {
            total_ns: combined.cpu_ns,
            system_ns: combined.system_ns,
            quality,
            reason,
        };
        let exceeds =
            |other_ns: u64, slack: f64| other_ns as f64 > combined.cpu_ns as f64 * (1.0 + slack) + 2e6;
        if let Some(group) = self.group.as_ref().and_then(|group| group.cpu()) {
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
        let clock_ns = self.clocks.total_ns();
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
        if self.is_partial {
            return ledger(Quality::LowerBound, Some(OUT_OF_DESCRIPTORS.to_owned()));
        }
        if self.ledger.has_hole {
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

    fn emit_settled(&mut self, main: Option<Account>, combined: Account, cpu: &CpuTotal, wall_ns: u64) {
        // The group and the ledger differ by microseconds: what a tick has shown stands. Not where it was taken in
        // by a process that passed from one account to another while it looked.
        let settled_ns = cpu.total_ns.max(combined.cpu_ns);
        let shown_ns = self.row.get(Scope::Combined, Metric::CpuNs).unwrap_or_default();
        let is_close = shown_ns <= settled_ns + settled_ns / 500 + 2_000_000;
        let cpu_ns = if is_close { settled_ns.max(shown_ns) } else { settled_ns };
        let settled = Account { cpu_ns, system_ns: cpu.system_ns, ..combined };
        // Without a child ever, main is the whole: sources that differ by nanoseconds make no descendants.
        let main = if self.was_alone() { main.map(|_| settled) } else { main };
        let rest = main.map(|main| settled.since(&main));
        self.define_columns();
        let mut values = Vec::with_capacity(33);
        for (scope, account) in
            [(Scope::Main, main), (Scope::Descendants, rest), (Scope::Combined, Some(settled))]
        {
            for (metric, value) in account_values(account) {
                let is_unread = self.is_main_missing
                    && matches!(metric, Metric::ReadCharsBytes | Metric::WriteCharsBytes);
                if is_unread || (self.io_denied && is_io(metric)) {
                    continue;
                }
                if let (Some(index), Some(value)) = (self.row.index(scope, metric), value) {
                    values.push((index as u32, value));
                }
            }
        }
        self.emit(&Event::Settle { t_ns: wall_ns, values });
    }

    fn grade_counters(&self, figures: &mut AllFigures, has_main: bool, cpu: &CpuTotal) {
        let waited = self.main_has_waited();
        for scope in [Scope::Descendants, Scope::Combined] {
            let Some(figures) = figures.scopes.get_mut(&scope) else { continue };
            for metric in [Metric::CpuNs, Metric::CpuUserNs, Metric::CpuSystemNs] {
                regrade(figures, metric.key(), cpu.quality, cpu.reason.as_deref());
            }
            for key in ["cores_used_mean", "hardware_ratio_mean"] {
                regrade(figures, key, cpu.quality, None);
            }
            if self.ledger.has_hole || self.is_partial || cpu.quality == Quality::LowerBound {
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
        if self.io_denied {
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

    /// Main never had a child, seen or unseen.
    fn was_alone(&self) -> bool {
        !self.is_partial && !self.main_has_waited() && self.sums.processes_seen <= 1 && !self.peaks.has_unseen
    }

    fn main_has_waited(&self) -> bool {
        match (self.tree.main(), &self.ledger.main_reaped_usage) {
            (Some(main), _) => main.has_waited(),
            (None, _) => self.ledger.main_has_waited,
        }
    }

    fn grade_memory(&mut self, all: &mut AllFigures, fork_floor_bytes: u64) {
        let key = "rss_bytes_max";
        let sampled = |all: &AllFigures, scope| {
            all.scopes.get(&scope).and_then(|figures| figures.get(key)).and_then(Figure::as_u64)
        };
        let reaped_bytes = Some(self.ledger.peak_rss_reaped_bytes)
            .filter(|bytes| self.ledger.main_reaped_usage.is_some() && *bytes > 0);
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
        let group_peak = self.group.as_ref().and_then(|group| group.memory_peak_bytes());
        let (combined_figure, descendants_figure) = if is_alone {
            (main_figure.clone(), Figure::int(0, Quality::Exact))
        } else {
            let largest = reaped_bytes.filter(|_| !self.ledger.has_hole);
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
                let is_doubtful = self.is_partial && scope != Scope::Main;
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

    fn grade_counts(&self, all: &mut AllFigures) {
        if let Some(figures) = all.scopes.get_mut(&Scope::Combined)
            && (self.was_alone() || self.events_are_complete())
        {
            figures
                .insert("processes_total".to_owned(), Figure::int(self.sums.processes_seen, Quality::Exact));
        }
    }

    /// What was sampled over processes of which some may be missing is too low, if anything.
    fn grade_partial(&self, all: &mut AllFigures) {
        for scope in [Scope::Descendants, Scope::Combined] {
            let figures = all.scopes.get_mut(&scope).filter(|_| self.is_partial);
            for figure in figures.into_iter().flat_map(|figures| figures.values_mut()) {
                if figure.quality == Quality::Sampled && figure.value.is_some() {
                    figure.quality = Quality::LowerBound;
                    figure.reason = Some(OUT_OF_DESCRIPTORS.to_owned());
                }
            }
        }
    }

    fn assemble(
        &self,
        info: &RunInfo,
        verdict: Verdict,
        limits: Limits,
        mut figures: AllFigures,
        wall_ns: u64,
    ) -> Summary {
        let mut run = info.clone();
        run.wall_ns = Some(wall_ns);
        run.ticks = self.sums.ticks;
        run.late_ticks = self.late_ticks;
        run.skipped_ticks = self.skipped_ticks;
        let mut scope = |scope| figures.scopes.remove(&scope).unwrap_or_default();
        let (main, descendants, combined, system) =
            (scope(Scope::Main), scope(Scope::Descendants), scope(Scope::Combined), scope(Scope::System));
        let mut entity = |kind| figures.entities.remove(&kind).unwrap_or_default();
        let mut mounts: Vec<EntityFigures> = entity(EntityKind::Mount);
        for mount in self.system.mounts() {
            if let Some(figures) = mounts.iter_mut().find(|figures| figures.name == mount.path) {
                figures.facts.insert("file_system".to_owned(), mount.file_system.clone());
            }
        }
        Summary {
            schema_version: SCHEMA_VERSION,
            run,
            verdict,
            main,
            descendants,
            combined,
            system,
            cores: entity(EntityKind::Core),
            disks: entity(EntityKind::Disk),
            mounts,
            networks: entity(EntityKind::Network),
            gpus: entity(EntityKind::Gpu),
            limits,
            sources: self.sources(),
            warnings: self.sums.warnings.clone(),
            overhead: self.overhead(),
        }
    }

    fn sources(&self) -> Vec<Source> {
        let source = |name: &str, used: bool, detail: String| Source { name: name.to_owned(), used, detail };
        let mut sources = vec![source(
            "conservation",
            true,
            "CPU clocks of the living, waited-for children, wait4 of the reaped".to_owned(),
        )];
        if let Target::Child(_) = self.target {
            sources.push(match &self.group {
                Some(group) => source("cgroup", true, group.detail()),
                None => source("cgroup", false, "no group could be made, or none was wanted".to_owned()),
            });
            if self.group.is_none() {
                let used = self.clocks.total_ns().is_some();
                let detail =
                    if used { "inherited task clock" } else { "refused, not wanted, or the job too short" };
                sources.push(source("perf_counter", used, detail.to_owned()));
            }
            match (&self.follower, &self.events_refusal) {
                (Some(follower), _) => sources.push(follower.source()),
                (None, Some(reason)) => sources.push(source("perf_ring", false, reason.clone())),
                (None, None) => {}
            }
        }
        let detail =
            format!("{} passes, {} put off to stay in the budget", self.memory.passes, self.memory.refused);
        sources.push(source("smaps_rollup", self.memory.passes > 0, detail));
        sources
    }

    fn overhead(&self) -> Overhead {
        match self.target {
            Target::Own => Overhead { cpu_ns: self.own_spent_ns, peak_rss_bytes: None },
            _ => {
                let (cpu_ns, peak_rss_bytes) = sys::own_usage();
                Overhead { cpu_ns, peak_rss_bytes: Some(peak_rss_bytes) }
            }
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

fn regrade(figures: &mut Figures, key: &str, quality: Quality, reason: Option<&str>) {
    if let Some(figure) = figures.get_mut(key).filter(|figure| figure.value.is_some()) {
        figure.quality = quality;
        if let Some(reason) = reason {
            figure.reason = Some(reason.to_owned());
        }
    }
}

fn merge_facts(into: &mut Vec<EntityFigures>, from: Vec<EntityFigures>) {
    for entity in from {
        match into.iter_mut().find(|known| known.name == entity.name) {
            Some(known) => {
                known.facts.extend(entity.facts);
                known.figures.extend(entity.figures);
            }
            None => into.push(entity),
        }
    }
}
