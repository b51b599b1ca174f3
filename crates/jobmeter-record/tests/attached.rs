//! Phases by the wall clock, attached to a run that knows nothing of them; and what phases know of the GPUs.

mod common;

use common::{info, summary};
use jobmeter_model::{Column, Event, MarkKind, Metric, Quality, Scope, Sink};
use jobmeter_record::table::{Cell, RowSink, Span, Table};
use jobmeter_record::{Attached, PhaseCall, RecordError, Run, SharedBuffer, Target, Writer};
use proptest::prelude::*;

const SECOND: u64 = 1_000_000_000;

/// Ten seconds, a tick each: so much CPU per second, RAM that is highest at 5 s, one GPU at work from 4 s to 8 s.
fn run() -> Run {
    let buffer = SharedBuffer::default();
    let info = info("x");
    let mut writer = Writer::create(Target::Memory(buffer.clone()), &info).unwrap();
    for (scope, metric) in [
        (Scope::Combined, Metric::CpuNs),
        (Scope::Combined, Metric::RssBytes),
        (Scope::Combined, Metric::GpuBusyPpm),
        (Scope::System, Metric::GpuBusyPpm),
        (Scope::System, Metric::GpuEnergyUj),
    ] {
        writer.define(&Column::of(scope, metric));
    }
    for second in 0..=10 {
        let works = (5..=8).contains(&second);
        let busy = if works { 600_000 } else { 0 };
        let rss = if second == 5 { 900 } else { 100 };
        // The driver counts energy since it was loaded, not since the run began.
        let energy_uj = 7_000_000 + 50 * second;
        let row = [second * SECOND / 2, rss, busy, busy + 100_000, energy_uj];
        writer.tick(second * SECOND, &row.map(Some));
    }
    writer.finish(&summary(&info)).unwrap();
    Run::from_bytes(buffer.snapshot()).unwrap()
}

fn call(name: &str, begin_ms: i64, end_ms: Option<i64>) -> PhaseCall {
    let start_ms = info("x").started_unix_ns as i64 / 1_000_000;
    let unix_ns = |ms: i64| (start_ms + ms) as u64 * 1_000_000;
    PhaseCall {
        name: name.to_owned(),
        pid: 77,
        begin_unix_ns: unix_ns(begin_ms),
        end_unix_ns: end_ms.map(unix_ns),
    }
}

fn one(spans: &[Span], name: &str) -> Span {
    spans.iter().find(|span| span.name == name).unwrap_or_else(|| panic!("no {name}")).clone()
}

#[test]
fn times_are_exact_and_counters_say_that_they_are_interpolated() {
    let calls = [call("between", 1_250, Some(3_750)), call("on ticks", 4_000, Some(8_000))];
    let (run, attached) = run().with_phases(&calls);
    assert_eq!(attached, Attached { taken: 2, cut: 0, outside: 0 });
    let spans = run.spans();
    let between = one(&spans, "between");
    assert_eq!((between.time_ns(), between.used.total(Metric::CpuNs)), (2_500_000_000, Some(1_250_000_000)));
    assert_eq!((between.used.quality, between.pid, between.closed), (Quality::Sampled, 77, true));
    let on_ticks = one(&spans, "on ticks");
    assert_eq!(
        (on_ticks.used.total(Metric::CpuNs), on_ticks.used.quality),
        (Some(2 * SECOND), Quality::Exact)
    );
    assert_eq!(on_ticks.used.peak_rss_bytes, Some(900));
}

#[test]
fn phases_know_use_and_energy_of_the_gpus() {
    let (run, _) = run().with_phases(&[call("idle", 0, Some(4_000)), call("half", 2_000, Some(6_000))]);
    let spans = run.spans();
    let idle = one(&spans, "idle").used;
    assert_eq!((idle.gpu_busy_ppm.mean(), idle.gpu_busy_ppm.max()), (Some(0.0), Some(0)));
    assert_eq!(idle.system_gpu_busy_ppm.mean(), Some(100_000.0));
    let half = one(&spans, "half").used;
    assert_eq!((half.gpu_busy_ppm.mean(), half.gpu_busy_ppm.max()), (Some(300_000.0), Some(600_000)));
    assert_eq!(half.system_gpu_busy_ppm.max(), Some(700_000));
    assert_eq!(half.total(Metric::GpuEnergyUj), Some(200));
    let phases = run.phases();
    assert_eq!(phases.iter().map(|phase| phase.name.as_str()).collect::<Vec<_>>(), ["idle", "half"]);
}

#[test]
fn calls_beyond_the_run_are_cut_or_left_out() {
    let calls = [
        call("early", -5_000, Some(-1)),
        call("began before", -5_000, Some(2_000)),
        call("went on", 8_000, Some(99_000)),
        call("never stopped", 9_000, None),
        call("late", 10_001, Some(11_000)),
        call("late and open", 11_000, None),
    ];
    let (run, attached) = run().with_phases(&calls);
    assert_eq!(attached, Attached { taken: 3, cut: 2, outside: 3 });
    let spans = run.spans();
    let times = |name: &str| {
        let span = one(&spans, name);
        (span.begin_ns / SECOND, span.end_ns / SECOND, span.closed)
    };
    assert_eq!(times("began before"), (0, 2, true));
    assert_eq!(times("went on"), (8, 10, true));
    assert_eq!(times("never stopped"), (9, 10, false));
    assert_eq!(spans.len(), 3);
}

#[derive(Default)]
struct Names(Vec<String>);

impl RowSink for Names {
    fn row(&mut self, cells: &[Cell<'_>]) -> Result<(), RecordError> {
        let text =
            |cell: &Cell<'_>| if let Cell::Text(text) = cell { (*text).to_owned() } else { String::new() };
        self.0.extend(cells.first().map(text));
        Ok(())
    }
}

#[test]
fn every_table_and_the_stream_have_them_in_order_of_time() {
    let (run, _) = run().with_phases(&[call("b", 3_000, Some(5_500)), call("a", 500, Some(1_500))]);
    let (run, _) = run.with_phases(&[call("c", 1_000, None)]);
    for (table, expected) in [(Table::Phases, &["a", "c", "b"][..]), (Table::Spans, &["a", "b", "c"])] {
        let mut names = Names::default();
        table.write(&run, &mut names).unwrap();
        assert_eq!(names.0, expected, "{}", table.key());
    }
    let mut frames = run.frames();
    let (mut last_ns, mut marks, mut ticks) = (0, 0, 0);
    while let Some(frame) = frames.next() {
        let t_ns = match frame {
            jobmeter_record::Frame::Tick { t_ns, .. } => {
                ticks += 1;
                t_ns
            }
            jobmeter_record::Frame::Event(Event::Mark { t_ns, kind, .. }) => {
                assert_ne!(kind, MarkKind::Point);
                marks += 1;
                t_ns
            }
            _ => continue,
        };
        assert!(t_ns >= last_ns);
        last_ns = t_ns;
    }
    assert_eq!((marks, ticks), (5, 11));
}

proptest! {
    /// However the run is cut by calls that follow each other, their CPU time adds up to that of the run.
    #[test]
    fn adjoining_calls_share_out_the_whole(mut cuts in prop::collection::vec(1i64..10_000, 0..30)) {
        cuts.extend([0, 10_000]);
        cuts.sort_unstable();
        let calls: Vec<PhaseCall> =
            cuts.windows(2).map(|pair| call("part", pair[0], Some(pair[1]))).collect();
        let (run, attached) = run().with_phases(&calls);
        prop_assert_eq!(attached.taken, calls.len() as u64);
        let [phase] = run.phases().try_into().unwrap();
        prop_assert_eq!(phase.calls, calls.len() as u64);
        prop_assert_eq!(phase.time_total_ns, 10 * SECOND);
        prop_assert_eq!(phase.used.total(Metric::CpuNs), Some(5 * SECOND));
        prop_assert_eq!(phase.used.total(Metric::GpuEnergyUj), Some(500));
        let mean = phase.used.gpu_busy_ppm.mean().unwrap();
        prop_assert!((mean - 240_000.0).abs() < 1e-3, "{}", mean);
    }
}
