//! What every rank used over time, in few enough steps that a thousand ranks fit one page.

use super::RankSeries;
use jobmeter_model::accumulate::most_per_s;
use jobmeter_model::{Column, Event, Kind, Metric, Scope, Sink};

/// What the map can show of a rank: means of the counter in cores, the highest level of the others.
pub const MAPPED: [Metric; 4] = [Metric::CpuNs, Metric::RssBytes, Metric::GpuBusyPpm, Metric::GpuMemoryBytes];

/// Steps over all ranks and figures together, so that the page of a large job can still be mailed.
const MOST_STEPS: usize = 500_000;
const MOST_COLUMNS: usize = 400;
/// However many ranks there are.
const LEAST_COLUMNS: usize = 60;
/// Ticks of a short run are 10 ms apart.
const LEAST_STEP_NS: u64 = 10_000_000;

/// How the job's time is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MapScale {
    /// Steps that the time is divided into.
    pub columns: usize,
    /// How long each is.
    pub column_ns: u64,
}

impl MapScale {
    /// For so many ranks in a job that took `length_ns`.
    pub fn new(ranks: usize, length_ns: u64) -> MapScale {
        let wanted = (MOST_STEPS / (MAPPED.len() * ranks.max(1))).clamp(LEAST_COLUMNS, MOST_COLUMNS);
        let column_ns = length_ns.div_ceil(wanted as u64).max(LEAST_STEP_NS);
        MapScale { columns: length_ns.div_ceil(column_ns).max(1) as usize, column_ns }
    }

    fn column_of(self, t_ns: u64) -> usize {
        usize::try_from(t_ns / self.column_ns).unwrap_or(usize::MAX).min(self.columns - 1)
    }
}

/// The map of a job; one row for each of its ranks, in their order.
#[derive(Debug, Clone, PartialEq)]
pub struct RankMap {
    /// How its time is divided.
    pub scale: MapScale,
    /// One for each rank.
    pub rows: Vec<MapRow>,
}

/// One rank: a value for each step of the job's time, nothing where it was not measured or did not live. Cores, bytes
/// and parts per million, in the order of [`MAPPED`]; empty where the rank has no such figure.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MapRow {
    /// By figure, then by step.
    pub values: [Vec<Option<f32>>; MAPPED.len()],
}

/// Fills one row from the stream of its rank.
#[derive(Debug)]
pub struct MapRowBuilder {
    scale: MapScale,
    /// When the rank began in the job's time.
    offset_ns: u64,
    /// Which figure each column of the stream is.
    columns: Vec<Option<usize>>,
    tracks: [Track; MAPPED.len()],
    most_cores: f32,
}

#[derive(Debug, Default)]
struct Track {
    /// Time and value of the reading that the next difference is taken from.
    before: Option<(u64, u64)>,
    cells: Vec<Cell>,
}

/// A level's highest value; or CPU time and the time in which it was used.
#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    level: Option<f32>,
    used_ns: f64,
    covered_ns: f64,
}

impl MapRowBuilder {
    /// For the rank of `series`, whose moments are put on the job's time there.
    pub fn beside(series: &RankSeries, scale: MapScale, system_cores: u32) -> MapRowBuilder {
        let most = most_per_s(Metric::CpuNs, system_cores).map_or(f32::INFINITY, |ns| (ns / 1e9) as f32);
        MapRowBuilder {
            scale,
            offset_ns: series.offset_ns(),
            columns: Vec::new(),
            tracks: Default::default(),
            most_cores: most,
        }
    }

    /// The row, once the stream of the rank has ended.
    pub fn finish(self) -> MapRow {
        let most_cores = self.most_cores;
        let mut values = self.tracks.map(|track| {
            let mut held = None;
            let until = track.cells.iter().rposition(|cell| cell.level.is_some()).unwrap_or(0);
            let value = |(at, cell): (usize, &Cell)| {
                // A level stays until it is read again; a rate covers its whole time already.
                held = cell.level.or(held).filter(|_| at <= until);
                held.or_else(|| cell.rate())
            };
            track.cells.iter().enumerate().map(value).collect::<Vec<_>>()
        });
        // As in the charts, no rate is more than the hardware allows.
        values[0].iter_mut().flatten().for_each(|cores| *cores = cores.min(most_cores));
        MapRow { values }
    }

    fn take(&mut self, t_ns: u64, column: usize, value: u64) {
        let Some(figure) = self.columns.get(column).copied().flatten() else { return };
        let (scale, t_ns) = (self.scale, self.offset_ns.saturating_add(t_ns));
        let track = &mut self.tracks[figure];
        if track.cells.is_empty() {
            track.cells = vec![Cell::default(); scale.columns];
        }
        if MAPPED[figure].info().kind == Kind::Counter {
            track.count(scale, t_ns, value);
        } else {
            let cell = &mut track.cells[scale.column_of(t_ns)];
            cell.level = Some(cell.level.map_or(value as f32, |level| level.max(value as f32)));
        }
    }
}

impl Track {
    /// Spreads what was used since the reading before over the steps between the two.
    fn count(&mut self, scale: MapScale, t_ns: u64, value: u64) {
        let Some((from_ns, before)) = self.before else {
            self.before = Some((t_ns, value));
            return;
        };
        if t_ns <= from_ns {
            return;
        }
        self.before = Some((t_ns, value));
        // A counter that runs backwards is a gap.
        let Some(used) = value.checked_sub(before) else { return };
        let per_ns = used as f64 / (t_ns - from_ns) as f64;
        for column in scale.column_of(from_ns)..=scale.column_of(t_ns) {
            let begin_ns = column as u64 * scale.column_ns;
            let end_ns = if column + 1 == scale.columns { u64::MAX } else { begin_ns + scale.column_ns };
            let covered = t_ns.min(end_ns).saturating_sub(from_ns.max(begin_ns)) as f64;
            let cell = &mut self.cells[column];
            cell.used_ns += per_ns * covered;
            cell.covered_ns += covered;
        }
    }
}

impl Cell {
    fn rate(&self) -> Option<f32> {
        (self.covered_ns > 0.0).then(|| (self.used_ns / self.covered_ns) as f32)
    }
}

impl Sink for MapRowBuilder {
    fn define(&mut self, column: &Column) {
        let is_of_rank = column.scope == Scope::Combined && column.entity.is_none();
        let figure = MAPPED.iter().position(|metric| *metric == column.metric);
        self.columns.push(figure.filter(|_| is_of_rank));
    }

    fn event(&mut self, event: &Event) {
        if let Event::Settle { t_ns, values } = event {
            for (column, value) in values {
                self.take(*t_ns, *column as usize, *value);
            }
        }
    }

    fn tick(&mut self, t_ns: u64, values: &[Option<u64>]) {
        let known = values.iter().take(self.columns.len()).enumerate();
        for (column, value) in known.filter_map(|(column, value)| Some((column, (*value)?))) {
            self.take(t_ns, column, value);
        }
    }
}

#[cfg(test)]
#[path = "map_tests.rs"]
mod tests;
