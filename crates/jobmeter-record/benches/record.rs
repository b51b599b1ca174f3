//! What the record weighs and how fast it is read back. Prints rows of a Markdown table; figures beyond
//! their limits are marked and end the bench with an error. Limits are held against CPU time, which all of
//! this work consists of: wall time on a busy machine measures the neighbours.

#[path = "../tests/common/mod.rs"]
mod common;

use common::{SteadyJob, info, summary};
use jobmeter_model::{Column, Event, Sink};
use jobmeter_record::export::{Format, export_file};
use jobmeter_record::table::Table;
use jobmeter_record::{Filter, Run, SharedBuffer, Store, Target, Writer};
use std::io::Write;
use std::path::Path;
use std::time::Instant;

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
    let (warm, begin) = (buffer.len(), cpu_s());
    ticks[100..].iter().for_each(|(t_ns, values)| writer.tick(*t_ns, values));
    let count = (ticks.len() - 100) as f64;
    let per_tick = (buffer.len() - warm) as f64 / count;
    let what = format!("bytes per tick, one process, {} columns", job.columns.len());
    rows.put(&what, &format!("{per_tick:.1}"), "100", per_tick <= 100.0);
    let encode_ns = (cpu_s() - begin) * 1e9 / count;
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
    let what = "listing 10,000 runs";
    rows.put(what, &time.text(), "200 ms", time.cpu_s < 0.2);
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
    rows.put(&what, &time.text(), "2 s", time.cpu_s < 2.0);
    for (format, limited) in [("parquet", true), ("arrow", false), ("csv", false)] {
        let (time, peak_bytes) = export_in_child(format, &path, &directory.join(format));
        let megabytes = peak_bytes as f64 / 1e6;
        let measured = format!("{}, {megabytes:.0} MB", time.text());
        let limit = if limited { "2 s, 300 MB" } else { "–" };
        let holds = !limited || (time.cpu_s < 2.0 && megabytes < 300.0);
        rows.put(&format!("{format} export of 1,000,000 ticks"), &measured, limit, holds);
    }
}

/// The least of several takes.
#[derive(Debug, Clone, Copy)]
struct Taken {
    cpu_s: f64,
    wall_s: f64,
}

impl Taken {
    fn text(&self) -> String {
        format!("{:.0} ms CPU, {:.0} ms wall", self.cpu_s * 1e3, self.wall_s * 1e3)
    }

    fn least(self, other: Taken) -> Taken {
        Taken { cpu_s: self.cpu_s.min(other.cpu_s), wall_s: self.wall_s.min(other.wall_s) }
    }
}

fn best_of(times: u32, mut body: impl FnMut()) -> Taken {
    let one = |_| {
        let (begin, before_s) = (Instant::now(), cpu_s());
        body();
        Taken { cpu_s: cpu_s() - before_s, wall_s: begin.elapsed().as_secs_f64() }
    };
    (0..times).map(one).reduce(Taken::least).expect("at least one take")
}

/// CPU time of this process and of the children it has waited for.
fn cpu_s() -> f64 {
    [libc::RUSAGE_SELF, libc::RUSAGE_CHILDREN].into_iter().map(|who| seconds(&usage_of(who))).sum()
}

fn usage_of(who: libc::c_int) -> libc::rusage {
    // SAFETY: the kernel fills the struct we own.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: as above.
    assert_eq!(unsafe { libc::getrusage(who, &mut usage) }, 0);
    usage
}

fn seconds(usage: &libc::rusage) -> f64 {
    let time = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    time(usage.ru_utime) + time(usage.ru_stime)
}

fn export(format: &str, from: &Path, to: &Path) {
    let run = Run::open(from).expect("the run");
    let format = Format::from_key(format).expect("a format");
    export_file(&run, Table::Samples, format, to, true).expect("an export");
}

/// Time and peak memory of an export in a process of its own; the best of three.
fn export_in_child(format: &str, from: &Path, to: &Path) -> (Taken, u64) {
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
