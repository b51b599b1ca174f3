//! Phases: pairing, nesting, exact boundaries, and that nothing is lost or counted twice.

mod common;

use common::info;
use jobmeter_model::{Column, Event, MarkKind, Metric, ProcessId, Scope, Sink};
use jobmeter_record::table::Span;
use jobmeter_record::{Run, SharedBuffer, Target, Writer};
use proptest::prelude::*;

fn record(tell: impl FnOnce(&mut Writer)) -> Run {
    let buffer = SharedBuffer::default();
    let mut writer = Writer::create(Target::Memory(buffer.clone()), &info("x")).unwrap();
    writer.define(&Column::of(Scope::Combined, Metric::CpuNs));
    writer.define(&Column::of(Scope::Combined, Metric::RssBytes));
    writer.define(&Column::of(Scope::Combined, Metric::WriteStorageBytes));
    tell(&mut writer);
    writer.flush();
    Run::from_bytes(buffer.snapshot()).unwrap()
}

fn mark(t_ns: u64, name: &str, kind: MarkKind, tid: i32) -> Event {
    Event::Mark { t_ns, name: name.to_owned(), kind, pid: 1, tid }
}

fn one<'a>(spans: &'a [Span], name: &str) -> &'a Span {
    spans.iter().find(|span| span.name == name).unwrap()
}

#[test]
fn nested_and_concurrent_phases() {
    use MarkKind::{Begin, End};
    let run = record(|writer| {
        // Time, marks at that time, CPU, RSS.
        type Marks = &'static [(&'static str, MarkKind, i32)];
        let story: [(u64, Marks, u64, u64); 7] = [
            (0, &[], 0, 10),
            (10, &[("outer", Begin, 1)], 100, 20),
            (20, &[("inner", Begin, 1), ("other", Begin, 2)], 250, 30),
            (25, &[], 300, 90),
            (30, &[("inner", End, 1)], 400, 40),
            (40, &[("other", End, 2), ("outer", End, 1)], 700, 50),
            (50, &[("never closed", Begin, 1)], 900, 5),
        ];
        for (t_ns, marks, cpu, rss) in story {
            for (name, kind, tid) in marks {
                writer.event(&mark(t_ns, name, *kind, *tid));
            }
            writer.tick(t_ns, &[Some(cpu), Some(rss), None]);
        }
        writer.tick(60, &[Some(950), Some(7), None]);
    });
    let spans = run.spans();
    assert_eq!(spans.len(), 4);
    let figures = |name| {
        let span = one(&spans, name);
        (
            span.time_ns(),
            span.used.total(Metric::CpuNs).unwrap(),
            span.used.peak_rss_bytes.unwrap(),
            span.depth,
            span.closed,
        )
    };
    assert_eq!(figures("outer"), (30, 600, 90, 0, true));
    assert_eq!(figures("inner"), (10, 150, 90, 1, true));
    assert_eq!(figures("other"), (20, 450, 90, 0, true));
    assert_eq!(figures("never closed"), (10, 50, 7, 0, false));
    assert_eq!(one(&spans, "outer").used.total(Metric::WriteStorageBytes), None, "unknown is not zero");
}

#[test]
fn repeated_calls_add_up_with_their_spread() {
    let run = record(|writer| {
        let mut t_ns = 0;
        for time in [10, 20, 60] {
            // The tick may come before its mark, too.
            writer.tick(t_ns, &[Some(t_ns * 3), Some(1), Some(0)]);
            writer.event(&mark(t_ns, "step", MarkKind::Begin, 1));
            t_ns += time;
            writer.tick(t_ns, &[Some(t_ns * 3), Some(time), Some(0)]);
            writer.event(&mark(t_ns, "step", MarkKind::End, 1));
            t_ns += 5;
        }
    });
    let [phase] = run.phases().try_into().unwrap();
    assert_eq!((phase.calls, phase.time_total_ns, phase.time_min_ns, phase.time_max_ns), (3, 90, 10, 60));
    assert_eq!(
        (phase.used.total(Metric::CpuNs), phase.used.peak_rss_bytes, phase.time_mean_ns),
        (Some(270), Some(60), 30.0)
    );
    let expected = ((400.0 + 100.0 + 900.0) / 3.0f64).sqrt();
    assert!((phase.time_std_ns - expected).abs() < 1e-9, "{}", phase.time_std_ns);
}

#[test]
fn stray_ends_close_nothing_and_recursion_pairs_inside_out() {
    use MarkKind::{Begin, End};
    let run = record(|writer| {
        writer.event(&mark(0, "f", End, 1));
        for (t_ns, kind) in [(1, Begin), (2, Begin), (3, End), (9, End), (10, End)] {
            writer.event(&mark(t_ns, "f", kind, 1));
            writer.tick(t_ns, &[Some(t_ns), None, None]);
        }
    });
    let times: Vec<(u64, u32)> = run.spans().iter().map(|span| (span.time_ns(), span.depth)).collect();
    assert_eq!(times, [(1, 1), (8, 0)]);
}

proptest! {
    /// Cutting a run into adjoining phases shares out its counters completely.
    #[test]
    fn splitting_conserves_cpu_and_bytes(
        steps in prop::collection::vec((1u64..1_000_000, 0u64..5_000_000, 0u64..100_000, any::<bool>(), any::<bool>()), 1..60),
    ) {
        let (mut t_ns, mut cpu, mut bytes, mut part) = (0u64, 0u64, 0u64, 0u32);
        let run = record(|writer| {
            writer.event(&mark(0, "part 0", MarkKind::Begin, 1));
            writer.tick(0, &[Some(0), Some(1), Some(0)]);
            for (step, used, written, cut, with_tick) in &steps {
                t_ns += step;
                cpu += used;
                bytes += written;
                if *cut {
                    // Some boundaries lie between ticks: the shares are then interpolated, but still add up.
                    let at = if *with_tick { t_ns } else { t_ns - step / 2 };
                    writer.event(&mark(at, &format!("part {part}"), MarkKind::End, 1));
                    part += 1;
                    writer.event(&mark(at, &format!("part {part}"), MarkKind::Begin, 1));
                }
                writer.tick(t_ns, &[Some(cpu), Some(1), Some(bytes)]);
            }
            writer.event(&mark(t_ns, &format!("part {part}"), MarkKind::End, 1));
        });
        let phases = run.phases();
        prop_assert_eq!(phases.len() as u32, part + 1);
        let sum = |figure: fn(&jobmeter_record::table::Phase) -> Option<u64>| phases.iter().filter_map(figure).sum::<u64>();
        prop_assert_eq!(sum(|phase| phase.used.total(Metric::CpuNs)), cpu);
        prop_assert_eq!(sum(|phase| phase.used.total(Metric::WriteStorageBytes)), bytes);
        prop_assert_eq!(sum(|phase| Some(phase.time_total_ns)), t_ns);
    }
}

#[test]
fn every_process_has_its_row_even_when_identities_repeat() {
    let id = ProcessId { pid: 7, start_ticks: 0 };
    let end = |t_ns, wait_status| Event::ProcessEnd {
        t_ns,
        id,
        cpu_ns: Some(t_ns * 10),
        peak_rss_bytes: None,
        read_storage_bytes: None,
        write_storage_bytes: None,
        wait_status,
    };
    let run = record(|writer| {
        writer.event(&Event::ProcessStart { t_ns: 1, id, parent_pid: 1, name: "bash".to_owned() });
        writer.event(&Event::ProcessRename { t_ns: 2, id, name: "make".to_owned() });
        writer.event(&end(3, Some(2 << 8)));
        writer.event(&Event::ProcessStart { t_ns: 4, id, parent_pid: 1, name: "cc".to_owned() });
        writer.event(&end(5, Some(9)));
        writer.event(&end(6, None));
        let alive = ProcessId { pid: 8, start_ticks: 5 };
        writer.event(&Event::ProcessStart { t_ns: 6, id: alive, parent_pid: 7, name: "daemon".to_owned() });
    });
    let rows = run.processes();
    assert_eq!(rows.len(), 4);
    assert_eq!((rows[0].name.as_str(), rows[0].first_name.as_deref()), ("make", Some("bash")));
    assert_eq!((rows[0].begin_ns, rows[0].end_ns, rows[0].exit_code), (1, Some(3), Some(2)));
    assert_eq!((rows[1].name.as_str(), rows[1].signal, rows[1].cpu_ns), ("cc", Some(9), Some(50)));
    assert_eq!((rows[2].parent_pid, rows[2].exit_code), (None, None));
    assert_eq!((rows[3].end_ns, rows[3].cpu_ns), (None, None));
}
