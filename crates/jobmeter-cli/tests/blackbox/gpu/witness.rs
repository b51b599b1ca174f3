//! Wall time against a witness on a noisy machine: both are taken in turn, and the best of each counts.

use std::process::Command;
use std::time::{Duration, Instant};

/// What a driver may add to a run.
const ALLOWANCE: Duration = Duration::from_millis(100);
/// So often the witness is taken before anything is held to it.
const FIRST: usize = 5;
/// A machine that is busy with other things disturbs some tries, not all of them.
const MOST_TRIES: usize = 9;

/// The command without what may delay it, and its best time so far.
pub(crate) struct Witness<'a> {
    command: &'a dyn Fn() -> Command,
    best: Duration,
}

impl Witness<'_> {
    pub(crate) fn new(command: &dyn Fn() -> Command) -> Witness<'_> {
        let best = (0..FIRST).map(|_| wall(command())).min().unwrap_or_default();
        Witness { command, best }
    }

    /// Runs both in turn until the command is within the allowance; says the figures, fails if it never is.
    pub(crate) fn adds_little(&mut self, what: &str, command: impl Fn() -> Command) {
        let mut best = Duration::MAX;
        for tries in 1..=MOST_TRIES {
            best = best.min(wall(command()));
            self.best = self.best.min(wall((self.command)()));
            let added = best.saturating_sub(self.best);
            if added <= ALLOWANCE {
                eprintln!("{what}: {best:?}, without {:?}, added {added:?} ({tries} tries)", self.best);
                return;
            }
        }
        panic!("{what}: {best:?}, without {:?}, the best of {MOST_TRIES} tries", self.best);
    }
}

fn wall(mut command: Command) -> Duration {
    let begin = Instant::now();
    command.output().expect("it starts");
    begin.elapsed()
}
