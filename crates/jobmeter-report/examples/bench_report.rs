//! How long a million ticks take from stream to page, and how much memory: one Markdown row.
//! `bench_report [TICKS] [OUTPUT.html] [PROCESSES]`, to be built with --release.

mod synthetic;

use jobmeter_model::{Column, Event, Sink};
use jobmeter_report::{SeriesBuilder, html};
use std::io::Write;
use std::time::{Duration, Instant};
use synthetic::Plan;

/// Passes the stream on and measures only the builder's share, not the making-up of values.
struct Timed {
    builder: SeriesBuilder,
    spent: Duration,
}

impl Sink for Timed {
    fn define(&mut self, column: &Column) {
        self.builder.define(column);
    }

    fn event(&mut self, event: &Event) {
        self.builder.event(event);
    }

    fn tick(&mut self, t_ns: u64, values: &[Option<u64>]) {
        let started = Instant::now();
        self.builder.tick(t_ns, values);
        self.spent += started.elapsed();
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let ticks = std::env::args().nth(1).map_or(Ok(1_000_000), |text| text.parse())?;
    let processes = std::env::args().nth(3).map_or(Ok(Plan::default().processes), |text| text.parse())?;
    let plan = Plan { ticks, processes, ..Plan::default() };
    let mut timed = Timed { builder: SeriesBuilder::new(plan.buckets), spent: Duration::ZERO };
    synthetic::play(&plan, &mut timed);
    let started = Instant::now();
    let run = timed.builder.finish("million", synthetic::summary(&plan));
    let columns = run.series.len();
    let page = html::render(std::slice::from_ref(&run))?;
    let rendered = started.elapsed();
    if let Some(path) = std::env::args().nth(2) {
        std::fs::write(path, &page)?;
    }
    let total = timed.spent + rendered;
    let mut out = std::io::stdout().lock();
    writeln!(out, "| report of | columns | reduce | render | total | page | peak RAM |")?;
    writeln!(out, "|---|---|---|---|---|---|---|")?;
    writeln!(
        out,
        "| {ticks} ticks, {processes} processes | {columns} | {:.2} s | {:.2} s | {:.2} s | {:.0} kB | {} |",
        timed.spent.as_secs_f64(),
        rendered.as_secs_f64(),
        total.as_secs_f64(),
        page.len() as f64 / 1e3,
        peak_ram()
    )?;
    Ok(())
}

/// The kernel's high-water mark of this process.
fn peak_ram() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kib = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse::<f64>().ok());
    kib.map_or("unknown".to_owned(), |kib| format!("{:.0} MB", kib * 1024.0 / 1e6))
}
