//! Phases from marks: when each was active, how often and how long, and what the job's counters did meanwhile.
//! A tick is taken with every mark, so CPU time and bytes are differences of exact counters; where the tick of
//! a boundary is not in the record, they are unknown.

use crate::data::{PhaseRow, PhaseSpan};
use jobmeter_core::MarkKind;
use std::collections::{BTreeMap, HashMap};

const MAX_SPANS: usize = 2_000;
const MAX_NAMES: usize = 2_000;

/// The job's totals and levels at one tick.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Levels {
    pub(super) cpu_ns: Option<u64>,
    pub(super) read_bytes: Option<u64>,
    pub(super) write_bytes: Option<u64>,
    pub(super) rss_bytes: Option<u64>,
    pub(super) gpu_bytes: Option<u64>,
}

#[derive(Default)]
pub(super) struct PhaseLog {
    /// Active phases by thread, innermost last.
    open: HashMap<(i32, i32), Vec<Call>>,
    /// Ended, but the tick of their end has not come yet.
    ending: Vec<Call>,
    last: Option<(u64, Levels)>,
    spans: Vec<PhaseSpan>,
    totals: BTreeMap<String, Totals>,
}

/// One call of a phase.
struct Call {
    name: String,
    begin_ns: u64,
    end_ns: u64,
    depth: u32,
    at_begin: Option<Levels>,
    peak_rss_bytes: Option<u64>,
    peak_gpu_bytes: Option<u64>,
}

#[derive(Default)]
struct Totals {
    first_ns: u64,
    square_sum: f64,
    row: PhaseRow,
    /// Whether every call so far had exact counters at both ends.
    cpu: Sum,
    read: Sum,
    write: Sum,
}

/// A sum that is unknown as soon as one part of it is.
#[derive(Default)]
struct Sum {
    total: u64,
    broken: bool,
}

impl Sum {
    fn add(&mut self, begin: Option<u64>, end: Option<u64>) {
        match begin.zip(end).and_then(|(begin, end)| end.checked_sub(begin)) {
            Some(difference) => self.total += difference,
            None => self.broken = true,
        }
    }

    fn known(&self) -> Option<u64> {
        (!self.broken).then_some(self.total)
    }
}

impl Call {
    fn see(&mut self, levels: &Levels) {
        self.peak_rss_bytes = self.peak_rss_bytes.max(levels.rss_bytes);
        self.peak_gpu_bytes = self.peak_gpu_bytes.max(levels.gpu_bytes);
    }
}

impl PhaseLog {
    pub(super) fn mark(&mut self, t_ns: u64, name: &str, kind: MarkKind, thread: (i32, i32)) {
        let here = self.last.filter(|(at, _)| *at == t_ns).map(|(_, levels)| levels);
        match kind {
            MarkKind::Point => {}
            MarkKind::Begin => {
                let stack = self.open.entry(thread).or_default();
                let mut call = Call {
                    name: name.to_owned(),
                    begin_ns: t_ns,
                    end_ns: t_ns,
                    depth: stack.len() as u32,
                    at_begin: here,
                    peak_rss_bytes: None,
                    peak_gpu_bytes: None,
                };
                here.iter().for_each(|levels| call.see(levels));
                stack.push(call);
            }
            MarkKind::End => {
                // The innermost phase of that name ends; one left open inside it goes on.
                let Some(stack) = self.open.get_mut(&thread) else { return };
                let Some(at) = stack.iter().rposition(|call| call.name == name) else { return };
                let mut call = stack.remove(at);
                call.end_ns = t_ns;
                match here {
                    Some(levels) => self.close(call, Some(levels)),
                    None => self.ending.push(call),
                }
            }
        }
    }

    pub(super) fn tick(&mut self, t_ns: u64, levels: Levels) {
        for mut call in std::mem::take(&mut self.ending) {
            let exact = call.end_ns == t_ns;
            if exact {
                call.see(&levels);
                if call.begin_ns == t_ns {
                    call.at_begin = Some(levels);
                }
            }
            self.close(call, exact.then_some(levels));
        }
        for call in self.open.values_mut().flatten() {
            if call.begin_ns == t_ns {
                call.at_begin = Some(levels);
            }
            call.see(&levels);
        }
        self.last = Some((t_ns, levels));
    }

    fn close(&mut self, call: Call, at_end: Option<Levels>) {
        let length = call.end_ns.saturating_sub(call.begin_ns);
        if self.totals.len() < MAX_NAMES || self.totals.contains_key(&call.name) {
            self.totals.entry(call.name.clone()).or_default().add(&call, length, at_end);
        }
        let Call { name, begin_ns, end_ns, depth, .. } = call;
        self.spans.push(PhaseSpan { name, begin_ns, end_ns, lane: depth });
        if self.spans.len() >= 2 * MAX_SPANS {
            self.keep_longest();
        }
    }

    fn keep_longest(&mut self) {
        super::events::keep_longest(&mut self.spans, MAX_SPANS, |span| {
            span.end_ns - span.begin_ns.min(span.end_ns)
        });
    }

    /// Phases left open end with the run.
    pub(super) fn finish(mut self, end_ns: u64) -> (Vec<PhaseSpan>, Vec<PhaseRow>) {
        let mut left: Vec<Call> = std::mem::take(&mut self.ending);
        let mut open: Vec<_> = std::mem::take(&mut self.open).into_iter().collect();
        open.sort_by_key(|(thread, _)| *thread);
        for mut call in open.into_iter().flat_map(|(_, stack)| stack) {
            call.end_ns = end_ns.max(call.begin_ns);
            left.push(call);
        }
        let last = self.last.map(|(_, levels)| levels);
        for call in left {
            self.close(call, last);
        }
        self.keep_longest();
        self.spans.sort_by_key(|span| (span.begin_ns, span.lane, u64::MAX - span.end_ns));
        assign_lanes(&mut self.spans);
        let mut totals: Vec<_> = self.totals.into_iter().collect();
        totals.sort_by_key(|(_, totals)| (totals.first_ns, u64::MAX - totals.row.max_ns));
        (self.spans, totals.into_iter().map(|(name, totals)| totals.finish(name)).collect())
    }
}

impl Totals {
    fn add(&mut self, call: &Call, length: u64, at_end: Option<Levels>) {
        let row = &mut self.row;
        if row.calls == 0 {
            (self.first_ns, row.min_ns) = (call.begin_ns, u64::MAX);
        }
        self.first_ns = self.first_ns.min(call.begin_ns);
        self.square_sum += (length as f64).powi(2);
        row.calls += 1;
        row.total_ns += length;
        row.min_ns = row.min_ns.min(length);
        row.max_ns = row.max_ns.max(length);
        row.peak_rss_bytes = row.peak_rss_bytes.max(call.peak_rss_bytes);
        row.peak_gpu_bytes = row.peak_gpu_bytes.max(call.peak_gpu_bytes);
        let (begin, end) = (call.at_begin.unwrap_or_default(), at_end.unwrap_or_default());
        self.cpu.add(begin.cpu_ns, end.cpu_ns);
        self.read.add(begin.read_bytes, end.read_bytes);
        self.write.add(begin.write_bytes, end.write_bytes);
    }

    fn finish(self, name: String) -> PhaseRow {
        let calls = self.row.calls.max(1) as f64;
        let mean = self.row.total_ns as f64 / calls;
        let variance = (self.square_sum / calls - mean * mean).max(0.0);
        PhaseRow {
            name,
            mean_ns: mean.round() as u64,
            std_ns: (self.row.calls > 1).then(|| variance.sqrt().round() as u64),
            cpu_ns: self.cpu.known(),
            read_bytes: self.read.known(),
            write_bytes: self.write.known(),
            ..self.row
        }
    }
}

/// Moves spans of concurrent threads below each other, so that no two of a lane overlap.
fn assign_lanes(spans: &mut [PhaseSpan]) {
    let mut busy_until: Vec<u64> = Vec::new();
    for span in spans {
        let mut lane = span.lane as usize;
        while busy_until.get(lane).is_some_and(|until| *until > span.begin_ns) {
            lane += 1;
        }
        if busy_until.len() <= lane {
            busy_until.resize(lane + 1, 0);
        }
        busy_until[lane] = span.end_ns;
        span.lane = lane as u32;
    }
}
