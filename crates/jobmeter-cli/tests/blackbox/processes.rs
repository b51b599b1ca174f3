//! Every process that lived, short ones included: one start and one end each, with its name, and an exact count
//! where the kernel tells of them. Where it does not (perf events refused), the count is an honest lower bound.

use crate::help::{JOBMETER, Room, Run, figure, not_here, pid_namespace, testkit};
use jobmeter_model::{Column, Event, Quality, Sink};
use jobmeter_record::table::ProcessRow;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// How the ring is opened: for all CPUs where the user may, else inherited by the job's tree.
const WAYS: [Way; 2] = [Way::AsThisUser, Way::WithoutPrivileges];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    AsThisUser,
    WithoutPrivileges,
}

/// Takes the privileges to watch whole CPUs away from what the command will exec; nothing to take from a plain
/// user.
pub(crate) fn without_privileges(command: &mut Command) {
    const CAP_SYS_ADMIN: libc::c_ulong = 21;
    const CAP_PERFMON: libc::c_ulong = 38;
    // SAFETY: prctl is async-signal-safe.
    unsafe {
        command.pre_exec(|| {
            for capability in [CAP_SYS_ADMIN, CAP_PERFMON] {
                libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0);
            }
            Ok(())
        });
    }
}

#[derive(Default)]
struct Counts {
    starts: u64,
    ends: u64,
    renames: u64,
}

impl Sink for Counts {
    fn define(&mut self, _column: &Column) {}

    fn event(&mut self, event: &Event) {
        match event {
            Event::ProcessStart { .. } => self.starts += 1,
            Event::ProcessEnd { .. } => self.ends += 1,
            Event::ProcessRename { .. } => self.renames += 1,
            _ => {}
        }
    }

    fn tick(&mut self, _t_ns: u64, _values: &[Option<u64>]) {}
}

struct Measured {
    run: Run,
    rows: Vec<ProcessRow>,
    counts: Counts,
}

impl Measured {
    /// The ring's row in the sources: whether it was used, and the words.
    fn source(&self) -> (bool, String) {
        let sources = &self.run.summary().sources;
        let ring = sources.iter().find(|source| source.name == "perf_ring").expect("a row of the ring");
        (ring.used, ring.detail.clone())
    }

    /// One start and one end for each of `processes`, and an exact count; or the reason why that cannot be had.
    fn assert_exact(&self, processes: usize) -> bool {
        let total = figure(&self.run.summary().combined, "processes_total");
        let (is_used, detail) = self.source();
        eprintln!("{total:?}; perf_ring: {detail}; {:?}", self.run.summary().warnings);
        if !is_used {
            assert!(total.as_f64().is_some_and(|count| count <= processes as f64), "{total:?}");
            not_here(&detail);
            return false;
        }
        assert_eq!(total.quality, Quality::Exact, "{total:?}: {detail}");
        assert_eq!(total.as_u64(), Some(processes as u64), "{total:?}");
        assert_eq!((self.counts.starts, self.counts.ends), (processes as u64, processes as u64));
        assert_eq!(self.rows.len(), processes);
        for row in &self.rows {
            assert!(row.end_ns.is_some_and(|end_ns| end_ns >= row.begin_ns), "{row:?}");
            assert!(!row.name.is_empty(), "{row:?}");
        }
        true
    }
}

fn measure(room: &Room, way: Way, options: &[&str], command: &[&str]) -> Measured {
    let (summary, record) = (room.file("summary.json"), room.file("record.jobmeter"));
    let mut arguments = vec!["run", "-f", "json", "--force", "-o", &summary, "--record", &record];
    arguments.extend(options);
    if way == Way::WithoutPrivileges {
        arguments.push("--follow");
    }
    arguments.push("--");
    arguments.extend(command);
    let mut jobmeter = room.jobmeter(&arguments);
    if way == Way::WithoutPrivileges {
        without_privileges(&mut jobmeter);
    }
    let run = room.finish(jobmeter);
    assert_eq!(run.code, 0, "{command:?}: {}", run.stderr);
    let recorded = jobmeter_record::Run::open(&room.path("record.jobmeter")).expect("the record");
    let mut counts = Counts::default();
    recorded.replay(&mut counts);
    Measured { run, rows: recorded.processes(), counts }
}

fn measure_testkit(room: &Room, way: Way, options: &[&str], workload: &[&str]) -> Measured {
    let testkit = testkit();
    let mut command = vec![testkit.to_str().expect("a UTF-8 path")];
    command.extend(workload);
    measure(room, way, options, &command)
}

#[test]
fn two_thousand_short_children_one_by_one() {
    let room = Room::new("one-by-one");
    for way in WAYS {
        let measured = measure_testkit(&room, way, &["-i", "1s"], &["spawn-short", "2000", "2"]);
        if !measured.assert_exact(2001) {
            continue;
        }
        let main_pid = measured.run.summary().run.pid;
        let wall_ns = measured.run.summary().run.wall_ns.expect("a wall time");
        let mut children: Vec<&ProcessRow> = measured.rows.iter().filter(|row| row.pid != main_pid).collect();
        assert_eq!(children.len(), 2000);
        children.sort_by_key(|row| row.begin_ns);
        let mut before_ns = 0;
        for child in children {
            assert_eq!((child.name.as_str(), child.parent_pid), ("testkit", Some(main_pid)));
            let end_ns = child.end_ns.expect("an end");
            // Each burned 2 ms, one after the other: the kernel's own times show it.
            assert!(end_ns - child.begin_ns >= 2_000_000, "{child:?}");
            assert!(child.begin_ns >= before_ns, "{child:?} began before the one before ended");
            assert!(end_ns <= wall_ns, "{child:?}");
            before_ns = end_ns;
        }
    }
}

#[test]
fn processes_that_others_reaped_have_their_exit_status() {
    let room = Room::new("statuses");
    // The connector is opened a moment after the start, for the sake of shorter jobs.
    let script = "sleep 0.2; for i in $(seq 120); do sh -c 'exit 3'; done; sh -c 'kill -9 $$'; exit 0";
    for way in WAYS {
        let measured = measure(&room, way, &[], &["sh", "-c", script]);
        let sources = &measured.run.summary().sources;
        if !sources.iter().any(|source| source.name == "exit_events" && source.used) {
            not_here("the kernel does not tell the ends of processes here (containers, Linux before 6.6)");
            continue;
        }
        let known =
            measured.rows.iter().filter(|row| row.exit_code.is_some() || row.signal.is_some()).count();
        let total = measured.rows.len();
        assert!(known * 100 >= total * 99, "{way:?}: {known} of {total}");
        let killed = measured.rows.iter().filter(|row| row.signal == Some(9)).count();
        let threes = measured.rows.iter().filter(|row| row.exit_code == Some(3)).count();
        eprintln!("{way:?}: {known} of {total} statuses, {threes} with code 3, {killed} killed");
        if measured.source().0 {
            assert_eq!((threes, killed), (120, 1), "{way:?}");
        }
        for row in &measured.rows {
            assert!(row.cpu_ns != Some(0) && row.peak_rss_bytes != Some(0), "unknown is not 0: {row:?}");
        }
    }
}

/// Whether a descriptor of a process tells how it ended.
fn kernel_keeps_statuses() -> bool {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").expect("the kernel's name");
    let mut numbers = release.split('.').map_while(|number| number.parse::<u32>().ok());
    (numbers.next(), numbers.next()) >= (Some(6), Some(15))
}

/// As in a container: nothing is told there of the ends of processes.
#[test]
fn in_a_pid_namespace_processes_that_ticks_have_seen_have_their_exit_status() {
    let Some(mut jobmeter) = pid_namespace() else { return };
    if !kernel_keeps_statuses() {
        return not_here("kernels before 6.15 do not keep how a process ended");
    }
    let room = Room::new("namespace-statuses");
    let record = room.file("record.jobmeter");
    let script = "sleep 1 & sh -c 'sleep 0.8; exit 3'; sh -c 'sleep 0.6; kill -9 $$'; wait";
    // Without an interval a job that sleeps is looked at once a second after a while.
    jobmeter.args([JOBMETER, "run", "-q", "-i", "20ms", "--record"]);
    jobmeter.args([&record, "--", "sh", "-c", script]).env("JOBMETER_STORE", room.path("store"));
    let run = room.finish(jobmeter);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let rows = jobmeter_record::Run::open(&room.path("record.jobmeter")).expect("the record").processes();
    let mut ends: Vec<_> = rows.iter().map(|row| (row.exit_code, row.signal)).collect();
    ends.sort_unstable();
    let (zero, three, killed) = ((Some(0), None), (Some(3), None), (None, Some(9)));
    assert_eq!(ends, [killed, zero, zero, zero, zero, three], "{rows:?}");
}

#[test]
fn ticks_and_events_tell_each_process_once() {
    let room = Room::new("once");
    for way in WAYS {
        for interval in ["2ms", "20ms"] {
            measure_testkit(&room, way, &["-i", interval], &["spawn-short", "500", "2"]).assert_exact(501);
            measure_testkit(&room, way, &["-i", interval], &["spawn-exec", "100", "2"]).assert_exact(101);
            let zombies = measure_testkit(&room, way, &["-i", interval], &["zombies", "50", "100"]);
            zombies.assert_exact(51);
        }
    }
}

#[test]
fn many_at_once() {
    let room = Room::new("at-once");
    for way in WAYS {
        for interval in ["10ms", "1s"] {
            let truth = room.file("truth");
            let measured = measure_testkit(&room, way, &["-i", interval], &["many", "400", "50", &truth]);
            measured.assert_exact(400);
        }
    }
}

/// Orphans come to jobmeter: their parents are gone when they end.
#[test]
fn daemons_are_told_too() {
    let room = Room::new("told-daemons");
    for way in WAYS {
        let options = ["-i", "1s", "--wait-descendants"];
        let measured = measure_testkit(&room, way, &options, &["daemons", "20", "3"]);
        if measured.assert_exact(41) {
            // We reaped them, so that their exit is known.
            let known = measured.rows.iter().filter(|row| row.exit_code == Some(0)).count();
            assert!(known >= 20, "the exit of {known} processes is known");
        }
    }
}

#[test]
fn names_follow_exec() {
    let room = Room::new("exec-names");
    for way in WAYS {
        let script = "env true; sleep 0.01; exec env sleep 0.05";
        let measured = measure(&room, way, &["-i", "1s"], &["bash", "-c", script]);
        if !measured.assert_exact(3) {
            continue;
        }
        let main_pid = measured.run.summary().run.pid;
        let main = measured.rows.iter().find(|row| row.pid == main_pid).expect("main");
        assert_eq!(main.name, "sleep", "{main:?}");
        assert_eq!(main.begin_ns, 0);
        let mut children: Vec<&str> =
            measured.rows.iter().filter(|row| row.pid != main_pid).map(|row| row.name.as_str()).collect();
        children.sort_unstable();
        assert_eq!(children, ["sleep", "true"]);
    }
}

/// A tick has met the process before it execs: the new name is an event of its own.
#[test]
fn a_known_process_that_execs_is_renamed() {
    let room = Room::new("renamed");
    for way in WAYS {
        let measured = measure(&room, way, &["-i", "5ms"], &["bash", "-c", "sleep 0.1; exec sleep 0.1"]);
        if measured.assert_exact(2) {
            let main_pid = measured.run.summary().run.pid;
            let main = measured.rows.iter().find(|row| row.pid == main_pid).expect("main");
            assert_eq!((main.first_name.as_deref(), main.name.as_str()), (Some("bash"), "sleep"));
        }
    }
}

#[test]
fn threads_are_no_processes() {
    let room = Room::new("no-threads");
    for way in WAYS {
        // At 10 ms a tick meets the process whose first thread is gone, and follows another one.
        let cases = [
            ("1s", &["threads", "8", "20"][..]),
            ("1s", &["leader-exit", "200", "0"]),
            ("10ms", &["leader-exit", "200", "0"]),
        ];
        for (interval, workload) in cases {
            let measured = measure_testkit(&room, way, &["-i", interval], workload);
            if measured.assert_exact(1) {
                let end_ns = measured.rows[0].end_ns.expect("an end");
                let wall_ns = measured.run.summary().run.wall_ns.expect("a wall time");
                // Not the end of the first thread that left.
                assert!(end_ns <= wall_ns && wall_ns - end_ns < wall_ns / 2, "{end_ns} of {wall_ns}");
            }
        }
    }
}

#[test]
fn without_events_the_count_is_a_lower_bound() {
    let room = Room::new("refused");
    let measured =
        measure_testkit(&room, Way::AsThisUser, &["-i", "1s", "--no-perf"], &["spawn-short", "300", "2"]);
    let (is_used, detail) = measured.source();
    assert!(!is_used && detail == "not wanted", "{detail}");
    let total = figure(&measured.run.summary().combined, "processes_total");
    assert_eq!(total.quality, Quality::LowerBound, "{total:?}");
    assert!(total.reason.is_some() && total.as_u64().is_some_and(|count| count <= 301), "{total:?}");
    assert_eq!(measured.counts.starts, measured.rows.len() as u64);
}

#[test]
fn the_same_name_again_is_no_event() {
    let room = Room::new("renames");
    let script = "i=0; while [ $i -lt 60 ]; do printf x > /proc/self/comm; i=$((i+1)); done";
    let measured = measure(&room, Way::AsThisUser, &["-i", "5ms"], &["bash", "-c", script]);
    // The same name again is no news: at most the first change is one.
    assert!(measured.counts.renames <= 1, "{} renames", measured.counts.renames);
}
