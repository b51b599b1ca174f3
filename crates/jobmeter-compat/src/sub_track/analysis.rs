//! Statistics over all measurements, and over those inside the calls of each code block.

use super::results::{CodeBlock, Statistics, SubTrackingResults};
use crate::error::CompatError;
use crate::number::exact_sum;
use crate::table::{DATA_COLUMNS, Row, cell, read_sub_tracking, read_tracking};
use crate::tree::Node;
use jobmeter_model::text::printable;
use std::collections::BTreeMap;
use std::path::Path;

/// Begin and end of a call, as Unix seconds.
pub type Span = (f64, f64);

struct Stamp {
    process_id: i64,
    is_start: bool,
    at: f64,
}

/// What the code blocks of a sub-tracking file used, by the rows of a tracking file.
pub fn analyze(tracking: &Path, sub_tracking: &Path) -> Result<SubTrackingResults, CompatError> {
    let (fixed, rows) = read_tracking(tracking)?;
    let blocks = blocks(sub_tracking)?.into_iter().map(|(name, stamps)| {
        let spans = spans(&name, stamps)?;
        Ok(block(name, &spans, &rows))
    });
    Ok(SubTrackingResults {
        overall: statistics(&rows.iter().collect::<Vec<_>>()),
        static_data: Node::Map(fixed),
        blocks: blocks.collect::<Result<_, CompatError>>()?,
    })
}

/// Statistics over all measurements of a tracking file.
pub fn overall(tracking: &Path) -> Result<Node, CompatError> {
    let (_, rows) = read_tracking(tracking)?;
    Ok(statistics(&rows.iter().collect::<Vec<_>>()))
}

/// The code blocks of a sub-tracking file, sorted.
pub fn code_block_names(sub_tracking: &Path) -> Result<Vec<String>, CompatError> {
    Ok(blocks(sub_tracking)?.into_keys().collect())
}

/// Start and stop of each call of a code block, by process and in order of time.
pub fn spans_of(sub_tracking: &Path, name: &str) -> Result<Vec<Span>, CompatError> {
    let stamps = blocks(sub_tracking)?.remove(name).unwrap_or_default();
    spans(name, stamps)
}

/// The measurements that were taken inside any of the spans.
pub fn timepoints(tracking: &Path, spans: &[Span]) -> Result<Vec<Row>, CompatError> {
    let (_, mut rows) = read_tracking(tracking)?;
    rows.retain(|row| time(row).is_some_and(|at| spans.iter().any(|span| is_in(at, span))));
    Ok(rows)
}

fn time(row: &Row) -> Option<f64> {
    cell(row, "timestamp").and_then(Node::as_f64)
}

fn is_in(at: f64, span: &Span) -> bool {
    span.0 <= at && at <= span.1
}

/// A call of a code block as a sub-tracking file notes it.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Hostile text.
    pub name: String,
    /// The process that ran it.
    pub process_id: i64,
    /// Unix seconds, as Python's `time.time()` gives them.
    pub begin_s: f64,
    /// `None`: it began and never stopped.
    pub end_s: Option<f64>,
}

/// Every call that a sub-tracking file notes.
pub fn calls(sub_tracking: &Path) -> Result<Vec<Call>, CompatError> {
    let mut all = Vec::new();
    for (name, stamps) in blocks(sub_tracking)? {
        let (spans, open) = pair(&name, stamps)?;
        let ended =
            spans.into_iter().map(|(process_id, (begin_s, end_s))| (process_id, begin_s, Some(end_s)));
        let open = open.into_iter().map(|(process_id, begin_s)| (process_id, begin_s, None));
        all.extend(ended.chain(open).map(|(process_id, begin_s, end_s)| Call {
            name: name.clone(),
            process_id,
            begin_s,
            end_s,
        }));
    }
    Ok(all)
}

fn blocks(sub_tracking: &Path) -> Result<BTreeMap<String, Vec<Stamp>>, CompatError> {
    let mut blocks: BTreeMap<String, Vec<Stamp>> = BTreeMap::new();
    for row in read_sub_tracking(sub_tracking)? {
        let (name, stamp) = stamp(&row)?;
        blocks.entry(name).or_default().push(stamp);
    }
    Ok(blocks)
}

fn stamp(row: &Row) -> Result<(String, Stamp), CompatError> {
    let number = |column| cell(row, column).and_then(Node::as_f64);
    let (Some(Node::Text(name)), Some(process_id), Some(position), Some(at)) =
        (cell(row, "code_block_name"), number("process_id"), number("position"), number("timestamp"))
    else {
        return Err(CompatError::Value("A row of the sub-tracking file lacks a value.".to_owned()));
    };
    Ok((name.clone(), Stamp { process_id: process_id as i64, is_start: position == 0.0, at }))
}

/// Start and stop of each call, by process and in order of time.
fn spans(name: &str, stamps: Vec<Stamp>) -> Result<Vec<Span>, CompatError> {
    Ok(pair(name, stamps)?.0.into_iter().map(|(_, span)| span).collect())
}

type OpenCalls = Vec<(i64, f64)>;

/// The calls with their process, and those that never stopped. Calls of one process may nest.
fn pair(name: &str, mut stamps: Vec<Stamp>) -> Result<(Vec<(i64, Span)>, OpenCalls), CompatError> {
    stamps.sort_by(|a, b| a.process_id.cmp(&b.process_id).then(a.at.total_cmp(&b.at)));
    let mut open: OpenCalls = Vec::new();
    let mut spans: Vec<(i64, Span)> = Vec::new();
    for stamp in stamps {
        if stamp.is_start {
            open.push((stamp.process_id, stamp.at));
            continue;
        }
        match open.pop().filter(|(process_id, _)| *process_id == stamp.process_id) {
            Some((process_id, begin)) => spans.push((process_id, (begin, stamp.at))),
            None => {
                return Err(CompatError::Value(format!(
                    "Sub-tracking file is invalid. Code block \"{}\" stops in process {} without a start.",
                    printable(name),
                    stamp.process_id
                )));
            }
        }
    }
    spans.sort_by(|(a, (a_begin, a_end)), (b, (b_begin, b_end))| {
        a.cmp(b).then(a_begin.total_cmp(b_begin)).then(a_end.total_cmp(b_end))
    });
    Ok((spans, open))
}

fn block(name: String, spans: &[Span], rows: &[Row]) -> CodeBlock {
    let inside: Vec<&Row> = rows
        .iter()
        .filter(|row| time(row).is_some_and(|at| spans.iter().any(|span| is_in(at, span))))
        .collect();
    let is_filled = |span: &Span| inside.iter().any(|row| time(row).is_some_and(|at| is_in(at, span)));
    let seconds: Vec<f64> = spans.iter().map(|(begin, end)| end - begin).collect();
    let mut compute_time = described(&seconds);
    compute_time.push(("total".to_owned(), Node::Float(exact_sum(seconds.iter().copied()))));
    CodeBlock {
        name,
        num_timepoints: inside.len() as i64,
        num_calls: spans.len() as i64,
        num_non_empty_calls: spans.iter().filter(|span| is_filled(span)).count() as i64,
        compute_time: Node::Map(compute_time),
        resource_usage: statistics(&inside),
    }
}

fn statistics(rows: &[&Row]) -> Statistics {
    let measured = DATA_COLUMNS.iter().filter(|column| **column != "timestamp");
    Node::map(measured.map(|column| {
        let values: Vec<f64> =
            rows.iter().filter_map(|row| cell(row, column).and_then(Node::as_f64)).collect();
        (*column, Node::Map(described(&values)))
    }))
}

/// Of nothing, nothing is known: not-a-number. The deviation is that of the whole population.
fn described(values: &[f64]) -> Vec<(String, Node)> {
    let count = values.len() as f64;
    let (min, max, mean, deviation) = if values.is_empty() {
        (f64::NAN, f64::NAN, f64::NAN, f64::NAN)
    } else {
        let mean = exact_sum(values.iter().copied()) / count;
        let variance = exact_sum(values.iter().map(|value| (value - mean).powi(2))) / count;
        let min = values.iter().copied().fold(f64::INFINITY, f64::min);
        let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (min, max, mean, variance.sqrt())
    };
    [("min", min), ("max", max), ("mean", mean), ("std", deviation)]
        .map(|(key, value)| (key.to_owned(), Node::Float(value)))
        .to_vec()
}
