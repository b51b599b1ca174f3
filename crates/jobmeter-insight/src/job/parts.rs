//! What the record of one rank holds of its node, found while the record is read for the sums.

use jobmeter_model::event::NODE_RECORDER_NOTE;
use jobmeter_model::{Column, Event, Metric, Scope};

#[derive(Debug, Clone, Default)]
pub(super) struct RankPart {
    pub(super) run_id: String,
    /// The first and the last row with counters of the machine, in time of the run.
    pub(super) machine_ns: Option<(u64, u64)>,
    /// Counters that had been read before the first such row, and when.
    pub(super) bases: Vec<(usize, u64)>,
    /// CPU time of the rank on the job's grid.
    pub(super) cpu: Vec<Option<u64>>,
    machine_column: Option<usize>,
}

impl RankPart {
    pub(super) fn of(run_id: &str) -> RankPart {
        RankPart { run_id: run_id.to_owned(), ..RankPart::default() }
    }

    pub(super) fn with_cpu(&self, cpu: Vec<Option<u64>>) -> RankPart {
        RankPart { cpu, ..self.clone() }
    }

    pub(super) fn define(&mut self, index: usize, column: &Column) {
        if (column.scope, column.metric) == (Scope::System, Metric::CpuNs) && column.entity.is_none() {
            self.machine_column = Some(index);
        }
    }

    pub(super) fn event(&mut self, event: &Event) {
        if let Event::Note { key, value, .. } = event
            && key == NODE_RECORDER_NOTE
        {
            let list = value.get("bases").and_then(serde_json::Value::as_array);
            let number = |entry: &serde_json::Value, place: usize| entry.get(place)?.as_u64();
            let pair = |entry| Some((usize::try_from(number(entry, 0)?).ok()?, number(entry, 1)?));
            self.bases = list.into_iter().flatten().filter_map(pair).collect();
        }
    }

    pub(super) fn tick(&mut self, t_ns: u64, values: &[Option<u64>]) {
        let is_read = |column: usize| values.get(column).is_some_and(Option::is_some);
        if self.machine_column.is_some_and(is_read) {
            let first_ns = self.machine_ns.map_or(t_ns, |(first_ns, _)| first_ns);
            self.machine_ns = Some((first_ns, t_ns));
        }
    }

    /// When the rows began to count a column that was first seen at `first_ns`.
    pub(super) fn base_ns(&self, column: usize, first_ns: u64) -> u64 {
        let known = self.bases.iter().find(|(known, _)| *known == column);
        known.map_or(first_ns, |(_, base_ns)| *base_ns)
    }
}
