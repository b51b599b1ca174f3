//! From the meter to the summary: final figures, their quality and their bounds.

use super::containers::UNREAD_CONTAINER;
use super::process::Process;
use super::stages::Witnesses;
use super::{Meter, OUT_OF_DESCRIPTORS, Target, account_values};
use crate::account::amounts::{Account, share_out};
use crate::account::cpu::CpuEvidence;
use crate::account::grade::{self, CounterSigns};
use crate::linux::cgroup::{GroupCpu, JobGroup};
use crate::linux::sys;
use jobmeter_model::accumulate::{AllFigures, Divisors};
use jobmeter_model::event::Event;
use jobmeter_model::grade::lower_derived;
use jobmeter_model::metric::{EntityKind, Metric, Scope};
use jobmeter_model::summary::{
    EntityFigures, Figure, Limits, Overhead, Quality, RunInfo, SCHEMA_VERSION, Source, Summary, Verdict,
};
use jobmeter_model::{Stat, VerdictKind};

/// What the caller knows at the end.
pub struct Ending {
    pub verdict: Verdict,
    pub limits: Limits,
    /// When the job ended, monotonic; now when it goes on without us.
    pub ended_ns: u64,
    /// Our own resident memory when the child was forked: ru_maxrss is never below it.
    pub fork_floor_bytes: u64,
}

const STOLEN: &str =
    "the hypervisor took cores away, and the kernel's clock ticks miss a part of what ran in between";

/// A run whose counters are settled, and whose figures are still to be made of them.
pub struct Settled {
    ending: Ending,
    wall_ns: u64,
    signs: CounterSigns,
    extras: Vec<(Vec<Source>, Vec<EntityFigures>)>,
    overhead: Overhead,
}

impl Meter {
    /// The summary as of now, for a run that goes on.
    pub fn snapshot(&self, info: &RunInfo) -> Summary {
        let wall_ns = self.elapsed_ns();
        let figures = self.out.sums.figures(self.divisors(info, wall_ns));
        let verdict = Verdict {
            kind: VerdictKind::Running,
            exit_code: None,
            signal: None,
            core_dumped: false,
            text: "still running".to_owned(),
            evidence: Vec::new(),
        };
        self.assemble(info, verdict, Limits::default(), figures, wall_ns, self.overhead())
    }

    /// Ends the run. The caller has taken the last tick; the sinks have the settled values when this returns.
    pub fn finish(&mut self, info: &RunInfo, ending: Ending) -> Summary {
        let settled = self.settle(ending);
        self.sum_up(info, settled)
    }

    /// The part of the end that cannot wait: settles the counters, hands them to the sinks and closes the sources.
    pub fn settle(&mut self, ending: Ending) -> Settled {
        let wall_ns = ending.ended_ns.saturating_sub(self.clock.started_ns);
        self.end_events();
        self.end_containers();
        self.bounds.end_reading();
        self.bound_memory(sys::monotonic_ns(), false);
        let (main, combined) = self.accounts();
        let evidence = self.cpu_evidence(combined);
        let mut cpu = evidence.settle();
        // The group has counted the time of processes that left the tree; their other counters are as last read.
        cpu.accounts_are_short |= self.tree.groups.are_all && evidence.has_hole;
        self.counters.accounts_are_short = cpu.accounts_are_short;
        let signs = CounterSigns {
            cpu,
            main: main.map(|main| main.gaps),
            main_has_waited: self.main_has_waited(),
            was_alone: self.was_alone(),
            combined: combined.gaps,
        };
        self.emit_settled(main, combined, &signs, wall_ns);
        let extras = self.finish_extras();
        self.leave_node();
        Settled { ending, wall_ns, signs, extras, overhead: self.overhead() }
    }

    /// How many threads the job started, at most: by the kernel's events, else by all that were started on the machine if
    /// any process of the job was seen with more than one.
    fn thread_births(&self) -> u64 {
        match &self.witnesses.follower {
            Some(follower) => follower.thread_births(),
            None if self.doubts.has_threads => self.machine.forks.unwrap_or_default(),
            None => 0,
        }
    }

    /// How many processes the job started, at most: those that were seen if nobody else can have been there, else all of the
    /// machine.
    fn process_births(&self) -> u64 {
        let seen = self.out.sums.processes_seen;
        match self.bounds.has_unseen && !self.events_are_complete() {
            // Where nobody counted them there may have been any number.
            true => self.machine.forks.map_or(u64::MAX, |forks| forks.max(seen)),
            false => seen,
        }
    }

    /// What is known of the CPU time of the whole job.
    fn cpu_evidence(&self, combined: Account) -> CpuEvidence {
        let Witnesses { clocks, .. } = &self.witnesses;
        let discards = self.doubts.may_discard && !self.events_are_complete();
        CpuEvidence {
            combined,
            group: self.group_cpu(),
            perf_clock_ns: clocks.total_ns().zip(self.machine.stolen_ns).map(|(clock_ns, stolen_ns)| {
                without_stolen(clock_ns, stolen_ns, 2 * self.tree.scale.tick_ns)
            }),
            missed_processes: match self.containers.is_any_unread {
                true => Some(UNREAD_CONTAINER),
                false => self.doubts.is_partial.then_some(OUT_OF_DESCRIPTORS),
            },
            has_hole: self.counters.ledger.has_hole || discards,
            end_is_missing: matches!(self.target, Target::Attached(_)) && !self.has_main(),
            tick_ns: self.tree.scale.tick_ns,
            rounded_before: self.counters.base.gaps.rounded,
            threads: self.thread_births(),
            processes: self.process_births(),
            nobody_is_missing: self.events_are_complete() && !self.counters.ledger.has_hole,
        }
    }

    /// By the job's own group, or by the one that is attached to. A job with containers is in several.
    fn group_cpu(&self) -> Option<GroupCpu> {
        match self.tree.groups.are_all {
            true => self.tree.groups.cpu_ns().map(|total_ns| GroupCpu {
                total_ns,
                user_ns: None,
                system_ns: None,
            }),
            false if self.containers.are_possible() => None,
            false => self.witnesses.group.as_ref().and_then(JobGroup::cpu),
        }
    }

    /// Builds the summary. No I/O; may run later.
    pub fn sum_up(&mut self, info: &RunInfo, settled: Settled) -> Summary {
        let Settled { ending, wall_ns, signs, extras, overhead } = settled;
        let mut figures = self.out.sums.figures(self.divisors(info, wall_ns));
        signs.grade(&mut figures);
        self.grade_memory(&mut figures, ending.fork_floor_bytes);
        self.grade_counts(&mut figures);
        if self.doubts.is_partial {
            grade::grade_partial(&mut figures, OUT_OF_DESCRIPTORS);
        }
        if self.containers.is_any_unread {
            grade::grade_unread(&mut figures, UNREAD_CONTAINER);
        }
        figures.scopes.values_mut().for_each(lower_derived);
        let mut summary = self.assemble(info, ending.verdict, ending.limits, figures, wall_ns, overhead);
        for (sources, entities) in extras {
            summary.sources.extend(sources);
            merge_facts(&mut summary.gpus, entities);
        }
        self.grade_node(&mut summary);
        summary
    }

    fn divisors(&self, info: &RunInfo, wall_ns: u64) -> Divisors {
        Divisors { expected_cores: info.expected_cores, system_cores: info.system_cores, wall_ns }
    }

    fn emit_settled(&mut self, main: Option<Account>, combined: Account, signs: &CounterSigns, wall_ns: u64) {
        let shown_ns = self.out.row.get(Scope::Combined, Metric::CpuNs);
        let whole = signs.cpu.whole(combined, shown_ns);
        // Where main never had a child it is the whole job; sources that differ by nanoseconds must not show descendants.
        let shares = match main {
            Some(_) if self.was_alone() => Some((whole, whole.since(&whole))),
            main => main.map(|main| share_out(&whole, main)),
        };
        let (main, rest) = shares.unzip();
        self.out.define_columns();
        let mut values = Vec::with_capacity(33);
        for (scope, account) in
            [(Scope::Main, main), (Scope::Descendants, rest), (Scope::Combined, Some(whole))]
        {
            for (metric, value) in account_values(account) {
                if let (Some(index), Some(value)) = (self.out.row.index(scope, metric), value)
                    && signs.is_known(scope, metric)
                {
                    values.push((index as u32, value));
                }
            }
        }
        self.emit(&Event::Settle { t_ns: wall_ns, values });
    }

    /// Main never had a child, seen or unseen.
    pub(super) fn was_alone(&self) -> bool {
        !self.doubts.is_partial
            && !self.main_has_waited()
            && self.out.sums.processes_seen <= 1
            && !self.bounds.has_unseen
            && (!self.counters.accounts_are_short || self.events_are_complete())
    }

    pub(super) fn main_has_waited(&self) -> bool {
        self.tree.main().map_or(self.counters.ledger.main_has_waited, Process::has_waited)
    }

    /// The number of processes is exact where none can have been missed.
    fn grade_counts(&self, all: &mut AllFigures) {
        if let Some(figures) = all.scopes.get_mut(&Scope::Combined)
            && (self.was_alone() || self.events_are_complete())
        {
            let count = Figure::int(self.out.sums.processes_seen, Quality::Exact);
            figures.set(Metric::Processes, Stat::Total, count);
        }
        let Some(machine) = all.scopes.get_mut(&Scope::System) else { return };
        // The first look at the machine comes a moment after the start, on a busy machine after the job's first forks.
        let reason = "counted from the first look at the machine on, a moment after the start";
        let forks = machine.get_mut(Metric::Forks, Stat::Total);
        if let Some(forks) = forks.filter(|forks| forks.quality == Quality::Exact) {
            *forks = Figure { quality: Quality::LowerBound, ..forks.clone() }.because(reason);
        }
        let is_stolen = self.machine.stolen_ns.is_some_and(|stolen_ns| stolen_ns > 0);
        for metric in [Metric::CpuNs, Metric::CpuUserNs, Metric::CpuSystemNs] {
            let figure =
                machine.get_mut(metric, Stat::Total).filter(|figure| is_stolen && figure.value.is_some());
            figure.into_iter().for_each(|figure| figure.reason = Some(STOLEN.to_owned()));
        }
    }

    fn assemble(
        &self,
        info: &RunInfo,
        verdict: Verdict,
        limits: Limits,
        mut figures: AllFigures,
        wall_ns: u64,
        overhead: Overhead,
    ) -> Summary {
        let mut run = info.clone();
        run.wall_ns = Some(wall_ns);
        run.ticks = self.out.sums.ticks;
        run.late_ticks = self.clock.late_ticks;
        run.skipped_ticks = self.clock.skipped_ticks;
        let mut scope = |scope| figures.scopes.remove(&scope).unwrap_or_default();
        let (main, descendants, combined, system) =
            (scope(Scope::Main), scope(Scope::Descendants), scope(Scope::Combined), scope(Scope::System));
        let mut entity = |kind| figures.entities.remove(&kind).unwrap_or_default();
        let mut mounts: Vec<EntityFigures> = entity(EntityKind::Mount);
        for mount in self.machine.columns.mounts() {
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
            containers: self.container_figures(),
            cores: entity(EntityKind::Core),
            disks: entity(EntityKind::Disk),
            mounts,
            networks: entity(EntityKind::Network),
            gpus: entity(EntityKind::Gpu),
            limits,
            sources: self.sources(),
            warnings: self.out.sums.warnings.clone(),
            overhead,
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
            sources.push(match &self.witnesses.group {
                Some(group) => source("cgroup", true, group.detail()),
                None => source("cgroup", false, "no group could be made, or none was wanted".to_owned()),
            });
            if self.witnesses.group.is_none() {
                let used = self.witnesses.clocks.total_ns().is_some();
                let detail =
                    if used { "inherited task clock" } else { "refused, not wanted, or the job too short" };
                sources.push(source("perf_counter", used, detail.to_owned()));
            }
        }
        if let Some(reason) = &self.witnesses.events_refusal {
            sources.push(source("perf_ring", false, reason.clone()));
        }
        sources.extend(self.witnesses.follower.as_ref().map(|follower| follower.source()));
        if !self.contained.names.is_empty() {
            sources.push(source("containers", true, self.contained.names.join(", ")));
        }
        for group in &self.tree.groups.watched {
            let detail = format!("the group {}, its own count of CPU time", group.dir().display());
            sources.push(source("cgroup", group.used_cpu_ns().is_some(), detail));
        }
        if self.witnesses.exits.is_open() && !self.witnesses.exits.has_starts {
            let detail = "exit status of every process that ends, by the kernel's process connector";
            sources.push(source("exit_events", true, detail.to_owned()));
        }
        if self.bounds.has_exit_records() {
            let detail = "high-water marks and page faults of processes as they ended";
            sources.push(source("taskstats", true, detail.to_owned()));
        }
        let detail =
            format!("{} passes, {} put off to stay in the budget", self.memory.passes, self.memory.refused);
        sources.push(source("smaps_rollup", self.memory.passes > 0, detail));
        sources
    }

    fn overhead(&self) -> Overhead {
        match self.target {
            Target::Own => Overhead { cpu_ns: Some(self.own.spent_ns), peak_rss_bytes: None },
            _ => {
                let (cpu_ns, peak_rss_bytes) = sys::own_usage();
                Overhead { cpu_ns: Some(cpu_ns), peak_rss_bytes: Some(peak_rss_bytes) }
            }
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

/// Cores on which a job runs at a time, as far as it matters for what the hypervisor took and has not told yet.
const STOLEN_CORES: u64 = 4;

/// A perf clock of the job without the time that the hypervisor took from the machine's cores. That is counted in clock ticks on each
/// core, and from a moment after the start on: up to `doubt_ns` more on each, also where none was counted.
fn without_stolen(clock_ns: u64, stolen_ns: u64, doubt_ns: u64) -> u64 {
    let cores = (crate::linux::cpus::online().len() as u64).min(STOLEN_CORES);
    clock_ns.saturating_sub(stolen_ns + cores * doubt_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_hypervisor_took_is_off_the_clock() {
        let cores = (crate::linux::cpus::online().len() as u64).min(STOLEN_CORES);
        assert_eq!(without_stolen(900, 0, 20), 900 - 20 * cores, "it may not be counted yet");
        assert_eq!(without_stolen(900_000, 300_000, 20), 600_000 - 20 * cores);
        assert_eq!(without_stolen(100, 300, 20), 0);
    }
}
