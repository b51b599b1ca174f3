//! What is told of each process: how it ended, its CPU time, its peak.

use crate::claim::Claim;
use crate::rows::Row;
use crate::run::Outcome;
use crate::span::Span;
use crate::truths::Window;
use crate::witness::Counters;

/// Of how many processes the end is known, and whether it is the one that the kernel told.
pub(crate) fn exit_codes(outcome: &Outcome, window: Option<Window>) -> Option<Row> {
    let tree = outcome.evidence.tree.as_ref()?;
    let processes = outcome.views["processes"].as_array()?;
    let mut known = 0;
    let mut wrong = Vec::new();
    for process in processes {
        let pid = process["pid"].as_i64().unwrap_or_default() as i32;
        let told = match (process["exit_code"].as_i64(), process["signal"].as_i64()) {
            (Some(code), _) => (code as i32 & 0xff) << 8,
            (None, Some(signal)) => signal as i32,
            (None, None) => continue,
        };
        known += 1;
        // Bit 0x80 says that there was a core file. A pid may have had several ends.
        let mut ends = tree.ends.iter().filter(|end| end.pid == pid).map(|end| end.status & !0x80);
        if ends.clone().next().is_some() && !ends.any(|status| status == told) {
            wrong.push(format!("pid {pid} did not end with status {told:#x}"));
        }
    }
    // Who ended before or after jobmeter looked is not asked for.
    let is_inside = |unix_ns| window.is_none_or(|(begin, end)| (begin..end).contains(&unix_ns));
    let total = tree.ends.iter().filter(|end| is_inside(end.unix_ns)).count() as f64;
    let truth = Span::new(total, total, "proc connector");
    let mut row = Row::new("exit codes known", &truth, Claim::plain(Some(known as f64), "lower_bound"));
    row.wrong = (!wrong.is_empty()).then(|| format!("{} of them: {}", wrong.len(), wrong[0]));
    row.missed = (f64::from(known) < 0.99 * total).then(|| format!("{known} of {total}, wanted 99 %"));
    if window.is_some() {
        row.truth.low = None;
    }
    Some(row)
}

/// Figures of one process are as last seen, so none may be above what it had at its end; and a process that ran has
/// no CPU time of 0. The goal is that CPU time and peak are known of 99 % of them.
pub(crate) fn told_one_by_one(outcome: &Outcome, window: Option<Window>) -> Option<Row> {
    outcome.evidence.counters.as_ref()?;
    let processes = outcome.views["processes"].as_array()?;
    let mut known = 0;
    let mut wrong = Vec::new();
    for process in processes {
        known += u32::from(!process["cpu_ns"].is_null() && !process["peak_rss_bytes"].is_null());
        let pid = process["pid"].as_i64().unwrap_or_default();
        if process["cpu_ns"] == 0 {
            wrong.push(format!("pid {pid} has 0 ns of CPU time"));
        }
        // Before attach and after the main process anything may have happened; a pid with two lives is not judged.
        let lives = outcome.evidence.by_process.get(&(pid as i32));
        let (None, Some([life])) = (window, lives.map(Vec::as_slice)) else { continue };
        type Of = fn(&Counters) -> u64;
        let bytes: [(&str, Of, u64); 2] = [
            ("read_storage_bytes", |of| of.read_bytes, 1023),
            ("write_storage_bytes", |of| of.write_bytes, 1023),
        ];
        for (key, of, slack) in bytes {
            let most = of(life) + slack * life.tasks;
            if let Some(told) = process[key].as_u64().filter(|told| *told > most) {
                wrong.push(format!("pid {pid} has {key} {told} of {most}"));
            }
        }
    }
    let total = processes.len() as f64;
    let truth = Span::new(None, total, "taskstats");
    let claim = Claim::plain(Some(f64::from(known)), "lower_bound");
    let mut row = Row::new("CPU and peak of each", &truth, claim);
    row.wrong = (!wrong.is_empty()).then(|| format!("{} of them, as {}", wrong.len(), wrong[0]));
    row.missed = (f64::from(known) < 0.99 * total).then(|| format!("{known} of {total}, wanted 99 %"));
    Some(row)
}
