//! A node as its recorders saw it, one after the other. At each moment one rank's record is believed; a counter of the
//! next is put on top of what the node had when that rank began to count, so that the time between two recorders is in
//! it and nothing is in it twice.

use super::parts::RankPart;
use super::{Grid, RankRun};
use jobmeter_model::replay::Replay;
use jobmeter_model::summary::EntityFigures;
use jobmeter_model::{Column, Event, Figures, Kind, Metric, Quality, RunInfo, Scope, Sink};
use serde::Serialize;
use std::collections::HashMap;

/// Energy of a machine, which is split over the ranks by their use.
pub(super) const ENERGY: [Metric; 2] = [Metric::EnergyPackageUj, Metric::EnergyDramUj];
/// What is kept of the node on the job's grid: its CPU time, and energy.
const KEPT: [Metric; 3] = [Metric::CpuNs, ENERGY[0], ENERGY[1]];

/// Which rank recorded the node, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Recorder {
    /// The rank.
    pub rank: Option<u32>,
    /// Its run.
    pub run_id: String,
    /// Its first row with the machine.
    pub from_unix_ns: u64,
    /// Its last.
    pub to_unix_ns: u64,
    #[serde(skip)]
    pub(super) run: usize,
}

/// A node whose records are to be read again, in this order.
#[derive(Debug)]
pub struct JoinPlan {
    node: usize,
    recorders: Vec<Recorder>,
}

impl JoinPlan {
    /// The nodes of which several ranks recorded a part, and those with energy that is to be split.
    pub fn of(runs: &[RankRun], grid: &Grid) -> Vec<JoinPlan> {
        let nodes = super::nodes::of(runs, grid);
        let plans = nodes.into_iter().enumerate().map(|(node, found)| {
            let mut systems = found.recorders.iter().map(|recorder| &runs[recorder.run].summary.system);
            (systems.any(has_energy), node, found)
        });
        let wanted = plans.filter(|(has_energy, _, node)| *has_energy || node.recorders.len() > 1);
        wanted.map(|(_, node, found)| JoinPlan { node, recorders: found.recorders }).collect()
    }

    /// The runs to read, as places among those that were given.
    pub fn runs(&self) -> impl Iterator<Item = usize> {
        self.recorders.iter().map(|recorder| recorder.run)
    }

    /// Reads them: `replay` gives the stream of a run to a sink.
    pub fn join(
        &self,
        runs: &[RankRun],
        grid: &Grid,
        mut replay: impl FnMut(usize, &mut dyn Sink) -> Result<(), String>,
    ) -> Result<JoinedNode, String> {
        let mut join = Join::default();
        for (place, recorder) in self.recorders.iter().enumerate() {
            let run = &runs[recorder.run];
            let Some(part) = grid.part(run) else { continue };
            let start_ns = run.summary.run.started_unix_ns.saturating_sub(grid.began_unix_ns());
            let is_last = place + 1 == self.recorders.len();
            let mut piece = Piece { join: &mut join, part, grid, start_ns, columns: Vec::new(), is_last };
            replay(recorder.run, &mut piece)?;
        }
        let info = runs.get(self.recorders[0].run).map(|run| run.summary.run.clone()).unwrap_or_default();
        Ok(join.finish(self, info))
    }
}

/// Whether the figures of a machine have energy.
pub(super) fn has_energy(system: &Figures) -> bool {
    ENERGY.iter().any(|metric| system.value(*metric, metric.first_stat()).is_some())
}

/// What came of it.
#[derive(Debug, Clone)]
pub struct JoinedNode {
    pub(super) node: usize,
    pub(super) system: Figures,
    pub(super) gpus: Vec<EntityFigures>,
    /// CPU time and energy of the machine, by cell of the job's grid.
    pub(super) kept: [Vec<(usize, u64)>; KEPT.len()],
}

/// One column of the node.
struct Track {
    is_counter: bool,
    /// Its place in [`KEPT`].
    kept: Option<usize>,
    /// The readings of a counter, with times of the job.
    series: Vec<(u64, u64)>,
}

impl Track {
    fn of(column: &Column) -> Track {
        let is_whole = column.entity.is_none();
        let kept = KEPT.iter().position(|metric| is_whole && *metric == column.metric);
        Track { is_counter: column.metric.info().kind == Kind::Counter, kept, series: Vec::new() }
    }
}

#[derive(Default)]
struct Join {
    replay: Replay,
    places: HashMap<Column, usize>,
    tracks: Vec<Track>,
    row: Vec<Option<u64>>,
    /// Rows up to here are another recorder's.
    until_ns: Option<u64>,
    kept: [Vec<(usize, u64)>; KEPT.len()],
}

impl Join {
    /// What the node had at a moment of the job, between two readings in proportion.
    fn value_at(&self, column: usize, t_ns: u64) -> u64 {
        let series = &self.tracks[column].series;
        let after = series.partition_point(|(at_ns, _)| *at_ns <= t_ns);
        match (after.checked_sub(1).map(|before| series[before]), series.get(after)) {
            (None, _) => 0,
            (Some((_, before)), None) => before,
            (Some((before_ns, before)), Some((after_ns, value))) => {
                let grown = u128::from(value.saturating_sub(before)) * u128::from(t_ns - before_ns);
                before + (grown / u128::from((after_ns - before_ns).max(1))) as u64
            }
        }
    }

    fn finish(self, plan: &JoinPlan, info: RunInfo) -> JoinedNode {
        let mut summary = self.replay.summary(&info);
        if plan.recorders.len() > 1 {
            let reason = format!("joined from the records of {} ranks", plan.recorders.len());
            for figure in summary.system.values_mut().filter(|figure| figure.quality == Quality::Exact) {
                figure.quality = Quality::Sampled;
                figure.reason = Some(reason.clone());
            }
        }
        JoinedNode { node: plan.node, system: summary.system, gpus: summary.gpus, kept: self.kept }
    }
}

/// The stream of one recorder.
struct Piece<'a> {
    join: &'a mut Join,
    part: &'a RankPart,
    grid: &'a Grid,
    /// When the run began in the job's time.
    start_ns: u64,
    /// Columns of the machine: where each is in the node, and what the node had when this rank began to count it.
    columns: Vec<Option<(usize, Option<u64>)>>,
    is_last: bool,
}

impl Sink for Piece<'_> {
    fn define(&mut self, column: &Column) {
        if column.scope != Scope::System {
            return self.columns.push(None);
        }
        let next = self.join.places.len();
        let place = *self.join.places.entry(column.clone()).or_insert(next);
        if place == next {
            self.join.replay.define(column);
            self.join.tracks.push(Track::of(column));
            self.join.row.push(None);
        }
        self.columns.push(Some((place, None)));
    }

    fn event(&mut self, _event: &Event) {}

    fn tick(&mut self, t_ns: u64, values: &[Option<u64>]) {
        let job_ns = self.start_ns.saturating_add(t_ns);
        self.find_offsets(t_ns, values);
        let is_read =
            self.part.machine_ns.is_some_and(|(first_ns, last_ns)| (first_ns..=last_ns).contains(&t_ns));
        if !is_read || self.join.until_ns.is_some_and(|until_ns| job_ns <= until_ns) {
            return;
        }
        self.join.row.fill(None);
        let cell = self.grid.cell_at(job_ns);
        let mut is_any = false;
        for (known, value) in self.columns.iter().zip(values) {
            let (Some((place, Some(offset))), Some(value)) = (known, value) else { continue };
            let value = offset.saturating_add(*value);
            self.join.row[*place] = Some(value);
            is_any = true;
            let track = &mut self.join.tracks[*place];
            if track.is_counter && !self.is_last {
                track.series.push((job_ns, value));
            }
            if let Some(kept) = track.kept {
                keep(&mut self.join.kept[kept], cell, value);
            }
        }
        if is_any {
            let row = std::mem::take(&mut self.join.row);
            self.join.replay.tick(job_ns, &row);
            self.join.row = row;
            self.join.until_ns = Some(job_ns);
        }
    }
}

impl Piece<'_> {
    /// For columns that have a value for the first time, also in a row that is another recorder's.
    fn find_offsets(&mut self, t_ns: u64, values: &[Option<u64>]) {
        for (index, (known, value)) in self.columns.iter_mut().zip(values).enumerate() {
            if let (Some((place, offset @ None)), Some(_)) = (known, value) {
                let base_ns = self.start_ns.saturating_add(self.part.base_ns(index, t_ns));
                let is_counter = self.join.tracks[*place].is_counter;
                *offset = Some(if is_counter { self.join.value_at(*place, base_ns) } else { 0 });
            }
        }
    }
}

/// The last reading of each cell.
fn keep(kept: &mut Vec<(usize, u64)>, cell: usize, value: u64) {
    match kept.last_mut() {
        Some((last, known)) if *last == cell => *known = value,
        _ => kept.push((cell, value)),
    }
}
