//! When the next tick is due. The rows of a fixed cadence lie on absolute times and do not drift. The adaptive one takes rows
//! finely at first and coarsely later. Between rows either looks at the job while its memory or its processes change,
//! within a budget of CPU time, and gives way when ticks become expensive.

use crate::linux::sys;

const FINEST_NS: u64 = 2_000_000;
const COARSEST_NS: u64 = 1_000_000_000;
/// The adaptive distance of rows is this part of the time elapsed: about 130 rows in the first 20 s.
const ADAPTIVE_PART: u64 = 20;
/// Between rows a changing job is looked at so often, where the budget allows it.
const LOOK_NS: u64 = 20_000_000;
/// The adaptive cadence may take this part of one core, the start included.
const ADAPTIVE_SHARE: u64 = 100;
/// Where more than that was spent already, by one expensive look at who shares memory, cheap ticks of a job that changes go on with
/// this part.
const DEBT_SHARE: u64 = 400;
/// However expensive a tick is, the next comes when this part of the time elapsed has passed again, so that short jobs
/// have a few; unless one alone takes more than `MOST_SHARE` of a core. A job that does not change has fewer.
const SPARSE_PART: u64 = 2;
const QUIET_SPARSE_PART: u64 = 1;
/// The same where what ticks see is all that is known of those that end.
const UNTOLD_SPARSE_PART: u64 = 4;
const MOST_SHARE: u64 = 20;
/// A fixed cadence may take this part of one core.
const FIXED_SHARE: u64 = 4;
/// Rows that are closer than this show by themselves how the job changes.
const CLOSE_NS: u64 = 100_000_000;

/// What is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// A row of the record.
    Row,
    /// A look at memory and processes, with a row only if there is something to tell.
    Look,
    /// A look without a row, as those lie on a grid.
    Glance,
}

/// What a tick found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// Memory or processes have changed since the tick before.
    pub is_changing: bool,
    /// Nobody is told what processes had that ended: what ticks see is all that bounds them.
    pub is_all_there_is: bool,
    /// Time that it took to ask who shares which memory. That has a budget of its own, so the next tick need not cost as much.
    pub rollups_ns: u64,
}

pub(crate) struct Cadence {
    interval_ns: Option<u64>,
    started_ns: u64,
    due_ns: u64,
    /// 0 until it is set.
    row_due_ns: u64,
    /// When the last row was due.
    last_row_ns: u64,
    /// Distance of looks at the moment.
    look_ns: u64,
    is_changing: bool,
    is_all_there_is: bool,
    /// Smoothed CPU cost of a tick.
    cost_ns: u64,
    /// CPU time so far.
    spent_ns: u64,
    /// The whole process is the meter: all of its CPU time counts against the budget.
    is_own_process: bool,
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
            row_due_ns: if interval_ns.is_some() { 0 } else { started_ns },
            last_row_ns: started_ns,
            look_ns: LOOK_NS,
            is_changing: false,
            is_all_there_is: false,
            cost_ns: 0,
            spent_ns: 0,
            is_own_process: false,
            late_ticks: 0,
            skipped_ticks: 0,
            thinned: None,
        };
        cadence.schedule(sys::monotonic_ns());
        cadence
    }

    /// With a first tick as early as the adaptive cadence has it: where none is taken at the start itself, what is
    /// counted from the first tick on would else begin an interval late.
    pub(crate) fn with_early_tick(mut self) -> Cadence {
        self.due_ns = self.due_ns.min(self.started_ns + FINEST_NS);
        self.row_due_ns = self.row_due_ns.min(self.due_ns);
        self
    }

    /// The process does nothing but measure.
    pub(crate) fn of_own_process(mut self) -> Cadence {
        self.is_own_process = true;
        self
    }

    /// A tick is due now.
    pub(crate) fn hasten(&mut self) {
        self.due_ns = self.due_ns.min(sys::monotonic_ns());
    }

    /// When the next tick is due, on the monotonic clock.
    pub(crate) fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// The distance of rows at the moment.
    pub(crate) fn interval_ns(&self) -> u64 {
        self.interval_at(sys::monotonic_ns())
    }

    fn interval_at(&self, now_ns: u64) -> u64 {
        let elapsed_ns = now_ns.saturating_sub(self.started_ns);
        self.interval_ns.unwrap_or_else(|| adaptive_interval_ns(elapsed_ns))
    }

    /// Runs `tick` if it is due, measures what it cost and sets the next one.
    pub(crate) fn run_if_due(&mut self, tick: impl FnOnce(Turn) -> Found) -> bool {
        let now_ns = sys::monotonic_ns();
        if now_ns < self.due_ns {
            return false;
        }
        let late_ns = now_ns - self.due_ns;
        if late_ns > self.interval_at(now_ns) / 10 + 1_000_000 {
            self.late_ticks += 1;
        }
        let began_ns = sys::thread_cpu_ns();
        let turn = self.turn_at(now_ns);
        let found = tick(turn);
        let cost_ns = sys::thread_cpu_ns().saturating_sub(began_ns);
        let spent_ns = if self.is_own_process { sys::own_cpu_ns() } else { self.spent_ns + cost_ns };
        self.note(turn, found, cost_ns, spent_ns);
        self.schedule(sys::monotonic_ns());
        true
    }

    fn turn_at(&self, now_ns: u64) -> Turn {
        match self.interval_ns {
            _ if now_ns >= self.row_due_ns => Turn::Row,
            Some(_) => Turn::Glance,
            None => Turn::Look,
        }
    }

    fn note(&mut self, turn: Turn, found: Found, cost_ns: u64, spent_ns: u64) {
        let cost_ns = cost_ns.saturating_sub(found.rollups_ns);
        self.cost_ns = if self.cost_ns == 0 { cost_ns } else { (self.cost_ns * 3 + cost_ns) / 4 };
        self.spent_ns = spent_ns;
        self.is_changing = found.is_changing;
        self.is_all_there_is = found.is_all_there_is;
        self.look_ns = match found.is_changing {
            true => LOOK_NS,
            false => (self.look_ns + self.look_ns / 2).min(COARSEST_NS),
        };
        if turn == Turn::Row {
            // Set again by `schedule`.
            self.last_row_ns = std::mem::take(&mut self.row_due_ns);
        }
    }

    /// The wider distance that ticks were moved to since the last call, when they had become too expensive.
    pub(crate) fn take_thinned(&mut self) -> Option<(u64, u64)> {
        self.thinned.take().map(|interval_ns| (interval_ns, self.cost_ns))
    }

    fn schedule(&mut self, now_ns: u64) {
        match self.interval_ns {
            None => self.schedule_adaptive(now_ns),
            Some(interval_ns) => self.schedule_fixed(interval_ns, now_ns),
        }
    }

    /// How long it is until the CPU time of the meter, with one more tick, is the share that it may take.
    fn affordable_in_ns(&mut self, now_ns: u64) -> u64 {
        let elapsed_ns = now_ns.saturating_sub(self.started_ns);
        let budget_ns = (self.spent_ns + self.cost_ns) * ADAPTIVE_SHARE;
        let debt_ns = if self.is_changing { self.cost_ns * DEBT_SHARE } else { u64::MAX };
        budget_ns.saturating_sub(elapsed_ns).min(debt_ns)
    }

    fn schedule_adaptive(&mut self, now_ns: u64) {
        if self.row_due_ns == 0 {
            self.row_due_ns = now_ns + adaptive_interval_ns(now_ns.saturating_sub(self.started_ns));
        }
        let (wanted_ns, least_ns) = self.next_look(now_ns);
        self.due_ns = wanted_ns.min(self.row_due_ns).max(least_ns);
    }

    /// When the next look is wanted, and the earliest that the budget allows.
    fn next_look(&mut self, now_ns: u64) -> (u64, u64) {
        let elapsed_ns = now_ns.saturating_sub(self.started_ns);
        let interval_ns = adaptive_interval_ns(elapsed_ns);
        let affordable_ns = self.affordable_in_ns(now_ns);
        let sparse_part = match (self.is_changing, self.is_all_there_is) {
            (true, true) => UNTOLD_SPARSE_PART,
            (true, false) => SPARSE_PART,
            (false, _) => QUIET_SPARSE_PART,
        };
        let least_ns = affordable_ns.min(elapsed_ns / sparse_part).max(self.cost_ns * MOST_SHARE);
        if self.interval_ns.is_none() && least_ns > COARSEST_NS.max(interval_ns) {
            self.thinned = Some(least_ns);
        }
        (now_ns + interval_ns.min(self.look_ns), now_ns + least_ns)
    }

    fn schedule_fixed(&mut self, interval_ns: u64, now_ns: u64) {
        if self.row_due_ns == 0 {
            self.schedule_row(interval_ns, now_ns);
        }
        self.due_ns = self.row_due_ns;
        if interval_ns > CLOSE_NS {
            let (wanted_ns, least_ns) = self.next_look(now_ns);
            self.due_ns = self.due_ns.min(wanted_ns.max(least_ns));
        }
    }

    fn schedule_row(&mut self, interval_ns: u64, now_ns: u64) {
        let count_until = |t_ns: u64| t_ns.saturating_sub(self.started_ns) / interval_ns;
        let affordable = (self.cost_ns * FIXED_SHARE).div_ceil(interval_ns).max(1);
        if affordable > 1 {
            self.thinned = Some(affordable * interval_ns);
        }
        let last = count_until(self.last_row_ns);
        let next = (last + affordable).max(count_until(now_ns) + 1);
        self.skipped_ticks += next - last - 1;
        self.row_due_ns = self.started_ns + next * interval_ns;
    }
}

fn adaptive_interval_ns(elapsed_ns: u64) -> u64 {
    (elapsed_ns / ADAPTIVE_PART).clamp(FINEST_NS, COARSEST_NS)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const START_NS: u64 = 1_000_000_000_000;

    /// Simulates a run in which every tick costs `cost_ns`; the number of looks and rows, and the CPU time.
    fn simulate(wall_ns: u64, start_cost_ns: u64, cost_ns: u64, is_changing: bool) -> (u64, u64, u64) {
        simulate_at(None, wall_ns, start_cost_ns, cost_ns, is_changing)
    }

    fn simulate_at(
        interval_ns: Option<u64>,
        wall_ns: u64,
        start_cost_ns: u64,
        cost_ns: u64,
        is_changing: bool,
    ) -> (u64, u64, u64) {
        let mut cadence = Cadence::start(interval_ns, START_NS).of_own_process();
        (cadence.due_ns, cadence.row_due_ns) = (START_NS + FINEST_NS, START_NS + FINEST_NS);
        let (mut looks, mut rows, mut spent_ns) = (0, 0, start_cost_ns);
        while cadence.due_ns < START_NS + wall_ns {
            let now_ns = cadence.due_ns;
            let turn = cadence.turn_at(now_ns);
            match turn {
                Turn::Row => rows += 1,
                Turn::Look | Turn::Glance => looks += 1,
            }
            spent_ns += cost_ns;
            cadence.note(turn, Found { is_changing, ..Found::default() }, cost_ns, spent_ns);
            cadence.schedule(now_ns);
            assert!(cadence.due_ns > now_ns);
        }
        (looks, rows, spent_ns)
    }

    #[test]
    fn the_meter_takes_one_per_cent() {
        for (wall_ns, is_changing) in [(2_000 * MS, true), (2_000 * MS, false), (60_000 * MS, true)] {
            let (looks, rows, spent_ns) = simulate(wall_ns, 2 * MS, MS / 10, is_changing);
            // What it takes to start, and the first 20 ms with a tick every other, are not part of the budget.
            assert!(spent_ns <= wall_ns / 100 + 3 * MS, "{wall_ns}: {spent_ns} for {looks} + {rows}");
        }
        let (_, rows, spent_ns) = simulate(250 * MS, MS, MS / 10, true);
        assert!(rows >= 8 && spent_ns <= 4_600_000, "{rows} rows, {spent_ns} ns");
        let (_, rows, spent_ns) = simulate(250 * MS, 2 * MS, MS / 10, false);
        assert!(rows >= 6 && spent_ns <= 2_800_000, "{rows} rows of a quiet job, {spent_ns} ns");
    }

    #[test]
    fn a_changing_job_is_looked_at_often_and_a_quiet_one_rarely() {
        let (looks, rows, _) = simulate(60_000 * MS, 2 * MS, MS / 10, true);
        assert!(looks > 1_000 && rows < 300, "{looks} looks, {rows} rows");
        let (looks, rows, _) = simulate(60_000 * MS, 2 * MS, MS / 10, false);
        assert!(looks < 40 && rows > 80, "{looks} looks, {rows} rows");
    }

    #[test]
    fn expensive_ticks_are_rare_but_a_short_job_has_some() {
        let (looks, rows, _) = simulate(1_000 * MS, 20 * MS, 3 * MS, true);
        assert!((6..30).contains(&(looks + rows)), "{looks} looks, {rows} rows");
        let (looks, rows, spent_ns) = simulate(60_000 * MS, 0, 100 * MS, true);
        assert!(looks + rows > 5 && spent_ns <= 60_000 * MS / 20, "{looks} looks, {rows} rows");
    }

    #[test]
    fn one_expensive_look_does_not_stop_cheap_ticks() {
        let mut cadence = Cadence::start(None, START_NS).of_own_process();
        let mut in_ns = |spent_ns: u64, elapsed_ns: u64| {
            (cadence.cost_ns, cadence.spent_ns, cadence.is_changing) = (MS, spent_ns, true);
            cadence.affordable_in_ns(START_NS + elapsed_ns)
        };
        assert_eq!(in_ns(10 * MS, 1_000 * MS), 100 * MS, "11 ms are 1 % of 1.1 s");
        assert_eq!(in_ns(10 * MS, 1_100 * MS), 0);
        assert_eq!(in_ns(60 * MS, 1_000 * MS), 400 * MS, "not 5.1 s");
    }

    #[test]
    fn a_job_of_which_only_ticks_tell_is_looked_at_more_often() {
        let least_ns = |is_changing, is_all_there_is| {
            let mut cadence = Cadence::start(None, START_NS);
            let found = Found { is_changing, is_all_there_is, rollups_ns: 0 };
            // The start alone has taken more than the share of it.
            cadence.note(Turn::Row, found, MS, 50 * MS);
            cadence.next_look(START_NS + 200 * MS).1 - (START_NS + 200 * MS)
        };
        assert_eq!((least_ns(true, false), least_ns(true, true)), (100 * MS, 50 * MS));
        assert_eq!((least_ns(false, false), least_ns(false, true)), (200 * MS, 200 * MS));
    }

    #[test]
    fn between_fixed_rows_a_changing_job_is_looked_at() {
        let (glances, rows, spent_ns) = simulate_at(Some(1_000 * MS), 60_000 * MS, 2 * MS, MS / 10, true);
        // The early tick and one a second.
        assert!(glances > 1_000 && rows == 60, "{glances} glances, {rows} rows");
        assert!(spent_ns <= 60_000 * MS / 100 + 3 * MS, "{spent_ns}");
        // As often as there are rows without an interval.
        let (glances, rows, _) = simulate_at(Some(1_000 * MS), 60_000 * MS, 2 * MS, MS / 10, false);
        assert!((40..140).contains(&glances) && rows == 60, "{glances} glances, {rows} rows");
        let (glances, rows, _) = simulate_at(Some(CLOSE_NS), 6_000 * MS, 2 * MS, MS / 10, true);
        assert_eq!((glances, rows), (0, 60));
    }

    #[test]
    fn a_fixed_cadence_lies_on_its_grid() {
        let mut cadence = Cadence::start(Some(100 * MS), START_NS);
        (cadence.row_due_ns, cadence.skipped_ticks) = (START_NS + 100 * MS, 0);
        // Rollups do not come with every tick.
        cadence.note(
            Turn::Row,
            Found { is_changing: true, rollups_ns: 399 * MS, ..Found::default() },
            400 * MS,
            400 * MS,
        );
        cadence.schedule(START_NS + 103 * MS);
        assert_eq!((cadence.due_ns - START_NS, cadence.skipped_ticks), (200 * MS, 0));
        cadence.note(
            Turn::Row,
            Found { is_changing: true, rollups_ns: 399 * MS, ..Found::default() },
            400 * MS,
            400 * MS,
        );
        cadence.schedule(START_NS + 450 * MS);
        assert_eq!((cadence.due_ns - START_NS, cadence.skipped_ticks), (500 * MS, 2));
        assert!(cadence.take_thinned().is_none());
        cadence.note(Turn::Row, Found::default(), 400 * MS, 400 * MS);
        cadence.schedule(START_NS + 501 * MS);
        assert!(cadence.due_ns - START_NS > 600 * MS && cadence.take_thinned().is_some());
    }
}
