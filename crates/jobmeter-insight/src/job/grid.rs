//! The sums over ranks at the same moments: each rank's readings are put on one grid of the wall clock and added up.
//! However many ranks there are, only the sums are kept.

use super::joined::{JoinedNode, has_energy};
use super::parts::RankPart;
use super::{RankRun, end_unix_ns};
use jobmeter_model::{Column, Event, Kind, Metric, Scope, Sink, Unit};
use std::collections::HashMap;

/// Finer than a page can show, coarse enough for a thousand ranks.
const MOST_CELLS: u64 = 2_000;
/// Ticks of a short run are 10 ms apart.
const LEAST_CELL_NS: u64 = 10_000_000;

/// The moments and the sums.
#[derive(Debug, Clone)]
pub struct Grid {
    began_unix_ns: u64,
    cell_ns: u64,
    cells: usize,
    sums: Vec<(Metric, Vec<Sum>)>,
    /// The machine's energy is known: the CPU time of each rank is kept to split it by.
    splits_energy: bool,
    /// Of each rank that was added: what its record holds of its node.
    pub(super) parts: HashMap<String, RankPart>,
    pub(super) joined: Vec<JoinedNode>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    value: u64,
    known: u32,
}

impl Grid {
    /// For the time from the first start to the last end.
    pub fn over(runs: &[RankRun]) -> Grid {
        let began_unix_ns = runs.iter().map(|run| run.summary.run.started_unix_ns).min().unwrap_or(0);
        let end_ns = runs.iter().map(|run| end_unix_ns(&run.summary.run)).max().unwrap_or(0);
        let length_ns = end_ns.saturating_sub(began_unix_ns).max(1);
        let cell_ns = length_ns.div_ceil(MOST_CELLS).max(LEAST_CELL_NS);
        let cells = length_ns.div_ceil(cell_ns) as usize;
        let splits_energy = runs.iter().any(|run| has_energy(&run.summary.system));
        Grid {
            began_unix_ns,
            cell_ns,
            cells,
            sums: Vec::new(),
            splits_energy,
            parts: HashMap::new(),
            joined: Vec::new(),
        }
    }

    /// Takes the stream of one rank.
    pub fn series(&self, run: &RankRun) -> RankSeries {
        let info = &run.summary.run;
        RankSeries {
            offset_ns: info.started_unix_ns.saturating_sub(self.began_unix_ns),
            cell_ns: self.cell_ns,
            cells: self.cells,
            columns: Vec::new(),
            last_cell: 0,
            part: RankPart::of(&info.id),
        }
    }

    /// Adds a rank. Between two of its readings a counter grows evenly: cells are finer than ticks may be, and ranks
    /// that tick together would otherwise add up to bursts with nothing between them. After its end its counters stay
    /// and its levels are 0.
    pub fn add(&mut self, rank: &RankSeries) {
        let cpu = rank.columns.iter().flatten().find(|(metric, _)| *metric == Metric::CpuNs);
        let cpu = cpu.filter(|_| self.splits_energy);
        let cpu = cpu.map(|(_, readings)| readings.clone()).unwrap_or_default();
        self.parts.insert(rank.part.run_id.clone(), rank.part.with_cpu(cpu));
        let mut filled = Vec::with_capacity(self.cells);
        for (metric, readings) in rank.columns.iter().flatten() {
            let index = self.sums.iter().position(|(known, _)| known == metric).unwrap_or_else(|| {
                self.sums.push((*metric, vec![Sum::default(); self.cells]));
                self.sums.len() - 1
            });
            match metric.info().kind {
                Kind::Counter => fill_counter(readings, &mut filled),
                _ => fill_level(readings, rank.last_cell, &mut filled),
            }
            for (sum, value) in self.sums[index].1.iter_mut().zip(&filled) {
                if let Some(value) = value {
                    sum.value = sum.value.saturating_add(*value);
                    sum.known += 1;
                }
            }
        }
    }

    /// Adds the sums of another grid over the same time.
    pub fn absorb(&mut self, other: Grid) {
        self.parts.extend(other.parts);
        for (metric, sums) in other.sums {
            match self.sums.iter_mut().find(|(known, _)| *known == metric) {
                None => self.sums.push((metric, sums)),
                Some((_, own)) => {
                    for (own, more) in own.iter_mut().zip(sums) {
                        own.value = own.value.saturating_add(more.value);
                        own.known += more.known;
                    }
                }
            }
        }
    }

    /// From the first start to the last end.
    pub fn length_ns(&self) -> u64 {
        self.cells as u64 * self.cell_ns
    }

    /// An empty one over the same time.
    pub fn empty(&self) -> Grid {
        Grid { sums: Vec::new(), parts: HashMap::new(), ..self.clone() }
    }

    pub(super) fn began_unix_ns(&self) -> u64 {
        self.began_unix_ns
    }

    pub(super) fn part(&self, run: &RankRun) -> Option<&RankPart> {
        self.parts.get(&run.summary.run.id)
    }

    /// The cell of a moment of the job's time.
    pub(super) fn cell_at(&self, t_ns: u64) -> usize {
        usize::try_from(t_ns / self.cell_ns).unwrap_or(usize::MAX).min(self.cells.saturating_sub(1))
    }

    /// Adds the nodes whose records were read again: see [`JoinedNode`].
    pub fn take_joined(&mut self, joined: Vec<JoinedNode>) {
        self.joined = joined;
    }

    pub(super) fn replay(&self, sink: &mut dyn Sink) {
        for (metric, _) in &self.sums {
            sink.define(&Column::of(Scope::Combined, *metric));
        }
        let mut row = Vec::with_capacity(self.sums.len());
        for cell in 0..self.cells {
            row.clear();
            row.extend(self.sums.iter().map(|(_, sums)| (sums[cell].known > 0).then_some(sums[cell].value)));
            sink.tick((cell as u64 + 1) * self.cell_ns, &row);
        }
    }
}

/// A counter in every cell from its first reading on: in proportion between two readings, the last one afterwards.
fn fill_counter(readings: &[Option<u64>], filled: &mut Vec<Option<u64>>) {
    filled.clear();
    let mut last: Option<(usize, u64)> = None;
    for (cell, value) in readings.iter().enumerate().filter_map(|(cell, value)| Some((cell, (*value)?))) {
        if let Some((before, low)) = last {
            let (cells, grown) = ((cell - before) as u128, u128::from(value.saturating_sub(low)));
            let at = |step: u128| low + (grown * step / cells) as u64;
            filled.extend((1..cells).map(|step| Some(at(step))));
        }
        filled.resize(cell, None);
        filled.push(Some(value));
        last = Some((cell, value));
    }
    filled.resize(readings.len(), last.map(|(_, value)| value));
}

/// A level in every cell from its first reading to the rank's last tick: that of the last reading.
fn fill_level(readings: &[Option<u64>], last_cell: usize, filled: &mut Vec<Option<u64>>) {
    filled.clear();
    let mut last = None;
    filled.extend(readings.iter().enumerate().map(|(cell, reading)| {
        last = reading.or(last);
        reading.or(last.filter(|_| cell <= last_cell))
    }));
}

/// The readings of one rank on the grid: the last of a counter in each cell, the highest of a level.
#[derive(Debug)]
pub struct RankSeries {
    offset_ns: u64,
    cell_ns: u64,
    cells: usize,
    columns: Vec<Option<(Metric, Vec<Option<u64>>)>>,
    last_cell: usize,
    part: RankPart,
}

impl Sink for RankSeries {
    fn define(&mut self, column: &Column) {
        self.part.define(self.columns.len(), column);
        let adds_up = column.scope == Scope::Combined
            && column.entity.is_none()
            && column.metric.info().unit != Unit::Bits;
        self.columns.push(adds_up.then(|| (column.metric, vec![None; self.cells])));
    }

    fn event(&mut self, event: &Event) {
        self.part.event(event);
        // Final totals that no tick could know.
        if let Event::Settle { t_ns, values } = event {
            let cell = self.cell_of(*t_ns);
            for (index, value) in values {
                if let Some(Some((_, readings))) = self.columns.get_mut(*index as usize)
                    && let Some(reading) = readings.get_mut(cell)
                {
                    *reading = Some(*value);
                }
            }
        }
    }

    fn tick(&mut self, t_ns: u64, values: &[Option<u64>]) {
        self.part.tick(t_ns, values);
        let cell = self.cell_of(t_ns);
        self.last_cell = self.last_cell.max(cell);
        for (column, value) in self.columns.iter_mut().zip(values) {
            let (Some((metric, readings)), Some(value)) = (column, value) else { continue };
            let Some(reading) = readings.get_mut(cell) else { continue };
            *reading = match (metric.info().kind, *reading) {
                (Kind::Gauge, Some(before)) => Some(before.max(*value)),
                _ => Some(*value),
            };
        }
    }
}

impl RankSeries {
    /// When the rank began in the job's time.
    pub(super) fn offset_ns(&self) -> u64 {
        self.offset_ns
    }

    fn cell_of(&self, t_ns: u64) -> usize {
        let cell = self.offset_ns.saturating_add(t_ns) / self.cell_ns;
        usize::try_from(cell).unwrap_or(usize::MAX).min(self.cells.saturating_sub(1))
    }
}
