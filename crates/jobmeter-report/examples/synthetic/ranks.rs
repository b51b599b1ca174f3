//! A made-up job of many ranks with known oddities: every eighth rank is busier, memory grows with the rank, one rank
//! works alone in the middle, one is killed, one has no record.

use super::{CORES, GIB, Plan, noise};
use jobmeter_insight::job::{Grid, Job, MapRowBuilder, MapScale, RankMap, RankRun};
use jobmeter_model::{
    Column, EntityKind, Figure, JobInfo, Metric, Quality, Scope, Sink, Stat, Summary, Verdict,
};
use jobmeter_report::{RunData, SeriesBuilder};
use std::sync::Arc;

const RANKS_PER_NODE: u32 = 16;

/// What to make up.
#[derive(Clone)]
pub(crate) struct JobPlan {
    pub(crate) ranks: u32,
    pub(crate) ticks: u64,
    pub(crate) gpu: bool,
}

impl JobPlan {
    /// Killed after two thirds of the time.
    pub(crate) fn killed(&self) -> u32 {
        self.ranks * 2 / 3
    }

    /// Left no record.
    pub(crate) fn missing(&self) -> u32 {
        self.ranks / 2 + 1
    }

    pub(crate) fn recorded(&self) -> impl Iterator<Item = u32> {
        let missing = self.missing();
        (0..self.ranks).filter(move |rank| *rank != missing)
    }

    fn ticks_of(&self, rank: u32) -> u64 {
        if rank == self.killed() { self.ticks * 2 / 3 } else { self.ticks - u64::from(rank % 5) }
    }
}

fn cores_at(plan: &JobPlan, rank: u32, at: f64, tick: u64) -> f64 {
    let is_alone = at > 0.45 && at < 0.55;
    let base = match () {
        () if at < 0.08 => 0.4,
        () if is_alone && rank == 0 => 4.0,
        () if is_alone => 0.05,
        () if rank % 8 == 3 => 3.6,
        () => 2.4 + 0.8 * (at * 40.0).sin(),
    };
    base + 0.3 * noise(tick ^ u64::from(rank) << 32 ^ u64::from(plan.ranks))
}

fn rss_at(plan: &JobPlan, rank: u32, at: f64, tick: u64) -> f64 {
    let share = f64::from(rank) / f64::from(plan.ranks);
    (0.3 + at * (0.5 + share) + 0.02 * noise(tick ^ u64::from(rank))) * GIB
}

fn columns(gpu: bool) -> Vec<Column> {
    use Metric as M;
    let mut columns = Vec::new();
    for scope in Scope::JOB {
        let metrics = [
            M::CpuNs,
            M::RssBytes,
            M::RssSumBytes,
            M::Processes,
            M::Threads,
            M::ReadStorageBytes,
            M::WriteStorageBytes,
        ];
        columns.extend(metrics.map(|metric| Column::of(scope, metric)));
    }
    columns.extend(
        [M::CpuNs, M::MemoryUsedBytes, M::NetReceiveBytes].map(|metric| Column::of(Scope::System, metric)),
    );
    for core in 0..CORES {
        columns.push(Column::entity(Scope::System, M::CoreBusyNs, EntityKind::Core, &core.to_string()));
    }
    if gpu {
        columns.extend([M::GpuBusyPpm, M::GpuMemoryBytes].map(|metric| Column::of(Scope::Combined, metric)));
    }
    columns
}

/// Plays one rank into any sink, a tick a second.
pub(crate) fn play(plan: &JobPlan, rank: u32, sink: &mut dyn Sink) {
    use Metric as M;
    let columns = columns(plan.gpu);
    columns.iter().for_each(|column| sink.define(column));
    let mut cpu_ns = 0.0;
    let mut row = vec![None; columns.len()];
    for tick in 0..=plan.ticks_of(rank) {
        let at = tick as f64 / plan.ticks as f64;
        let cores = cores_at(plan, rank, at, tick);
        cpu_ns += if tick > 0 { cores * 1e9 } else { 0.0 };
        let rss = rss_at(plan, rank, at, tick);
        for (value, column) in row.iter_mut().zip(&columns) {
            *value = Some(match column.metric {
                M::CpuNs | M::CoreBusyNs => cpu_ns as u64,
                M::RssBytes | M::RssSumBytes | M::MemoryUsedBytes => rss as u64,
                M::Processes | M::Threads => 4,
                M::GpuBusyPpm => (1e6 * (cores / 4.5).min(1.0)) as u64,
                M::GpuMemoryBytes => (rss * 8.0) as u64,
                _ => tick * 1_000_003,
            });
        }
        sink.tick(tick * 1_000_000_000, &row);
    }
}

pub(crate) fn summary(plan: &JobPlan, rank: u32) -> Summary {
    let ticks = plan.ticks_of(rank);
    let mut summary = super::summary(&Plan { ticks, gpu: false, label: "solver".into(), ..Plan::default() });
    let cpu_ns: f64 =
        (1..=ticks).map(|tick| 1e9 * cores_at(plan, rank, tick as f64 / plan.ticks as f64, tick)).sum();
    let peak =
        (0..=ticks).map(|tick| rss_at(plan, rank, tick as f64 / plan.ticks as f64, tick)).fold(0.0, f64::max);
    summary.combined.set(Metric::CpuNs, Stat::Total, Figure::int(cpu_ns as u64, Quality::Exact));
    summary.combined.set(Metric::RssBytes, Stat::Max, Figure::int(peak as u64, Quality::Sampled));
    let run = &mut summary.run;
    run.id = format!("20261115T220212-{rank:06x}");
    run.host = format!("node{:03}", rank / RANKS_PER_NODE);
    run.started_unix_ns += u64::from(rank % 7) * 20_000_000;
    run.job = Some(JobInfo {
        scheduler: "slurm".into(),
        id: "4711".into(),
        rank: Some(rank),
        world_size: Some(plan.ranks),
        ..JobInfo::default()
    });
    if rank == plan.killed() {
        summary.verdict = Verdict {
            kind: "signaled".into(),
            exit_code: None,
            signal: Some(9),
            core_dumped: false,
            text: "killed by signal 9 (SIGKILL)".into(),
            evidence: Vec::new(),
        };
    }
    summary
}

/// The merged job as `jobmeter report job:ID` draws it.
pub(crate) fn job(plan: &JobPlan) -> RunData {
    let runs: Vec<RankRun> = plan.recorded().map(|rank| RankRun::new(summary(plan, rank), false)).collect();
    let mut grid = Grid::over(&runs);
    let scale = MapScale::new(runs.len(), grid.length_ns());
    let mut rows = Vec::new();
    for (run, rank) in runs.iter().zip(plan.recorded()) {
        let mut series = grid.series(run);
        let mut row = MapRowBuilder::beside(&series, scale, CORES as u32);
        play(plan, rank, &mut series);
        play(plan, rank, &mut row);
        grid.add(&series);
        rows.push(row.finish());
    }
    let mut job = Job::merge(&runs, grid);
    job.map = Some(RankMap { scale, rows });
    let mut builder = SeriesBuilder::new(jobmeter_report::downsample::DEFAULT_BUCKETS);
    job.replay(&mut builder);
    let mut run = builder.finish("solver", job.summary.clone());
    run.job = Some(Arc::new(job));
    run
}
