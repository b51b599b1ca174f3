//! What the plots and the report are made of: data of a run, already reduced to what fits a screen.
//! Nothing here opens a file; [`crate::downsample::SeriesBuilder`] fills it from the stream of a run.

use jobmeter_model::{Column, Summary, Unit};
use jobmeter_record::table::Phase;
use serde::Serialize;
use std::sync::Arc;

/// One run, ready to be drawn.
#[derive(Debug, Clone)]
pub struct RunData {
    /// How the run is called when several are shown: its name, else its id. Hostile text.
    pub label: String,
    pub summary: Summary,
    pub series: Vec<Series>,
    /// When each phase was active, for the bands behind the charts.
    pub spans: Vec<PhaseSpan>,
    /// The table of phases.
    pub phases: Vec<Phase>,
    pub marks: Vec<PointMark>,
    pub processes: Vec<ProcessRow>,
    /// Processes that lived but are not in `processes`, because there were too many to draw.
    pub processes_omitted: u64,
    pub advice: Option<AdviceBlock>,
}

/// One line of a chart. All series of a run share the time axis.
#[derive(Debug, Clone)]
pub struct Series {
    pub column: Column,
    /// Whether the values are levels or rates of a counter, and in what.
    pub measure: Unit,
    /// Nanoseconds since the run began: the middle of each bucket.
    pub t_ns: Arc<[u64]>,
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
    pub mean: f64,
    pub min: f64,
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

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Peak {
    pub t_ns: u64,
    pub value: f64,
}

/// One stretch of a phase. Open at the end where the run ended first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PhaseSpan {
    /// Hostile text.
    pub name: String,
    pub begin_ns: u64,
    pub end_ns: u64,
    /// The row it is drawn in: as deep as it is nested, deeper where other threads hold those rows.
    pub lane: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PointMark {
    pub t_ns: u64,
    /// Hostile text.
    pub name: String,
}

/// One process that lived during the run.
#[derive(Debug, Clone, PartialEq)]
pub struct ProcessRow {
    pub pid: i32,
    pub parent_pid: i32,
    /// Hostile text.
    pub name: String,
    pub start_ns: u64,
    /// `None`: it was still alive when the record ended.
    pub end_ns: Option<u64>,
    pub cpu_ns: Option<u64>,
    pub peak_rss_bytes: Option<u64>,
    /// As `wait` gives it.
    pub wait_status: Option<i32>,
}

/// What to ask for next time, already in words.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct AdviceBlock {
    /// What to ask for, in one line; empty where nothing can be said.
    pub headline: String,
    pub lines: Vec<String>,
    pub snippets: Vec<Snippet>,
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
    pub costs: Vec<CostRow>,
    /// The difference between the rows of `costs`, and what is and is not counted.
    pub notes: Vec<String>,
}

/// What a run costs on one server.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct CostRow {
    pub title: String,
    pub server: String,
    pub per_hour: String,
    pub per_run: String,
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
    pub text: String,
}

impl RunData {
    /// When the run ended, as far as anything in it tells.
    pub fn end_ns(&self) -> u64 {
        let ticks = self.series.first().and_then(|series| series.t_ns.last().copied()).unwrap_or(0);
        self.summary.run.wall_ns.unwrap_or(0).max(ticks)
    }
}
