//! What must hold in every case, and the account of all cases of a sweep.

use crate::bench::Seen;
use std::collections::BTreeMap;

/// A panic, or the abort of one, in whatever words.
const PANIC_WORDS: [&str; 4] = ["panicked", "RUST_BACKTRACE", "thread '", "core dumped"];

/// What the job does when nobody measures it.
pub(crate) struct Expected {
    pub(crate) code: i32,
    pub(crate) stdout: String,
}

/// Whether the job ran, or what is wrong.
pub(crate) fn judge(seen: &Seen, expected: &Expected) -> Result<bool, String> {
    unharmed(seen)?;
    let code = seen.code.ok_or("it has no exit status")?;
    match seen.ran {
        0 if (125..=127).contains(&code) && seen.stdout.is_empty() => Ok(false),
        0 => Err(format!("the job never ran, but the exit status is {code}: {}", brief(&seen.stderr))),
        1 if code != expected.code => Err(format!(
            "exit status {code} instead of the job's own {}: {}",
            expected.code,
            brief(&seen.stderr)
        )),
        1 if seen.stdout != expected.stdout => Err(format!("its output became {:?}", seen.stdout)),
        1 => Ok(true),
        times => Err(format!("the job ran {times} times")),
    }
}

/// What holds for everything that we start: it ends, without a panic, alone.
pub(crate) fn unharmed(seen: &Seen) -> Result<(), String> {
    if !seen.dead_bystanders.is_empty() {
        return Err(format!("bystanders died: {:?}", seen.dead_bystanders));
    }
    if let Some(word) = PANIC_WORDS.iter().find(|word| seen.stderr.contains(**word)) {
        return Err(format!("panic text ({word}): {}", brief(&seen.stderr)));
    }
    if seen.code.is_none() {
        return Err(format!("it hangs (the job ran {} times): {}", seen.ran, brief(&seen.stderr)));
    }
    if !seen.left.is_empty() {
        return Err(format!(
            "left running: {:?}; status {:?}: {}",
            seen.left,
            seen.code,
            brief(&seen.stderr)
        ));
    }
    Ok(())
}

fn brief(text: &str) -> String {
    text.trim().replace('\n', " | ").chars().take(300).collect()
}

/// The cases of one sweep, by call or limit.
#[derive(Default)]
pub(crate) struct Account {
    /// Cases, and those in which the job never ran.
    counts: BTreeMap<String, (u64, u64)>,
    not_reached: u64,
    failures: Vec<String>,
}

impl Account {
    pub(crate) fn add(&mut self, group: &str, case: &str, verdict: Result<bool, String>) {
        let (cases, refused) = self.counts.entry(group.to_owned()).or_default();
        *cases += 1;
        match verdict {
            Ok(ran) => *refused += u64::from(!ran),
            Err(text) => self.failures.push(format!("{case}: {text}")),
        }
    }

    /// The call was not made this time: no fault.
    pub(crate) fn not_reached(&mut self) {
        self.not_reached += 1;
    }

    /// Prints the account; fails when a case did.
    pub(crate) fn close(self, sweep: &str, at_least: u64) {
        let total: u64 = self.counts.values().map(|(cases, _)| cases).sum();
        let refused: u64 = self.counts.values().map(|(_, refused)| refused).sum();
        eprintln!(
            "{sweep}: {total} cases, {refused} of them refused before the job, {} not reached",
            self.not_reached
        );
        for (group, (cases, refused)) in &self.counts {
            eprintln!(
                "  {cases:5} {group}{}",
                if *refused > 0 { format!(" ({refused} refused)") } else { String::new() }
            );
        }
        for failure in &self.failures {
            eprintln!("FAILED {sweep}: {failure}");
        }
        assert!(
            self.failures.is_empty(),
            "{sweep}: {} of {total} cases failed, see above",
            self.failures.len()
        );
        assert!(total >= at_least, "{sweep}: {total} cases, at least {at_least} were expected");
    }
}
