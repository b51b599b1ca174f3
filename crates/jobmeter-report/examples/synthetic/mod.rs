//! A made-up training job with known values: four phases, a process pool, one sharp peak, hostile names.

// Examples, tests and the benchmark each use their part of it.
#![allow(dead_code)]

pub(crate) mod ranks;
mod summary;

pub(crate) use summary::summary;

use jobmeter_model::{Column, EntityKind, Event, MarkKind, Metric, ProcessId, Scope, Sink};
use jobmeter_report::{AdviceBlock, CostRow, RunData, SeriesBuilder, ServerBlock, Snippet};

pub(crate) const GIB: f64 = 1_073_741_824.0;
pub(crate) const CORES: usize = 16;

/// What to make up.
#[derive(Clone)]
pub(crate) struct Plan {
    pub(crate) label: String,
    pub(crate) ticks: u64,
    pub(crate) interval_ns: u64,
    pub(crate) processes: u64,
    /// Stretches time and memory, for comparisons.
    pub(crate) factor: f64,
    pub(crate) gpu: bool,
    pub(crate) hostile: bool,
    pub(crate) buckets: usize,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan {
            label: "train-resnet".into(),
            ticks: 3_600,
            interval_ns: 1_000_000_000,
            processes: 3_000,
            factor: 1.0,
            gpu: true,
            hostile: false,
            buckets: jobmeter_report::downsample::DEFAULT_BUCKETS,
        }
    }
}

/// Names that would hurt a careless page.
pub(crate) fn hostile_names() -> Vec<String> {
    vec![
        "<script>window.pwned=1</script>".into(),
        "\"><img src=x onerror=window.pwned=2>".into(),
        "</script><script>window.pwned=3</script>".into(),
        "it's \"quoted\" & <b>bold</b>".into(),
        "safe\u{202e}gpj.exe\u{202c}".into(),
        "${window.pwned=4}{{7*7}}<!--".into(),
        "long-".to_owned() + &"x".repeat(10_240),
    ]
}

/// A small deterministic noise between 0 and 1.
fn noise(seed: u64) -> f64 {
    let mut x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d;
    x ^= x >> 31;
    x = x.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^= x >> 29;
    (x >> 11) as f64 / (1u64 << 53) as f64
}

fn columns(gpu: bool) -> Vec<Column> {
    use Metric as M;
    let mut columns = Vec::new();
    for scope in Scope::JOB {
        columns.extend(
            [
                M::CpuNs,
                M::RssBytes,
                M::RssSumBytes,
                M::Processes,
                M::Threads,
                M::ReadStorageBytes,
                M::WriteStorageBytes,
                M::ReadCharsBytes,
            ]
            .map(|m| Column::of(scope, m)),
        );
    }
    columns.extend(
        [
            M::CpuNs,
            M::MemoryUsedBytes,
            M::DiskReadBytes,
            M::DiskWriteBytes,
            M::NetReceiveBytes,
            M::NetTransmitBytes,
            M::PsiCpuSomeNs,
            M::PsiMemorySomeNs,
            M::PsiIoSomeNs,
            M::EnergyPackageUj,
        ]
        .map(|m| Column::of(Scope::System, m)),
    );
    for core in 0..CORES {
        columns.push(Column::entity(Scope::System, M::CoreBusyNs, EntityKind::Core, &core.to_string()));
    }
    if gpu {
        columns.push(Column::of(Scope::Combined, M::GpuMemoryBytes));
        columns.push(Column::of(Scope::Combined, M::GpuBusyPpm));
        columns.push(Column::of(Scope::System, M::GpuBusyPpm));
        columns.push(Column::of(Scope::System, M::GpuEnergyUj));
        for gpu in 0..2 {
            let name = format!("GPU-5f0c1a2e-0000-0000-0000-00000000000{gpu}");
            columns.extend(
                [
                    M::GpuBusyPpm,
                    M::GpuMemoryBytes,
                    M::GpuMemoryTotalBytes,
                    M::GpuPowerMw,
                    M::GpuTemperatureMc,
                ]
                .map(|m| Column::entity(Scope::System, m, EntityKind::Gpu, &name)),
            );
        }
    }
    columns
}

/// Cores that the job uses at this point (0 to 1) of its life.
fn cores_at(at: f64, tick: u64) -> f64 {
    let base = match at {
        at if at < 0.12 => 1.0,
        at if at < 0.30 => 14.0 * (1.0 - (at - 0.12)),
        at if at < 0.85 => 6.0 + 1.5 * (at * 60.0).sin(),
        _ => 2.0,
    };
    (base + noise(tick) * 1.2).min(CORES as f64)
}

fn rss_at(plan: &Plan, at: f64, tick: u64) -> f64 {
    let grown = if at < 0.12 {
        0.4 + at * 8.0
    } else if at < 0.85 {
        1.4 + (at - 0.12) * 9.0
    } else {
        2.2
    };
    (grown + noise(tick ^ 77) * 0.25) * plan.factor * GIB
}

/// The value of a column at a tick; counters carry their state in `totals`.
fn value(column: &Column, plan: &Plan, at: f64, tick: u64, seed: u64, total: &mut f64) -> u64 {
    use Metric as M;
    let dt_s = plan.interval_ns as f64 / 1e9;
    let share = match column.scope {
        Scope::Main => 0.35,
        Scope::Descendants => 0.65,
        Scope::Combined => 1.0,
        Scope::System | Scope::Containers => 1.0,
    };
    let cores = cores_at(at, tick);
    let peak = tick == plan.ticks * 2 / 3;
    let mut count = |per_s: f64| {
        *total += per_s * dt_s;
        *total as u64
    };
    match column.metric {
        M::CpuNs if column.scope == Scope::System => {
            count((cores + 0.8 + noise(seed ^ tick)).min(CORES as f64) * 1e9)
        }
        M::CpuNs => count(cores * share * 1e9),
        M::RssBytes => ((rss_at(plan, at, tick) + if peak { 3.0 * GIB } else { 0.0 }) * share) as u64,
        M::RssSumBytes => (rss_at(plan, at, tick) * share * 1.12 + if peak { 3.0 * GIB } else { 0.0 }) as u64,
        M::Processes => 1 + (cores * share) as u64,
        M::Threads => 4 + (cores * share * 3.0) as u64,
        M::ReadStorageBytes => count(
            if at < 0.12 { 180e6 * (0.5 + noise(tick ^ seed)) } else { 4e6 * noise(tick ^ seed) } * share,
        ),
        M::ReadCharsBytes => count(260e6 * (0.5 + noise(tick ^ seed)) * share),
        M::WriteStorageBytes => {
            count(if tick % (plan.ticks / 12).max(1) < plan.ticks / 150 + 1 { 420e6 } else { 1e6 } * share)
        }
        M::DiskReadBytes => count(190e6 * noise(tick ^ seed)),
        M::DiskWriteBytes => count(120e6 * noise(tick ^ seed)),
        M::NetReceiveBytes => count(if at < 0.3 { 60e6 } else { 2e6 } * noise(tick ^ seed)),
        M::NetTransmitBytes => count(1.5e6 * noise(tick ^ seed)),
        M::MemoryUsedBytes => (rss_at(plan, at, tick) + 9.0 * GIB) as u64,
        M::PsiCpuSomeNs => count(if cores > 12.0 { 0.3 } else { 0.02 } * noise(tick ^ seed) * 1e9),
        M::PsiMemorySomeNs => {
            count(if at > 0.8 && at < 0.85 { 0.15 } else { 0.001 } * noise(tick ^ seed) * 1e9)
        }
        M::PsiIoSomeNs => count(if at < 0.12 { 0.4 } else { 0.03 } * noise(tick ^ seed) * 1e9),
        M::CoreBusyNs => {
            let core = (seed % CORES as u64) as f64;
            count((cores - core).clamp(0.04, 0.98) * (0.9 + 0.1 * noise(tick ^ seed)) * 1e9)
        }
        M::EnergyPackageUj => count((60.0 + cores * 9.0) * 1e6),
        M::GpuMemoryBytes => {
            (if at > 0.3 && at < 0.85 { 31.0 + at * 8.0 } else { 0.6 }
                * GIB
                * if column.scope == Scope::System { 0.5 } else { 1.0 }) as u64
        }
        M::GpuMemoryTotalBytes => (40.0 * GIB) as u64,
        M::GpuBusyPpm => {
            (if at > 0.3 && at < 0.85 { 0.82 + 0.17 * noise(tick ^ seed) } else { 0.01 } * 1e6) as u64
        }
        M::GpuEnergyUj => count(if at > 0.3 && at < 0.85 { 660.0 } else { 110.0 } * 1e6),
        M::GpuPowerMw => {
            (if at > 0.3 && at < 0.85 { 310.0 + 40.0 * noise(tick ^ seed) } else { 55.0 } * 1e3) as u64
        }
        M::GpuTemperatureMc => {
            (if at > 0.3 && at < 0.85 { 68.0 + 4.0 * noise(tick ^ seed) } else { 41.0 } * 1e3) as u64
        }
        _ => 0,
    }
}

/// Plays the run into any sink, tick by tick.
pub(crate) fn play(plan: &Plan, sink: &mut dyn Sink) {
    let columns = columns(plan.gpu);
    for column in &columns {
        sink.define(column);
    }
    let end_ns = plan.ticks * plan.interval_ns;
    let mut events: Vec<Event> = Vec::new();
    let at_ns = |share: f64| (share * plan.ticks as f64).round() as u64 * plan.interval_ns;
    let hostile = hostile_names();
    let start = |pid, parent, name: &str, t_ns| Event::ProcessStart {
        t_ns,
        id: ProcessId { pid, start_ticks: t_ns / 10_000_000 + 1 },
        parent_pid: parent,
        name: name.to_owned(),
    };
    let end = |pid, start_ns: u64, t_ns, cpu_ns, status| Event::ProcessEnd {
        t_ns,
        id: ProcessId { pid, start_ticks: start_ns / 10_000_000 + 1 },
        cpu_ns: Some(cpu_ns),
        peak_rss_bytes: Some(48 << 20),
        read_storage_bytes: None,
        write_storage_bytes: None,
        wait_status: Some(status),
    };
    let mark = |name: &str, kind, share: f64| Event::Mark {
        t_ns: at_ns(share),
        name: name.to_owned(),
        kind,
        pid: 4242,
        tid: 4242,
    };
    events.push(start(4242, 1, "python", 0));
    for (name, from, to) in
        [("load data", 0.0, 0.12), ("preprocess", 0.12, 0.3), ("train", 0.3, 0.85), ("evaluate", 0.85, 1.0)]
    {
        events.push(mark(name, MarkKind::Begin, from));
        if name == "train" {
            for epoch in 0..5 {
                let (from, length) = (0.3 + f64::from(epoch) * 0.11, 0.11);
                events.push(mark("epoch", MarkKind::Begin, from));
                events.push(mark("epoch", MarkKind::End, from + length * 0.97));
            }
        }
        events.push(mark(name, MarkKind::End, to));
    }
    events.push(mark("best checkpoint", MarkKind::Point, 0.62));
    if plan.hostile {
        for (index, name) in hostile.iter().enumerate() {
            let from = 0.02 + index as f64 * 0.1;
            events.push(mark(name, MarkKind::Begin, from));
            events.push(mark(name, MarkKind::End, from + 0.09));
            events.push(mark(name, MarkKind::Point, from));
        }
    }
    for index in 0..plan.processes {
        let pid = 5_000 + index as i32;
        let from = at_ns(0.12 + 0.7 * index as f64 / plan.processes as f64);
        let life = (end_ns as f64 * (0.002 + 0.05 * noise(index).powi(4))) as u64;
        let name = match (plan.hostile, index % 5) {
            (true, 0) => hostile[index as usize / 5 % hostile.len()].as_str(),
            (_, 1) => "gcc",
            (_, 2) => "sh",
            (_, 3) => "tar",
            _ => "python-worker",
        };
        let parent = if index % 5 == 1 && index > 0 { pid - 1 } else { 4242 };
        events.push(start(pid, parent, name, from));
        events.push(end(pid, from, (from + life).min(end_ns), life / 2, if index % 97 == 0 { 9 } else { 0 }));
    }
    events.push(end(4242, 0, end_ns, end_ns, 0));
    events.sort_by_key(time_of);
    let mut events = events.into_iter().peekable();
    let mut totals = vec![0.0; columns.len()];
    let mut row = vec![None; columns.len()];
    for tick in 0..=plan.ticks {
        let t_ns = tick * plan.interval_ns;
        while let Some(event) = events.next_if(|event| time_of(event) <= t_ns) {
            sink.event(&event);
        }
        let at = tick as f64 / plan.ticks as f64;
        let mut core = 0;
        for (index, column) in columns.iter().enumerate() {
            let seed = if column.metric == Metric::CoreBusyNs {
                core += 1;
                core - 1
            } else {
                index as u64 * 1_000_003
            };
            row[index] = Some(value(column, plan, at, tick, seed, &mut totals[index]));
        }
        sink.tick(t_ns, &row);
    }
}

fn time_of(event: &Event) -> u64 {
    match event {
        Event::ProcessStart { t_ns, .. } | Event::ProcessEnd { t_ns, .. } | Event::Mark { t_ns, .. } => *t_ns,
        _ => 0,
    }
}

pub(crate) fn run(plan: &Plan) -> RunData {
    let mut builder = SeriesBuilder::new(plan.buckets);
    play(plan, &mut builder);
    let mut run = builder.finish(plan.label.clone(), summary(plan));
    run.advice = Some(AdviceBlock {
        headline: "8 cores, 13.8 GB of RAM, 2 GPUs, 1 h 15 min".into(),
        lines: vec![
            "Ask for 13.8 GB of RAM: the peak lies between 11.8 and 12.8 GB, 8 % is kept as a margin.".into(),
            "8 cores would take about 6 % longer; 16 were used at most for 11 minutes.".into(),
        ],
        snippets: vec![
            Snippet { title: "Slurm".into(), text: "#SBATCH --cpus-per-task=8\n#SBATCH --mem=13G\n#SBATCH --time=01:15:00\n#SBATCH --gres=gpu:2".into() },
            Snippet { title: "docker run".into(), text: "docker run --cpus 8 --memory 13g --gpus 2 IMAGE".into() },
        ],
        server: Some(server(plan)),
    });
    run
}

/// A server of the catalogue; where names are hostile, of a user's own catalogue.
fn server(plan: &Plan) -> ServerBlock {
    let named = |index: usize, plain: &str| {
        if plan.hostile { hostile_names()[index].clone() } else { plain.to_owned() }
    };
    let row = |title: &str, server: String, [per_hour, per_run, per_1000_runs]: [&str; 3]| CostRow {
        title: title.into(),
        server,
        per_hour: per_hour.into(),
        per_run: per_run.into(),
        per_1000_runs: per_1000_runs.into(),
        source: named(3, "vendor price list, compiled 2025"),
        as_of: named(4, "2025"),
    };
    ServerBlock {
        recommended: Some(named(0, "gcp/g2-standard-24 (24 vCPU, 96 GiB, 2 × L4 with 24 GiB each, x86_64)")),
        allocation: Some("shared".into()),
        evidence: vec![
            "CPU: the job used 9.31 of the 14.02 cores in use on average; others used the rest".into(),
            "memory: the job used 9.0 GB of the 10.6 GB in use on average".into(),
        ],
        costs: vec![
            row(
                "This server",
                named(1, "aws/g5.12xlarge in us-east-1"),
                ["5.67 USD", "5.67 USD", "5672 USD"],
            ),
            row(
                "Recommended",
                named(2, "gcp/g2-standard-24 in us-central1"),
                ["2.00 USD", "2.00 USD", "2001 USD"],
            ),
        ],
        notes: vec![
            "The recommended server saves 3.67 USD a run of 60 min and 3671 USD per 1,000 runs (65 %)."
                .into(),
        ],
    }
}
