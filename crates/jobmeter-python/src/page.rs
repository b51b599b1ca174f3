//! The report's text and page of a run, of a file or of the memory.

use crate::away::away;
use crate::guidance::Guidance;
use jobmeter_model::replay::Replay;
use jobmeter_model::{Column, Metric, Mode, RunInfo, Scope, Sink, Summary, VerdictKind, WarningKind};
use jobmeter_record::Run;
use jobmeter_report::downsample::DEFAULT_BUCKETS;
use jobmeter_report::text::Style;
use jobmeter_report::{SeriesBuilder, format, html, text};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Enough for the small drawings of a notebook.
const FRAGMENT_BUCKETS: usize = 320;

/// The first screen, no colours. Where it is printed is not known: it fits the usual width.
pub(crate) fn summary_text(summary: &Summary) -> String {
    text::brief(summary, text::Beside::default(), text::Screen::default(), Style::default())
}

/// The first screen for notebooks, with the course of the run drawn beside it.
pub(crate) fn fragment(run: &Run, summary: Summary) -> String {
    let mut builder = SeriesBuilder::new(FRAGMENT_BUCKETS);
    run.replay(&mut builder);
    let data = builder.finish(String::new(), summary);
    html::fragment(&data.summary, Some(&data))
}

/// One self-contained page.
pub(crate) fn page(run: &Run, summary: Summary, guidance: &Guidance) -> PyResult<String> {
    let mut builder = SeriesBuilder::new(DEFAULT_BUCKETS);
    run.replay(&mut builder);
    finish(builder, summary, guidance)
}

fn finish(builder: SeriesBuilder, summary: Summary, guidance: &Guidance) -> PyResult<String> {
    let label = match &summary.run.name {
        Some(name) => name.clone(),
        None if summary.run.command.is_empty() => summary.run.id.clone(),
        None => format::command_line(&summary.run.command),
    };
    let mut data = builder.finish(label, summary);
    data.advice = guidance.advice(&data.summary)?;
    html::render(&[data]).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// The page of a run of which only its rows were kept. A column is `SCOPE_METRIC` with cumulative counters and
/// levels; names that are not in the metric table are an error.
#[pyfunction]
#[pyo3(signature = (*, pid, started_unix_ns, system_cores, t_ns, columns, guidance))]
pub(crate) fn page_of_rows(
    py: Python<'_>,
    pid: i32,
    started_unix_ns: u64,
    system_cores: u32,
    t_ns: Vec<u64>,
    columns: Vec<(String, Vec<Option<u64>>)>,
    guidance: &str,
) -> PyResult<String> {
    let guidance = Guidance::parse(guidance)?;
    away(py, || {
        let mut builder = SeriesBuilder::new(DEFAULT_BUCKETS);
        let mut replay = Replay::default();
        for (name, values) in &columns {
            let column = column_of(name).filter(|_| values.len() == t_ns.len()).ok_or_else(|| {
                PyValueError::new_err(format!("{name:?} is not a metric with one value per row"))
            })?;
            builder.define(&column);
            replay.define(&column);
        }
        for (row, t_ns) in t_ns.iter().enumerate() {
            let values: Vec<Option<u64>> = columns.iter().map(|(_, values)| values[row]).collect();
            builder.tick(*t_ns, &values);
            replay.tick(*t_ns, &values);
        }
        let info = RunInfo {
            name: Some(format!("process {pid}")),
            mode: Mode::Attach,
            pid,
            started_unix_ns,
            system_cores,
            expected_cores: f64::from(system_cores),
            ..RunInfo::default()
        };
        let mut summary = replay.summary(&info);
        // Rows that were kept are all there was; nothing is missing at their end.
        summary.warnings.retain(|warning| warning.kind != WarningKind::NoTrailer);
        summary.verdict.kind = VerdictKind::Detached;
        summary.verdict.text = "measured until the tracker was stopped".to_owned();
        summary.verdict.evidence.clear();
        finish(builder, summary, &guidance)
    })
}

fn column_of(name: &str) -> Option<Column> {
    Scope::MEASURED.into_iter().find_map(|scope| {
        let metric = Metric::from_key(name.strip_prefix(scope.key())?.strip_prefix('_')?)?;
        Some(Column::of(scope, metric))
    })
}
