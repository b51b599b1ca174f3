//! From what the witnesses saw to what is true of each figure, with each witness's own uncertainty allowed for.

use crate::run::Outcome;
use crate::span::Span;
use crate::witness::{Counters, Moment};
use serde_json::Value;
use std::collections::BTreeMap;

const MB: f64 = 1e6;

/// Begin and end on the wall clock, in nanoseconds.
pub(crate) type Window = (u64, u64);
pub(crate) type Truths = BTreeMap<String, Span>;

/// A window is given where jobmeter looked at a part of the job's life only.
pub(crate) fn truths(outcome: &Outcome, window: Option<Window>) -> Truths {
    let mut truths = Truths::new();
    cpu(outcome, window, &mut truths);
    counters(outcome, window, &mut truths);
    memory(outcome, window, &mut truths);
    machine(outcome, window, &mut truths);
    if let Some(tree) = &outcome.evidence.tree
        && window.is_none()
    {
        let processes = tree.processes as f64;
        truths.insert("combined.processes_total".into(), Span::new(processes, processes, "proc connector"));
    }
    for (figure, span) in &outcome.notes {
        let known = truths.remove(figure).unwrap_or_default();
        truths.insert(figure.clone(), known.and(span));
    }
    truths
}

/// When jobmeter says that it looked.
pub(crate) fn window(summary: &Value) -> Option<Window> {
    let begin_ns = summary["run"]["started_unix_ns"].as_u64()?;
    Some((begin_ns, begin_ns + summary["run"]["wall_ns"].as_u64()?))
}

/// The group counts to the nanosecond. 2 ms and 0.2 % are for what happens between jobmeter's last look and the
/// group's end: the exit of the last process.
fn cpu(outcome: &Outcome, window: Option<Window>, truths: &mut Truths) {
    let evidence = &outcome.evidence;
    let span = match window {
        Some((begin, end)) => evidence.timeline.growth(begin, end, |moment| moment.cpu_ns),
        None => evidence.cpu_ns.map(|ns| (ns, ns)),
    };
    let Some((low, high)) = span.map(|(low, high)| (low as f64, high as f64)) else { return };
    let span = Span::new(low * 0.998 - 2.0 * MB, high * 1.002 + 2.0 * MB, "cgroup");
    truths.insert("combined.cpu_ns".into(), span);
    if window.is_some() {
        return;
    }
    split(outcome, high, truths);
    // The clock of the main process was read until it was gone; the rest of its time on every core is the doubt.
    if let Some((last, rest)) =
        evidence.timeline.last_of_main().map(|(last, rest)| (last as f64, rest as f64))
    {
        let cores = outcome.summary["run"]["system_cores"].as_f64().unwrap_or(1.0);
        let most = (last + rest * cores).min(high) + 2.0 * MB;
        let source = "CPU clock";
        truths.insert("main.cpu_ns".into(), Span::new(last * 0.998 - 1.0 * MB, most, source));
        let span = Span::new(low * 0.998 - most, high * 1.002 - last + 2.0 * MB, source);
        truths.insert("descendants.cpu_ns".into(), span);
    }
}

/// Kernels that count ticks only guess the split of user and system time, each in its own way. What all of them
/// agree on is taken as true, give or take 1 % of the whole and two ticks of 10 ms.
fn split(outcome: &Outcome, total_ns: f64, truths: &mut Truths) {
    let mut user: Vec<f64> = outcome.evidence.user_ns.iter().map(|ns| *ns as f64).collect();
    if let Some((all, _)) = &outcome.evidence.counters {
        let ticks = (all.user_us + all.system_us) as f64;
        if ticks > 0.0 {
            user.push(total_ns * all.user_us as f64 / ticks);
        }
    }
    let slack = total_ns * 0.01 + 20.0 * MB;
    let low = user.iter().copied().reduce(f64::min);
    let high = user.iter().copied().reduce(f64::max);
    let (Some(low), Some(high)) = (low, high) else { return };
    let source = "cgroup, taskstats";
    truths.insert("combined.cpu_user_ns".into(), Span::new(low - slack, high + slack, source));
    let span = Span::new(total_ns - high - slack, total_ns - low + slack, source);
    truths.insert("combined.cpu_system_ns".into(), span);
}

/// Exit records round bytes down to a KiB per task, and miss the end of the exit: up to two faults and eight
/// switches a task. How often it was switched away while it gave its memory back they do not tell: 234 of 396 were recorded of a process
/// of 120 MB that was killed, 19 of 171 of one that held 500 MB in a memfd, on a busy machine.
fn counters(outcome: &Outcome, window: Option<Window>, truths: &mut Truths) {
    let Some((all, _)) = &outcome.evidence.counters else { return };
    let tasks = all.tasks as f64;
    let kib = 1023.0 * tasks;
    type Of = fn(&Counters) -> u64;
    // Name, counter, what each task may have on top, and which part of the whole.
    let figures: [(&str, Of, f64, f64); 8] = [
        ("read_chars_bytes", |of| of.read_chars, kib, 0.0),
        ("write_chars_bytes", |of| of.write_chars, kib, 0.0),
        ("read_storage_bytes", |of| of.read_bytes, kib, 0.0),
        ("write_storage_bytes", |of| of.write_bytes, kib, 0.0),
        ("faults_minor", |of| of.faults_minor, 2.0 * tasks, 0.0),
        ("faults_major", |of| of.faults_major, 2.0 * tasks, 0.0),
        ("switches_voluntary", |of| of.switches_voluntary, 8.0 * tasks, 0.1),
        ("switches_involuntary", |of| of.switches_involuntary, f64::INFINITY, 0.0),
    ];
    for (figure, of, slack, part) in figures {
        let (low, high) = match window {
            None => (of(all), of(all)),
            Some((begin, end)) => {
                let growth = |moment: &Moment| Some(of(&moment.counters));
                let Some(growth) = outcome.evidence.timeline.growth(begin, end, growth) else { continue };
                growth
            }
        };
        // In a window either end may be read late.
        let low = if window.is_some() { (low as f64 - slack).max(0.0) } else { low as f64 };
        let span = Span::new(low, high as f64 * (1.0 + part) + slack, "taskstats");
        truths.insert(format!("combined.{figure}"), span);
    }
}

/// The oracle's highest sample is a lower bound of the peak. The group's own peak is an upper one, with the file
/// pages that others brought into memory and the job maps; a quarter of them and 6 MB on top are for what the oracle
/// missed of those and for jobmeter's own pages in the first process before it became the job.
fn memory(outcome: &Outcome, window: Option<Window>, truths: &mut Truths) {
    let evidence = &outcome.evidence;
    let sampled = match window {
        Some((begin, end)) => evidence.timeline.memory_peak(begin, end).unwrap_or_default(),
        None => evidence.oracle_bytes,
    };
    let high = evidence
        .memory_peak_bytes
        .map(|peak| peak as f64 + evidence.oracle_file_bytes as f64 * 1.25 + 6.0 * MB);
    // Before it became the job's program, the first process held this much.
    let shim = if window.is_none() { evidence.shim_rss_bytes as f64 } else { 0.0 };
    // All together held at least what the largest alone did, by its mark.
    let largest = match (&evidence.counters, window) {
        (Some((all, _)), None) => all.peak_rss_bytes as f64 - 1.0 * MB,
        _ => 0.0,
    };
    let low = Some(shim.max(sampled as f64).max(largest)).filter(|low| *low > 0.0);
    let source = match (evidence.sees_frames, high.is_some()) {
        (true, true) => "page maps, cgroup",
        (true, false) => "page maps",
        (false, _) => "Pss",
    };
    truths.insert("combined.rss_bytes_max".into(), Span::new(low, high, source));
    if let (Some((_, first)), None) = (&evidence.counters, window) {
        // The mark is kept in per-CPU parts: up to half a megabyte may be missing.
        let mark = first.peak_rss_bytes as f64;
        // The mark is that of the last program; what the one before had is known of the first, the shim.
        let is_first = evidence.tree.as_ref().is_some_and(|tree| tree.first_execs <= 1);
        let high = is_first.then_some(shim.max(mark) + 1.0 * MB);
        let span = Span::new(shim.max(mark - 0.5 * MB), high, "taskstats");
        truths.insert("main.rss_bytes_max".into(), span);
    }
    if window.is_none() {
        let low = Some(evidence.oracle_descendants_bytes as f64).filter(|low| *low > 0.0);
        truths.insert("descendants.rss_bytes_max".into(), Span::new(low, high, source));
    }
    if let Some(peak) = evidence.memory_peak_bytes.filter(|_| window.is_none()) {
        let peak = peak as f64;
        // Charges of one group and of another around it differ by what jobmeter's own child had before.
        let span = Span::new(peak - 2.0 * MB, peak + 8.0 * MB, "cgroup");
        truths.insert("combined.cgroup_memory_peak_bytes".into(), span);
    }
}

/// The machine did at least what the job did. Its counters have ticks of 10 ms on each core.
fn machine(outcome: &Outcome, window: Option<Window>, truths: &mut Truths) {
    let run = &outcome.summary["run"];
    let cores = run["system_cores"].as_f64().unwrap_or(1.0);
    let wall_ns = run["wall_ns"].as_f64().unwrap_or_default();
    let ticks_ns = cores * 20.0 * MB;
    let job = truths.get("combined.cpu_ns").and_then(|span| span.low);
    let span = Span::new(job.map(|ns| ns - ticks_ns), cores * wall_ns + ticks_ns, "the job, cores × time");
    truths.insert("system.cpu_ns".into(), span);
    if let Some(tree) = outcome.evidence.tree.as_ref().filter(|_| window.is_none()) {
        truths.insert("system.forks".into(), Span::new(tree.tasks as f64 - 1.0, None, "proc connector"));
    }
}
