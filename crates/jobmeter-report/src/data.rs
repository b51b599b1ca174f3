//! What the plots and the report are made of: data of a run, already reduced to what fits a screen.
//! Nothing here opens a file; [`crate::downsample::SeriesBuilder`] fills it from the stream of a run.

use jobmeter_insight::job::Job;
use jobmeter_model::{Column, Summary, Unit};
use jobmeter_record::table::Phase;
use serde::Serialize;
use std::sync::Arc;

/// One run, ready to be drawn.
#[derive(Debug, Clone)]
pub struct RunData {
    /// How the run is called when several are shown: its name, else its id. Hostile text.
    pub label: String,
    /// What the run came to.
    pub summary: Summary,
    /// Its columns over time.
    pub series: Vec<Series>,
    /// When each phase was active, for the bands behind the charts.
    pub spans: Vec<PhaseSpan>,
    /// The table of phases.
    pub phases: Vec<Phase>,
    /// Marks that stand for a moment.
    pub marks: Vec<PointMark>,
    /// Its processes.
    pub processes: Vec<ProcessRow>,
    /// Processes that lived but are not in `processes`, because there were too many to draw.
    pub processes_omitted: u64,
    /// What to ask for next time, where it was asked for.
    pub advice: Option<AdviceBlock>,
    /// The ranks, where the run is a job of several.
    pub job: Option<Arc<Job>>,
}

/// One line of a chart. All series of a run share the time axis.
#[derive(Debug, Clone)]
pub struct Series {
    /// Whose values they are.
    pub column: Column,
    /// Whether the values are levels or rates of a counter, and in what.
    pub measure: Unit,
    /// Nanoseconds since the run began: the middle of each bucket.
    pub t_ns: Arc<[u64]>,
    /// By bucket; `None` where nothing was read.
    pub points: Vec<Option<Point>>,
    /// The largest value of any tick and when it was seen; survives every reduction.
    pub peak: Option<Peak>,
}

impl Series {
    /// The series with neighbouring buckets put together until no more than `limit` are left; extremes stay.
    pub fn thinned(&self, limit: usize) -> Vec<(u64, Option<Point>)> {
        let group = self.points.len().div_ceil(limit.max(1)).max(1);
        let times = self.t_ns.chunks(group);
        times
            .zip(self.points.chunks(group))
            .map(|(t, points)| (t[t.len() / 2], Point::together(points)))
            .collect()
    }
}

/// What one bucket of ticks had to say. For a bucket of one tick the three are equal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Over the bucket, weighted by time.
    pub mean: f64,
    /// The least in the bucket.
    pub min: f64,
    /// The most in the bucket.
    pub max: f64,
}

impl Point {
    fn together(points: &[Option<Point>]) -> Option<Point> {
        let known = || points.iter().flatten();
        let count = known().count();
        (count > 0).then(|| Point {
            mean: known().map(|point| point.mean).sum::<f64>() / count as f64,
            min: known().map(|point| point.min).fold(f64::INFINITY, f64::min),
            max: known().map(|point| point.max).fold(f64::NEG_INFINITY, f64::max),
        })
    }
}

/// The highest value of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Peak {
    /// Since the run began.
    pub t_ns: u64,
    /// In the unit of the series.
    pub value: f64,
}

/// One stretch of a phase. Open at the end where the run ended first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PhaseSpan {
    /// Hostile text.
    pub name: String,
    /// Since the run began.
    pub begin_ns: u64,
    /// Since the run began.
    pub end_ns: u64,
    /// The row it is drawn in: as deep as it is nested, deeper where other threads hold those rows.
    pub lane: u32,
}

/// A mark that stands for a moment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PointMark {
    /// Since the run began.
    pub t_ns: u64,
    /// Hostile text.
    pub name: String,
}

/// One process that lived during the run.
#[derive(Debug, Clone, PartialEq)]
pub struct ProcessRow {
    /// Its number.
    pub pid: i32,
    /// Of its parent.
    pub parent_pid: i32,
    /// Hostile text.
    pub name: String,
    /// Its command line where that is known; hostile text.
    pub command: Option<String>,
    /// Since the run began.
    pub start_ns: u64,
    /// `None`: it was still alive when the record ended.
    pub end_ns: Option<u64>,
    /// CPU time of its own.
    pub cpu_ns: Option<u64>,
    /// The most memory that it held.
    pub peak_rss_bytes: Option<u64>,
    /// As `wait` gives it.
    pub wait_status: Option<i32>,
}

/// What to ask for next time, already in words.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct AdviceBlock {
    /// What to ask for, in one line; empty where nothing can be said.
    pub headline: String,
    /// The advice, line by line.
    pub lines: Vec<String>,
    /// The same in the words of schedulers.
    pub snippets: Vec<Snippet>,
    /// The server that fits it.
    pub server: Option<ServerBlock>,
}

/// Which server the next run wants, what it costs there and here, and whether this one was shared; in words.
/// Names of servers may come from a user's catalogue: hostile text.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ServerBlock {
    /// The cheapest that fits, or why there is none.
    pub recommended: Option<String>,
    /// `dedicated`, `shared` or `unknown`.
    pub allocation: Option<String>,
    /// What that verdict rests on, one sentence each.
    pub evidence: Vec<String>,
    /// What runs cost on it and on the present one.
    pub costs: Vec<CostRow>,
    /// The difference between the rows of `costs`, and what is and is not counted.
    pub notes: Vec<String>,
}

/// What a run costs on one server.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct CostRow {
    /// Which server it is.
    pub title: String,
    /// Its name.
    pub server: String,
    /// Its price.
    pub per_hour: String,
    /// What a run costs.
    pub per_run: String,
    /// What a thousand runs cost.
    pub per_1000_runs: String,
    /// Where the price comes from.
    pub source: String,
    /// When it held.
    pub as_of: String,
}

/// Something to copy into a job script.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Snippet {
    /// `Slurm`, `Kubernetes`, `docker run` …
    pub title: String,
    /// What to copy.
    pub text: String,
}

impl RunData {
    /// When the run ended, as far as anything in it tells.
    pub fn end_ns(&self) -> u64 {
        let ticks = self.series.first().and_then(|series| series.t_ns.last().copied()).unwrap_or(0);
        self.summary.run.wall_ns.unwrap_or(0).max(ticks)
    }
}
