//! Processes, phases and marks gathered from the events of a run, bounded in number.

use crate::data::{PhaseRow, PhaseSpan, PointMark, ProcessRow};
use jobmeter_core::{Event, MarkKind, ProcessId};
use std::collections::{BTreeMap, HashMap};

/// More processes than this are not drawn: the longest-lived stay. Their CPU time is in the summary anyway.
const MAX_PROCESSES: usize = 8_000;
const MAX_SPANS: usize = 2_000;
const MAX_MARKS: usize = 500;
const MAX_PHASE_NAMES: usize = 2_000;

#[derive(Default)]
pub(super) struct EventLog {
    alive: HashMap<ProcessId, ProcessRow>,
    ended: Vec<ProcessRow>,
    omitted: u64,
    /// Open phases by thread, innermost last.
    open: HashMap<(i32, i32), Vec<(String, u64)>>,
    spans: Vec<PhaseSpan>,
    totals: BTreeMap<String, Totals>,
    marks: Vec<PointMark>,
}

pub(super) struct Log {
    pub(super) spans: Vec<PhaseSpan>,
    pub(super) phases: Vec<PhaseRow>,
    pub(super) marks: Vec<PointMark>,
    pub(super) processes: Vec<ProcessRow>,
    pub(super) processes_omitted: u64,
}

#[derive(Default)]
struct Totals {
    first_ns: u64,
    calls: u64,
    total_ns: u64,
    min_ns: u64,
    max_ns: u64,
    square_sum: f64,
}

impl EventLog {
    pub(super) fn take(&mut self, event: &Event) {
        match event {
            Event::ProcessStart { t_ns, id, parent_pid, name } => {
                let row = ProcessRow {
                    pid: id.pid,
                    parent_pid: *parent_pid,
                    name: name.clone(),
                    start_ns: *t_ns,
                    end_ns: None,
                    cpu_ns: None,
                    peak_rss_bytes: None,
                    wait_status: None,
                };
                self.alive.insert(*id, row);
            }
            Event::ProcessRename { id, name, .. } => {
                if let Some(row) = self.alive.get_mut(id) {
                    row.name.clone_from(name);
                }
            }
            Event::ProcessEnd { t_ns, id, cpu_ns, peak_rss_bytes, wait_status, .. } => {
                if let Some(mut row) = self.alive.remove(id) {
                    row.end_ns = Some(*t_ns);
                    row.cpu_ns = *cpu_ns;
                    row.peak_rss_bytes = *peak_rss_bytes;
                    row.wait_status = *wait_status;
                    self.ended.push(row);
                    if self.ended.len() >= 2 * MAX_PROCESSES {
                        self.omitted += keep_longest(&mut self.ended, MAX_PROCESSES, life_ns);
                    }
                }
            }
            Event::Mark { t_ns, name, kind, pid, tid } => self.mark(*t_ns, name, *kind, (*pid, *tid)),
            Event::Warning { .. } | Event::Settle { .. } | Event::Note { .. } => {}
        }
    }

    fn mark(&mut self, t_ns: u64, name: &str, kind: MarkKind, thread: (i32, i32)) {
        match kind {
            MarkKind::Point => {
                if self.marks.len() < MAX_MARKS {
                    self.marks.push(PointMark { t_ns, name: name.to_owned() });
                }
            }
            MarkKind::Begin => self.open.entry(thread).or_default().push((name.to_owned(), t_ns)),
            MarkKind::End => {
                // The innermost phase of that name ends; one left open inside it goes on.
                let Some(stack) = self.open.get_mut(&thread) else { return };
                let Some(depth) = stack.iter().rposition(|(open, _)| open == name) else { return };
                let (name, begin_ns) = stack.remove(depth);
                self.close(name, begin_ns, t_ns, depth);
            }
        }
    }

    fn close(&mut self, name: String, begin_ns: u64, end_ns: u64, depth: usize) {
        let length = end_ns.saturating_sub(begin_ns);
        if self.totals.len() < MAX_PHASE_NAMES || self.totals.contains_key(&name) {
            let row = self.totals.entry(name.clone()).or_insert(Totals {
                first_ns: begin_ns,
                min_ns: u64::MAX,
                ..Totals::default()
            });
            row.first_ns = row.first_ns.min(begin_ns);
            row.calls += 1;
            row.total_ns += length;
            row.min_ns = row.min_ns.min(length);
            row.max_ns = row.max_ns.max(length);
            row.square_sum += (length as f64).powi(2);
        }
        self.spans.push(PhaseSpan { name, begin_ns, end_ns, depth: depth as u32 });
        if self.spans.len() >= 2 * MAX_SPANS {
            keep_longest(&mut self.spans, MAX_SPANS, |span| span.end_ns.saturating_sub(span.begin_ns));
        }
    }

    pub(super) fn finish(mut self, end_ns: u64) -> Log {
        let mut open: Vec<_> = std::mem::take(&mut self.open).into_values().collect();
        open.sort();
        for stack in open {
            for (depth, (name, begin_ns)) in stack.into_iter().enumerate() {
                self.close(name, begin_ns, end_ns.max(begin_ns), depth);
            }
        }
        let mut processes = self.ended;
        processes.extend(self.alive.into_values());
        let omitted = self.omitted + keep_longest(&mut processes, MAX_PROCESSES, life_ns);
        processes.sort_by_key(|row| (row.start_ns, row.pid));
        keep_longest(&mut self.spans, MAX_SPANS, |span| span.end_ns.saturating_sub(span.begin_ns));
        self.spans.sort_by_key(|span| (span.begin_ns, span.depth, u64::MAX - span.end_ns));
        let mut totals: Vec<_> = self.totals.into_iter().collect();
        totals.sort_by_key(|(_, row)| row.first_ns);
        let phases = totals.into_iter().map(|(name, row)| row.finish(name)).collect();
        Log { spans: self.spans, phases, marks: self.marks, processes, processes_omitted: omitted }
    }
}

impl Totals {
    fn finish(self, name: String) -> PhaseRow {
        let calls = self.calls.max(1);
        let mean = self.total_ns as f64 / calls as f64;
        let variance = (self.square_sum / calls as f64 - mean * mean).max(0.0);
        PhaseRow {
            name,
            calls: self.calls,
            total_ns: self.total_ns,
            min_ns: self.min_ns,
            mean_ns: mean.round() as u64,
            max_ns: self.max_ns,
            std_ns: (self.calls > 1).then(|| variance.sqrt().round() as u64),
            ..PhaseRow::default()
        }
    }
}

/// One that still lives is kept before all others.
fn life_ns(row: &ProcessRow) -> u64 {
    row.end_ns.map_or(u64::MAX, |end| end.saturating_sub(row.start_ns))
}

/// Keeps the `limit` longest; gives the number dropped.
fn keep_longest<T>(rows: &mut Vec<T>, limit: usize, length: impl Fn(&T) -> u64) -> u64 {
    if rows.len() <= limit {
        return 0;
    }
    rows.sort_by_key(|row| u64::MAX - length(row));
    let dropped = rows.len() - limit;
    rows.truncate(limit);
    dropped as u64
}
