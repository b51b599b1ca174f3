//! A synthetic job for tests and benches: realistic columns, deterministic noise.
#![allow(dead_code, unreachable_pub)]

use jobmeter_model::summary::Overhead;
use jobmeter_model::{
    Column, EntityKind, Event, Figure, MarkKind, Metric, ProcessId, Quality, RunInfo, Scope, Sink, Summary,
    Verdict,
};

pub fn info(id: &str) -> RunInfo {
    RunInfo {
        id: id.to_owned(),
        jobmeter_version: "0.1.0".to_owned(),
        mode: "run".into(),
        name: Some("train".to_owned()),
        tags: [("team".to_owned(), "blue".to_owned())].into(),
        command: vec!["python".to_owned(), "train.py".to_owned()],
        host: "node1".to_owned(),
        pid: 4242,
        started_unix_ns: 1_763_244_132_000_000_000,
        expected_cores: 2.0,
        system_cores: 2,
        ..RunInfo::default()
    }
}

pub fn summary(info: &RunInfo) -> Summary {
    let combined = [
        ("cpu_ns".to_owned(), Figure::int(12_345_678_901, Quality::Exact)),
        ("rss_bytes_max".to_owned(), Figure::int(3 << 30, Quality::Sampled)),
    ];
    Summary {
        schema_version: 1,
        run: RunInfo { wall_ns: Some(10_000_000_000), ticks: 11, ..info.clone() },
        verdict: Verdict {
            kind: "exited".into(),
            exit_code: Some(0),
            signal: None,
            core_dumped: false,
            text: "exited with code 0".to_owned(),
            evidence: Vec::new(),
        },
        main: Default::default(),
        containers: Default::default(),
        descendants: Default::default(),
        combined: combined.into_iter().collect(),
        system: Default::default(),
        cores: Vec::new(),
        disks: Vec::new(),
        mounts: Vec::new(),
        networks: Vec::new(),
        gpus: Vec::new(),
        limits: Default::default(),
        sources: Vec::new(),
        warnings: Vec::new(),
        overhead: Overhead { cpu_ns: Some(5_000_000), peak_rss_bytes: Some(2 << 20) },
    }
}

/// The columns of a one-process job on a two-core machine.
pub fn columns() -> Vec<Column> {
    use Metric::*;
    let job = [
        CpuNs,
        CpuUserNs,
        CpuSystemNs,
        RssBytes,
        RssPrivateBytes,
        RssSharedBytes,
        SwapBytes,
        Processes,
        Threads,
        ReadCharsBytes,
        WriteCharsBytes,
        ReadStorageBytes,
        WriteStorageBytes,
        FaultsMinor,
    ];
    let system = [
        CpuNs,
        CpuUserNs,
        CpuSystemNs,
        CpuIowaitNs,
        CpuStealNs,
        MemoryTotalBytes,
        MemoryUsedBytes,
        MemoryFreeBytes,
        MemoryAvailableBytes,
        MemoryBuffersBytes,
        MemoryCachedBytes,
        MemoryActiveBytes,
        MemoryInactiveBytes,
        SwapBytes,
        SwapTotalBytes,
        Processes,
        Forks,
        Load1Milli,
        PsiCpuSomeNs,
        PsiMemorySomeNs,
        PsiMemoryFullNs,
        PsiIoSomeNs,
        PsiIoFullNs,
    ];
    let mut columns = Vec::new();
    for scope in Scope::JOB {
        columns.extend(job.iter().map(|metric| Column::of(scope, *metric)));
    }
    columns.extend(system.iter().map(|metric| Column::of(Scope::System, *metric)));
    for core in ["0", "1"] {
        columns.push(Column::entity(Scope::System, CoreBusyNs, EntityKind::Core, core));
    }
    for metric in [DiskReadBytes, DiskWriteBytes] {
        columns.push(Column::entity(Scope::System, metric, EntityKind::Disk, "vda"));
    }
    for metric in [MountTotalBytes, MountUsedBytes, MountFreeBytes] {
        columns.push(Column::entity(Scope::System, metric, EntityKind::Mount, "/"));
    }
    for metric in [NetReceiveBytes, NetTransmitBytes] {
        columns.push(Column::entity(Scope::System, metric, EntityKind::Network, "eth0"));
    }
    columns
}

/// A busy single process and an ordinary machine around it, one tick per second.
pub struct SteadyJob {
    pub columns: Vec<Column>,
    pub values: Vec<Option<u64>>,
    pub t_ns: u64,
    state: u64,
}

impl SteadyJob {
    pub fn new() -> SteadyJob {
        let columns = columns();
        let values = columns.iter().map(|column| Some(start_value(column))).collect();
        SteadyJob { columns, values, t_ns: 40_000, state: 0x9e37_79b9_7f4a_7c15 }
    }

    fn noise(&mut self, below: u64) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state % below
    }

    pub fn define_all(&self, sink: &mut dyn Sink) {
        self.columns.iter().for_each(|column| sink.define(column));
    }

    pub fn advance(&mut self) {
        self.t_ns += 1_000_000_000 + self.noise(90_000) - 45_000;
        for index in 0..self.columns.len() {
            let column = self.columns[index].clone();
            let grown = self.grow(&column, self.values[index].unwrap_or(0));
            self.values[index] = Some(grown);
        }
        // Main and combined are one and the same for a single process.
        let job = (self.columns.iter().filter(|column| column.scope == Scope::Main)).count();
        for index in 0..job {
            self.values[2 * job + index] = self.values[index];
        }
    }

    fn grow(&mut self, column: &Column, value: u64) -> u64 {
        use Metric::*;
        let wobble =
            |noise: u64, grain: u64, span: u64| (value + noise * grain).saturating_sub(span / 2 * grain);
        match (column.scope, column.metric) {
            (Scope::Descendants, _) => value,
            (Scope::System, CpuNs | CpuUserNs) | (_, CoreBusyNs) => value + (98 + self.noise(6)) * 10_000_000,
            (Scope::System, CpuSystemNs) => value + self.noise(5) * 10_000_000,
            (Scope::System, Processes) => value + u64::from(self.noise(20) == 0),
            (_, CpuNs) => value + 999_000_000 + self.noise(900_000),
            (_, CpuUserNs) => value + (99 + self.noise(2)) * 10_000_000,
            (_, RssBytes | RssPrivateBytes) => wobble(self.noise(64), 4096, 64),
            (_, ReadCharsBytes) => value + 40_000 + self.noise(2000),
            (_, WriteCharsBytes) => value + self.noise(300),
            (_, FaultsMinor) => value + self.noise(200),
            (
                _,
                MemoryUsedBytes | MemoryFreeBytes | MemoryAvailableBytes | MemoryCachedBytes
                | MemoryActiveBytes,
            ) => wobble(self.noise(400), 1024, 400),
            (_, Forks) => value + self.noise(8),
            (_, Load1Milli) => 900 + self.noise(20) * 10,
            (_, PsiCpuSomeNs) => value + self.noise(3000) * 1000,
            (_, PsiIoSomeNs | PsiIoFullNs) => value + self.noise(4) * 1000,
            (_, DiskWriteBytes) => value + self.noise(80) * 4096,
            (_, NetReceiveBytes | NetTransmitBytes) => value + self.noise(3000),
            (_, MountUsedBytes) => wobble(self.noise(8), 4096, 8),
            _ => value,
        }
    }
}

fn start_value(column: &Column) -> u64 {
    use Metric::*;
    match (column.scope, column.metric) {
        (Scope::Descendants, _) | (_, SwapBytes | SwapTotalBytes) => 0,
        (_, RssBytes) => 800 << 20,
        (_, RssPrivateBytes) => 700 << 20,
        (_, RssSharedBytes) => 100 << 20,
        (_, MemoryTotalBytes | MountTotalBytes) => 24 << 30,
        (_, metric) if metric.key().starts_with("memory_") || metric.key().starts_with("mount_") => 6 << 30,
        (_, Processes | Threads) => 8,
        _ => 0,
    }
}

pub fn sample_events() -> Vec<Event> {
    let id = ProcessId { pid: 4242, start_ticks: 99_123 };
    vec![
        Event::ProcessStart { t_ns: 1, id, parent_pid: 1, name: "a) R\n\u{1b}[2J\u{fffd}".to_owned() },
        Event::ProcessRename { t_ns: 2, id, name: "=cmd()".to_owned() },
        Event::Mark { t_ns: 3, name: "load".to_owned(), kind: MarkKind::Begin, pid: 4242, tid: 4243 },
        Event::Mark { t_ns: 9, name: "load".to_owned(), kind: MarkKind::End, pid: 4242, tid: 4243 },
        Event::Mark { t_ns: 9, name: String::new(), kind: MarkKind::Point, pid: -1, tid: 0 },
        Event::Warning { t_ns: 4, kind: "late".into(), text: "3 ticks came late".to_owned() },
        Event::Settle { t_ns: u64::MAX, values: vec![(0, 7), (3, u64::MAX)] },
        Event::Note { t_ns: 0, key: "k".to_owned(), value: serde_json::json!({"a": [1, null, "x"]}) },
        Event::ProcessEnd {
            t_ns: 8,
            id,
            cpu_ns: Some(5),
            peak_rss_bytes: None,
            read_storage_bytes: Some(0),
            write_storage_bytes: Some(u64::MAX),
            wait_status: Some(-1),
        },
    ]
}

/// Everything a run told, for comparing.
#[derive(Debug, Default, PartialEq, Clone)]
pub struct Story {
    pub steps: Vec<Told>,
}

#[derive(Debug, PartialEq, Clone)]
pub enum Told {
    Column(Column),
    Event(Event),
    Tick(u64, Vec<Option<u64>>),
}

impl Sink for Story {
    fn define(&mut self, column: &Column) {
        self.steps.push(Told::Column(column.clone()));
    }

    fn event(&mut self, event: &Event) {
        self.steps.push(Told::Event(event.clone()));
    }

    fn tick(&mut self, t_ns: u64, values: &[Option<u64>]) {
        self.steps.push(Told::Tick(t_ns, values.to_vec()));
    }
}
