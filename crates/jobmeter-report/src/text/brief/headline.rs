//! How it went, in one sentence.

use super::super::units::Units;
use jobmeter_model::text::printable;
use jobmeter_model::verdict::signal_text;
use jobmeter_model::{Mode, Summary, VerdictKind};

/// The colour and the sign of a headline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::text) enum Mood {
    Good,
    Bad,
    Open,
}

pub(in crate::text) struct Headline {
    pub(in crate::text) mood: Mood,
    /// Whose run it is. Escaped.
    pub(in crate::text) name: String,
    pub(in crate::text) text: String,
}

/// Longer names are cut: the sentence behind them is what people look for.
const LONGEST_NAME: usize = 30;

/// The job's own name, else that of its program.
fn name(summary: &Summary) -> String {
    let run = &summary.run;
    let program = run.command.first().map(|word| word.rsplit('/').next().unwrap_or(word));
    let name = run.name.as_deref().or(program).filter(|name| !name.is_empty());
    let name = name.map_or_else(|| format!("process {}", run.pid), printable);
    super::super::table::cut(&name, LONGEST_NAME)
}

/// The command as it was given, to stand at the right.
pub(in crate::text) fn command(summary: &Summary) -> String {
    let run = &summary.run;
    let is_name = run.name.is_none() && run.command.len() == 1 && !run.command[0].contains('/');
    if is_name { String::new() } else { printable(&run.command.join(" ")) }
}

pub(in crate::text) fn headline(summary: &Summary, units: Units) -> Headline {
    let verdict = &summary.verdict;
    let wall = summary.run.wall_ns.map(|ns| units.time(ns));
    let with = |word: &str| wall.as_ref().map_or(String::new(), |wall| format!(" {word} {wall}"));
    let core = if verdict.core_dumped { ", core dumped" } else { "" };
    let (mood, text) = match &verdict.kind {
        VerdictKind::Exited => match verdict.exit_code {
            Some(0) => (Mood::Good, format!("finished{}", with("in"))),
            Some(code) => (Mood::Bad, format!("failed with exit code {code}{}", with("after"))),
            None => (Mood::Open, format!("ended{}, its exit code is not known", with("after"))),
        },
        VerdictKind::Signaled => {
            let signal = verdict.signal.map_or_else(|| "a signal".to_owned(), signal_text);
            (Mood::Bad, format!("was killed by {signal}{core}{}", with("after")))
        }
        VerdictKind::OomKilled => {
            let limit = summary.limits.cgroup_memory_bytes;
            let limit = limit.map_or(String::new(), |bytes| format!(", limit {}", units.ram(bytes)));
            (
                Mood::Bad,
                format!("was killed for want of memory{}: the kernel's OOM killer{limit}", with("after")),
            )
        }
        VerdictKind::Timeout => (Mood::Bad, format!("was ended by its time limit{}", with("after"))),
        VerdictKind::Running => (Mood::Open, format!("is still running{}", with("after"))),
        // A block of a program ends when it is left, which is no accident.
        VerdictKind::Detached if summary.run.mode == Mode::Own => {
            (Mood::Good, format!("finished{}", with("in")))
        }
        VerdictKind::Detached => (Mood::Open, format!("was measured for {}; it goes on", time(&wall))),
        VerdictKind::Unknown => (Mood::Open, format!("ended{}; how is not known", with("after"))),
        VerdictKind::Crashed => {
            (Mood::Bad, format!("was measured for {}; its record ends without a result", time(&wall)))
        }
        VerdictKind::Other(_) => (Mood::Open, printable(&verdict.text)),
    };
    Headline { mood, name: name(summary), text }
}

fn time(wall: &Option<String>) -> &str {
    wall.as_deref().unwrap_or("an unknown time")
}
