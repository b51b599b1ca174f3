//! When the next tick is due. Fixed cadence hangs on absolute times and does not drift; the adaptive one is
//! fine at first and coarser later; either gives way when ticks become dear.

use crate::linux::sys;

const FINEST_NS: u64 = 2_000_000;
const COARSEST_NS: u64 = 1_000_000_000;
/// The adaptive cadence is this part of the time elapsed: about 130 ticks in the first 20 s.
const ADAPTIVE_PART: u64 = 20;
/// Ticks may take this part of one core: adaptive, and when the user fixed the interval.
const ADAPTIVE_SHARE: u64 = 20;
const FIXED_SHARE: u64 = 4;

pub(crate) struct Cadence {
    interval_ns: Option<u64>,
    started_ns: u64,
    due_ns: u64,
    /// Smoothed CPU cost of a tick.
    cost_ns: u64,
    pub late_ticks: u64,
    pub skipped_ticks: u64,
    thinned: Option<u64>,
}

impl Cadence {
    /// `interval_ns` fixed, or adaptive when `None`.
    pub(crate) fn start(interval_ns: Option<u64>, started_ns: u64) -> Cadence {
        let mut cadence = Cadence {
            interval_ns,
            started_ns,
            due_ns: started_ns,
            cost_ns: 0,
            late_ticks: 0,
            skipped_ticks: 0,
            thinned: None,
        };
        cadence.schedule();
        cadence
    }

    /// With a first tick as early as the adaptive cadence has it: where none is taken at the start itself, what is
    /// counted from the first tick on would else begin an interval late.
    pub(crate) fn with_early_tick(mut self) -> Cadence {
        self.due_ns = self.due_ns.min(self.started_ns + FINEST_NS);
        self
    }

    /// When the next tick is due, on the monotonic clock.
    pub(crate) fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// What the distance of ticks is at the moment.
    pub(crate) fn interval_ns(&self) -> u64 {
        let elapsed_ns = sys::monotonic_ns().saturating_sub(self.started_ns);
        self.interval_ns.unwrap_or((elapsed_ns / ADAPTIVE_PART).clamp(FINEST_NS, COARSEST_NS))
    }

    /// Runs `tick` if it is due, measures what it cost and sets the next one.
    pub(crate) fn run_if_due(&mut self, mut tick: impl FnMut()) -> bool {
        let now_ns = sys::monotonic_ns();
        if now_ns < self.due_ns {
            return false;
        }
        let late_ns = now_ns - self.due_ns;
        if late_ns > self.interval_ns() / 10 + 1_000_000 {
            self.late_ticks += 1;
        }
        let began_ns = sys::thread_cpu_ns();
        tick();
        let cost_ns = sys::thread_cpu_ns().saturating_sub(began_ns);
        self.cost_ns = if self.cost_ns == 0 { cost_ns } else { (self.cost_ns * 3 + cost_ns) / 4 };
        self.schedule();
        true
    }

    /// The wider distance that ticks were moved to since the last call, when they had become too dear.
    pub(crate) fn take_thinned(&mut self) -> Option<(u64, u64)> {
        self.thinned.take().map(|interval_ns| (interval_ns, self.cost_ns))
    }

    fn schedule(&mut self) {
        let now_ns = sys::monotonic_ns();
        match self.interval_ns {
            None => {
                let wanted_ns = self.interval_ns();
                let affordable_ns = self.cost_ns * ADAPTIVE_SHARE;
                if affordable_ns > COARSEST_NS.max(wanted_ns) {
                    self.thinned = Some(affordable_ns);
                }
                self.due_ns = now_ns + wanted_ns.max(affordable_ns);
            }
            Some(interval_ns) => {
                let count_until = |t_ns: u64| t_ns.saturating_sub(self.started_ns) / interval_ns;
                let affordable = (self.cost_ns * FIXED_SHARE).div_ceil(interval_ns).max(1);
                if affordable > 1 {
                    self.thinned = Some(affordable * interval_ns);
                }
                let last = count_until(self.due_ns);
                let next = (last + affordable).max(count_until(now_ns) + 1);
                self.skipped_ticks += next - last - 1;
                self.due_ns = self.started_ns + next * interval_ns;
            }
        }
    }
}
