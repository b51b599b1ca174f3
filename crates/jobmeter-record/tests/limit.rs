//! A record with a limit: it keeps within it, and the figures of the run can still be read from its rows.

mod common;

use common::{SteadyJob, info, summary};
use jobmeter_model::accumulate::{Accumulator, AllFigures, Divisors};
use jobmeter_model::summary::Warning;
use jobmeter_model::{Column, EntityKind, Event, Figures, MarkKind, Metric, ProcessId, Scope, Sink};
use jobmeter_record::table::PhaseBuilder;
use jobmeter_record::{Run, SharedBuffer, Target, Writer};
use proptest::prelude::*;
use std::collections::BTreeMap;

const MIB: u64 = 1 << 20;

/// A live accumulator and a limited record, fed with the same stream.
struct Both {
    live: Accumulator,
    writer: Writer,
    buffer: SharedBuffer,
}

impl Both {
    fn new(limit_bytes: u64) -> Both {
        let buffer = SharedBuffer::default();
        let mut writer = Writer::create(Target::Memory(buffer.clone()), &info("a")).expect("memory");
        writer.limit_to(limit_bytes);
        Both { live: Accumulator::default(), writer, buffer }
    }

    fn finish(mut self) -> (Accumulator, Run, u64, Vec<Warning>) {
        let warnings = self.writer.end_rows();
        self.writer.finish(&summary(&info("a"))).expect("finished");
        let size_bytes = self.buffer.len() as u64;
        (self.live, Run::from_bytes(self.buffer.snapshot()).expect("a run file"), size_bytes, warnings)
    }
}

impl Sink for Both {
    fn define(&mut self, column: &Column) {
        self.live.define(column);
        self.writer.define(column);
    }

    fn event(&mut self, event: &Event) {
        self.live.event(event);
        self.writer.event(event);
    }

    fn tick(&mut self, t_ns: u64, values: &[Option<u64>]) {
        self.live.tick(t_ns, values);
        self.writer.tick(t_ns, values);
    }
}

fn replayed(run: &Run) -> Accumulator {
    let mut sums = Accumulator::default();
    run.replay(&mut sums);
    sums
}

/// Every figure except means, which a thinned record gives only about.
fn extremes_and_totals(sums: &Accumulator) -> BTreeMap<String, String> {
    let by = Divisors { expected_cores: 2.0, system_cores: 4, wall_ns: sums.last_t_ns };
    let AllFigures { scopes, entities } = sums.figures(by);
    let mut all = BTreeMap::new();
    let mut add = |place: String, figures: Figures| {
        for (key, figure) in figures {
            if !key.ends_with("_mean") && key != "processes_total" {
                all.insert(format!("{place} {key}"), format!("{figure:?}"));
            }
        }
    };
    scopes.into_iter().for_each(|(scope, figures)| add(format!("{scope:?}"), figures));
    for (kind, list) in entities {
        list.into_iter().for_each(|entity| add(format!("{kind:?} {}", entity.name), entity.figures));
    }
    all
}

/// Levels and counters that jump, vanish, come late and end early, with ticks between 1 ms and 1.5 s.
fn feed_random(seed: u64, ticks: u64, sink: &mut dyn Sink) {
    let mut state = seed | 1;
    let mut noise = move |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    let columns = [
        Column::of(Scope::Main, Metric::RssBytes),
        Column::of(Scope::Combined, Metric::CpuNs),
        Column::of(Scope::System, Metric::MemoryAvailableBytes),
        Column::of(Scope::Combined, Metric::ReadCharsBytes),
        Column::entity(Scope::System, Metric::CoreBusyNs, EntityKind::Core, "0"),
        Column::entity(Scope::System, Metric::GpuMemoryFreeBytes, EntityKind::Gpu, "0"),
        Column::entity(Scope::System, Metric::NetReceiveBytes, EntityKind::Network, "eth0"),
    ];
    let mut values: Vec<Option<u64>> = Vec::new();
    let mut totals = [0u64; 7];
    let mut t_ns = 0;
    let short_ticks = noise(2) == 0;
    let ends_at = [3, 6].map(|index| (index, ticks - noise(ticks / 3)));
    for tick in 0..ticks {
        if values.len() < columns.len() && (tick == 0 || noise(ticks / 4) == 0 || values.len() < 4) {
            sink.define(&columns[values.len()]);
            values.push(None);
        }
        t_ns += 1_000_000 + noise(if short_ticks { 60_000_000 } else { 1_500_000_000 });
        for (index, value) in values.iter_mut().enumerate() {
            let burst = if noise(500) == 0 { 1 << noise(40) } else { 1 };
            totals[index] += noise(1_000_000) * burst;
            let is_counter = matches!(index, 1 | 3 | 4 | 6);
            let level = (8 << 30) + noise(1000) * 4096;
            let jump = noise(400) == 0;
            let level = if jump { level ^ (noise(1 << 20) << 13) } else { level };
            let is_absent = noise(if index % 2 == 0 { 40 } else { 4000 }) == 0
                || ends_at.iter().any(|(ended, at)| *ended == index && tick >= *at);
            *value = (!is_absent).then_some(if is_counter { totals[index] } else { level });
        }
        if noise(2000) == 0 {
            sink.event(&mark(t_ns, "m", MarkKind::Point));
        }
        sink.tick(t_ns, &values);
    }
    if noise(2) == 0 {
        sink.event(&Event::Settle { t_ns, values: vec![(1, totals[1] + 5)] });
    }
}

fn mark(t_ns: u64, name: &str, kind: MarkKind) -> Event {
    Event::Mark { t_ns, name: name.to_owned(), kind, pid: 7, tid: 7 }
}

fn kinds(warnings: &[Warning]) -> Vec<&str> {
    warnings.iter().map(|warning| warning.kind.as_str()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_thinned_record_gives_the_live_extremes_and_totals(
        seed in any::<u64>(),
        limit_kib in 280u64..450,
        ticks in 16_000u64..24_000,
    ) {
        let mut both = Both::new(limit_kib << 10);
        feed_random(seed, ticks, &mut both);
        let (live, run, size_bytes, warnings) = both.finish();
        prop_assert!(size_bytes <= limit_kib << 10, "{size_bytes}");
        prop_assert_eq!(kinds(&warnings), ["record_limit"], "{:?}", warnings);
        let replayed = replayed(&run);
        prop_assert!(replayed.ticks < live.ticks, "nothing was thinned");
        prop_assert_eq!(extremes_and_totals(&replayed), extremes_and_totals(&live));
        prop_assert_eq!(kinds(&replayed.warnings), ["record_limit"]);
    }
}

#[test]
fn below_half_of_the_limit_the_file_is_the_same_byte_for_byte() {
    let write = |limit: Option<u64>| {
        let buffer = SharedBuffer::default();
        let mut writer = Writer::create(Target::Memory(buffer.clone()), &info("a")).expect("memory");
        limit.into_iter().for_each(|bytes| writer.limit_to(bytes));
        let mut job = SteadyJob::new();
        job.define_all(&mut writer);
        common::sample_events().iter().for_each(|event| writer.event(event));
        for _ in 0..3000 {
            job.advance();
            writer.tick(job.t_ns, &job.values);
        }
        assert_eq!(writer.end_rows(), []);
        writer.finish(&summary(&info("a"))).expect("finished");
        buffer.snapshot()
    };
    let plain = write(None);
    assert!(plain.len() as u64 > MIB / 8, "{} bytes", plain.len());
    assert!(plain == write(Some(2 * plain.len() as u64 + MIB)));
}

#[test]
fn a_long_run_keeps_the_least_limit() {
    let mut both = Both::new(MIB);
    let mut job = SteadyJob::new();
    job.define_all(&mut both);
    let forks = job.columns.iter().position(|column| column.metric == Metric::Forks).expect("a counter");
    let mut burst_ns = [0; 2];
    for round in 0..60_000 {
        burst_ns = if round == 50_001 { [job.t_ns, 0] } else { burst_ns };
        job.advance();
        if round == 50_001 {
            burst_ns[1] = job.t_ns;
            job.values[forks] = job.values[forks].map(|count| count + 1000);
        }
        both.tick(job.t_ns, &job.values);
    }
    let (live, run, size_bytes, warnings) = both.finish();
    let mut rows_ns = Vec::new();
    let mut frames = run.frames();
    while let Some(frame) = frames.next() {
        if let jobmeter_record::Frame::Tick { t_ns, .. } = frame {
            rows_ns.push(t_ns);
        }
    }
    assert!(rows_ns.is_sorted());
    assert!(burst_ns.iter().all(|t_ns| rows_ns.contains(t_ns)), "the rows around the highest rate are there");
    assert!(size_bytes <= MIB, "{size_bytes}");
    assert!(size_bytes > MIB / 2, "{size_bytes}");
    assert_eq!(kinds(&warnings), ["record_limit"]);
    assert_eq!(extremes_and_totals(&replayed(&run)), extremes_and_totals(&live));
}

#[test]
fn a_million_forks_keep_the_limit_and_are_counted() {
    let mut both = Both::new(MIB);
    both.define(&Column::of(Scope::Combined, Metric::CpuNs));
    for number in 0..1_000_000u64 {
        let t_ns = number * 1000;
        let id = ProcessId { pid: (number % 30_000) as i32 + 2, start_ticks: number };
        both.event(&Event::ProcessStart { t_ns, id, parent_pid: 1, name: "true".to_owned() });
        both.event(&Event::ProcessEnd {
            t_ns,
            id,
            cpu_ns: Some(400_000),
            peak_rss_bytes: Some(900 << 10),
            read_storage_bytes: None,
            write_storage_bytes: None,
            wait_status: Some(0),
        });
        if number % 1000 == 0 {
            both.tick(t_ns, &[Some(number * 400_000)]);
        }
    }
    let (_, run, size_bytes, warnings) = both.finish();
    assert!(size_bytes <= MIB, "{size_bytes}");
    assert_eq!(kinds(&warnings), ["record_limit"]);
    let (mut starts, mut ends) = (0u64, 0u64);
    let mut frames = run.frames();
    while let Some(frame) = frames.next() {
        match frame {
            jobmeter_record::Frame::Event(Event::ProcessStart { .. }) => starts += 1,
            jobmeter_record::Frame::Event(Event::ProcessEnd { .. }) => ends += 1,
            _ => {}
        }
    }
    assert!(starts > 1000, "{starts}");
    assert_eq!(starts, ends, "every process that is listed has its end");
    let left_out = 2_000_000 - starts - ends;
    assert!(warnings[0].text.starts_with(&format!("{left_out} starts")), "{}", warnings[0].text);
    let said: Vec<String> = replayed(&run).warnings.into_iter().map(|warning| warning.text).collect();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].contains("from here on they are counted"), "{said:?}");
    assert_eq!(said[1], warnings[0].text);
}

#[test]
fn a_storm_of_phases_keeps_the_limit_and_listed_phases_are_whole() {
    let mut both = Both::new(MIB);
    let mut job = SteadyJob::new();
    job.define_all(&mut both);
    for round in 0..20_000 {
        for kind in [MarkKind::Begin, MarkKind::End] {
            job.advance();
            both.event(&mark(job.t_ns, &format!("step {round}"), kind));
            both.tick(job.t_ns, &job.values);
        }
    }
    let (live, run, size_bytes, warnings) = both.finish();
    assert!(size_bytes <= MIB, "{size_bytes}");
    assert_eq!(extremes_and_totals(&replayed(&run)), extremes_and_totals(&live));
    assert_eq!(kinds(&warnings), ["record_limit"; 2]);
    let mut phases = PhaseBuilder::new(Vec::new());
    run.replay(&mut phases);
    let spans = phases.finish(None);
    assert!(spans.len() > 500, "{}", spans.len());
    assert!(spans.iter().all(|span| span.closed), "a phase without its end");
}

#[test]
fn peaks_that_alone_break_the_limit_are_given_up_with_a_warning() {
    let mut both = Both::new(200 << 10);
    let columns: Vec<Column> = (0..100)
        .map(|index| {
            Column::entity(Scope::System, Metric::MountUsedBytes, EntityKind::Mount, &index.to_string())
        })
        .collect();
    columns.iter().for_each(|column| both.define(column));
    let mut values = vec![Some(1u64 << 40); columns.len()];
    for tick in 0..20_000u64 {
        // Each level has its own moment, higher every time.
        values.fill(Some(1 << 40));
        values[(tick % 100) as usize] = Some((1 << 41) + tick * 1_234_567);
        both.tick(tick * 1_000_000_000, &values);
    }
    let (_, run, size_bytes, warnings) = both.finish();
    assert!(size_bytes <= 200 << 10, "{size_bytes}");
    assert_eq!(kinds(&warnings), ["record_limit"; 2]);
    assert!(warnings[1].text.contains("some may be missing"), "{}", warnings[1].text);
    assert_eq!(replayed(&run).last_t_ns, 19_999_000_000_000, "the last row is there all the same");
}
