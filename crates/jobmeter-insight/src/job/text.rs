//! A job in words: what its summary cannot say, node by node and rank by rank, and Slurm's own short form.

use super::{Job, Rank, RankState};
use jobmeter_model::text::printable_within;
use jobmeter_model::units::{format_bytes, format_duration_ns};
use jobmeter_model::{Metric, Stat};
use std::fmt::Write;

/// So many ranks fit a screen; of more only the remarkable ones are listed.
const SHOWN_RANKS: usize = 32;

/// Nodes, ranks and how evenly they worked, to follow the text of the summary.
pub fn job_text(job: &Job) -> String {
    let mut out = String::new();
    let known = |value: Option<u64>, show: fn(u64) -> String| value.map_or_else(|| "–".to_owned(), show);
    let _ =
        writeln!(out, "\n{:<20} {:>5} {:>6} {:>12} {:>14}", "NODE", "RANKS", "CORES", "CPU", "RANKS' PEAKS");
    for node in &job.nodes {
        let _ = writeln!(
            out,
            "{:<20} {:>5} {:>6} {:>12} {:>14}",
            printable_within(&node.name, 20),
            node.ranks,
            node.system_cores,
            known(node.cpu_ns, format_duration_ns),
            known(node.peak_rss_sum_bytes, format_bytes),
        );
    }
    let _ =
        writeln!(out, "\n{:<6} {:<20} {:>10} {:>10} {:>10}  END", "RANK", "NODE", "TIME", "CPU", "PEAK RAM");
    let listed = listed(&job.ranks);
    for rank in &listed {
        let _ = writeln!(
            out,
            "{:<6} {:<20} {:>10} {:>10} {:>10}  {}",
            rank.rank.map_or_else(|| "–".to_owned(), |rank| rank.to_string()),
            printable_within(&rank.node, 20),
            known(rank.wall_ns, format_duration_ns),
            known(rank.cpu_ns, format_duration_ns),
            known(rank.peak_rss_bytes, format_bytes),
            printable_within(&end(rank), 60),
        );
    }
    if listed.len() < job.ranks.len() {
        let _ = writeln!(
            out,
            "… of {} ranks: those that did not succeed, the busiest, the largest and the last",
            job.ranks.len()
        );
    }
    for rank in job.missing_ranks.iter().take(SHOWN_RANKS) {
        let _ = writeln!(out, "{rank:<6} left no record");
    }
    let balance = balance(job);
    if balance.is_empty() { out } else { format!("{out}balance: {}\n", balance.join("; ")) }
}

/// How a rank ended, in words.
pub fn end(rank: &Rank) -> String {
    match rank.state {
        RankState::Running => "still running".to_owned(),
        RankState::Unfinished => "its record has no end: it was killed together with jobmeter".to_owned(),
        _ => rank.verdict.clone(),
    }
}

/// How evenly the ranks worked, a clause for each figure that is known.
pub fn balance(job: &Job) -> Vec<String> {
    let balance = &job.imbalance;
    let mut parts = Vec::new();
    if let (Some(over), Some(idle)) = (balance.cpu_max_over_mean, balance.idle_ratio) {
        parts.push(format!(
            "the busiest rank used {over:.2} times the mean CPU time (the mean is {:.0} % below it)",
            idle * 100.0
        ));
    }
    if let Some(over) = balance.memory_max_over_mean {
        parts.push(format!("the largest has {over:.2} times the mean memory"));
    }
    if let (Some(rank), Some(wait_ns)) = (balance.slowest_rank, balance.mean_wait_at_end_ns) {
        let wait = format_duration_ns(wait_ns);
        parts.push(format!("rank {rank} ended last; the others had waited for {wait} on average"));
    }
    parts
}

/// All of few ranks; of many those that stand out.
fn listed(ranks: &[Rank]) -> Vec<&Rank> {
    if ranks.len() <= SHOWN_RANKS {
        return ranks.iter().collect();
    }
    let mut chosen: Vec<usize> = Vec::new();
    let bad = |rank: &Rank| rank.state != RankState::Finished;
    chosen.extend((0..ranks.len()).filter(|index| bad(&ranks[*index])).take(SHOWN_RANKS));
    for key in
        [|rank: &Rank| rank.cpu_ns, |rank: &Rank| rank.peak_rss_bytes, |rank: &Rank| Some(rank.end_unix_ns)]
    {
        let mut order: Vec<usize> = (0..ranks.len()).collect();
        order.sort_by_key(|index| std::cmp::Reverse(key(&ranks[*index])));
        chosen.extend(order.into_iter().take(3));
    }
    chosen.sort_unstable();
    chosen.dedup();
    chosen.into_iter().map(|index| &ranks[index]).collect()
}

/// What Slurm's `seff` prints, from our record.
pub fn seff(job: &Job) -> String {
    let run = &job.summary.run;
    let identity = run.job.clone().unwrap_or_default();
    let mut out = String::new();
    let _ = writeln!(out, "Job ID: {}", printable_within(&identity.id, 100));
    if let Some(index) = identity.array_index {
        let _ = writeln!(out, "Array index: {index}");
    }
    let _ = writeln!(out, "Scheduler: {}", printable_within(&identity.scheduler, 40));
    let _ = writeln!(out, "State: {}", state(job));
    let _ = writeln!(out, "Nodes: {}", job.nodes.len());
    let _ = writeln!(out, "Tasks: {}", job.ranks.len() + job.missing_ranks.len());
    let _ = writeln!(out, "Cores: {:.0}", run.expected_cores);
    let wall_s = run.wall_ns.unwrap_or(0) as f64 / 1e9;
    let core_s = wall_s * run.expected_cores;
    match job.summary.combined.value(Metric::CpuNs, Stat::Total) {
        None => out += "CPU Utilized: unknown\n",
        Some(cpu_ns) => {
            let cpu_s = cpu_ns / 1e9;
            let ratio = if core_s > 0.0 { cpu_s / core_s * 100.0 } else { 0.0 };
            let _ = writeln!(out, "CPU Utilized: {}", clock(cpu_s));
            let _ = writeln!(out, "CPU Efficiency: {ratio:.2}% of {} core-walltime", clock(core_s));
        }
    }
    let _ = writeln!(out, "Job Wall-clock time: {}", clock(wall_s));
    let memory = job.summary.combined.value(Metric::RssBytes, Stat::Max);
    let _ = writeln!(
        out,
        "Memory Utilized: {}",
        memory.map_or_else(|| "unknown".to_owned(), |bytes| format_bytes(bytes as u64))
    );
    let machine = job.summary.system.value(Metric::MemoryTotalBytes, Stat::Max);
    let limit = job.summary.limits.cgroup_memory_bytes.map(|bytes| bytes as f64);
    if let (Some(memory), Some(of)) = (memory, limit.or(machine).filter(|of| *of > 0.0)) {
        let whose = if limit.is_some() { "the limit" } else { "the machines" };
        let percent = memory / of * 100.0;
        let _ = writeln!(out, "Memory Efficiency: {percent:.2}% of {} ({whose})", format_bytes(of as u64));
    }
    out
}

fn state(job: &Job) -> String {
    let any = |state: RankState| job.ranks.iter().any(|rank| rank.state == state);
    let code = job.summary.verdict.exit_code;
    match () {
        () if any(RankState::Running) => "RUNNING".to_owned(),
        () if any(RankState::Killed) => "FAILED (a task was killed)".to_owned(),
        () if any(RankState::Unfinished) || !job.missing_ranks.is_empty() => {
            "UNKNOWN (some tasks have no whole record)".to_owned()
        }
        () if any(RankState::Failed) => format!("FAILED (exit code {})", code.unwrap_or(1)),
        () => "COMPLETED (exit code 0)".to_owned(),
    }
}

/// `1-02:03:04`, as Slurm writes times.
fn clock(seconds: f64) -> String {
    let all = seconds.round() as u64;
    let (days, hours, minutes) = (all / 86_400, all / 3600 % 24, all / 60 % 60);
    let clock = format!("{hours:02}:{minutes:02}:{:02}", all % 60);
    if days > 0 { format!("{days}-{clock}") } else { clock }
}
