//! The throughput that is left to a process with 4 GB of 4K pages which maps, faults and unmaps all the time.

use crate::metered::Place;
use crate::table::{Table, held, median};
use std::io;

const RESIDENT: &str = "4096M";
const BLOCK: &str = "16M";
const SECONDS: &str = "6";
const ROUNDS: usize = 5;
const KEPT_AT_LEAST: f64 = 0.99;

pub(crate) fn print(place: &Place) -> io::Result<()> {
    let (mut bare, mut metered) = (Vec::new(), Vec::new());
    let (mut slowest_bare, mut slowest_metered) = (0.0_f64, 0.0_f64);
    for _ in 0..ROUNDS {
        let (pages, slowest) = round(place, false)?;
        bare.push(pages);
        slowest_bare = slowest_bare.max(slowest);
        let (pages, slowest) = round(place, true)?;
        metered.push(pages);
        slowest_metered = slowest_metered.max(slowest);
    }
    let spread =
        bare.iter().copied().fold(0.0, f64::max) / bare.iter().copied().fold(f64::MAX, f64::min) - 1.0;
    let kept = median(metered.clone()) / median(bare.clone());
    let mut table =
        Table::new(&["4 GB resident", "pages per s", "slowest round ms", "kept", "at least", "held"]);
    let none = || "–".to_owned();
    table.row(vec![
        "bare".to_owned(),
        format!("{:.0}", median(bare)),
        format!("{:.1}", slowest_bare / 1e3),
        none(),
        none(),
        none(),
    ]);
    table.row(vec![
        "jobmeter run -i 100ms".to_owned(),
        format!("{:.0}", median(metered)),
        format!("{:.1}", slowest_metered / 1e3),
        format!("{:.2} %", 100.0 * kept),
        format!("{:.0} %", 100.0 * KEPT_AT_LEAST),
        held(kept >= KEPT_AT_LEAST),
    ]);
    table.print(&format!(
        "Map, fault, unmap (median of {ROUNDS} × {SECONDS} s, interleaved; bare rounds differ by {:.1} %)",
        100.0 * spread
    ))
}

/// (pages per second, slowest round in µs)
fn round(place: &Place, metered: bool) -> io::Result<(f64, f64)> {
    let mut command = if metered {
        let mut command = place.command(&place.jobmeter);
        command.args(["run", "-q", "-i", "100ms", "--"]).arg(&place.testkit);
        command
    } else {
        place.command(&place.testkit)
    };
    command.args(["map-fault", RESIDENT, BLOCK, SECONDS]).arg(place.path("fault"));
    let status = command.status()?;
    if !status.success() {
        return Err(io::Error::other(format!("the map-fault workload failed: {status}")));
    }
    Ok((place.number("fault", "pages_per_s")?, place.number("fault", "slowest_round_us")?))
}
