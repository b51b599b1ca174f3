//! Recorded runs looked at afterwards: a file of a million ticks through the real binary, a store of ten
//! thousand runs. Decoding the file is part of every figure.
//!
//! All of this is work on one core, so the limit is held against the CPU time as well as the wall time being
//! shown: on a machine that others use, wall time measures the others.

use crate::metered::Place;
use crate::table::{Table, held};
use std::fs::{self, File};
use std::io;
use std::mem;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

const TICKS: u64 = 1_000_000;
const LONG_TICKS: u64 = 10_000_000;
const STORED_RUNS: u64 = 10_000;
const ROUNDS: usize = 3;
const MEGABYTE: f64 = 1e6;

/// What one call cost: the least of some rounds in time, the most in memory.
struct Cost {
    cpu_s: f64,
    wall_s: f64,
    peak_bytes: f64,
}

/// Seconds and bytes that a call may take.
type Limits = (f64, f64);

pub(crate) fn print(place: &Place) -> io::Result<()> {
    let (whole, cut) = (place.path("million.jobmeter"), place.path("cut.jobmeter"));
    generate(place, "run", TICKS, &whole)?;
    fs::copy(&whole, &cut)?;
    // Without its last bytes the file looks like one of a killed recorder: the summary comes from the ticks.
    let file = File::options().write(true).open(&cut)?;
    file.set_len(file.metadata()?.len() - 64)?;
    let store = place.path("ten-thousand");
    generate(place, "store", STORED_RUNS, &store)?;
    let limits = (2.0, 300.0 * MEGABYTE);
    let mut table = Table::new(&["command", "CPU s", "wall s", "at most s", "peak MB", "at most MB", "held"]);
    for (name, file, words) in [
        ("show, summary stored", &whole, &["show"][..]),
        ("show, summary from the ticks", &cut, &["show"]),
        ("show --phases --processes --timeline", &whole, &["show", "--phases", "--processes", "--timeline"]),
        ("export -f parquet", &whole, &["export", "--force", "-o", "x.parquet"]),
        ("report", &whole, &["report", "--force", "-o", "x.html"]),
        ("plot -o x.png", &whole, &["plot", "--force", "-o", "x.png"]),
    ] {
        let cost = least(|| with_file(place, words, file))?;
        row(&mut table, name, &cost, limits);
    }
    let cost = least(|| {
        let mut command = place.command(&place.jobmeter);
        command.arg("ls").env("JOBMETER_STORE", &store);
        command
    })?;
    row(&mut table, &format!("ls of {STORED_RUNS} runs"), &cost, (0.2, limits.1));
    let size = fs::metadata(&whole)?.len() as f64 / MEGABYTE;
    table.print(&format!("Recorded runs: {TICKS} ticks in {size:.0} MB (least time of {ROUNDS})"))
}

/// Every format streams: memory does not grow with the run. Takes minutes, so only when asked for.
pub(crate) fn print_long(place: &Place) -> io::Result<()> {
    let file = place.path("long.jobmeter");
    generate(place, "run", LONG_TICKS, &file)?;
    let mut table = Table::new(&["export", "CPU s", "wall s", "at most s", "peak MB", "at most MB", "held"]);
    for name in ["csv", "jsonl", "parquet", "arrow", "sqlite"] {
        let mut command = with_file(place, &["export", "--table", "samples", "-f", name], &file);
        // Text would fill the disk with ten gigabytes that nobody reads: it goes to standard output, which is null.
        let output = (!matches!(name, "csv" | "jsonl")).then(|| place.path(&format!("long.{name}")));
        if let Some(output) = &output {
            command.arg("-o").arg(output);
        }
        let cost = measure(&mut command)?;
        row(&mut table, name, &cost, (f64::INFINITY, 256.0 * MEGABYTE));
        if let Some(output) = &output {
            fs::remove_file(output)?;
        }
    }
    table.print(&format!("Export of {LONG_TICKS} ticks"))
}

fn generate(place: &Place, what: &str, count: u64, path: &Path) -> io::Result<()> {
    let generator = place.jobmeter.with_file_name("examples").join("recorded_run");
    let status = Command::new(&generator).arg(what).arg(count.to_string()).arg(path).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        other => Err(io::Error::other(format!(
            "{} failed ({other:?}); build it with `cargo build --release --example recorded_run -p jobmeter-report`",
            generator.display()
        ))),
    }
}

fn with_file(place: &Place, words: &[&str], file: &Path) -> Command {
    let mut command = place.command(&place.jobmeter);
    command.args(words).arg(file).current_dir(place.path(""));
    command
}

fn least(command: impl Fn() -> Command) -> io::Result<Cost> {
    let mut best = measure(&mut command())?;
    for _ in 1..ROUNDS {
        let cost = measure(&mut command())?;
        best = Cost {
            cpu_s: best.cpu_s.min(cost.cpu_s),
            wall_s: best.wall_s.min(cost.wall_s),
            peak_bytes: best.peak_bytes.max(cost.peak_bytes),
        };
    }
    Ok(best)
}

/// Runs a command to its end; what it cost comes from the kernel, by `wait4`.
fn measure(command: &mut Command) -> io::Result<Cost> {
    let start = Instant::now();
    let pid = command.spawn()?.id() as libc::pid_t;
    let mut status = 0;
    // SAFETY: a plain struct of integers, filled by the kernel for a child of ours that nobody else waits for.
    let mut usage: libc::rusage = unsafe { mem::zeroed() };
    // SAFETY: as above.
    if unsafe { libc::wait4(pid, &mut status, 0, &mut usage) } != pid {
        return Err(io::Error::last_os_error());
    }
    let wall_s = start.elapsed().as_secs_f64();
    if status != 0 {
        return Err(io::Error::other(format!("{command:?} ended with wait status {status}")));
    }
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    Ok(Cost {
        cpu_s: seconds(usage.ru_utime) + seconds(usage.ru_stime),
        wall_s,
        peak_bytes: usage.ru_maxrss as f64 * 1024.0,
    })
}

fn row(table: &mut Table, name: &str, cost: &Cost, (most_s, most_bytes): Limits) {
    let limit = |value: f64, unit: f64| {
        if value.is_finite() { format!("{:.1}", value / unit) } else { "–".to_owned() }
    };
    table.row(vec![
        name.to_owned(),
        format!("{:.3}", cost.cpu_s),
        format!("{:.3}", cost.wall_s),
        limit(most_s, 1.0),
        format!("{:.1}", cost.peak_bytes / MEGABYTE),
        limit(most_bytes, MEGABYTE),
        held(cost.cpu_s <= most_s && cost.peak_bytes <= most_bytes),
    ]);
}
