//! Ticks of a job under the meter, and what is opened late, since a short job does not need it.

use super::Supervisor;
use crate::linux::perf_warm_up::WarmUp;
use crate::linux::{sys, trim};
use crate::run::marks::MarkReceiver;
use jobmeter_model::WarningKind;
use jobmeter_model::units::{format_count, format_duration_ns};

/// Jobs shorter than this do without what tells of the ends of others' children.
const SETTLED_AFTER_NS: u64 = 20_000_000;

/// From here on it is followed what several processes map: the first compilers of a build come soon.
pub(super) const FOLLOWED_AFTER_NS: u64 = 3_000_000;

/// Ticks are rare in the first moments: between them events alone are asked whether there are several processes, after this time and
/// part of the age of the job, until it has this age.
const FAMILY_ASKED_EVERY_NS: u64 = 6_000_000;
const FAMILY_ASKED_PART: u64 = 4;
const FAMILY_ASKED_UNTIL_NS: u64 = 250_000_000;

/// Shorter jobs do without an inherited perf clock, keep the memory of the start, and leave pipes of killed meters to others.
const LATE_AFTER_NS: u64 = 250_000_000;

/// A program that starts children does so by then, or is worth waiting for.
const WARM_UNTIL_NS: u64 = 2_000_000_000;

impl Supervisor<'_> {
    pub(super) fn tick_if_due(&mut self) {
        let meter = &mut self.meter;
        if !self.has_settled && meter.elapsed_ns() > SETTLED_AFTER_NS {
            self.has_settled = true;
            // Processes that end in the first moments are reaped by us, or their exit code stays unknown.
            meter.open_exit_events();
            self.oom.begin(&self.membership, self.job.spawned.pid);
        }
        if self.family_due_ns.is_some_and(|due_ns| sys::monotonic_ns() >= due_ns) {
            let elapsed_ns = meter.elapsed_ns();
            let wants_more = elapsed_ns < FAMILY_ASKED_UNTIL_NS && meter.may_follow_maps();
            let pause_ns = elapsed_ns.min(FAMILY_ASKED_EVERY_NS).max(elapsed_ns / FAMILY_ASKED_PART);
            self.family_due_ns = wants_more.then(|| sys::monotonic_ns() + pause_ns);
            if wants_more && meter.is_worth_following() {
                self.cadence.hasten();
            }
        }
        if self.wants_warm_up && meter.elapsed_ns() > FOLLOWED_AFTER_NS {
            self.wants_warm_up = false;
            // By the time that there are children it may be over.
            self.warm_up = meter.may_count_faults().then(WarmUp::start);
        }
        if self.warm_up.as_mut().is_some_and(WarmUp::is_just_over) && meter.is_about_to_count_faults() {
            self.cadence.hasten();
        }
        meter.set_interval_ns(self.cadence.interval_ns());
        if self.cadence.run_if_due(|turn| meter.take_turn(turn)) {
            self.open_what_is_due();
        }
        if let Some((interval_ns, cost_ns)) = self.cadence.take_thinned() {
            let mut warnings = self.meter.out.sums.warnings.iter();
            if !warnings.any(|warning| warning.kind == WarningKind::Thinned) {
                let text = format!(
                    "a tick over {} processes costs {}: ticks are taken every {} to stay light",
                    format_count(self.meter.process_count() as u64),
                    format_duration_ns(cost_ns),
                    format_duration_ns(interval_ns)
                );
                self.meter.warn(WarningKind::Thinned, text);
            }
        }
    }

    /// After a tick: what tells more of the job, and is not worth its cost in a short one.
    fn open_what_is_due(&mut self) {
        if !self.is_late && self.meter.elapsed_ns() > LATE_AFTER_NS {
            self.is_late = true;
            trim::give_back_code();
            self.marks.iter().for_each(MarkReceiver::sweep);
        }
        if self.meter.elapsed_ns() < FOLLOWED_AFTER_NS {
            return;
        }
        let (opens_clock, opens_maps) =
            (self.wants_clock && self.is_late, self.meter.is_about_to_count_faults());
        let is_warm =
            !(opens_clock || opens_maps) || self.warm_up.get_or_insert_with(WarmUp::start).is_over();
        if opens_clock && is_warm {
            self.wants_clock = false;
            self.meter.open_inherited_clocks();
        }
        if !opens_maps || is_warm {
            self.meter.open_maps_if_due(&mut self.wants_clock);
        }
        // While it is kept, whatever is needed opens at once.
        if self.meter.elapsed_ns() > WARM_UNTIL_NS || !self.meter.may_count_faults() {
            self.warm_up.take_if(|warm_up| warm_up.is_over());
        }
    }
}
