//! Memory of the tree with shared pages counted once. Resident sizes are read every tick; who shares what is
//! asked of smaps_rollup only when a maximum may move, and within a budget, because that read holds up the
//! process it reads. Pure: the caller reads what [`MemoryAccount::wants`] asks for.

use super::sharing::{
    Asked, COMBINED, DESCENDANTS, MAIN, MemoryReading, Rolled, Sums, Union, Verified, over_scopes,
};

/// Share of one core that rollups may take, and what they may take at the start: one pass over some large processes, which
/// takes as long as a hundred ticks. Most of the one per cent that the meter has is for ticks.
const BUDGET_SHARE: f64 = 0.002;
const BUDGET_START_NS: u64 = 25_000_000;
/// Passes are this many times their own cost apart.
const SPACING: u64 = 100;
/// A pass that takes more than this part of what is left of the budget is made when the memory has stopped changing, or after
/// it has changed for a second and for this part of the run: what is found while processes still write to their pages is soon out
/// of date.
const EXPENSIVE_PART: u64 = 6;
const LONGEST_WAIT_NS: u64 = 1_000_000_000;
const LONGEST_WAIT_PART: u64 = 2;
/// Memory that has changed by less than this part for so long stands still.
const STILL_PART: u64 = 100;
const STILL_FOR_NS: u64 = 60_000_000;
/// No pass before this: blocks of a few milliseconds should not pay for a split that cannot have changed.
const FIRST_PASS_NS: u64 = 10_000_000;
/// One process is never held for longer than this by one read.
const LONGEST_READ_NS: u64 = 20_000_000;
/// For one process alone only the split into private and shared is at stake.
const LONGEST_SPLIT_READ_NS: u64 = 300_000;
/// By which part of the best the memory has to grow for another pass: that of several processes is not known without one, or
/// guessed well, as the last pass has shown; that of one process is known, and only its split is at stake.
const SUM_PART: u64 = 50;
const GUESSED_PART: u64 = 4;
const SPLIT_PART: u64 = 8;
/// A pass can cost this many times what the sizes of the processes let expect: pages that many processes map cost more.
const MOST_UNEXPECTED: u64 = 4;
/// Below this the cost of a pass says nothing of that of a larger one.
const TELLING_COST_NS: u64 = 200_000;
/// A process above this size without a rollup leaves a pass incomplete.
const NEGLIGIBLE_BYTES: u64 = 1 << 20;

/// Resident memory of a scope at one tick.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Resident {
    pub total_bytes: u64,
    pub private_bytes: u64,
    pub shared_bytes: u64,
    /// Plain sum over processes: an upper bound of `total_bytes`.
    pub sum_bytes: u64,
}

impl Resident {
    fn of(union: Union, sum_bytes: u64, at_most_bytes: u64) -> Resident {
        let total_bytes = union.total_bytes.min(at_most_bytes);
        let private_bytes = union.private_bytes.min(total_bytes);
        Resident { total_bytes, private_bytes, shared_bytes: total_bytes - private_bytes, sum_bytes }
    }
}

/// What has to be read before the tick's memory can be accounted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    Nothing,
    /// The resident sizes once more: the sum is a new maximum, and its parts were read one after the other.
    SecondLook,
    /// The rollups of all processes that cost at most `longest_ns`, then the resident sizes once more.
    Rollups {
        longest_ns: u64,
    },
}

/// Whether a pass reads the rollup of this process.
pub(crate) fn is_worthwhile(reading: &MemoryReading, longest_ns: u64) -> bool {
    reading.rss_bytes > 0 && reading.rollup_cost_ns <= longest_ns
}

#[derive(Default)]
pub(crate) struct MemoryAccount {
    /// What passes cost, as it is paid from the budget, and what they took.
    spent_ns: u64,
    took_ns: u64,
    pub passes: u64,
    /// Passes that were wanted but not affordable.
    pub refused: u64,
    /// Number of processes at the last pass and what it found for main, descendants, combined.
    verified: Option<(usize, [Verified; 3])>,
    /// What the last whole pass proved of anonymous memory, by scope.
    asked: [Option<Asked>; 3],
    best_bytes: [u64; 3],
    /// The most that each scope certainly held at one moment.
    proven_bytes: [u64; 3],
    pass_at_ns: u64,
    pass_cost_ns: u64,
    /// What the last telling pass cost, and what it had been expected to.
    cost_and_expected_ns: Option<(u64, u64)>,
    /// See [`level_bytes`], and since when it has hardly changed.
    level: (u64, u64),
    /// Since when a pass has been put off that can be afforded: until the memory stands still, or some time has passed.
    put_off_since_ns: Option<u64>,
    /// The last pass found what had been guessed.
    is_guess_good: bool,
}

/// Why a pass is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    /// Processes came or went. What they share is guessed well if all they have in common is files and what copies inherited.
    Others,
    /// Pages were added or copied since the last pass.
    Pages,
}

impl MemoryAccount {
    /// What rollups have taken so far.
    pub(crate) fn took_ns(&self) -> u64 {
        self.took_ns
    }

    /// Whether a pass was put off that can be afforded.
    pub(crate) fn awaits_pass(&self) -> bool {
        self.put_off_since_ns.is_some()
    }

    /// The most that main, descendants and combined certainly held at one moment.
    pub(crate) fn proven_bytes(&self) -> [u64; 3] {
        self.proven_bytes
    }

    /// What to read before [`MemoryAccount::take`]; `elapsed_ns` fills the budget.
    pub(crate) fn wants(&mut self, readings: &[MemoryReading], elapsed_ns: u64) -> Wanted {
        let all: [Sums; 3] = over_scopes(readings, Sums::take);
        let unshared_bytes = readings.iter().map(|reading| reading.unshared_at_most_bytes).sum();
        // Between full ticks busy processes may have had any number of faults: nothing would ever stand still.
        let are_faults_known = !readings.iter().any(|reading| reading.has_unread_faults);
        let is_still = are_faults_known && self.note_level(level_bytes(readings), elapsed_ns);
        let longest_wait_ns = LONGEST_WAIT_NS.max(elapsed_ns / LONGEST_WAIT_PART);
        let has_waited = |since_ns: u64| elapsed_ns >= since_ns + longest_wait_ns;
        let put_off_since_ns = self.put_off_since_ns.take();
        let is_calm = is_still || put_off_since_ns.is_some_and(has_waited);
        if let Some(cause) = self.cause_of_pass(&all, unshared_bytes, elapsed_ns) {
            let longest_ns = if all[COMBINED].count == 1 { LONGEST_SPLIT_READ_NS } else { LONGEST_READ_NS };
            let expected_ns = cost_of_pass_ns(readings, longest_ns);
            let (cost_ns, left_ns) = (self.learned_cost_ns(expected_ns), self.left_ns(elapsed_ns));
            let is_affordable = cost_ns > 0 && cost_ns <= left_ns;
            let is_time = elapsed_ns >= self.pass_at_ns + self.pass_cost_ns * SPACING;
            let is_cheap = cost_ns <= left_ns / EXPENSIVE_PART;
            if is_affordable && is_time && (is_cheap || (cause == Cause::Pages && is_calm)) {
                return Wanted::Rollups { longest_ns };
            }
            if is_affordable && cause == Cause::Pages {
                self.put_off_since_ns = put_off_since_ns.or(Some(elapsed_ns));
            }
            self.refused += 1;
        }
        let exceeds = |index: usize| {
            all[index].count > 1
                && (all[index].proven_bytes(self.asked[index]) > self.proven_bytes[index]
                    || self.estimate(&all)[index].total_bytes > self.best_bytes[index])
        };
        if exceeds(COMBINED) || exceeds(DESCENDANTS) { Wanted::SecondLook } else { Wanted::Nothing }
    }

    /// A pass was made between two looks at the resident sizes.
    pub(crate) fn take_pass(
        &mut self,
        before: &[MemoryReading],
        after: &[MemoryReading],
        cost_ns: u64,
        elapsed_ns: u64,
    ) {
        self.passes += 1;
        let expected_ns = cost_of_pass_ns(before, LONGEST_READ_NS);
        self.took_ns += cost_ns;
        // Where the hypervisor took cores away, one of 9 MB took 12 ms of CPU time. It would leave none for the one at the peak.
        let cost_ns = cost_ns.min(expected_ns.saturating_mul(MOST_UNEXPECTED));
        self.spent_ns += cost_ns;
        self.pass_at_ns = elapsed_ns;
        self.pass_cost_ns = cost_ns;
        if expected_ns >= TELLING_COST_NS {
            self.cost_and_expected_ns = Some((cost_ns, expected_ns));
        }
        let rolled: [Rolled; 3] = over_scopes(after, Rolled::take);
        let found = rolled.map(|rolled| rolled.union());
        let all: [Sums; 3] = over_scopes(after, Sums::take);
        // A pass takes milliseconds: pages that were mapped, freed or shared meanwhile may count twice.
        let moved_bytes: u64 =
            before.iter().zip(after).map(|(before, after)| before.moved_bytes(after)).sum();
        let guessed_bytes = all[COMBINED].guess().total_bytes;
        self.is_guess_good = found[COMBINED].total_bytes <= guessed_bytes + guessed_bytes / 50 + moved_bytes;
        // A process that was too large to ask may share everything or nothing with the others.
        let is_unasked =
            |reading: &MemoryReading| reading.rollup.is_none() && reading.rss_bytes > NEGLIGIBLE_BYTES;
        let is_whole = all[COMBINED].count == 1 || !after.iter().any(is_unasked);
        self.asked = [None; 3];
        if !is_whole {
            return;
        }
        let most: Vec<MemoryReading> =
            before.iter().zip(after).map(|(before, after)| before.most(after)).collect();
        let most: [Sums; 3] = over_scopes(&most, Sums::take);
        for index in [MAIN, DESCENDANTS, COMBINED] {
            let proven_bytes = found[index].total_bytes.saturating_sub(moved_bytes);
            self.proven_bytes[index] = self.proven_bytes[index].max(proven_bytes);
            self.asked[index] = Some(Asked::new(&rolled[index], &most[index], moved_bytes));
        }
        if moved_bytes <= all[COMBINED].rss_bytes / 64 {
            let verified = [MAIN, DESCENDANTS, COMBINED]
                .map(|index| Verified { found: found[index], guessed: all[index].guess() });
            self.verified = Some((all[COMBINED].count, verified));
        }
    }

    /// `[main, descendants, combined]` at this tick.
    pub(crate) fn take(&mut self, readings: &[MemoryReading]) -> [Resident; 3] {
        let all: [Sums; 3] = over_scopes(readings, Sums::take);
        let mut unions = self.estimate(&all);
        // The scopes are estimated apart; together they still cannot exceed their sum.
        let both_bytes = unions[MAIN].total_bytes + unions[DESCENDANTS].total_bytes;
        unions[COMBINED].total_bytes = unions[COMBINED].total_bytes.min(both_bytes);
        let mut result = [Resident::default(); 3];
        for (index, resident) in result.iter_mut().enumerate() {
            self.best_bytes[index] = self.best_bytes[index].max(unions[index].total_bytes);
            self.proven_bytes[index] =
                self.proven_bytes[index].max(all[index].proven_bytes(self.asked[index]));
            // The summary states what was proven as the peak: no row is above it.
            *resident = Resident::of(unions[index], all[index].rss_bytes, self.proven_bytes[index]);
        }
        result
    }

    /// From the last pass while there are as many processes as then, else by resident sizes alone: after processes came
    /// or went, what was found of them no longer holds.
    fn estimate(&self, all: &[Sums; 3]) -> [Union; 3] {
        match &self.verified {
            Some((count, verified)) if *count == all[COMBINED].count => {
                [MAIN, DESCENDANTS, COMBINED].map(|index| all[index].since(&verified[index]))
            }
            _ => all.map(|sums| sums.guess()),
        }
    }

    fn note_level(&mut self, level_bytes: u64, elapsed_ns: u64) -> bool {
        let (before_bytes, since_ns) = self.level;
        if level_bytes.abs_diff(before_bytes) > level_bytes / STILL_PART {
            self.level = (level_bytes, elapsed_ns);
            return false;
        }
        // An unchanged level means that no process has run since.
        level_bytes == before_bytes || elapsed_ns >= since_ns + STILL_FOR_NS
    }

    /// Only when a maximum may move.
    fn cause_of_pass(&self, all: &[Sums; 3], unshared_bytes: u64, elapsed_ns: u64) -> Option<Cause> {
        if elapsed_ns < FIRST_PASS_NS {
            return None;
        }
        let unions = self.estimate(all);
        let is_beyond_best = |index: usize, bytes: u64, part: u64| {
            bytes > self.best_bytes[index] + self.best_bytes[index] / part
        };
        let moves = |index: usize, part: u64| {
            is_beyond_best(index, unions[index].total_bytes.saturating_sub(65_536), part)
        };
        let combined = &all[COMBINED];
        if combined.count <= 1 {
            return moves(MAIN, SPLIT_PART).then_some(Cause::Pages);
        }
        let is_changed = self.verified.is_none_or(|(count, _)| count != combined.count);
        let part = if self.is_guess_good { GUESSED_PART } else { SUM_PART };
        let may_exceed = is_beyond_best(COMBINED, combined.rss_bytes, part);
        // A forked copy that writes to its pages makes them its own without growing: no resident size tells. And a parent that
        // writes leaves its copies alone with what was there before.
        let copies_write = is_beyond_best(COMBINED, combined.rss_bytes, SUM_PART)
            && all[DESCENDANTS].copied_bytes > NEGLIGIBLE_BYTES
            && unshared_bytes > self.best_bytes[COMBINED] / 100 + 65_536;
        if copies_write || moves(COMBINED, part) || moves(DESCENDANTS, part) {
            Some(Cause::Pages)
        } else {
            (is_changed && may_exceed).then_some(Cause::Others)
        }
    }

    /// What a pass will cost, by what the last one did.
    fn learned_cost_ns(&self, expected_ns: u64) -> u64 {
        let learned = self.cost_and_expected_ns.map_or(expected_ns, |(cost_ns, last_expected_ns)| {
            (u128::from(expected_ns) * u128::from(cost_ns) / u128::from(last_expected_ns)) as u64
        });
        learned.clamp(expected_ns, expected_ns.saturating_mul(MOST_UNEXPECTED))
    }

    /// What is left of the budget.
    fn left_ns(&self, elapsed_ns: u64) -> u64 {
        let budget_ns = BUDGET_START_NS + (elapsed_ns as f64 * BUDGET_SHARE) as u64;
        budget_ns.saturating_sub(self.spent_ns)
    }
}

/// How much memory the processes have, and how much of what they inherited they may have made their own: what stands still while nothing
/// changes who shares what. No copy makes more its own than it inherited, nor can its parent.
fn level_bytes(readings: &[MemoryReading]) -> u64 {
    let copies = readings.iter().filter(|reading| reading.is_copy);
    let inherited_bytes: u64 = copies.map(|copy| copy.anon_at_birth_bytes).sum();
    let level_of = |reading: &MemoryReading| {
        let most_bytes = if reading.is_copy { reading.anon_at_birth_bytes } else { inherited_bytes };
        reading.rss_bytes + reading.unshared_at_most_bytes.min(most_bytes)
    };
    readings.iter().map(level_of).sum()
}

fn cost_of_pass_ns(readings: &[MemoryReading], longest_ns: u64) -> u64 {
    let asked = readings.iter().filter(|reading| is_worthwhile(reading, longest_ns));
    asked.map(|reading| reading.rollup_cost_ns).sum()
}

#[cfg(test)]
#[path = "memory_tests.rs"]
mod tests;
