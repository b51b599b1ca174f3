//! Phases: pairs of begin and end marks, nested or side by side, with what the job used between them.
//!
//! A tick is taken with every mark, so the counters at a boundary are exact. Where a tick is missing (a
//! damaged file, marks merged in later) the counters are interpolated between the neighbours. Both sides of a
//! boundary see the same numbers, so adjoining phases add up to the whole.

use jobmeter_core::{Column, Event, MarkKind, Metric, Scope, Sink};
use serde::Serialize;

/// The counters of main and descendants that are shared out to phases.
const COUNTERS: [Metric; 5] = [
    Metric::CpuNs,
    Metric::ReadStorageBytes,
    Metric::WriteStorageBytes,
    Metric::ReadCharsBytes,
    Metric::WriteCharsBytes,
];

type Totals = [Option<u64>; COUNTERS.len()];

/// One call of a phase.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Span {
    /// Hostile text.
    pub name: String,
    pub pid: i32,
    pub tid: i32,
    /// How many phases of the same thread were open around it.
    pub depth: u32,
    pub begin_ns: u64,
    /// The end mark, or the end of the record for a phase that was never closed.
    pub end_ns: u64,
    pub closed: bool,
    pub cpu_ns: Option<u64>,
    pub read_storage_bytes: Option<u64>,
    pub write_storage_bytes: Option<u64>,
    pub read_chars_bytes: Option<u64>,
    pub write_chars_bytes: Option<u64>,
    /// Largest value of a tick inside, boundaries included.
    pub peak_rss_bytes: Option<u64>,
    pub peak_gpu_memory_bytes: Option<u64>,
}

impl Span {
    pub fn time_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.begin_ns)
    }
}

/// All calls of one name.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Phase {
    pub name: String,
    pub calls: u64,
    /// Calls that were never closed and were counted up to the end of the record.
    pub open_calls: u64,
    pub first_begin_ns: u64,
    /// Summed over calls; calls that ran side by side or inside each other count each.
    pub time_total_ns: u64,
    pub time_min_ns: u64,
    pub time_mean_ns: f64,
    pub time_max_ns: u64,
    pub time_std_ns: f64,
    /// `None` when it is unknown for any call.
    pub cpu_ns: Option<u64>,
    pub read_storage_bytes: Option<u64>,
    pub write_storage_bytes: Option<u64>,
    pub read_chars_bytes: Option<u64>,
    pub write_chars_bytes: Option<u64>,
    pub peak_rss_bytes: Option<u64>,
    pub peak_gpu_memory_bytes: Option<u64>,
}

impl Phase {
    pub(super) fn first(span: &Span) -> Phase {
        Phase {
            name: span.name.clone(),
            calls: 1,
            open_calls: u64::from(!span.closed),
            first_begin_ns: span.begin_ns,
            time_total_ns: span.time_ns(),
            time_min_ns: span.time_ns(),
            time_mean_ns: span.time_ns() as f64,
            time_max_ns: span.time_ns(),
            time_std_ns: 0.0,
            cpu_ns: span.cpu_ns,
            read_storage_bytes: span.read_storage_bytes,
            write_storage_bytes: span.write_storage_bytes,
            read_chars_bytes: span.read_chars_bytes,
            write_chars_bytes: span.write_chars_bytes,
            peak_rss_bytes: span.peak_rss_bytes,
            peak_gpu_memory_bytes: span.peak_gpu_memory_bytes,
        }
    }

    pub(super) fn add(&mut self, span: &Span) {
        let (time, count) = (span.time_ns() as f64, self.calls as f64);
        // Welford's running variance: `time_std_ns` goes back to the sum of squares and forth again.
        let squares = self.time_std_ns.powi(2) * count;
        let before = time - self.time_mean_ns;
        self.time_mean_ns += before / (count + 1.0);
        self.time_std_ns = ((squares + before * (time - self.time_mean_ns)) / (count + 1.0)).max(0.0).sqrt();
        self.calls += 1;
        self.open_calls += u64::from(!span.closed);
        self.first_begin_ns = self.first_begin_ns.min(span.begin_ns);
        self.time_total_ns = self.time_total_ns.saturating_add(span.time_ns());
        self.time_min_ns = self.time_min_ns.min(span.time_ns());
        self.time_max_ns = self.time_max_ns.max(span.time_ns());
        let sum = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
        self.cpu_ns = sum(self.cpu_ns, span.cpu_ns);
        self.read_storage_bytes = sum(self.read_storage_bytes, span.read_storage_bytes);
        self.write_storage_bytes = sum(self.write_storage_bytes, span.write_storage_bytes);
        self.read_chars_bytes = sum(self.read_chars_bytes, span.read_chars_bytes);
        self.write_chars_bytes = sum(self.write_chars_bytes, span.write_chars_bytes);
        self.peak_rss_bytes = self.peak_rss_bytes.max(span.peak_rss_bytes);
        self.peak_gpu_memory_bytes = self.peak_gpu_memory_bytes.max(span.peak_gpu_memory_bytes);
    }
}

#[derive(Debug, Clone, Copy)]
struct Moment {
    t_ns: u64,
    totals: Totals,
    rss_bytes: Option<u64>,
    gpu_memory_bytes: Option<u64>,
}

#[derive(Debug)]
struct OpenSpan {
    span: Span,
    begin: Option<Totals>,
    ended: bool,
}

/// Pairs marks and hands over each span when its end is known.
pub struct PhaseBuilder<F> {
    counters: [Option<usize>; COUNTERS.len()],
    rss: Option<usize>,
    gpu_memory: Option<usize>,
    gpu_memories: Vec<usize>,
    columns: usize,
    before: Moment,
    now: Moment,
    open: Vec<OpenSpan>,
    last_t_ns: u64,
    finished: F,
}

impl<F: FnMut(Span)> PhaseBuilder<F> {
    pub fn new(finished: F) -> PhaseBuilder<F> {
        // Counters count from the beginning of the run, so they are zero there.
        let start =
            Moment { t_ns: 0, totals: [Some(0); COUNTERS.len()], rss_bytes: None, gpu_memory_bytes: None };
        PhaseBuilder {
            counters: [None; COUNTERS.len()],
            rss: None,
            gpu_memory: None,
            gpu_memories: Vec::new(),
            columns: 0,
            before: start,
            now: start,
            open: Vec::new(),
            last_t_ns: 0,
            finished,
        }
    }

    /// Closes what is still open at the end of the record.
    pub fn finish(mut self) {
        let end = self.now.totals;
        for mut open in std::mem::take(&mut self.open) {
            if !open.ended {
                open.span.end_ns = self.last_t_ns.max(open.span.begin_ns);
            }
            let begin = open.begin.unwrap_or(end);
            close(&mut open.span, begin, end);
            (self.finished)(open.span);
        }
    }

    fn begin(&mut self, t_ns: u64, name: &str, pid: i32, tid: i32) {
        let same_thread = |open: &&OpenSpan| open.span.pid == pid && open.span.tid == tid && !open.ended;
        let depth = self.open.iter().filter(same_thread).count() as u32;
        let span = Span {
            name: name.to_owned(),
            pid,
            tid,
            depth,
            begin_ns: t_ns,
            end_ns: t_ns,
            closed: false,
            cpu_ns: None,
            read_storage_bytes: None,
            write_storage_bytes: None,
            read_chars_bytes: None,
            write_chars_bytes: None,
            peak_rss_bytes: None,
            peak_gpu_memory_bytes: None,
        };
        self.open.push(OpenSpan { span, begin: None, ended: false });
        self.settle_open(self.open.len() - 1);
    }

    fn end(&mut self, t_ns: u64, name: &str, pid: i32, tid: i32) {
        let fits = |open: &OpenSpan| {
            !open.ended && open.span.name == name && open.span.pid == pid && open.span.tid == tid
        };
        // An end without a beginning is a mark like any other and closes nothing.
        let Some(index) = self.open.iter().rposition(fits) else { return };
        let open = &mut self.open[index];
        open.ended = true;
        open.span.closed = true;
        open.span.end_ns = t_ns.max(open.span.begin_ns);
        self.settle_open(index);
    }

    /// Takes from the last tick what it can tell about one open span; whether the span is done.
    fn settle_open(&mut self, index: usize) -> bool {
        let (before, now) = (self.before, self.now);
        let open = &mut self.open[index];
        let span = &mut open.span;
        if open.begin.is_none() && span.begin_ns <= now.t_ns {
            open.begin = Some(totals_at(&before, &now, span.begin_ns));
        }
        let inside = span.begin_ns <= now.t_ns && (!open.ended || now.t_ns <= span.end_ns);
        if inside {
            span.peak_rss_bytes = span.peak_rss_bytes.max(now.rss_bytes);
            span.peak_gpu_memory_bytes = span.peak_gpu_memory_bytes.max(now.gpu_memory_bytes);
        }
        if let (true, Some(begin)) = (open.ended && span.end_ns <= now.t_ns, open.begin) {
            close(span, begin, totals_at(&before, &now, span.end_ns));
            let open = self.open.remove(index);
            (self.finished)(open.span);
            return true;
        }
        false
    }

    fn moment(&self, t_ns: u64, values: &[Option<u64>]) -> Moment {
        let value = |column: Option<usize>| values.get(column?).copied().flatten();
        let gpu_sum = || {
            let known = self.gpu_memories.iter().filter_map(|column| value(Some(*column)));
            known.reduce(u64::saturating_add)
        };
        Moment {
            t_ns,
            totals: self.counters.map(value),
            rss_bytes: value(self.rss),
            gpu_memory_bytes: if self.gpu_memory.is_some() { value(self.gpu_memory) } else { gpu_sum() },
        }
    }
}

fn close(span: &mut Span, begin: Totals, end: Totals) {
    let used = |index: usize| end[index]?.checked_sub(begin[index]?);
    span.cpu_ns = used(0);
    span.read_storage_bytes = used(1);
    span.write_storage_bytes = used(2);
    span.read_chars_bytes = used(3);
    span.write_chars_bytes = used(4);
}

/// The counters at a moment between two ticks, or at one of them.
fn totals_at(before: &Moment, now: &Moment, t_ns: u64) -> Totals {
    if t_ns >= now.t_ns {
        return now.totals;
    }
    if t_ns <= before.t_ns {
        return before.totals;
    }
    let (part, whole) = (u128::from(t_ns - before.t_ns), u128::from(now.t_ns - before.t_ns));
    std::array::from_fn(|index| {
        let (from, to) = (before.totals[index]?, now.totals[index]?);
        let grown = u128::from(to.saturating_sub(from)) * part / whole;
        Some(from.saturating_add(grown as u64))
    })
}

impl<F: FnMut(Span)> Sink for PhaseBuilder<F> {
    fn define(&mut self, column: &Column) {
        let index = self.columns;
        self.columns += 1;
        if column.scope != Scope::Combined {
            return;
        }
        match (column.metric, &column.entity) {
            (Metric::RssBytes, None) => self.rss = Some(index),
            (Metric::GpuMemoryBytes, None) => self.gpu_memory = Some(index),
            (Metric::GpuMemoryBytes, Some(_)) => self.gpu_memories.push(index),
            (metric, None) => {
                if let Some(counter) = COUNTERS.iter().position(|counter| *counter == metric) {
                    self.counters[counter] = Some(index);
                }
            }
            _ => {}
        }
    }

    fn event(&mut self, event: &Event) {
        match event {
            Event::Mark { t_ns, name, kind, pid, tid } => {
                self.last_t_ns = self.last_t_ns.max(*t_ns);
                match kind {
                    MarkKind::Begin => self.begin(*t_ns, name, *pid, *tid),
                    MarkKind::End => self.end(*t_ns, name, *pid, *tid),
                    MarkKind::Point => {}
                }
            }
            Event::Settle { t_ns, values } => {
                self.last_t_ns = self.last_t_ns.max(*t_ns);
                for (column, value) in values {
                    let place = self.counters.iter().position(|place| *place == Some(*column as usize));
                    if let Some(counter) = place {
                        // Two exact sources may differ by a hair at the end; a counter still never runs backwards.
                        self.now.totals[counter] = self.now.totals[counter].max(Some(*value));
                    }
                }
            }
            _ => {}
        }
    }

    fn tick(&mut self, t_ns: u64, values: &[Option<u64>]) {
        self.last_t_ns = self.last_t_ns.max(t_ns);
        self.before = self.now;
        self.now = self.moment(t_ns, values);
        let mut index = 0;
        while index < self.open.len() {
            if !self.settle_open(index) {
                index += 1;
            }
        }
    }
}
