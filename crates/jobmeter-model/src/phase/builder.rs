//! Phases: pairs of begin and end marks, nested or side by side, with what the job used between them.
//!
//! A tick is taken with every mark, so the counters at a boundary are exact, unless processes ran at that moment, whose CPU time the
//! kernel counts up to their last clock tick. Where a tick is missing (a damaged file, calls attached from another tracker's file) the
//! counters are interpolated between the neighbours. In both cases they are called sampled. Both sides of a boundary see the same numbers, so adjoining phases add up to
//! the whole.

use super::span::Span;
use super::used::{COUNTERS, Totals, Used};
use crate::event::{Event, MarkKind, ROUNDED_NOTE, RUNNING_NOTE, Sink};
use crate::metric::{Column, Metric, Scope};
use crate::summary::Quality;

/// The levels that are watched during phases.
const LEVELS: [(Scope, Metric); 4] = [
    (Scope::Combined, Metric::RssBytes),
    (Scope::Combined, Metric::GpuMemoryBytes),
    (Scope::Combined, Metric::GpuBusyPpm),
    (Scope::System, Metric::GpuBusyPpm),
];
const GPU_MEMORY: usize = 1;

type Levels = [Option<u64>; LEVELS.len()];

/// Takes each call of a phase when its end is known.
pub trait TakeSpan {
    /// Takes one call.
    fn take(&mut self, span: Span);
}

impl<F: FnMut(Span)> TakeSpan for F {
    fn take(&mut self, span: Span) {
        self(span);
    }
}

impl TakeSpan for Vec<Span> {
    fn take(&mut self, span: Span) {
        self.push(span);
    }
}

#[derive(Debug, Clone, Copy)]
struct Moment {
    t_ns: u64,
    totals: Totals,
    levels: Levels,
    /// CPU time is that of the last clock tick: see [`RUNNING_NOTE`].
    is_late: bool,
}

/// Counters at a boundary, and whether a tick was taken right there.
#[derive(Debug, Clone, Copy)]
struct Boundary {
    totals: Totals,
    exact: bool,
}

#[derive(Debug)]
struct OpenSpan {
    span: Span,
    begin: Option<Boundary>,
    ended: bool,
}

/// Pairs marks and hands over each span when its end is known.
pub struct PhaseBuilder<S> {
    counters: [Option<usize>; COUNTERS.len()],
    levels: [Option<usize>; LEVELS.len()],
    gpu_memories: Vec<usize>,
    columns: usize,
    before: Moment,
    now: Moment,
    /// In boxes, as those behind one that ends move up.
    #[expect(clippy::vec_box, reason = "eight bytes move instead of hundreds")]
    open: Vec<Box<OpenSpan>>,
    /// The last moment that anything was told of.
    last_t_ns: u64,
    /// The last moment at which counters were read.
    counted_ns: Option<u64>,
    /// CPU time of children that ended is known in clock ticks: see [`ROUNDED_NOTE`].
    is_rounded: bool,
    /// The row of this moment is late.
    late_ns: Option<u64>,
    taker: S,
}

impl<S: TakeSpan> PhaseBuilder<S> {
    /// Hands every call to `taker`.
    pub fn new(taker: S) -> PhaseBuilder<S> {
        // The job's counters count from the beginning of the run, so they are zero there; a device's do not.
        let totals = COUNTERS.map(|(scope, ..)| (scope == Scope::Combined).then_some(0));
        let start = Moment { t_ns: 0, totals, levels: [None; LEVELS.len()], is_late: false };
        PhaseBuilder {
            counters: [None; COUNTERS.len()],
            levels: [None; LEVELS.len()],
            gpu_memories: Vec::new(),
            columns: 0,
            before: start,
            now: start,
            open: Vec::new(),
            last_t_ns: 0,
            counted_ns: None,
            is_rounded: false,
            late_ns: None,
            taker,
        }
    }

    /// Closes what is still open at the end of the run, or of the record where that is not known.
    pub fn finish(mut self, end_ns: Option<u64>) -> S {
        let end_ns = self.last_t_ns.max(end_ns.unwrap_or(0));
        let totals = if self.counted_ns.is_some() { self.now.totals } else { [None; COUNTERS.len()] };
        for mut open in std::mem::take(&mut self.open) {
            if !open.ended {
                open.span.end_ns = end_ns.max(open.span.begin_ns);
            }
            // Nothing was counted after the last tick, so the end of the record is a boundary like any other.
            let exact = !open.ended || Some(open.span.end_ns) <= self.counted_ns;
            let end = Boundary { totals, exact: exact && !self.is_rounded };
            let begin = open.begin.unwrap_or(end);
            close(&mut open.span, begin, end);
            self.taker.take(open.span);
        }
        self.taker
    }

    fn begin(&mut self, t_ns: u64, name: &str, pid: i32, tid: i32) {
        let is_around = |open: &OpenSpan| open.span.pid == pid && open.span.tid == tid && !open.ended;
        let depth = self.open.iter().filter(|open| is_around(open)).count() as u32;
        let span = Span {
            name: name.to_owned(),
            pid,
            tid,
            depth,
            begin_ns: t_ns,
            end_ns: t_ns,
            closed: false,
            used: Used::NOTHING_KNOWN,
        };
        let mut open = Box::new(OpenSpan { span, begin: None, ended: false });
        self.settle_open(&mut open);
        self.open.push(open);
    }

    fn end(&mut self, t_ns: u64, name: &str, pid: i32, tid: i32) {
        let is_named = |open: &OpenSpan| !open.ended && open.span.name == name;
        let is_own = |open: &OpenSpan| is_named(open) && open.span.pid == pid && open.span.tid == tid;
        // A command that marks is known by its parent, and in a recipe or at the end of a subshell that is another process
        // each time: the oldest phase of that name is meant. Threads of a program end their own.
        let is_commands = |open: &OpenSpan| is_named(open) && open.span.tid == open.span.pid && tid == pid;
        let own = self.open.iter().rposition(|open| is_own(open));
        let index = own.or_else(|| self.open.iter().position(|open| is_commands(open)));
        // An end without a beginning is a mark like any other and closes nothing.
        let Some(index) = index else { return };
        let mut open = self.open.remove(index);
        open.ended = true;
        open.span.closed = true;
        open.span.end_ns = t_ns.max(open.span.begin_ns);
        match self.settle_open(&mut open) {
            true => self.taker.take(open.span),
            false => self.open.insert(index, open),
        }
    }

    /// Takes from the last tick what it can tell about one open span; whether the span is done.
    fn settle_open(&self, open: &mut OpenSpan) -> bool {
        if self.counted_ns.is_none() {
            return false;
        }
        let (before, now) = (&self.before, &self.now);
        let span = &mut open.span;
        if open.begin.is_none() && span.begin_ns <= now.t_ns {
            open.begin = Some(self.graded(boundary_at(before, now, span.begin_ns)));
        }
        let inside = span.begin_ns <= now.t_ns && (!open.ended || now.t_ns <= span.end_ns);
        if inside {
            let [rss, gpu_memory, ..] = now.levels;
            span.used.peak_rss_bytes = span.used.peak_rss_bytes.max(rss);
            span.used.peak_gpu_memory_bytes = span.used.peak_gpu_memory_bytes.max(gpu_memory);
        }
        if let (true, Some(begin)) = (open.ended && span.end_ns <= now.t_ns, open.begin) {
            close(span, begin, self.graded(boundary_at(before, now, span.end_ns)));
            return true;
        }
        false
    }

    /// Exact only while no part of the CPU time is known in clock ticks alone.
    fn graded(&self, boundary: Boundary) -> Boundary {
        Boundary { exact: boundary.exact && !self.is_rounded, ..boundary }
    }

    /// The use of the GPUs that a tick tells is that of the time since the tick before it.
    fn watch_gpus(&mut self) {
        let (from_ns, to_ns) = (self.before.t_ns, self.now.t_ns);
        let [.., job, system] = self.now.levels;
        for open in &mut self.open {
            let span = &mut open.span;
            let end_ns = if open.ended { span.end_ns.min(to_ns) } else { to_ns };
            let weight_ns = end_ns.saturating_sub(span.begin_ns.max(from_ns));
            if weight_ns > 0 {
                span.used.gpu_busy_ppm.see(job, weight_ns);
                span.used.system_gpu_busy_ppm.see(system, weight_ns);
            }
        }
    }

    fn moment(&self, t_ns: u64, values: &[Option<u64>]) -> Moment {
        let value = |column: Option<usize>| values.get(column?).copied().flatten();
        let mut levels = self.levels.map(value);
        if self.levels[GPU_MEMORY].is_none() {
            let known = self.gpu_memories.iter().filter_map(|column| value(Some(*column)));
            levels[GPU_MEMORY] = known.reduce(u64::saturating_add);
        }
        Moment { t_ns, totals: self.counters.map(value), levels, is_late: self.late_ns == Some(t_ns) }
    }
}

fn close(span: &mut Span, begin: Boundary, end: Boundary) {
    span.used.quality = if begin.exact && end.exact { Quality::Exact } else { Quality::Sampled };
    span.used.totals = std::array::from_fn(|index| end.totals[index]?.checked_sub(begin.totals[index]?));
}

/// The counters at a moment between two ticks, or at one of them.
fn boundary_at(before: &Moment, now: &Moment, t_ns: u64) -> Boundary {
    if t_ns >= now.t_ns {
        return Boundary { totals: now.totals, exact: t_ns == now.t_ns && !now.is_late };
    }
    if t_ns <= before.t_ns {
        return Boundary { totals: before.totals, exact: t_ns == before.t_ns && !before.is_late };
    }
    let (part, whole) = (u128::from(t_ns - before.t_ns), u128::from(now.t_ns - before.t_ns));
    let totals = std::array::from_fn(|index| {
        let (from, to) = (before.totals[index]?, now.totals[index]?);
        let grown = u128::from(to.saturating_sub(from)) * part / whole;
        Some(from.saturating_add(grown as u64))
    });
    Boundary { totals, exact: false }
}

impl<S: TakeSpan> Sink for PhaseBuilder<S> {
    fn define(&mut self, column: &Column) {
        let index = self.columns;
        self.columns += 1;
        let key = (column.scope, column.metric);
        if column.entity.is_some() {
            if key == LEVELS[GPU_MEMORY] {
                self.gpu_memories.push(index);
            }
            return;
        }
        if let Some(counter) = COUNTERS.iter().position(|counter| (counter.0, counter.1) == key) {
            self.counters[counter] = Some(index);
        }
        if let Some(level) = LEVELS.iter().position(|level| *level == key) {
            self.levels[level] = Some(index);
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
            Event::Note { key, .. } if key == ROUNDED_NOTE => self.is_rounded = true,
            Event::Note { t_ns, key, .. } if key == RUNNING_NOTE => self.late_ns = Some(*t_ns),
            Event::Settle { t_ns, values } => {
                self.last_t_ns = self.last_t_ns.max(*t_ns);
                self.counted_ns = self.counted_ns.max(Some(*t_ns));
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
        self.counted_ns = self.counted_ns.max(Some(t_ns));
        self.before = self.now;
        self.now = self.moment(t_ns, values);
        self.watch_gpus();
        let mut open = std::mem::take(&mut self.open);
        let done = open.extract_if(.., |open| self.settle_open(open)).collect::<Vec<_>>();
        self.open = open;
        for open in done {
            self.taker.take(open.span);
        }
    }
}
