//! Phases that another program noted by the wall clock, attached to a run as if the job had marked them.
//!
//! There is no tick at their ends: times are exact, counters are interpolated and say so.

use crate::reader::Run;
use jobmeter_model::{Event, MarkKind};
use std::sync::Arc;

/// One call of a phase by the wall clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PhaseCall {
    /// Hostile text.
    pub name: String,
    /// The process that made the call.
    pub pid: i32,
    /// When it began.
    pub begin_unix_ns: u64,
    /// `None`: it was never ended, and goes on to the end of the run.
    pub end_unix_ns: Option<u64>,
}

/// What became of the calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Attached {
    /// Calls that lie in the time of the run.
    pub taken: u64,
    /// Of those, calls that began before the run or ended after it: only what lies inside counts.
    pub cut: u64,
    /// Calls with nothing inside the run.
    pub outside: u64,
}

impl Run {
    /// The run with these phases besides its own: in its tables, its stream and what is drawn of it.
    pub fn with_phases(mut self, calls: &[PhaseCall]) -> (Run, Attached) {
        let started_ns = self.info().started_unix_ns;
        // A run that was cut short does not know its end; there nothing is cut off.
        let wall_ns = self.summary().and_then(|summary| summary.run.wall_ns).unwrap_or(u64::MAX);
        let mut attached = Attached::default();
        let mut marks: Vec<(u64, Event)> = Vec::with_capacity(calls.len() * 2);
        for call in calls {
            let end_unix_ns = call.end_unix_ns.unwrap_or(u64::MAX);
            if end_unix_ns < started_ns || call.begin_unix_ns.saturating_sub(started_ns) > wall_ns {
                attached.outside += 1;
                continue;
            }
            let begin_ns = call.begin_unix_ns.saturating_sub(started_ns);
            let end_ns = call.end_unix_ns.map(|end| end.saturating_sub(started_ns));
            attached.taken += 1;
            attached.cut +=
                u64::from(call.begin_unix_ns < started_ns || end_ns.is_some_and(|end_ns| end_ns > wall_ns));
            let mark = |t_ns, kind| {
                // Their files know the process, not the thread: the main thread has the same number.
                let name = call.name.clone();
                (t_ns, Event::Mark { t_ns, name, kind, pid: call.pid, tid: call.pid })
            };
            marks.push(mark(begin_ns, MarkKind::Begin));
            marks.extend(end_ns.map(|end_ns| mark(end_ns.min(wall_ns), MarkKind::End)));
        }
        marks.extend(self.attached.iter().cloned());
        // Stable: of two marks at one moment the one that was noted first stays first.
        marks.sort_by_key(|(t_ns, _)| *t_ns);
        self.attached = Arc::from(marks);
        (self, attached)
    }
}
