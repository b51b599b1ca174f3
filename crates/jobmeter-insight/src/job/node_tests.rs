//! Nodes that several ranks recorded one after the other, containers of one machine, clocks.

use super::tests::{SECOND_NS, rank};
use super::*;
use jobmeter_model::event::NODE_RECORDER_NOTE;
use jobmeter_model::job::{RankMachine, StoreTime};
use jobmeter_model::{Column, Event, Figure, Metric, Quality, Scope, Stat};

const COLUMNS: [(Scope, Metric); 4] = [
    (Scope::Combined, Metric::CpuNs),
    (Scope::System, Metric::CpuNs),
    (Scope::System, Metric::EnergyPackageUj),
    (Scope::System, Metric::MemoryUsedBytes),
];

/// Seconds of the run, and a value for each column.
type Row = (u64, [Option<u64>; 4]);

struct Stream {
    rows: Vec<Row>,
    /// Counters of the machine that were first read so many seconds after the start, and when rows of them began.
    based: Option<(u64, u64)>,
}

impl Stream {
    fn feed(&self, sink: &mut dyn Sink) {
        for (scope, metric) in COLUMNS {
            sink.define(&Column::of(scope, metric));
        }
        if let Some((base_s, from_s)) = self.based {
            let base_ns = base_s * SECOND_NS;
            let value = serde_json::json!({ "bases": [[1, base_ns], [2, base_ns]] });
            sink.event(&Event::Note { t_ns: from_s * SECOND_NS, key: NODE_RECORDER_NOTE.to_owned(), value });
        }
        for (second, values) in &self.rows {
            sink.tick(second * SECOND_NS, values);
        }
    }
}

fn merged(mut runs: Vec<RankRun>, streams: &[Stream]) -> Job {
    align(&mut runs);
    let mut grid = Grid::over(&runs);
    for (run, stream) in runs.iter().zip(streams) {
        let mut series = grid.series(run);
        stream.feed(&mut series);
        grid.add(&series);
    }
    let replay = |index: usize, sink: &mut dyn Sink| {
        streams[index].feed(sink);
        Ok(())
    };
    let plans = JoinPlan::of(&runs, &grid);
    let joined = plans.iter().map(|plan| plan.join(&runs, &grid, replay).expect("it can be read")).collect();
    grid.take_joined(joined);
    Job::merge(&runs, grid)
}

fn on(mut run: RankRun, boot: &str, is_contained: bool) -> RankRun {
    let job = run.summary.run.job.as_mut().expect("a job");
    job.machine =
        Some(RankMachine { boot: boot.to_owned(), is_contained, is_shared: true, ..RankMachine::default() });
    run
}

#[test]
fn the_pieces_of_two_recorders_are_one_node() {
    let mut runs = vec![on(rank(0, "a", 0, 2, 1, 10), "x", false), on(rank(1, "a", 1, 4, 1, 10), "x", false)];
    for run in &mut runs {
        let told = Figure::int(1, Quality::Exact);
        run.summary.system.set(Metric::EnergyPackageUj, Stat::Total, told);
    }
    // The machine uses 100 a second all the time, and 1,000 µJ.
    let row = |second, own, machine: Option<u64>, used| {
        (second, [Some(own), machine, machine.map(|machine| machine * 10), used])
    };
    let streams = [
        Stream {
            rows: vec![
                row(0, 0, Some(0), Some(7)),
                row(1, 50, Some(100), Some(9)),
                row(2, 100, Some(200), Some(8)),
            ],
            based: Some((0, 0)),
        },
        // It first read the machine at its start, a second after the other, and took over two seconds later.
        Stream {
            rows: vec![
                row(0, 0, None, None),
                row(1, 0, None, None),
                row(2, 100, Some(200), Some(4)),
                row(4, 100, Some(400), Some(6)),
            ],
            based: Some((0, 2)),
        },
    ];
    let job = merged(runs, &streams);
    let [node] = job.nodes.as_slice() else { panic!("one node") };
    assert_eq!(node.recorders.iter().map(|recorder| recorder.rank).collect::<Vec<_>>(), [Some(0), Some(1)]);
    assert_eq!(node.longest_gap_ns, SECOND_NS);
    // Five seconds of the machine, the one without a recorder among them, none twice.
    assert_eq!(job.summary.system.whole(Metric::CpuNs, Stat::Total), Some(500));
    assert_eq!(job.summary.system.whole(Metric::EnergyPackageUj, Stat::Total), Some(5_000));
    assert_eq!(job.summary.system.whole(Metric::MemoryUsedBytes, Stat::Max), Some(9));
    // Half of what the machine did was the first rank's for two seconds; then the other used a third of three.
    let joules = |index: usize| job.ranks[index].energy_joules.expect("energy");
    assert!((joules(0) - 1e-3).abs() < 1e-9, "{}", joules(0));
    assert!((joules(1) - 1e-3).abs() < 5e-5, "{}", joules(1));
    let package = job.summary.combined.get(Metric::EnergyPackageUj, Stat::Total).expect("energy");
    assert_eq!(package.quality, Quality::Estimate);
    assert!((node.energy_joules.expect("energy") - joules(0) - joules(1)).abs() < 1e-12);
}

#[test]
fn ranks_that_all_recorded_are_counted_once() {
    let runs = vec![rank(0, "a", 0, 4, 1, 10), rank(1, "a", 1, 2, 1, 10), rank(2, "a", 1, 5, 1, 10)];
    let rows = |until: u64| {
        let row = |second: u64| (second, [Some(0), Some(second * 100), None, Some(5)]);
        Stream { rows: (0..=until).map(row).collect(), based: None }
    };
    let job = merged(runs, &[rows(4), rows(2), rows(5)]);
    // From the start of the first to the end of the last, six seconds.
    assert_eq!(job.summary.system.whole(Metric::CpuNs, Stat::Total), Some(600));
    let recorders: Vec<_> = job.nodes[0].recorders.iter().map(|recorder| recorder.rank).collect();
    assert_eq!(recorders, [Some(0), Some(2)], "the one in between adds nothing");
    assert_eq!(job.nodes[0].longest_gap_ns, 0);
}

#[test]
fn containers_of_one_machine_are_one_node_and_hosts_with_names_are_several() {
    let names = |runs: Vec<RankRun>| {
        let streams: Vec<Stream> = runs.iter().map(|_| Stream { rows: Vec::new(), based: None }).collect();
        merged(runs, &streams).nodes.iter().map(|node| (node.name.clone(), node.ranks)).collect::<Vec<_>>()
    };
    let one =
        |number, host: &str, boot: &str, is_contained| on(rank(number, host, 0, 1, 1, 1), boot, is_contained);
    let contained = vec![one(0, "3fa1", "x", true), one(1, "77b2", "x", true), one(2, "9c00", "y", true)];
    assert_eq!(names(contained), [("3fa1".to_owned(), 2), ("9c00".to_owned(), 1)]);
    let beside = vec![one(0, "3fa1", "x", true), one(1, "host", "x", false)];
    assert_eq!(names(beside), [("host".to_owned(), 2)]);
    let virtual_nodes = vec![one(0, "n1", "x", false), one(1, "n2", "x", false)];
    assert_eq!(names(virtual_nodes).len(), 2);
    // A scheduler that runs inside a container says which of its nodes a rank is on.
    let placed = |number, node: &str| {
        let mut run = one(number, "3fa1", "x", true);
        run.summary.run.job.as_mut().expect("a job").node = Some(node.to_owned());
        run
    };
    let placed = names(vec![placed(0, "n1"), placed(1, "n1"), placed(2, "n2")]);
    assert_eq!(placed, [("n1".to_owned(), 2), ("n2".to_owned(), 1)]);
}

#[test]
fn clocks_that_a_file_server_has_seen_are_put_right() {
    let with_time = |mut run: RankRun, boot: &str, ahead_ns: i64| {
        run = on(run, boot, false);
        run.summary.run.started_unix_ns = run.summary.run.started_unix_ns.saturating_add_signed(ahead_ns);
        let began = run.summary.run.started_unix_ns;
        let machine = run.summary.run.job.as_mut().and_then(|job| job.machine.as_mut()).expect("a machine");
        machine.store_server = "files:/home".to_owned();
        // The server's clock is right; its stamp lies 1 ms after what our clock said before.
        let stamp_unix_ns = began.saturating_add_signed(-ahead_ns) + 1_000_000;
        let (before_unix_ns, after_unix_ns) = (began, began + 2_000_000);
        machine.store_times.push(StoreTime { before_unix_ns, after_unix_ns, stamp_unix_ns });
        run
    };
    let level = |second: u64, bytes: u64| (second, [None, None, None, Some(bytes)]);
    let streams = || [0, 1].map(|_| Stream { rows: vec![level(0, 1)], based: None });
    let runs = || {
        vec![
            with_time(rank(0, "a", 0, 4, 1, 1), "x", 0),
            with_time(rank(1, "b", 0, 4, 1, 1), "y", 30 * SECOND_NS as i64),
        ]
    };
    let job = merged(runs(), &streams());
    assert_eq!(job.clocks.method, ClockMethod::FileServer);
    // The clock of b is 30 s ahead: without the correction the job would seem to take 34 s.
    let wall_ns = job.summary.run.wall_ns.expect("an end");
    assert!(wall_ns.abs_diff(4 * SECOND_NS) < 20_000_000, "{wall_ns}");
    // Each offset is known to within 2 ms of the call and 10 ms of the server's step: half of that, twice.
    assert_eq!(job.clocks.uncertainty_ns, Some(12_000_000));
    assert!((job.clocks.nodes[1].offset_ns + 30 * SECOND_NS as i64).unsigned_abs() < 6_000_001);
    let doubts: Vec<&str> = job.summary.warnings.iter().map(|warning| warning.text.as_str()).collect();
    assert!(doubts.iter().any(|text| text.contains("to within 12.0 ms")), "{doubts:?}");

    // Other servers have other clocks; nothing is then known.
    let mut apart = runs();
    let job = apart[1].summary.run.job.as_mut().and_then(|job| job.machine.as_mut()).expect("a machine");
    job.store_server = "others:/home".to_owned();
    let job = merged(apart, &streams());
    assert_eq!((job.clocks.method, job.clocks.uncertainty_ns), (ClockMethod::Unknown, None));
    assert!(job.summary.warnings.iter().any(|warning| warning.text.contains("taken as they are")));
    // One boot has one clock, whatever the nodes are called.
    let one = vec![on(rank(0, "n1", 0, 4, 1, 1), "x", false), on(rank(1, "n2", 0, 4, 1, 1), "x", false)];
    let job = merged(one, &streams());
    assert_eq!((job.clocks.method, job.clocks.uncertainty_ns), (ClockMethod::OneClock, Some(0)));
    assert!(!job.summary.warnings.iter().any(|warning| warning.text.contains("clock")));
}
