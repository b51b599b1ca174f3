//! jobmeter killed at random moments: what it had written is readable, and at most one tick is missing.

use crate::help::{Room, code_of, is_running, send, testkit, wait_until};
use jobmeter_model::Summary;
use std::time::{Duration, Instant};

const ROUNDS: u64 = 200;
/// Rounds that go on at a time: nearly all of a round is sleep.
const AT_A_TIME: u64 = 4;
const INTERVAL: Duration = Duration::from_millis(10);
/// Much longer than the last moment of death: on a busy machine that comes late.
const JOB_MS: &str = "10000";

/// Spreads the moments of death over the first quarter of a second, the same in every run of the test.
fn moment(round: u64) -> Duration {
    Duration::from_micros((round * 2_654_435_761) % 250_000)
}

/// Kills a meter and reads what it left: the time that its record lost, or nothing where it had not begun.
fn kill_one(room: &Room, round: u64) -> Option<Duration> {
    let testkit = testkit();
    let testkit = testkit.to_str().expect("a UTF-8 path");
    let name = format!("{round}.jobmeter");
    let file = room.file(&name);
    let mut child = room
        .jobmeter(&["run", "-q", "-i", "10ms", "--record", &file, "--", testkit, "sleep", JOB_MS])
        .spawn()
        .expect("start jobmeter");
    wait_until("the record exists", || room.path(&name).exists());
    let seen = Instant::now();
    std::thread::sleep(moment(round));
    let alive = seen.elapsed();
    send(child.id(), libc::SIGKILL);
    assert_eq!(code_of(&mut child), 137);

    let show = || room.finish(room.jobmeter(&["show", "-f", "json", &file]));
    let shown = show();
    if std::fs::metadata(&file).expect("stat").len() == 0 {
        // Killed between making the file and writing its header: nothing to show, and said so.
        assert_eq!(shown.code, 125, "{}", shown.stderr);
        return None;
    }
    assert_eq!(shown.code, 0, "round {round}: {}", shown.stderr);
    let summary: Summary = serde_json::from_slice(&shown.stdout).expect("JSON");
    // While the job outlives its meter the run is called running.
    send(summary.run.pid as u32, libc::SIGKILL);
    wait_until("the job is over", || !is_running(summary.run.pid as u32));
    let summary: Summary = serde_json::from_slice(&show().stdout).expect("JSON");
    assert_eq!(summary.verdict.kind, "crashed", "round {round}");
    let recorded = Duration::from_nanos(summary.run.wall_ns.unwrap_or_default());
    assert!(recorded <= alive + Duration::from_millis(250), "round {round}: more time than there was");
    Some(alive.saturating_sub(recorded))
}

#[test]
fn the_record_survives_two_hundred_kills() {
    let room = &Room::new("kills");
    let mut lost: Vec<Duration> = std::thread::scope(|scope| {
        let rows: Vec<_> = (0..AT_A_TIME)
            .map(|first| {
                let rounds = (first..ROUNDS).step_by(AT_A_TIME as usize);
                scope.spawn(move || rounds.filter_map(|round| kill_one(room, round)).collect::<Vec<_>>())
            })
            .collect();
        rows.into_iter().flat_map(|row| row.join().expect("its rounds passed")).collect()
    });
    lost.sort();
    assert!(lost.len() as u64 >= ROUNDS * 9 / 10, "only {} records had a header", lost.len());
    let median = lost[lost.len() / 2];
    let worst = lost[lost.len() - 1];
    eprintln!("{} records, lost time: median {median:?}, worst {worst:?}", lost.len());
    // The tick under way is lost, one interval at most; another interval for the way from the file's birth to
    // the first tick. The scheduler of a busy machine can delay single rounds, not half of them.
    assert!(median <= 2 * INTERVAL, "median {median:?}");
    assert!(worst <= 30 * INTERVAL, "worst {worst:?}");
}
