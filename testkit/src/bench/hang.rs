//! How soon a job gets a signal, and a run is over, while the store of the record does not answer.

use crate::metered::{Metered, Place};
use crate::table::{Table, held, median};
use jobmeter_testkit::frozen::Disk;
use jobmeter_testkit::sys;
use std::fs;
use std::io::{self, Write};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

const ROUNDS: usize = 5;
/// A row is handed over a few times a second: by then a store that hangs has been found.
const FOUND_AFTER_MS: u64 = 600;
const SIGNAL_LIMIT_MS: f64 = 100.0;
const END_LIMIT_MS: f64 = 1000.0;

/// Writes when it got TERM, and ends.
const UNTIL_TERM: &str = "trap 'date +%s%N > got; exit 3' TERM; echo > ready; while :; do sleep 0.01; done";

pub(crate) fn print(place: &Place) -> io::Result<()> {
    let Some(disk) = Disk::mount(&place.path("image"), place.path("disk"))? else {
        let why = "No store that hangs: it takes root, mkfs.ext4 and a loop mount.";
        return writeln!(io::stdout(), "\n{why}");
    };
    let mut table = Table::new(&["the store", "signal ms", "at most", "end ms", "at most", "held"]);
    for hangs in [false, true] {
        let (mut signals, mut ends) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let (signal_ms, end_ms) = round(place, &disk, hangs)?;
            signals.push(signal_ms);
            ends.push(end_ms);
        }
        let (signal_ms, end_ms) = (median(signals), median(ends));
        table.row(vec![
            if hangs { "hangs" } else { "answers" }.to_owned(),
            format!("{signal_ms:.1}"),
            format!("{SIGNAL_LIMIT_MS:.0}"),
            format!("{end_ms:.1}"),
            format!("{END_LIMIT_MS:.0}"),
            held(signal_ms <= SIGNAL_LIMIT_MS && end_ms <= END_LIMIT_MS),
        ]);
    }
    table.print(&format!("TERM to a job whose record cannot be written (median of {ROUNDS})"))
}

/// From TERM until the job had it, and until jobmeter was gone.
fn round(place: &Place, disk: &Disk, hangs: bool) -> io::Result<(f64, f64)> {
    let folder = place.path("hang");
    fs::create_dir_all(&folder)?;
    let (ready, got) = (folder.join("ready"), folder.join("got"));
    for file in [&ready, &got] {
        // Absent before the first round.
        let _ = fs::remove_file(file);
    }
    let mut command = place.command(&place.jobmeter);
    command.args(["run", "-q", "-i", "10ms", "--", "sh", "-c", UNTIL_TERM]).current_dir(&folder);
    command.env("JOBMETER_STORE", disk.path().join("store"));
    let mut metered = Metered::start(command)?;
    metered.wait_for_file(&ready)?;
    if hangs && !disk.freeze() {
        return Err(io::Error::other("the file system could not be frozen"));
    }
    sys::sleep_ms(FOUND_AFTER_MS);
    let sent_ns = unix_ns()?;
    // SAFETY: our own child, not yet waited for.
    unsafe { libc::kill(metered.child.id() as i32, libc::SIGTERM) };
    let start = Instant::now();
    metered.child.wait()?;
    let end_ms = start.elapsed().as_secs_f64() * 1e3;
    if hangs {
        disk.thaw();
    }
    let got_ns = fs::read_to_string(&got)?.trim().parse::<u128>().map_err(io::Error::other)?;
    Ok((got_ns.saturating_sub(sent_ns) as f64 / 1e6, end_ms))
}

fn unix_ns() -> io::Result<u128> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(io::Error::other)?;
    Ok(now.as_nanos())
}
