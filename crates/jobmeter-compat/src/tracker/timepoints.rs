//! Ticks become rows: levels in the chosen units, CPU time as percent of the interval. What is unknown is
//! 0.0 here and nowhere else, because the layout has no other word for it.

use super::machine::{Machine, remains_zero};
use super::tracking_file::Track;
use crate::error::CompatError;
use crate::tree::Node;
use jobmeter_gpu::Listing;
use jobmeter_model::event::{Event, Sink};
use jobmeter_model::metric::{Column, EntityKind, Metric, Scope};
use std::collections::HashMap;

/// So long the tracking file waits for a driver to say which GPUs there are.
const LISTING_PATIENCE_NS: u64 = 10_000_000_000;

pub struct Timepoints {
    machine: Machine,
    /// While the driver has not answered.
    listing: Option<Listing>,
    started_unix_ns: u64,
    track: Option<Track>,
    failure: Option<CompatError>,
    defined: usize,
    places: HashMap<(Scope, Metric), usize>,
    /// Use of each GPU whose utilization counts.
    busy_places: Vec<usize>,
    before: Option<Reading>,
    /// The reading before that one, for the rates of a row that came soon after a late one.
    earlier: Option<Reading>,
    pub(crate) gpu: GpuFigures,
}

struct Reading {
    t_ns: u64,
    values: Vec<Option<u64>>,
}

/// What only the rows know of the GPUs.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct GpuFigures {
    pub(crate) system_ram_max: f64,
    pub(crate) busy_percent_max: f64,
    busy_percent_sum: f64,
    rows: u32,
}

impl GpuFigures {
    pub(crate) fn busy_percent_mean(&self) -> f64 {
        self.busy_percent_sum / f64::from(self.rows.max(1))
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
            defined: 0,
            places: HashMap::new(),
            busy_places: Vec::new(),
            before: None,
            earlier: None,
            gpu: GpuFigures::default(),
        };
        if rows.listing.is_none() {
            rows.begin_file();
        }
        rows
    }

    pub fn machine(&self) -> &Machine {
        &self.machine
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

    fn main_lives(&self, values: &[Option<u64>]) -> bool {
        let has = |metric| {
            let place = self.places.get(&(Scope::Main, metric));
            place.and_then(|&place| values.get(place).copied().flatten()).is_some_and(|value| value > 0)
        };
        has(Metric::Threads) && has(Metric::RssBytes)
    }

    /// `since` is the reading that rates are taken from.
    fn row(&mut self, since: &Reading, t_ns: u64, values: &[Option<u64>]) -> Vec<Node> {
        let at = |values: &[Option<u64>], scope, metric| {
            self.places.get(&(scope, metric)).and_then(|&place| values.get(place).copied().flatten())
        };
        let level =
            |scope, metric, factor: f64| at(values, scope, metric).map_or(0.0, |value| value as f64 * factor);
        let ram = |scope, metric| level(scope, metric, self.machine.ram_unit.factor);
        let gpu_ram = |scope| level(scope, Metric::GpuMemoryBytes, self.machine.gpu_ram_unit.factor);
        let mut row: Vec<Node> = Vec::with_capacity(22);
        row.extend(Scope::JOB.map(|scope| Node::Float(ram(scope, Metric::RssBytes))));
        row.push(Node::Float(ram(Scope::System, Metric::MemoryUsedBytes)));
        row.extend(Scope::JOB.map(|scope| Node::Float(gpu_ram(scope))));
        let system_gpu_ram = gpu_ram(Scope::System);
        row.push(Node::Float(system_gpu_ram));
        let busy_ppm: u64 =
            self.busy_places.iter().filter_map(|&place| values.get(place).copied().flatten()).sum();
        let busy_percent = busy_ppm as f64 / 1e4;
        row.push(Node::Float(busy_percent));
        row.push(Node::Float(busy_percent / f64::from(self.machine.n_expected_gpus.max(1))));
        row.extend(Scope::JOB.map(|scope| {
            Node::Int(
                at(values, scope, Metric::Threads).and_then(|count| i64::try_from(count).ok()).unwrap_or(0),
            )
        }));
        for scope in [Scope::System, Scope::Main, Scope::Descendants, Scope::Combined] {
            let cores =
                if scope == Scope::System { self.machine.core_count } else { self.machine.n_expected_cores };
            let grown = at(values, scope, Metric::CpuNs)
                .zip(at(&since.values, scope, Metric::CpuNs))
                .and_then(|(now, before)| now.checked_sub(before));
            let percent = grown.map_or(0.0, |ns| ns as f64 * 100.0 / (t_ns - since.t_ns) as f64);
            row.extend([Node::Float(percent), Node::Float(percent / f64::from(cores))]);
        }
        row.push(Node::Float((self.started_unix_ns + t_ns) as f64 / 1e9));
        self.gpu.system_ram_max = self.gpu.system_ram_max.max(system_gpu_ram);
        self.gpu.busy_percent_max = self.gpu.busy_percent_max.max(busy_percent);
        self.gpu.busy_percent_sum += busy_percent;
        self.gpu.rows += 1;
        row
    }
}

impl Sink for Timepoints {
    fn define(&mut self, column: &Column) {
        self.learn();
        match &column.entity {
            None => {
                self.places.insert((column.scope, column.metric), self.defined);
            }
            Some(entity) => {
                let is_use = (column.scope, column.metric) == (Scope::System, Metric::GpuBusyPpm);
                if is_use && entity.kind == EntityKind::Gpu && self.machine.uuids.contains(&entity.name) {
                    self.busy_places.push(self.defined);
                }
            }
        }
        self.defined += 1;
    }

    fn event(&mut self, _event: &Event) {}

    fn tick(&mut self, t_ns: u64, values: &[Option<u64>]) {
        // Ticks at marks do not read the machine: they make no row, and no machine of 0.
        let machine = self.places.get(&(Scope::System, Metric::CpuNs));
        let machine_is_read = |values: &[Option<u64>]| {
            machine.is_some_and(|&place| values.get(place).copied().flatten().is_some())
        };
        if self.before.as_ref().is_some_and(|before| machine_is_read(&before.values))
            && !machine_is_read(values)
        {
            return;
        }
        let earlier = self.earlier.take();
        self.learn();
        if t_ns > LISTING_PATIENCE_NS {
            self.begin_file();
        }
        // Two ticks at one moment make no interval.
        if let Some(before) = self.before.take().filter(|before| before.t_ns < t_ns) {
            // The tick at the end finds main or its memory gone: that is no state of the job, and would be a
            // minimum of 0.
            let is_over = !self.main_lives(values);
            if is_over && self.gpu.rows > 0 {
                (self.before, self.earlier) = (Some(before), earlier);
                return;
            }
            // The kernel counts CPU time in steps of 10 ms: over the sliver of time that follows a late tick,
            // one step would look like many cores.
            let since = match &earlier {
                Some(earlier) if t_ns - before.t_ns < (before.t_ns - earlier.t_ns) / 2 => earlier,
                _ => &before,
            };
            let row = self.row(since, t_ns, values);
            if !is_over {
                let put = self.track.as_mut().map_or(Ok(()), |track| track.append(row));
                self.note(put);
            }
            self.earlier = Some(before);
        }
        self.before = Some(Reading { t_ns, values: values.to_vec() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{cell, read_tracking};
    use crate::tracker::units;

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
