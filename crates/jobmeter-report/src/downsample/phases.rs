//! Phases for drawing: when each was active, bounded in number, and the table of them by name.

use crate::data::PhaseSpan;
use jobmeter_record::table::{Phase, PhaseTable, Span, TakeSpan};

const MAX_SPANS: usize = 2_000;
const MAX_NAMES: usize = 2_000;

#[derive(Default)]
pub(super) struct PhaseLog {
    spans: Vec<PhaseSpan>,
    phases: PhaseTable,
}

impl TakeSpan for PhaseLog {
    fn take(&mut self, span: Span) {
        if self.phases.len() < MAX_NAMES || self.phases.contains(&span.name) {
            self.phases.add(&span);
        }
        let Span { name, begin_ns, end_ns, depth, .. } = span;
        self.spans.push(PhaseSpan { name, begin_ns, end_ns, lane: depth });
        if self.spans.len() >= 2 * MAX_SPANS {
            self.keep_longest();
        }
    }
}

impl PhaseLog {
    fn keep_longest(&mut self) {
        super::events::keep_longest(&mut self.spans, MAX_SPANS, |span| {
            span.end_ns - span.begin_ns.min(span.end_ns)
        });
    }

    pub(super) fn finish(mut self) -> (Vec<PhaseSpan>, Vec<Phase>) {
        self.keep_longest();
        self.spans.sort_by_key(|span| (span.begin_ns, span.lane, u64::MAX - span.end_ns));
        assign_lanes(&mut self.spans);
        (self.spans, self.phases.into_phases())
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
