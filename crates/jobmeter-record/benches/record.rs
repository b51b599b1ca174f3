//! What the record weighs and how fast it is read back. Prints rows of a Markdown table; figures beyond
//! their limits are marked and end the bench with an error.

#[path = "../tests/common/mod.rs"]
mod common;

use common::{SteadyJob, info, summary};
use jobmeter_core::{Column, Event, Sink};
use jobmeter_record::export::{Format, export_file};
use jobmeter_record::table::Table;
use jobmeter_record::{Filter, Run, SharedBuffer, Store, Target, Writer};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

const LONG_RUN_TICKS: u64 = 1_000_000;
const STORED_RUNS: u32 = 10_000;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, "export", format, from, to] = arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        return export(format, Path::new(from), Path::new(to));
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut rows = Rows { failed: false };
    rows.put("what", "measured", "limit", true);
    rows.put("---", "---", "---", true);
    bytes_per_tick(&mut rows);
    listing(&mut rows, directory.path());
    long_run(&mut rows, directory.path());
    std::process::exit(i32::from(rows.failed));
}

struct Rows {
    failed: bool,
}

impl Rows {
    fn put(&mut self, what: &str, measured: &str, limit: &str, holds: bool) {
        let mark = if holds { "" } else { " **exceeded**" };
        let line = format!("| {what} | {measured}{mark} | {limit} |\n");
        std::io::stdout().write_all(line.as_bytes()).expect("standard output");
        self.failed |= !holds;
    }
}

fn bytes_per_tick(rows: &mut Rows) {
    let buffer = SharedBuffer::default();
    let mut writer = Writer::create(Target::Memory(buffer.clone()), &info("x")).expect("a writer");
    let mut job = SteadyJob::new();
    job.define_all(&mut writer);
    let ticks: Vec<(u64, Vec<Option<u64>>)> = (0..20_000)
        .map(|_| {
            job.advance();
            (job.t_ns, job.values.clone())
        })
        .collect();
    ticks[..100].iter().for_each(|(t_ns, values)| writer.tick(*t_ns, values));
    let (warm, begin) = (buffer.len(), Instant::now());
    ticks[100..].iter().for_each(|(t_ns, values)| writer.tick(*t_ns, values));
    let count = (ticks.len() - 100) as f64;
    let per_tick = (buffer.len() - warm) as f64 / count;
    let what = format!("bytes per tick, one process, {} columns", job.columns.len());
    rows.put(&what, &format!("{per_tick:.1}"), "100", per_tick <= 100.0);
    let encode_ns = begin.elapsed().as_nanos() as f64 / count;
    rows.put("encoding a tick", &format!("{encode_ns:.0} ns"), "–", true);
}

fn listing(rows: &mut Rows, directory: &Path) {
    let store = Store::at(directory.join("store"));
    for number in 0..STORED_RUNS {
        let mut info = info(&format!("20260101T{number:06}-abcdef"));
        info.started_unix_ns += u64::from(number);
        let mut writer = store.create(&info).expect("a stored run");
        writer.tick(0, &[]);
        writer.finish(&summary(&info)).expect("a finished run");
    }
    let time = best_of(5, || {
        let listing = store.list(&Filter::default(), None).expect("a listing");
        assert_eq!(listing.runs.len() as u32, STORED_RUNS);
        assert!(jobmeter_record::listing::text(&listing.runs, Some(120)).len() > 1_000_000);
    });
    let milliseconds = time.as_secs_f64() * 1e3;
    rows.put("listing 10,000 runs", &format!("{milliseconds:.0} ms"), "200 ms", milliseconds < 200.0);
}

/// Takes a stream and forgets it: what reading alone costs.
#[derive(Default)]
struct Nowhere {
    sum: u64,
}

impl Sink for Nowhere {
    fn define(&mut self, _column: &Column) {}

    fn event(&mut self, _event: &Event) {}

    fn tick(&mut self, t_ns: u64, values: &[Option<u64>]) {
        self.sum ^= t_ns ^ values.last().copied().flatten().unwrap_or(0);
    }
}

fn long_run(rows: &mut Rows, directory: &Path) {
    let path = directory.join("long.jobmeter");
    let info = info("long");
    let mut writer = Writer::create(Target::New(path.clone()), &info).expect("a writer");
    let mut job = SteadyJob::new();
    job.define_all(&mut writer);
    for _ in 0..LONG_RUN_TICKS {
        job.advance();
        writer.tick(job.t_ns, &job.values);
    }
    writer.finish(&summary(&info)).expect("a finished run");
    let size = path.metadata().expect("the file").len() as f64 / 1e6;
    let run = Run::open(&path).expect("the run");
    let time = best_of(3, || {
        let mut sink = Nowhere::default();
        assert_eq!(run.replay(&mut sink).ticks, LONG_RUN_TICKS);
        assert_ne!(sink.sum, 1);
    });
    let what = format!("reading 1,000,000 ticks ({size:.0} MB)");
    rows.put(&what, &format!("{:.2} s", time.as_secs_f64()), "2 s", time.as_secs_f64() < 2.0);
    for (format, limited) in [("parquet", true), ("arrow", false), ("csv", false)] {
        let (time, peak_bytes) = export_in_child(format, &path, &directory.join(format));
        let (seconds, megabytes) = (time.as_secs_f64(), peak_bytes as f64 / 1e6);
        let measured = format!("{seconds:.2} s, {megabytes:.0} MB");
        let limit = if limited { "2 s, 300 MB" } else { "–" };
        let holds = !limited || (seconds < 2.0 && megabytes < 300.0);
        rows.put(&format!("{format} export of 1,000,000 ticks"), &measured, limit, holds);
    }
}

fn best_of(times: u32, mut body: impl FnMut()) -> Duration {
    let one = |_| {
        let begin = Instant::now();
        body();
        begin.elapsed()
    };
    (0..times).map(one).min().unwrap_or_default()
}

fn export(format: &str, from: &Path, to: &Path) {
    let run = Run::open(from).expect("the run");
    let format = Format::from_key(format).expect("a format");
    export_file(&run, Table::Samples, format, to, true).expect("an export");
}

/// Wall time and peak memory of an export in a process of its own; the best of three.
fn export_in_child(format: &str, from: &Path, to: &Path) -> (Duration, u64) {
    let mut peak_bytes = 0;
    let time = best_of(3, || {
        let mut child = std::process::Command::new(std::env::current_exe().expect("this program"))
            .args(["export".as_ref(), format.as_ref(), from.as_os_str(), to.as_os_str()])
            .spawn()
            .expect("a child");
        // SAFETY: the kernel fills the struct we own, for a child of ours.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        let mut status = 0;
        // SAFETY: as above.
        let waited = unsafe { libc::wait4(child.id() as i32, &mut status, 0, &mut usage) };
        assert_eq!((waited, status), (child.id() as i32, 0));
        // Already reaped; this only settles the handle.
        drop(child.try_wait());
        peak_bytes = peak_bytes.max(usage.ru_maxrss as u64 * 1024);
    });
    (time, peak_bytes)
}
