//! The map of ranks over time for the page's script: one row per rank and figure, as packed differences of values in
//! 2,000 steps of the highest one. Mirrored by script/ranks.js.

use super::pack::{pack, pack_differences};
use crate::format::visible;
use jobmeter_insight::job::{Job, MAPPED, Rank, RankMap, end};
use jobmeter_model::{Metric, Unit};
use serde::Serialize;
use std::collections::HashMap;

/// Finer than colours can be told apart.
const STEPS: f64 = 2_000.0;
const NAME_LIMIT: usize = 120;
/// Ranks without a record that get an empty row; more are told by their number only.
const MISSING_ROWS: usize = 1_024;

/// Packed columns have one entry per rank, gaps where unknown.
#[derive(Serialize)]
pub(super) struct Ranks {
    columns: usize,
    column_s: f64,
    nodes: Vec<String>,
    /// How ranks ended, in words.
    ends: Vec<String>,
    /// The id of the run where a rank has no number, else empty.
    ids: Vec<String>,
    rank: String,
    /// Index into `nodes`; a gap for a rank that left no record.
    node: String,
    /// Index into `ends`.
    end: String,
    /// 1 where it did not succeed.
    bad: String,
    /// Since the job began.
    begin_ms: String,
    life_ms: String,
    cpu_ms: String,
    peak_kib: String,
    maps: Vec<Map>,
}

#[derive(Serialize)]
struct Map {
    id: &'static str,
    title: &'static str,
    measure: Unit,
    /// What one step is worth.
    step: f64,
    /// The highest value of any rank.
    top: f64,
    rows: Vec<String>,
}

/// The map of a job, where one was made and anything is on it.
pub(super) fn packed(job: &Job) -> Option<Ranks> {
    let map = job.map.as_ref()?;
    let maps: Vec<Map> = (0..MAPPED.len()).filter_map(|figure| one_map(map, figure)).collect();
    if maps.is_empty() {
        return None;
    }
    let mut nodes = Index::default();
    let mut ends = Index::default();
    let node: Vec<Option<i64>> = job.ranks.iter().map(|rank| Some(nodes.place(&rank.node))).collect();
    let mut end: Vec<Option<i64>> = job.ranks.iter().map(|rank| Some(ends.place(&self::end(rank)))).collect();
    let missing = &job.missing_ranks[..job.missing_ranks.len().min(MISSING_ROWS)];
    end.extend(missing.iter().map(|_| Some(ends.place("left no record"))));
    let column = |value: &dyn Fn(&Rank) -> Option<i64>| pack(job.ranks.iter().map(value));
    let began_ns = job.summary.run.started_unix_ns;
    let numbers = job.ranks.iter().map(|rank| rank.rank).chain(missing.iter().copied().map(Some));
    let id =
        |rank: &Rank| if rank.rank.is_some() { String::new() } else { visible(&rank.run_id, NAME_LIMIT) };
    let bad = job.ranks.iter().map(|rank| i64::from(!rank.is_fine())).chain(missing.iter().map(|_| 1));
    Some(Ranks {
        columns: map.scale.columns,
        column_s: map.scale.column_ns as f64 / 1e9,
        rank: pack_differences(numbers.map(|rank| rank.map(i64::from))),
        node: pack(node),
        end: pack(end),
        bad: pack(bad.map(Some)),
        begin_ms: column(&|rank| Some(millis(rank.started_unix_ns.saturating_sub(began_ns)))),
        life_ms: column(&|rank| rank.wall_ns.map(millis)),
        cpu_ms: column(&|rank| rank.cpu_ns.map(millis)),
        peak_kib: column(&|rank| rank.peak_rss_bytes.map(|bytes| (bytes / 1024) as i64)),
        ids: job.ranks.iter().map(id).collect(),
        nodes: nodes.texts,
        ends: ends.texts,
        maps,
    })
}

fn millis(ns: u64) -> i64 {
    (ns / 1_000_000) as i64
}

fn one_map(map: &RankMap, figure: usize) -> Option<Map> {
    let (id, title, measure, factor) = match MAPPED[figure] {
        Metric::CpuNs => ("cpu", "CPU", Unit::Cores, 1.0),
        Metric::RssBytes => ("ram", "Memory", Unit::Bytes, 1.0),
        Metric::GpuBusyPpm => ("gpu", "GPU", Unit::Ratio, 1e-6),
        _ => ("gpu-ram", "GPU memory", Unit::Bytes, 1.0),
    };
    let values = || map.rows.iter().flat_map(|row| row.values[figure].iter().flatten());
    let highest = f64::from(values().copied().reduce(f32::max)?) * factor;
    if highest <= 0.0 {
        return None;
    }
    let step = highest / STEPS;
    let row = |values: &[Option<f32>]| {
        pack_differences(
            values.iter().map(|value| value.map(|value| (f64::from(value) * factor / step).round() as i64)),
        )
    };
    Some(Map {
        id,
        title,
        measure,
        step,
        top: highest,
        rows: map.rows.iter().map(|rank| row(&rank.values[figure])).collect(),
    })
}

/// Texts by their place; thousands of ranks share few.
#[derive(Default)]
struct Index {
    texts: Vec<String>,
    places: HashMap<String, i64>,
}

impl Index {
    fn place(&mut self, text: &str) -> i64 {
        if let Some(place) = self.places.get(text) {
            return *place;
        }
        let place = self.texts.len() as i64;
        self.texts.push(visible(text, NAME_LIMIT));
        self.places.insert(text.to_owned(), place);
        place
    }
}
