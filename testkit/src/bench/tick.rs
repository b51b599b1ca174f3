//! CPU time per tick over the floor program's, and jobmeter's own peak memory, by number of processes.

use crate::metered::{Metered, Place};
use crate::table::{Table, held, median};
use jobmeter_testkit::sys;
use std::io;

const INTERVAL_MS: u64 = 100;
const TICKS: u64 = 40;
const ROUNDS: usize = 3;

/// (processes, ratio allowed, peak memory allowed in MB)
const LIMITS: [(u64, f64, Option<f64>); 4] =
    [(1, 2.0, Some(5.0)), (10, 2.0, None), (100, 1.5, None), (1000, 1.5, Some(12.0))];

pub(crate) fn print(place: &Place) -> io::Result<()> {
    let mut table =
        Table::new(&["processes", "floor µs/tick", "jobmeter µs/tick", "ratio", "at most", "held"]);
    let mut memory = Table::new(&["processes", "own peak RSS MB", "at most", "held"]);
    for (processes, ratio_limit, memory_limit) in LIMITS {
        let (mut floors, mut costs, mut peaks) = (Vec::new(), Vec::new(), Vec::new());
        // Interleaved, so that a slow minute of the machine hits both.
        for _ in 0..ROUNDS {
            floors.push(floor_ns(place, processes)?);
            let (cost, peak) = jobmeter_ns(place, processes)?;
            costs.push(cost);
            peaks.push(peak / 1e6);
        }
        let (floor, cost, peak) = (median(floors), median(costs), median(peaks));
        let ratio = cost / floor;
        table.row(vec![
            processes.to_string(),
            format!("{:.1}", floor / 1e3),
            format!("{:.1}", cost / 1e3),
            format!("{ratio:.2}"),
            format!("{ratio_limit:.1}"),
            held(ratio <= ratio_limit),
        ]);
        let limit = memory_limit.map_or("–".to_owned(), |limit| format!("{limit:.0}"));
        let holds = memory_limit.map_or("–".to_owned(), |limit| held(peak <= limit));
        memory.row(vec![processes.to_string(), format!("{peak:.2}"), limit, holds]);
    }
    table.print(&format!("CPU per tick at {INTERVAL_MS} ms (median of {ROUNDS} × {TICKS} ticks)"))?;
    memory.print("Own peak memory")
}

fn floor_ns(place: &Place, processes: u64) -> io::Result<f64> {
    let truth = place.path("floor");
    let mut command = place.command(&place.testkit);
    command.arg("floor").args([processes, INTERVAL_MS, TICKS].map(|number| number.to_string())).arg(&truth);
    if let Ok(plan) = std::env::var("FLOOR") {
        command.args(plan.split_whitespace());
    }
    let status = command.status()?;
    if !status.success() {
        return Err(io::Error::other(format!("the floor program failed: {status}")));
    }
    place.number("floor", "cpu_ns_per_tick")
}

/// (CPU time per tick, peak memory) of jobmeter over a standing tree.
fn jobmeter_ns(place: &Place, processes: u64) -> io::Result<(f64, f64)> {
    place.forget("tree");
    place.forget("tick.jobmeter");
    let mut command = place.command(&place.jobmeter);
    command
        .args(["run", "-q", "-i", &format!("{INTERVAL_MS}ms"), "--record"])
        .arg(place.path("tick.jobmeter"));
    command.arg("--").arg(&place.testkit).args(["many", &processes.to_string(), "600000"]);
    command.arg(place.path("tree"));
    let mut metered = Metered::start(command)?;
    metered.wait_for_file(&place.path("tree"))?;
    // Past the discovery of the tree and the first, dearer ticks.
    sys::sleep_ms(10 * INTERVAL_MS);
    let gone = || io::Error::other("jobmeter has ended too early");
    let start_ns = sys::clock_ns(libc::CLOCK_MONOTONIC);
    let before_ns = metered.cpu_ns().ok_or_else(gone)?;
    sys::sleep_until_ns(start_ns + TICKS * INTERVAL_MS * 1_000_000);
    let after_ns = metered.cpu_ns().ok_or_else(gone)?;
    let peak = metered.peak_rss_bytes()?;
    Ok(((after_ns - before_ns) as f64 / TICKS as f64, peak))
}
