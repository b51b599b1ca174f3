//! Phases on hand-made streams: what is between two marks is theirs, and adjoining phases add up to the whole.

use jobmeter_model::event::RUNNING_NOTE;
use jobmeter_model::phase::{Phase, PhaseBuilder, PhaseTable, Span, Used, UsedValue};
use jobmeter_model::{Column, EntityKind, Event, MarkKind, Metric, Quality, Scope, Sink};
use proptest::prelude::*;

const MAIN: (i32, i32) = (7, 7);

fn mark(builder: &mut impl Sink, t_ns: u64, name: &str, kind: MarkKind) {
    let (pid, tid) = MAIN;
    builder.event(&Event::Mark { t_ns, name: name.to_owned(), kind, pid, tid });
}

/// CPU time, RAM, GPU memory, use of the GPUs by the job and by anyone, GPU energy.
fn define(builder: &mut impl Sink) {
    for (scope, metric) in [
        (Scope::Combined, Metric::CpuNs),
        (Scope::Combined, Metric::RssBytes),
        (Scope::Combined, Metric::GpuMemoryBytes),
        (Scope::Combined, Metric::GpuBusyPpm),
        (Scope::System, Metric::GpuBusyPpm),
        (Scope::System, Metric::GpuEnergyUj),
    ] {
        builder.define(&Column::of(scope, metric));
    }
}

fn row(cpu: u64, rss: u64) -> [Option<u64>; 6] {
    [Some(cpu), Some(rss), Some(2 * rss), Some(rss), Some(3 * rss), Some(10 * cpu)]
}

fn spans(play: impl FnOnce(&mut PhaseBuilder<Vec<Span>>), end_ns: Option<u64>) -> Vec<Span> {
    let mut builder = PhaseBuilder::new(Vec::new());
    define(&mut builder);
    play(&mut builder);
    builder.finish(end_ns)
}

/// The kernel counts the time of a running process up to its last clock tick.
#[test]
fn a_boundary_at_which_others_ran_is_not_exact() {
    let quality_with_note_at = |note_ns: u64| {
        let spans = spans(
            |builder| {
                for (t_ns, kind) in [(200, MarkKind::Begin), (300, MarkKind::End)] {
                    mark(builder, t_ns, "a", kind);
                    if t_ns == note_ns {
                        builder.event(&Event::Note {
                            t_ns,
                            key: RUNNING_NOTE.to_owned(),
                            value: true.into(),
                        });
                    }
                    builder.tick(t_ns, &row(t_ns, 1));
                }
                builder.tick(400, &row(400, 1));
            },
            None,
        );
        spans[0].used.quality
    };
    assert_eq!(quality_with_note_at(0), Quality::Exact);
    assert_eq!((quality_with_note_at(200), quality_with_note_at(300)), (Quality::Sampled, Quality::Sampled));
}

#[test]
fn marks_at_ticks_give_exact_counters_and_the_largest_levels() {
    let spans = spans(
        |builder| {
            builder.tick(100, &row(10, 5));
            mark(builder, 200, "a", MarkKind::Begin);
            builder.tick(200, &row(30, 9));
            builder.tick(250, &row(40, 90));
            builder.tick(300, &row(70, 20));
            mark(builder, 300, "a", MarkKind::End);
            builder.tick(400, &row(90, 500));
        },
        None,
    );
    let [span] = spans.as_slice() else { panic!("{spans:?}") };
    assert_eq!(
        (span.begin_ns, span.end_ns, span.time_ns(), span.closed, span.depth),
        (200, 300, 100, true, 0)
    );
    let used = span.used;
    assert_eq!(used.quality, Quality::Exact);
    assert_eq!(used.total(Metric::CpuNs), Some(40));
    assert_eq!(used.total(Metric::GpuEnergyUj), Some(400));
    assert_eq!(used.total(Metric::ReadCharsBytes), None, "no such column");
    assert_eq!(used.total(Metric::RssBytes), None, "a level is no counter");
    assert_eq!((used.peak_rss_bytes, used.peak_gpu_memory_bytes), (Some(90), Some(180)));
    assert_eq!((used.gpu_busy_ppm.mean(), used.gpu_busy_ppm.max()), (Some(55.0), Some(90)));
    assert_eq!((used.system_gpu_busy_ppm.mean(), used.system_gpu_busy_ppm.max()), (Some(165.0), Some(270)));
}

#[test]
fn between_ticks_counters_are_interpolated_and_called_sampled() {
    let spans = spans(
        |builder| {
            builder.tick(0, &row(0, 1));
            mark(builder, 25, "a", MarkKind::Begin);
            builder.tick(100, &row(1000, 1));
            mark(builder, 150, "a", MarkKind::End);
            builder.tick(200, &row(3000, 1));
        },
        None,
    );
    assert_eq!(spans[0].used.total(Metric::CpuNs), Some(2000 - 250));
    assert_eq!(spans[0].used.quality, Quality::Sampled);
}

#[test]
fn a_phase_left_open_ends_with_the_run_and_an_end_alone_is_nothing() {
    let spans = spans(
        |builder| {
            mark(builder, 10, "never begun", MarkKind::End);
            mark(builder, 20, "open", MarkKind::Begin);
            mark(builder, 20, "point", MarkKind::Point);
            builder.tick(20, &row(5, 1));
            mark(builder, 30, "inner", MarkKind::Begin);
            builder.tick(100, &row(50, 1));
            builder.event(&Event::Settle { t_ns: 120, values: vec![(0, 60), (1, 99), (77, 1)] });
        },
        Some(140),
    );
    let all: Vec<_> = spans
        .iter()
        .map(|span| {
            (span.name.as_str(), span.depth, span.end_ns, span.closed, span.used.total(Metric::CpuNs))
        })
        .collect();
    assert_eq!(all[0], ("open", 0, 140, false, Some(55)), "settled counters are in it");
    assert_eq!((all[1].0, all[1].1, all[1].2), ("inner", 1, 140));
    assert_eq!(all.len(), 2);
}

#[test]
fn without_any_tick_nothing_is_known() {
    let spans = spans(
        |builder| {
            mark(builder, 10, "a", MarkKind::Begin);
            mark(builder, 20, "a", MarkKind::End);
        },
        Some(30),
    );
    assert_eq!((spans[0].time_ns(), spans[0].used.total(Metric::CpuNs)), (10, None));
    assert_eq!(spans[0].used.peak_rss_bytes, None);
}

#[test]
fn threads_have_phases_of_their_own() {
    let spans = spans(
        |builder| {
            for (tid, kind) in
                [(1, MarkKind::Begin), (2, MarkKind::Begin), (1, MarkKind::End), (2, MarkKind::End)]
            {
                let t_ns = 10 * tid as u64 + 100 * u64::from(kind == MarkKind::End);
                builder.event(&Event::Mark { t_ns, name: "x".to_owned(), kind, pid: 5, tid });
                builder.tick(t_ns, &row(t_ns, 1));
            }
        },
        None,
    );
    let times: Vec<_> = spans.iter().map(|span| (span.tid, span.begin_ns, span.end_ns, span.depth)).collect();
    assert_eq!(times, [(1, 10, 110, 0), (2, 20, 120, 0)]);
}

#[test]
fn memory_of_single_gpus_stands_in_for_a_missing_sum() {
    let mut builder = PhaseBuilder::new(Vec::new());
    for name in ["a", "b"] {
        builder.define(&Column::entity(Scope::Combined, Metric::GpuMemoryBytes, EntityKind::Gpu, name));
        builder.define(&Column::entity(Scope::System, Metric::GpuMemoryBytes, EntityKind::Gpu, name));
    }
    mark(&mut builder, 0, "p", MarkKind::Begin);
    builder.tick(0, &[Some(3), Some(100), Some(4), None]);
    mark(&mut builder, 10, "p", MarkKind::End);
    builder.tick(10, &[None, Some(100), Some(5), None]);
    let spans: Vec<Span> = builder.finish(None);
    assert_eq!(spans[0].used.peak_gpu_memory_bytes, Some(7));
}

fn table(times: &[(u64, u64)]) -> Vec<Phase> {
    let mut builder = PhaseBuilder::new(PhaseTable::default());
    define(&mut builder);
    let mut cpu = 0;
    for (begin_ns, end_ns) in times {
        for (t_ns, kind) in [(*begin_ns, MarkKind::Begin), (*end_ns, MarkKind::End)] {
            mark(&mut builder, t_ns, "p", kind);
            builder.tick(t_ns, &row(cpu, t_ns));
            cpu += 7;
        }
    }
    let table = builder.finish(None);
    assert_eq!(
        (table.len(), table.is_empty(), table.contains("p"), table.contains("q")),
        (1, false, true, false)
    );
    table.into_phases()
}

#[test]
fn calls_of_one_name_are_summed_up() {
    let phases = table(&[(0, 10), (20, 50), (60, 80)]);
    let [phase] = phases.as_slice() else { panic!("one name") };
    assert_eq!((phase.calls, phase.open_calls, phase.first_begin_ns), (3, 0, 0));
    assert_eq!((phase.time_total_ns, phase.time_min_ns, phase.time_max_ns), (60, 10, 30));
    assert!(
        (phase.time_mean_ns - 20.0).abs() < 1e-9
            && (phase.time_std_ns - (200.0f64 / 3.0).sqrt()).abs() < 1e-9
    );
    assert_eq!(phase.used.total(Metric::CpuNs), Some(21));
    assert_eq!(phase.used.peak_rss_bytes, Some(80));
    assert!(PhaseTable::default().is_empty());
}

#[test]
fn phases_are_listed_as_they_began_the_longer_first() {
    let mut builder = PhaseBuilder::new(PhaseTable::default());
    for (t_ns, name, kind) in [
        (5, "late", MarkKind::Begin),
        (6, "late", MarkKind::End),
        (0, "short", MarkKind::Begin),
        (0, "long", MarkKind::Begin),
        (3, "short", MarkKind::End),
        (9, "long", MarkKind::End),
    ] {
        mark(&mut builder, t_ns, name, kind);
    }
    let phases = builder.finish(None).into_phases();
    let names: Vec<&str> = phases.iter().map(|phase| phase.name.as_str()).collect();
    assert_eq!(names, ["long", "short", "late"]);
}

#[test]
fn the_columns_of_a_phase_and_their_json_are_one_list() {
    let span = &spans(
        |builder| {
            mark(builder, 0, "p", MarkKind::Begin);
            builder.tick(0, &row(0, 1));
            builder.tick(9, &row(4, 2));
            mark(builder, 9, "p", MarkKind::End);
        },
        None,
    )[0];
    let cells = span.used.cells();
    let json = serde_json::to_value(span.used).expect("JSON");
    assert_eq!(cells.len(), json.as_object().expect("an object").len());
    assert_eq!(cells[0], ("quality", UsedValue::Word("exact")));
    assert_eq!(cells[1], ("cpu_ns", UsedValue::Whole(Some(4))));
    assert_eq!(cells.last(), Some(&("system_gpu_energy_uj", UsedValue::Whole(Some(40)))));
    assert_eq!((&json["cpu_ns"], &json["quality"]), (&serde_json::json!(4), &serde_json::json!("exact")));
    assert_eq!(json["read_chars_bytes"], serde_json::Value::Null);
    let mut sampled = Used::NOTHING_KNOWN;
    sampled.quality = Quality::Sampled;
    assert_eq!(sampled.cells()[0].1, UsedValue::Word("sampled"));
}

proptest! {
    /// However a stretch is cut into phases, their counters add up to that of one phase over it all.
    #[test]
    fn cutting_a_stretch_into_phases_loses_nothing(
        steps in proptest::collection::vec((1u64..1000, 0u64..1_000_000), 2..20),
        cuts in proptest::collection::vec(0u64..20_000, 0..6),
    ) {
        let end_ns: u64 = steps.iter().map(|(step, _)| step).sum();
        let play = |marks: &[u64]| {
            let spans = spans(|builder| {
                let (mut t_ns, mut cpu) = (0, 0);
                let mut next = marks.iter().peekable();
                let mut say = |builder: &mut PhaseBuilder<Vec<Span>>, until: u64, last: bool| {
                    while let Some(at) = next.next_if(|at| **at < until || last) {
                        let at = (*at).min(end_ns);
                        if at > 0 { mark(builder, at, "p", MarkKind::End); }
                        if at < end_ns { mark(builder, at, "p", MarkKind::Begin); }
                    }
                };
                for (step, grown) in &steps {
                    say(builder, t_ns + step, false);
                    t_ns += step;
                    cpu += grown;
                    builder.tick(t_ns, &row(cpu, 1));
                }
                say(builder, end_ns, true);
            }, Some(end_ns));
            spans.iter().map(|span| span.used.total(Metric::CpuNs).expect("known")).sum::<u64>()
        };
        let mut marks: Vec<u64> = cuts.into_iter().map(|cut| cut % end_ns).filter(|cut| *cut > 0).collect();
        marks.extend([0, end_ns]);
        marks.sort_unstable();
        marks.dedup();
        let whole: u64 = steps.iter().map(|(_, grown)| grown).sum();
        prop_assert_eq!(play(&marks), whole);
        prop_assert_eq!(play(&[0, end_ns]), whole);
    }
}
