//! The rows of a session while it goes on: into a tracking file, and what only they know of the GPUs. What is unknown
//! is 0.0 here and nowhere else, because the layout has no other word for it.

use super::machine::{Machine, remains_zero};
use super::tracking_file::Track;
use crate::error::CompatError;
use crate::rows::{Cells, RowMaker, stored};
use crate::table::DATA_COLUMNS;
use jobmeter_gpu::Listing;
use jobmeter_model::event::{Event, Sink};
use jobmeter_model::metric::Column;

/// So long the tracking file waits for a driver to say which GPUs there are.
const LISTING_PATIENCE_NS: u64 = 10_000_000_000;

/// The rows of a session, made from its ticks.
pub struct Timepoints {
    machine: Machine,
    /// While the driver has not answered.
    listing: Option<Listing>,
    started_unix_ns: u64,
    track: Option<Track>,
    failure: Option<CompatError>,
    rows: RowMaker,
    pub(crate) gpu: GpuFigures,
}

/// What only the rows know of the GPUs.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct GpuFigures {
    pub(crate) system_ram_max: f64,
    pub(crate) busy_percent_max: f64,
    busy_percent_sum: f64,
    /// Rows in which the use is known: those before the driver has answered count for nothing.
    busy_rows: u32,
}

impl GpuFigures {
    pub(crate) fn busy_percent_mean(&self) -> f64 {
        self.busy_percent_sum / f64::from(self.busy_rows.max(1))
    }
}

impl Timepoints {
    /// With a `listing`, the GPUs of the machine are learned from it, and the tracking file begins then.
    pub fn new(
        machine: Machine,
        listing: Option<Listing>,
        started_unix_ns: u64,
        track: Option<Track>,
    ) -> Timepoints {
        let mut rows = Timepoints {
            machine,
            listing,
            started_unix_ns,
            track,
            failure: None,
            rows: RowMaker::default(),
            gpu: GpuFigures::default(),
        };
        if rows.listing.is_none() {
            rows.begin_file();
        }
        rows
    }

    /// The machine, as far as it is known by now.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// What went wrong with the file so far. Nothing is written to it any more.
    pub fn check(&mut self) -> Result<(), CompatError> {
        self.failure.take().map_or(Ok(()), Err)
    }

    /// Ends the file; what went wrong with it, if anything did.
    pub fn finish(&mut self) -> Result<(), CompatError> {
        self.learn();
        self.begin_file();
        if let Some(track) = self.track.take() {
            track.finish()?;
        }
        self.failure.take().map_or(Ok(()), Err)
    }

    /// What to warn of at the end: a driver that had no GPUs to tell.
    pub fn gpu_warning(&mut self) -> Option<String> {
        self.learn();
        let reason = match self.listing.as_ref()?.now() {
            Some(Err(reason)) => reason,
            _ => "The GPU driver had not answered when the command ended".to_owned(),
        };
        Some(remains_zero(&reason))
    }

    /// Takes over the GPUs as soon as the driver has told them.
    fn learn(&mut self) {
        if let Some(Ok(devices)) = self.listing.as_ref().and_then(Listing::now) {
            self.machine.add_gpus(&devices);
            self.listing = None;
            self.begin_file();
        }
    }

    fn begin_file(&mut self) {
        let begun = self.track.as_mut().map_or(Ok(()), |track| track.begin(&self.machine));
        self.note(begun);
    }

    /// One failure is told at the end; the session goes on without the file.
    fn note(&mut self, result: Result<(), CompatError>) {
        if let Err(error) = result {
            self.failure = Some(error);
            self.track = None;
        }
    }

    fn keep(&mut self, cells: &Cells) {
        let known = |name: &str| {
            let place = DATA_COLUMNS.iter().position(|column| *column == name);
            place.and_then(|place| cells[place])
        };
        if let Some(ram) = known("system_gpu_ram") {
            self.gpu.system_ram_max = self.gpu.system_ram_max.max(ram);
        }
        if let Some(percent) = known("gpu_sum_utilization_percent") {
            self.gpu.busy_percent_max = self.gpu.busy_percent_max.max(percent);
            self.gpu.busy_percent_sum += percent;
            self.gpu.busy_rows += 1;
        }
    }
}

impl Sink for Timepoints {
    fn define(&mut self, column: &Column) {
        self.learn();
        let uuids = &self.machine.uuids;
        self.rows.define(column, |name| uuids.iter().any(|uuid| uuid == name));
    }

    fn event(&mut self, _event: &Event) {}

    fn tick(&mut self, t_ns: u64, values: &[Option<u64>]) {
        self.learn();
        if t_ns > LISTING_PATIENCE_NS {
            self.begin_file();
        }
        let Some(made) = self.rows.row(t_ns, values, self.machine.scale(), self.started_unix_ns) else {
            return;
        };
        self.keep(&made.cells);
        if let Some(track) = self.track.as_mut().filter(|_| !made.is_over) {
            let row =
                DATA_COLUMNS.iter().zip(made.cells).map(|(column, cell)| stored(column, cell.unwrap_or(0.0)));
            let put = track.append(row.collect());
            self.note(put);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{cell, read_tracking};
    use crate::tracker::units;
    use crate::tree::Node;
    use jobmeter_model::metric::{EntityKind, Metric, Scope};

    #[test]
    fn a_tick_that_did_not_read_the_machine_makes_no_row() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("rows.csv");
        let mut points = Timepoints::new(machine(), None, 0, Some(Track::new(path.clone(), false)));
        for (scope, metric) in [
            (Scope::Main, Metric::Threads),
            (Scope::Main, Metric::RssBytes),
            (Scope::System, Metric::CpuNs),
            (Scope::System, Metric::MemoryUsedBytes),
        ] {
            points.define(&Column::of(scope, metric));
        }
        for (t_ms, machine_ms) in [(0, Some(0)), (100, Some(200)), (150, None), (200, Some(400))] {
            let machine_ns = machine_ms.map(|ms: u64| ms * 1_000_000);
            points.tick(t_ms * 1_000_000, &[Some(1), Some(4096), machine_ns, machine_ns.map(|_| 5000)]);
        }
        points.finish().expect("all rows are written");
        let (_, rows) = read_tracking(&path).expect("readable");
        let numbers =
            |name: &str| -> Vec<String> { rows.iter().map(|row| format!("{:?}", cell(row, name))).collect() };
        let percents = numbers("cpu_system_sum_utilization_percent");
        assert_eq!(percents, ["Some(Float(200.0))", "Some(Float(200.0))"], "never more than two cores");
        assert_eq!(numbers("system_ram"), ["Some(Float(5000.0))", "Some(Float(5000.0))"]);
    }

    fn machine() -> Machine {
        let bytes = units::memory("bytes", "RAM").expect("a unit");
        Machine {
            ram_unit: bytes,
            gpu_ram_unit: bytes,
            time_unit: units::time("seconds").expect("a unit"),
            ram_capacity: 1e9,
            gpu_ram_capacity: 0.0,
            core_count: 2,
            n_expected_cores: 2,
            gpu_count: 0,
            n_expected_gpus: 0,
            uuids: Vec::new(),
        }
    }

    #[test]
    fn the_mean_use_of_gpus_counts_the_rows_in_which_it_is_known() {
        let machine = Machine { uuids: vec!["GPU-0".to_owned()], n_expected_gpus: 1, ..machine() };
        let mut points = Timepoints::new(machine, None, 0, None);
        points.define(&Column::of(Scope::Main, Metric::Threads));
        points.define(&Column::of(Scope::Main, Metric::RssBytes));
        points.define(&Column::entity(Scope::System, Metric::GpuBusyPpm, EntityKind::Gpu, "GPU-0"));
        for (t_ms, busy_ppm) in [(0, None), (100, None), (200, Some(700_000)), (300, Some(800_000))] {
            points.tick(t_ms * 1_000_000, &[Some(1), Some(4096), busy_ppm]);
        }
        assert_eq!(points.gpu.busy_percent_mean(), 75.0, "the driver had not answered at first");
        assert_eq!(points.gpu.busy_percent_max, 80.0);
    }

    #[test]
    fn a_row_soon_after_a_late_one_takes_its_rate_over_both() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("rows.csv");
        let track = Track::new(path.clone(), false);
        let mut points = Timepoints::new(machine(), None, 0, Some(track));
        points.define(&Column::of(Scope::Main, Metric::Threads));
        points.define(&Column::of(Scope::Main, Metric::CpuNs));
        points.define(&Column::of(Scope::Main, Metric::RssBytes));
        for (t_ms, cpu_ms) in [(0, 0), (100, 100), (200, 200), (397, 390), (400, 410), (500, 510)] {
            points.tick(t_ms * 1_000_000, &[Some(1), Some(cpu_ms * 1_000_000), Some(4096)]);
        }
        points.finish().expect("all rows are written");
        let (_, rows) = read_tracking(&path).expect("readable");
        let percents: Vec<f64> = rows
            .iter()
            .map(|row| match cell(row, "cpu_main_sum_utilization_percent") {
                Some(Node::Float(percent)) => *percent,
                other => panic!("no percentage: {other:?}"),
            })
            .collect();
        let expected = [100.0, 100.0, 190.0 / 1.97, 105.0, 100.0];
        assert_eq!(percents.len(), expected.len());
        for (percent, expected) in percents.iter().zip(expected) {
            assert!((percent - expected).abs() < 1e-9, "{percents:?}");
        }
    }
}
