//! Calls of phases, and all calls of a name together.

use super::builder::TakeSpan;
use super::used::Used;
use serde::Serialize;
use std::collections::HashMap;

/// One call of a phase.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Span {
    /// Hostile text.
    pub name: String,
    /// The process that marked it.
    pub pid: i32,
    /// The thread that marked it.
    pub tid: i32,
    /// How many phases of the same thread were open around it.
    pub depth: u32,
    /// When it began, since the run began.
    pub begin_ns: u64,
    /// The end mark, or the end of the record for a phase that was never closed.
    pub end_ns: u64,
    /// Whether its end was marked.
    pub closed: bool,
    /// What the job used meanwhile.
    #[serde(flatten)]
    pub used: Used,
}

impl Span {
    /// How long it took.
    pub fn time_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.begin_ns)
    }
}

/// All calls of one name.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Phase {
    /// Hostile text.
    pub name: String,
    /// How many there were.
    pub calls: u64,
    /// Calls that were never closed and were counted up to the end of the record.
    pub open_calls: u64,
    /// When the first began.
    pub first_begin_ns: u64,
    /// Summed over calls; calls that ran side by side or inside each other count each.
    pub time_total_ns: u64,
    /// The shortest call.
    pub time_min_ns: u64,
    /// The mean over calls.
    pub time_mean_ns: f64,
    /// The longest call.
    pub time_max_ns: u64,
    /// The standard deviation over calls.
    pub time_std_ns: f64,
    /// What the job used meanwhile.
    #[serde(flatten)]
    pub used: Used,
}

impl Phase {
    fn first(span: &Span) -> Phase {
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
            used: span.used,
        }
    }

    fn add(&mut self, span: &Span) {
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
        self.used.join(&span.used);
    }
}

/// Calls gathered by name.
#[derive(Debug, Default)]
pub struct PhaseTable {
    phases: HashMap<String, Phase>,
}

impl PhaseTable {
    /// How many names there are so far.
    pub fn len(&self) -> usize {
        self.phases.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.phases.is_empty()
    }

    /// Whether there is a phase of that name.
    pub fn contains(&self, name: &str) -> bool {
        self.phases.contains_key(name)
    }

    /// Adds one call.
    pub fn add(&mut self, span: &Span) {
        match self.phases.get_mut(&span.name) {
            Some(phase) => phase.add(span),
            None => {
                self.phases.insert(span.name.clone(), Phase::first(span));
            }
        }
    }

    /// In the order they first began, the one that goes on longer first.
    pub fn into_phases(self) -> Vec<Phase> {
        let mut phases: Vec<Phase> = self.phases.into_values().collect();
        let key = |phase: &Phase| (phase.first_begin_ns, u64::MAX - phase.time_max_ns);
        phases.sort_by(|a, b| key(a).cmp(&key(b)).then_with(|| a.name.cmp(&b.name)));
        phases
    }
}

impl TakeSpan for PhaseTable {
    fn take(&mut self, span: Span) {
        self.add(&span);
    }
}
