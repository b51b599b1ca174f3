//! Memory of the tree with shared pages counted once. Resident sizes are read every tick; who shares what is
//! asked of smaps_rollup only when a maximum may move, and within a budget, because that read holds up the
//! process it reads.

use crate::meter::process::Process;
use crate::meter::tree::Tree;

/// Share of one core that rollups may take, and what they may take at the start.
const BUDGET_SHARE: f64 = 0.01;
const BUDGET_START_NS: u64 = 40_000_000;
/// Passes over forked copies are this many times their own cost apart.
const COPIES_SPACING: u64 = 10;
/// Whoever measures a block of a few milliseconds should not pay for a split that nobody can have changed.
const FIRST_PASS_NS: u64 = 10_000_000;
/// One process is never held for longer than this by one read.
const LONGEST_READ_NS: u64 = 20_000_000;
/// For one process alone only the split into private and shared is at stake.
const LONGEST_SPLIT_READ_NS: u64 = 2_000_000;

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
    fn at_most(mut self, total_bytes: u64) -> Resident {
        self.total_bytes = self.total_bytes.min(total_bytes);
        self.private_bytes = self.private_bytes.min(self.total_bytes);
        self.shared_bytes = self.total_bytes - self.private_bytes;
        self
    }
}

/// Distinct pages of a set of processes, and those among them that one process has alone.
#[derive(Debug, Clone, Copy, Default)]
struct Union {
    total: u64,
    private: u64,
}

impl Union {
    /// No smaller than the largest process and no larger than the plain sum.
    fn within(total: u64, private: u64, max_rss: u64, rss: u64) -> Union {
        let total = total.max(max_rss).min(rss);
        Union { total, private: private.min(total) }
    }
}

/// What a pass found of a scope, and what the guess without asking was at that moment.
#[derive(Debug, Clone, Copy, Default)]
struct Verified {
    found: Union,
    guessed: Union,
}

/// What a pass of rollups found over a set of processes.
#[derive(Default, Clone, Copy)]
struct Rolled {
    rss: u64,
    pss: u64,
    private: u64,
    max_shared: u64,
    max_rss: u64,
}

impl Rolled {
    fn take(&mut self, process: &Process) {
        let (rss, pss, private, shared) = match process.rollup {
            Some(last) => {
                let rollup = &last.rollup;
                (rollup.rss_bytes, rollup.pss_bytes, rollup.private_bytes, rollup.shared_bytes)
            }
            // Small or gone: as if it shared its files only.
            None => {
                let (rss, file) = (process.rss_bytes, process.rss_file_bytes.min(process.rss_bytes));
                (rss, rss - file, rss - file, file)
            }
        };
        self.rss += rss;
        self.pss += pss;
        self.private += private;
        self.max_shared = self.max_shared.max(shared);
        self.max_rss = self.max_rss.max(rss);
    }

    /// Proportional sizes are exact for pages shared inside the set; the other term mends pages shared with
    /// outsiders.
    fn union(&self) -> Union {
        Union::within(self.pss.max(self.private + self.max_shared), self.private, self.max_rss, self.rss)
    }
}

/// It has its pages from a parent.
fn is_copy(process: &Process) -> bool {
    process.stat.is_forked_copy() && !process.is_main
}

/// Sums over a set of processes.
#[derive(Default, Clone, Copy)]
struct Sums {
    count: usize,
    rss: u64,
    /// Of forked copies.
    copied: u64,
    /// Pages that belong to one process alone, as far as known.
    private: u64,
    /// Pages that forked copies have added to what they inherited.
    grown: u64,
    max_inherited: u64,
    max_file: u64,
    max_rss: u64,
}

impl Sums {
    fn take(&mut self, process: &Process) {
        let (rss, file) = (process.rss_bytes, process.rss_file_bytes.min(process.rss_bytes));
        self.count += 1;
        self.rss += rss;
        self.max_rss = self.max_rss.max(rss);
        self.max_file = self.max_file.max(file);
        if is_copy(process) {
            let inherited = process.rss_at_birth_bytes.min(rss).saturating_sub(file);
            self.copied += rss;
            self.max_inherited = self.max_inherited.max(inherited);
            self.grown += rss - file - inherited;
        } else {
            self.private += rss - file;
        }
    }

    /// Without asking who shares what: files are shared by all, a copy shares what it inherited.
    fn guess(&self) -> Union {
        let own = self.private.max(self.max_inherited) + self.grown;
        Union::within(own + self.max_file, self.private + self.grown, self.max_rss, self.rss)
    }

    /// What the last pass found, moved by as much as the guess has moved since.
    fn since(&self, verified: &Verified) -> Union {
        let guess = self.guess();
        let moved = |found: u64, now: u64, before: u64| (found + now).saturating_sub(before);
        Union::within(
            moved(verified.found.total, guess.total, verified.guessed.total),
            moved(verified.found.private, guess.private, verified.guessed.private),
            self.max_rss,
            self.rss,
        )
    }
}

#[derive(Default)]
pub(crate) struct MemoryMeter {
    spent_ns: u64,
    pub passes: u64,
    /// Passes that were wanted but not affordable.
    pub refused: u64,
    /// Family size at the last pass and what it found for main, descendants, combined.
    verified: Option<(usize, [Verified; 3])>,
    best_bytes: [u64; 3],
    pass_at_ns: u64,
    pass_cost_ns: u64,
}

impl MemoryMeter {
    /// `[main, descendants, combined]` at this tick; `elapsed_ns` fills the budget.
    pub(crate) fn read(&mut self, tree: &mut Tree, elapsed_ns: u64) -> [Resident; 3] {
        let mut all: [Sums; 3] = over_scopes(tree, Sums::take);
        let mut unions = self.estimate(&all);
        let unshared_at_most = || {
            let copies = tree.processes.iter().filter(|process| is_copy(process));
            copies.map(|process| process.unshared_at_most_bytes(tree.scale)).sum()
        };
        if self.wants_pass(&all, &unions, elapsed_ns, unshared_at_most)
            && self.pass(tree, all[2].count, elapsed_ns)
        {
            let found = over_scopes(tree, Rolled::take).map(|rolled: Rolled| rolled.union());
            // The pass takes milliseconds: pages that were mapped or shared meanwhile would count twice.
            tree.refresh_memory();
            let after: [Sums; 3] = over_scopes(tree, Sums::take);
            let moved = after[2].rss.abs_diff(all[2].rss) > all[2].rss / 64;
            // Who was too large to ask may share everything or nothing with the rest.
            let unasked = |process: &Process| process.rollup.is_none() && process.rss_bytes > 1 << 20;
            let is_whole = all[2].count == 1 || !tree.processes.iter().any(unasked);
            all = after;
            if is_whole && !moved {
                let mut verified = [Verified::default(); 3];
                for (slot, (found, sums)) in verified.iter_mut().zip(found.into_iter().zip(&all)) {
                    *slot = Verified { found, guessed: sums.guess() };
                }
                self.verified = Some((all[2].count, verified));
            }
            unions = self.estimate(&all);
        }
        let mut result = [Resident::default(); 3];
        for (resident, (union, sums)) in result.iter_mut().zip(unions.into_iter().zip(&all)) {
            *resident = Resident {
                total_bytes: union.total,
                private_bytes: union.private,
                shared_bytes: union.total - union.private,
                sum_bytes: sums.rss,
            };
        }
        // Estimates of the three scopes are made apart; together they still cannot exceed their sum.
        let both = result[0].total_bytes + result[1].total_bytes;
        result[2] = result[2].at_most(both);
        for (best, resident) in self.best_bytes.iter_mut().zip(&result) {
            *best = (*best).max(resident.total_bytes);
        }
        result
    }

    /// From the last pass while the family is the same, else by what forks and files tell: after members came
    /// or went, what was found of them no longer stands.
    fn estimate(&self, all: &[Sums; 3]) -> [Union; 3] {
        match &self.verified {
            Some((count, verified)) if *count == all[2].count => {
                [0, 1, 2].map(|index| all[index].since(&verified[index]))
            }
            _ => all.map(|sums| sums.guess()),
        }
    }

    /// Only when a maximum may move.
    fn wants_pass(
        &self,
        all: &[Sums; 3],
        unions: &[Union; 3],
        elapsed_ns: u64,
        unshared_at_most: impl FnOnce() -> u64,
    ) -> bool {
        let moves = |index: usize| {
            let best = self.best_bytes[index];
            unions[index].total > best + best / 100 + 65_536
        };
        if elapsed_ns < FIRST_PASS_NS {
            return false;
        }
        let combined = &all[2];
        if combined.count <= 1 {
            return moves(0);
        }
        let family_changed = self.verified.is_none_or(|(count, _)| count != combined.count);
        let may_exceed = combined.rss > self.best_bytes[2] + self.best_bytes[2] / 64;
        (family_changed && may_exceed)
            || moves(2)
            || moves(1)
            || (may_exceed
                && self.is_pass_due(all, elapsed_ns)
                && unshared_at_most() > self.best_bytes[2] / 100 + 65_536)
    }

    /// A forked copy that writes to its pages makes them its own without growing: no resident size tells, so
    /// the families that could be larger than the best known are looked at from time to time.
    fn is_pass_due(&self, all: &[Sums; 3], elapsed_ns: u64) -> bool {
        all[1].copied > 1 << 20 && elapsed_ns >= self.pass_at_ns + self.pass_cost_ns * COPIES_SPACING
    }

    fn pass(&mut self, tree: &mut Tree, count: usize, elapsed_ns: u64) -> bool {
        let longest_ns = if count == 1 { LONGEST_SPLIT_READ_NS } else { LONGEST_READ_NS };
        let affordable_ns =
            (BUDGET_START_NS + (elapsed_ns as f64 * BUDGET_SHARE) as u64).saturating_sub(self.spent_ns);
        let worthwhile = |process: &Process| process.rss_bytes > 0 && process.rollup_cost_ns() <= longest_ns;
        let cost_ns: u64 =
            tree.processes.iter().filter(|process| worthwhile(process)).map(Process::rollup_cost_ns).sum();
        if cost_ns == 0 || cost_ns > affordable_ns {
            self.refused += 1;
            return false;
        }
        let spent_before_ns = self.spent_ns;
        let buffer = &mut tree.buffer;
        for process in &mut tree.processes {
            if worthwhile(process) {
                let cost_ns = process.read_rollup(buffer);
                self.spent_ns += cost_ns.unwrap_or(10_000);
                if cost_ns.is_none() {
                    process.rollup = None;
                }
            } else {
                process.rollup = None;
            }
        }
        self.passes += 1;
        self.pass_at_ns = elapsed_ns;
        self.pass_cost_ns = self.spent_ns - spent_before_ns;
        true
    }
}

/// `[main, descendants, combined]`.
fn over_scopes<S: Default + Copy>(tree: &Tree, take: fn(&mut S, &Process)) -> [S; 3] {
    let mut all = [S::default(); 3];
    for process in &tree.processes {
        take(&mut all[if process.is_main { 0 } else { 1 }], process);
        take(&mut all[2], process);
    }
    all
}
