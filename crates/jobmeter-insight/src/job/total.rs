//! The summary of a job in the form of a run's summary, so that everything that takes a run takes a job.

use super::energy::Energy;
use super::joined::ENERGY;
use super::ranks::{Rank, RankState};
use super::{Clocks, Grid, Node, RankRun, world_size};
use jobmeter_model::grade::lower_derived;
use jobmeter_model::metric::TABLE;
use jobmeter_model::replay::Replay;
use jobmeter_model::summary::{Overhead, Warning};
use jobmeter_model::units::format_count;
use jobmeter_model::{
    Figure, Figures, Kind, Metric, Number, Quality, RunInfo, Stat, Summary, Verdict, VerdictKind, WarningKind,
};

pub(super) fn summary(
    runs: &[RankRun],
    ranks: &[Rank],
    nodes: &[Node],
    missing: &[u32],
    grid: &Grid,
    clocks: &Clocks,
) -> Summary {
    let info = info(runs, nodes, grid);
    let mut aligned = Replay::default();
    grid.replay(&mut aligned);
    let mut summary = aligned.summary(&info);
    summary.run = RunInfo { ticks: summary.run.ticks, ..info };
    summary.verdict = verdict(ranks, missing);
    settle(&mut summary.combined, runs, missing);
    energy(&mut summary.combined, nodes);
    lower_derived(&mut summary.combined);
    summary.main = Figures::new();
    summary.descendants = Figures::new();
    summary.system = system(nodes);
    summary.gpus = gpus(runs, nodes);
    // Where all ranks run on one machine they have its limits.
    if let [node] = nodes {
        summary.limits = runs[node.described_by].summary.limits.clone();
    }
    summary.sources = Vec::new();
    summary.warnings = warnings(runs, ranks, missing, clocks);
    summary.overhead = overhead(runs);
    summary
}

fn info(runs: &[RankRun], nodes: &[Node], grid: &Grid) -> RunInfo {
    let first = runs.first().map(|run| run.summary.run.clone()).unwrap_or_default();
    let job = first.job.clone().unwrap_or_default();
    let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
    let last_end = runs.iter().map(|run| super::end_unix_ns(&run.summary.run)).max().unwrap_or(0);
    RunInfo {
        id: format!("job:{}:{}", job.scheduler, job.id),
        host: names.join(","),
        pid: 0,
        job: Some(jobmeter_model::JobInfo { rank: None, local_rank: None, node: None, machine: None, ..job }),
        started_unix_ns: grid.began_unix_ns(),
        wall_ns: Some(last_end.saturating_sub(grid.began_unix_ns())),
        expected_cores: nodes.iter().map(|node| node.expected_cores).sum(),
        system_cores: nodes.iter().map(|node| node.system_cores).sum(),
        late_ticks: runs.iter().map(|run| run.summary.run.late_ticks).sum(),
        skipped_ticks: runs.iter().map(|run| run.summary.run.skipped_ticks).sum(),
        ..first
    }
}

/// Totals are the sums of the ranks' own, which knew more than their ticks; a peak lies between the largest peak of one
/// rank and the sum of all.
fn settle(combined: &mut Figures, runs: &[RankRun], missing: &[u32]) {
    for row in TABLE {
        match row.kind {
            Kind::Counter => {
                let parts: Vec<&Figure> = figures(runs, row.metric, Stat::Total).collect();
                if let Some(total) = sum(&parts, runs.len(), missing) {
                    combined.set(row.metric, Stat::Total, total);
                }
            }
            Kind::Gauge => {
                let parts: Vec<&Figure> = figures(runs, row.metric, Stat::Max).collect();
                if let Some(peak) = combined.get_mut(row.metric, Stat::Max) {
                    bound(peak, &parts, runs.len(), missing);
                }
            }
            // Estimates of single ranks; the job's would have to be made anew.
            Kind::Once => {}
        }
    }
    let parts: Vec<&Figure> = figures(runs, Metric::Processes, Stat::Total).collect();
    if let Some(total) = sum(&parts, runs.len(), missing) {
        combined.set(Metric::Processes, Stat::Total, total);
    }
}

/// A metric, its split over the ranks of a node, and how that was made.
type Share = (Metric, fn(&Energy) -> &Vec<f64>, &'static str);

/// The job's energy is the sum over nodes of what its ranks used there.
fn energy(combined: &mut Figures, nodes: &[Node]) {
    let mut all_uj = None;
    let lists: [Share; 3] = [
        (
            ENERGY[0],
            |energy| &energy.machine_uj[0],
            "each node's CPU package energy, by the ranks' share of CPU time",
        ),
        (
            ENERGY[1],
            |energy| &energy.machine_uj[1],
            "each node's DRAM energy, by the ranks' share of CPU time",
        ),
        (
            Metric::GpuEnergyUj,
            |energy| &energy.gpu_uj,
            "whole energy of the GPUs that a rank used, each once",
        ),
    ];
    for (metric, of, reason) in lists {
        let told = nodes.iter().map(|node| of(&node.energy)).filter(|ranks| !ranks.is_empty());
        let told: Vec<f64> = told.map(|ranks| ranks.iter().sum()).collect();
        let sum_uj: f64 = told.iter().sum();
        if told.is_empty() {
            continue;
        }
        *all_uj.get_or_insert(0.0) += sum_uj;
        let absent = nodes.len() - told.len();
        let reason =
            if absent > 0 { format!("{reason}; {absent} nodes do not tell") } else { reason.to_owned() };
        let figure = Figure::int(sum_uj as u64, Quality::Estimate).because(reason);
        combined.set(metric, Stat::Total, figure);
    }
    if let Some(all_uj) = all_uj {
        let reason = "of all nodes, split by use";
        let figure = Figure::float(all_uj / 1e6, Quality::Estimate).because(reason);
        combined.set(Metric::EnergyJoules, Stat::Total, figure);
    }
}

fn figures(runs: &[RankRun], metric: Metric, stat: Stat) -> impl Iterator<Item = &Figure> {
    runs.iter().filter_map(move |run| run.summary.combined.get(metric, stat))
}

fn sum(parts: &[&Figure], ranks: usize, missing: &[u32]) -> Option<Figure> {
    if parts.is_empty() {
        return None;
    }
    let known: Vec<&&Figure> = parts.iter().filter(|part| part.value.is_some()).collect();
    if known.is_empty() {
        return Some(parts[0].clone());
    }
    let total: u64 = known.iter().filter_map(|part| part.as_u64()).sum();
    let worst = known.iter().map(|part| part.quality).max().unwrap_or(Quality::Exact);
    let lower: f64 = known.iter().filter_map(|part| part.lower.or(part.value)).map(Number::as_f64).sum();
    let mut figure = Figure::int(total, worst);
    let absent = ranks - known.len() + missing.len();
    if absent > 0 {
        figure.quality = Quality::LowerBound;
        return Some(figure.because(format!("{absent} of {} ranks are not in it", ranks + missing.len())));
    }
    if known.iter().any(|part| part.lower.is_some()) {
        figure.lower = Some(Number::Int(lower as u64));
    }
    figure.upper = sum_of_uppers(parts).filter(|_| known.iter().any(|part| part.upper.is_some()));
    figure.reason = known.iter().find_map(|part| part.reason.clone());
    Some(figure)
}

/// Where a rank has no upper bound, its exact value is one; otherwise there is none for the sum.
fn sum_of_uppers(parts: &[&Figure]) -> Option<Number> {
    let upper = |part: &&Figure| part.upper.or(part.value.filter(|_| part.quality == Quality::Exact));
    let uppers: Option<Vec<f64>> = parts.iter().map(|part| upper(part).map(Number::as_f64)).collect();
    uppers.map(|uppers| Number::Int(uppers.into_iter().sum::<f64>() as u64))
}

fn bound(peak: &mut Figure, parts: &[&Figure], ranks: usize, missing: &[u32]) {
    let lower = parts.iter().filter_map(|part| part.lower.or(part.value)).map(Number::as_f64);
    let Some(lower) = lower.max_by(f64::total_cmp) else { return };
    peak.lower = Some(Number::Int(lower as u64));
    // Of a single rank more may be proven than its ticks have seen.
    if peak.as_f64().is_some_and(|value| value < lower) {
        peak.value = Some(Number::Int(lower as u64));
    }
    let is_whole = parts.len() == ranks && missing.is_empty();
    peak.upper = sum_of_uppers(parts).filter(|_| is_whole);
    peak.quality = parts.iter().map(|part| part.quality).fold(peak.quality, Quality::max);
    if !is_whole {
        peak.quality = Quality::LowerBound;
    }
}

/// Of one machine its own figures. Of several only what adds up: amounts of memory and cores, and counters.
fn system(nodes: &[Node]) -> Figures {
    if let [node] = nodes {
        return node.system.clone();
    }
    let mut system = Figures::new();
    let counters = TABLE.iter().filter(|row| row.kind == Kind::Counter).map(|row| (row.metric, Stat::Total));
    let amounts = [Metric::MemoryTotalBytes, Metric::SwapTotalBytes].map(|metric| (metric, Stat::Max));
    for (metric, stat) in counters.chain(amounts) {
        let parts: Vec<&Figure> = nodes.iter().filter_map(|node| node.system.get(metric, stat)).collect();
        if parts.len() == nodes.len()
            && let Some(total) = sum(&parts, nodes.len(), &[])
        {
            system.set(metric, stat, total);
        }
    }
    system
}

/// Before the keys of what a scope had on a device.
const SCOPES: [&str; 3] = ["main_", "descendants_", "combined_"];

/// Each device once. What a single rank had of it is in that rank's own run.
fn gpus(runs: &[RankRun], nodes: &[Node]) -> Vec<jobmeter_model::summary::EntityFigures> {
    let mut gpus = Vec::new();
    for node in nodes {
        for gpu in &runs[node.described_by].summary.gpus {
            let mut gpu = gpu.clone();
            let is_devices = |key: &str| !SCOPES.iter().any(|scope| key.starts_with(scope));
            gpu.figures = gpu.figures.into_iter().filter(|(key, _)| is_devices(key)).collect();
            if let Some(joined) = node.gpus.iter().find(|joined| joined.name == gpu.name) {
                let known = joined.figures.clone().into_iter().filter(|(_, figure)| figure.value.is_some());
                gpu.figures.extend(known.collect());
            }
            let own = node.members.iter().flat_map(|index| &runs[*index].summary.gpus);
            let own = own.filter(|own| own.name == gpu.name);
            let used: Vec<&str> = own.filter_map(|own| own.facts.get("used")).map(String::as_str).collect();
            let used = ["yes", "unknown", "no"].into_iter().find(|use_of| used.contains(use_of));
            gpu.facts.extend(used.map(|used| ("used".to_owned(), used.to_owned())));
            if nodes.len() > 1 {
                gpu.name = format!("{}/{}", node.name, gpu.name);
            }
            gpus.push(gpu);
        }
    }
    gpus
}

/// As the launcher sees it: success only if every rank succeeded, otherwise the worst end, with the ranks named.
fn verdict(ranks: &[Rank], missing: &[u32]) -> Verdict {
    let of = |state: RankState| ranks.iter().filter(move |rank| rank.state == state);
    let all = ranks.len() + missing.len();
    let mut sentences = Vec::new();
    let mut say = |one: &str, several: &str, list: Vec<String>| {
        if !list.is_empty() {
            let what = if list.len() == 1 { one } else { several };
            let count = format_count(list.len() as u64);
            sentences.push(format!(
                "{count} of {} ranks {what}: {}",
                format_count(all as u64),
                shortened(&list)
            ));
        }
    };
    let names = |state| of(state).map(|rank| name(rank.rank)).collect::<Vec<_>>();
    // Brackets of a verdict, `signal 9 (SIGKILL)`, stand inside brackets here.
    let flat = |verdict: &str| verdict.replace(" (", ", ").replace(')', "");
    let reasons = |rank: &Rank| format!("{} ({})", name(rank.rank), flat(&rank.verdict));
    say("was killed", "were killed", of(RankState::Killed).map(reasons).collect());
    say("failed", "failed", of(RankState::Failed).map(reasons).collect());
    say("has a record without an end", "have a record without an end", names(RankState::Unfinished));
    say("is still running", "are still running", names(RankState::Running));
    let missing = missing.iter().map(|rank| rank.to_string()).collect();
    say("left no record", "left no record", missing);
    let worst_code = ranks.iter().filter_map(|rank| rank.exit_code).max();
    let killed = of(RankState::Killed).next();
    let kind = match () {
        () if killed.is_some() => VerdictKind::Signaled,
        () if of(RankState::Unfinished).next().is_some() => VerdictKind::Crashed,
        () if of(RankState::Running).next().is_some() => VerdictKind::Running,
        () => VerdictKind::Exited,
    };
    Verdict {
        exit_code: worst_code.filter(|_| kind == VerdictKind::Exited),
        kind,
        signal: killed.and_then(|rank| rank.signal),
        core_dumped: false,
        text: match sentences.is_empty() {
            true => format!("all {} ranks exited with code 0", format_count(all as u64)),
            false => sentences.join("; "),
        },
        evidence: Vec::new(),
    }
}

fn name(rank: Option<u32>) -> String {
    rank.map_or_else(|| "one without a number".to_owned(), |rank| rank.to_string())
}

fn shortened(list: &[String]) -> String {
    const SHOWN: usize = 8;
    let more = list.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", list[..list.len().min(SHOWN)].join(", "))
}

/// Each kind once, with how many ranks had it.
fn warnings(runs: &[RankRun], ranks: &[Rank], missing: &[u32], clocks: &Clocks) -> Vec<Warning> {
    let mut found: Vec<(Warning, usize)> = Vec::new();
    for warning in runs.iter().flat_map(|run| &run.summary.warnings) {
        match found.iter_mut().find(|(known, _)| known.kind == warning.kind) {
            Some((_, count)) => *count += 1,
            None => found.push((warning.clone(), 1)),
        }
    }
    let told = |(warning, count): (Warning, usize)| match count {
        1 => warning,
        _ => {
            let text = warning.text.trim_end_matches('.');
            Warning {
                text: format!("{text} (so or similarly in {} ranks)", format_count(count as u64)),
                ..warning
            }
        }
    };
    let mut warnings: Vec<Warning> = found.into_iter().map(told).collect();
    let unknown = world_size(runs).is_none() && ranks.len() > 1;
    if unknown {
        let text = "how many ranks the job had is not known, so missing ones cannot be named".to_owned();
        warnings.push(Warning { kind: WarningKind::Job, text });
    }
    let doubt = clocks.doubt();
    warnings.extend(doubt.map(|text| Warning { kind: WarningKind::Job, text }));
    if !missing.is_empty() {
        let ranks = if missing.len() == 1 { "1 rank".to_owned() } else { format!("{} ranks", missing.len()) };
        let text = format!("{ranks} left no record; totals are lower bounds");
        warnings.push(Warning { kind: WarningKind::Job, text });
    }
    warnings
}

fn overhead(runs: &[RankRun]) -> Overhead {
    let each = || runs.iter().map(|run| &run.summary.overhead);
    let cpu: Option<Vec<u64>> = each().map(|overhead| overhead.cpu_ns).collect();
    Overhead {
        cpu_ns: cpu.map(|cpu| cpu.into_iter().sum()),
        peak_rss_bytes: each().filter_map(|overhead| overhead.peak_rss_bytes).max(),
    }
}
