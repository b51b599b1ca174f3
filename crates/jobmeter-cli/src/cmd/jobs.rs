//! Jobs of many ranks: their runs are read side by side and merged into one.

use jobmeter_insight::job::{
    self, Grid, Job, JoinPlan, JoinedNode, MapRow, MapRowBuilder, MapScale, RankMap, RankRun, RankSeries,
};
use jobmeter_model::{Column, Event, Sink};
use jobmeter_record::{Run, State, StoredRun};
use std::thread;

/// Merges the ranks of a job.
pub(crate) fn merge(ranks: &[StoredRun]) -> Result<Job, String> {
    let summaries = side_by_side(ranks, |rank| {
        let run = Run::open(&rank.path).map_err(|error| error.to_string())?;
        Ok(RankRun::new(run.told_summary(), rank.state() == State::Running))
    });
    let mut runs: Vec<RankRun> = summaries.into_iter().collect::<Result<_, String>>()?;
    job::align(&mut runs);
    let mut grid = Grid::over(&runs);
    let scale = MapScale::new(runs.len(), grid.length_ns());
    let pairs: Vec<(&StoredRun, &RankRun)> = ranks.iter().zip(&runs).collect();
    // Each thread adds up its share, so that no more than that is in memory.
    let shares = side_by_side(&chunks(&pairs), |share| -> Result<(Grid, Vec<MapRow>), String> {
        let mut sums = grid.empty();
        let mut rows = Vec::new();
        for (rank, summary) in *share {
            let run = Run::open(&rank.path).map_err(|error| error.to_string())?;
            let mut series = sums.series(summary);
            let row = MapRowBuilder::beside(&series, scale, summary.summary.run.system_cores);
            let mut both = Both(&mut series, row);
            super::load::tell(run.replay(&mut both).damage.as_ref());
            rows.push(both.1.finish());
            sums.add(&series);
        }
        Ok((sums, rows))
    });
    let mut rows = Vec::with_capacity(runs.len());
    for share in shares {
        let (sums, more) = share?;
        grid.absorb(sums);
        rows.extend(more);
    }
    grid.take_joined(join_nodes(ranks, &runs, &grid)?);
    let mut job = Job::merge(&runs, grid);
    job.map = Some(RankMap { scale, rows });
    Ok(job)
}

/// One reading of a file fills the sums and the row of the map.
struct Both<'a>(&'a mut RankSeries, MapRowBuilder);

impl Sink for Both<'_> {
    fn define(&mut self, column: &Column) {
        self.0.define(column);
        self.1.define(column);
    }

    fn event(&mut self, event: &Event) {
        self.0.event(event);
        self.1.event(event);
    }

    fn tick(&mut self, t_ns: u64, values: &[Option<u64>]) {
        self.0.tick(t_ns, values);
        self.1.tick(t_ns, values);
    }
}

/// Reads the records again that hold a part of a node each, or energy that is to be split.
fn join_nodes(ranks: &[StoredRun], runs: &[RankRun], grid: &Grid) -> Result<Vec<JoinedNode>, String> {
    let plans = JoinPlan::of(runs, grid);
    let joined = side_by_side(&plans, |plan| {
        plan.join(runs, grid, |index, sink| {
            let run = Run::open(&ranks[index].path).map_err(|error| error.to_string())?;
            run.replay(sink);
            Ok(())
        })
    });
    joined.into_iter().collect()
}

/// The job as a run, for everything that takes one.
pub(crate) fn as_run(job: &Job) -> Result<Run, String> {
    Run::compose(&job.summary, |sink| job.replay(sink)).map_err(|error| error.to_string())
}

fn threads() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

fn chunks<T>(items: &[T]) -> Vec<&[T]> {
    items.chunks(items.len().div_ceil(threads()).max(1)).collect()
}

/// Applies `work` to all, on all processors, and keeps the order.
fn side_by_side<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    thread::scope(|scope| {
        let parts = chunks(items).into_iter().map(|chunk| {
            let work = &work;
            scope.spawn(move || chunk.iter().map(work).collect::<Vec<R>>())
        });
        let parts: Vec<_> = parts.collect();
        // A panic in a part is a panic of the whole.
        let join = |part: thread::ScopedJoinHandle<'_, Vec<R>>| {
            part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        parts.into_iter().flat_map(join).collect()
    })
}
