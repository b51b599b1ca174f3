//! From the meter to the summary: final figures, their quality and their bounds.

use super::grades::CpuTotal;
use super::{Meter, Target, account_values, is_io};
use crate::account::ledger::Account;
use crate::linux::sys;
use jobmeter_model::accumulate::{AllFigures, Divisors};
use jobmeter_model::event::Event;
use jobmeter_model::metric::{EntityKind, Metric, Scope};
use jobmeter_model::summary::{
    EntityFigures, Limits, Overhead, RunInfo, SCHEMA_VERSION, Source, Summary, Verdict,
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

impl Meter {
    /// The summary as of now, for a run that goes on.
    pub fn snapshot(&self, info: &RunInfo) -> Summary {
        let wall_ns = self.elapsed_ns();
        let figures = self.out.sums.figures(self.divisors(info, wall_ns));
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
        let wall_ns = ending.ended_ns.saturating_sub(self.clock.started_ns);
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
        let mut figures = self.out.sums.figures(self.divisors(info, wall_ns));
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

    fn emit_settled(&mut self, main: Option<Account>, combined: Account, cpu: &CpuTotal, wall_ns: u64) {
        // The group and the ledger differ by microseconds: what a tick has shown stands. Not where it was taken in
        // by a process that passed from one account to another while it looked.
        let settled_ns = cpu.total_ns.max(combined.cpu_ns);
        let shown_ns = self.out.row.get(Scope::Combined, Metric::CpuNs).unwrap_or_default();
        let is_close = shown_ns <= settled_ns + settled_ns / 500 + 2_000_000;
        let cpu_ns = if is_close { settled_ns.max(shown_ns) } else { settled_ns };
        let settled = Account { cpu_ns, system_ns: cpu.system_ns, ..combined };
        // Without a child ever, main is the whole: sources that differ by nanoseconds make no descendants.
        let main = if self.was_alone() { main.map(|_| settled) } else { main };
        let rest = main.map(|main| settled.since(&main));
        self.out.define_columns();
        let mut values = Vec::with_capacity(33);
        for (scope, account) in
            [(Scope::Main, main), (Scope::Descendants, rest), (Scope::Combined, Some(settled))]
        {
            for (metric, value) in account_values(account) {
                let is_unread = self.doubts.is_main_missing
                    && matches!(metric, Metric::ReadCharsBytes | Metric::WriteCharsBytes);
                if is_unread || (self.counters.io_denied && is_io(metric)) {
                    continue;
                }
                if let (Some(index), Some(value)) = (self.out.row.index(scope, metric), value) {
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
            && !self.peaks.has_unseen
    }

    pub(super) fn main_has_waited(&self) -> bool {
        match (self.tree.main(), &self.counters.ledger.main_reaped_usage) {
            (Some(main), _) => main.has_waited(),
            (None, _) => self.counters.ledger.main_has_waited,
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
            cores: entity(EntityKind::Core),
            disks: entity(EntityKind::Disk),
            mounts,
            networks: entity(EntityKind::Network),
            gpus: entity(EntityKind::Gpu),
            limits,
            sources: self.sources(),
            warnings: self.out.sums.warnings.clone(),
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
            match (&self.witnesses.follower, &self.witnesses.events_refusal) {
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
            Target::Own => Overhead { cpu_ns: self.own.spent_ns, peak_rss_bytes: None },
            _ => {
                let (cpu_ns, peak_rss_bytes) = sys::own_usage();
                Overhead { cpu_ns, peak_rss_bytes: Some(peak_rss_bytes) }
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
