//! Writes made-up runs as pages and pictures: `sample_report DIR`. Used by the browser tests and to look at.

mod synthetic;

use jobmeter_model::{Column, Event, Metric, Scope, Sink, Verdict};
use jobmeter_report::{RunData, html, plot};
use std::path::Path;
use synthetic::Plan;
use synthetic::ranks::{self, JobPlan};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = std::env::args().nth(1).ok_or("usage: sample_report DIR")?;
    let dir = Path::new(&dir);
    std::fs::create_dir_all(dir)?;
    std::fs::write(dir.join("expected.json"), expected())?;
    let sample = synthetic::run(&Plan::default());
    let hostile = synthetic::run(&Plan {
        hostile: true,
        label: synthetic::hostile_names()[0].clone(),
        ..Plan::default()
    });
    let brief = synthetic::run(&short());
    let slow = synthetic::run(&Plan {
        ticks: 4_200,
        factor: 1.15,
        label: "train-resnet, larger batch".into(),
        gpu: false,
        ..Plan::default()
    });
    page(&dir.join("sample.html"), std::slice::from_ref(&sample))?;
    page(&dir.join("hostile.html"), std::slice::from_ref(&hostile))?;
    page(&dir.join("short.html"), std::slice::from_ref(&brief))?;
    page(&dir.join("failed.html"), &[failed()])?;
    page(&dir.join("sets.html"), &sets())?;
    page(&dir.join("ranks.html"), &[ranks::job(&JobPlan { ranks: 96, ticks: 240, gpu: true })])?;
    page(&dir.join("many-ranks.html"), &[ranks::job(&JobPlan { ranks: 1_024, ticks: 60, gpu: false })])?;
    std::fs::write(dir.join("static.html"), html::render_static(std::slice::from_ref(&hostile))?)?;
    for (name, theme) in [("light", plot::Theme::Light), ("dark", plot::Theme::Dark)] {
        let options = plot::PlotOptions { theme, width: 800, ..plot::PlotOptions::default() };
        picture(dir, &format!("plot-{name}"), std::slice::from_ref(&sample), &options)?;
    }
    picture(dir, "plot-hostile", std::slice::from_ref(&hostile), &plot::PlotOptions::default())?;
    let both = [sample, slow];
    page(&dir.join("compare.html"), &both)?;
    picture(dir, "plot-compare", &both, &plot::PlotOptions::default())?;
    Ok(())
}

/// A run that was killed, on a machine whose network and swap were never used.
fn failed() -> RunData {
    let mut run = synthetic::run(&Plan { gpu: false, label: "nightly".into(), ..short() });
    run.summary.verdict = Verdict {
        kind: "oom_killed".into(),
        signal: Some(9),
        text: "the kernel's OOM killer ended the job with SIGKILL after 12 s".into(),
        evidence: vec!["oom_kill of the job's control group rose from 0 to 1; its limit is 12.9 GB".into()],
        ..run.summary.verdict
    };
    let quiet = [Metric::NetReceiveBytes, Metric::NetTransmitBytes, Metric::PsiMemorySomeNs];
    for series in run.series.iter_mut().filter(|series| quiet.contains(&series.column.metric)) {
        for point in series.points.iter_mut().flatten() {
            (point.mean, point.min, point.max) = (0.0, 0.0, 0.0);
        }
        series.peak.iter_mut().for_each(|peak| peak.value = 0.0);
    }
    run
}

/// Six runs each of two versions of a job; the second takes longer and needs more.
fn sets() -> Vec<RunData> {
    let run = |place: u64| {
        let (version, factor) = if place < 6 { ("base", 1.0) } else { ("larger batch", 1.3) };
        let ticks = if place < 6 { 100 } else { 130 } + place % 6;
        let factor = factor * (1.0 + (place % 6) as f64 / 100.0);
        let plan = Plan { ticks, factor, processes: 5, gpu: false, label: version.into(), ..short() };
        let mut run = synthetic::run(&plan);
        run.summary.run.started_unix_ns += place * 3_600_000_000_000;
        run
    };
    (0..12).map(run).collect()
}

/// The short run as the browser tests must find it, taken from the ticks themselves and not from the reduction.
fn short() -> Plan {
    Plan { ticks: 120, interval_ns: 100_000_000, processes: 40, label: "short".into(), ..Plan::default() }
}

/// Remembers the largest RAM of the job and when it was seen.
#[derive(Default)]
struct Witness {
    columns: Vec<Column>,
    peak: (u64, u64),
}

impl Sink for Witness {
    fn define(&mut self, column: &Column) {
        self.columns.push(column.clone());
    }

    fn event(&mut self, _: &Event) {}

    fn tick(&mut self, t_ns: u64, values: &[Option<u64>]) {
        let ram =
            self.columns.iter().position(|column| *column == Column::of(Scope::Combined, Metric::RssBytes));
        let value = ram.and_then(|index| values[index]).unwrap_or(0);
        self.peak = self.peak.max((value, t_ns));
    }
}

fn expected() -> String {
    let peak = |plan: &Plan| {
        let mut witness = Witness::default();
        synthetic::play(plan, &mut witness);
        let (bytes, t_ns) = witness.peak;
        format!("{{\"t_s\": {}, \"bytes\": {bytes}}}", t_ns as f64 / 1e9)
    };
    let (short, sample) = (peak(&short()), peak(&Plan::default()));
    format!("{{\"short\": {short}, \"sample\": {sample}}}\n")
}

fn page(path: &Path, runs: &[RunData]) -> Result<(), Box<dyn std::error::Error>> {
    Ok(std::fs::write(path, html::render(runs)?)?)
}

fn picture(
    dir: &Path,
    name: &str,
    runs: &[RunData],
    options: &plot::PlotOptions,
) -> Result<(), Box<dyn std::error::Error>> {
    let scene = plot::scene(runs, options)?;
    std::fs::write(dir.join(format!("{name}.svg")), plot::to_svg(&scene))?;
    Ok(std::fs::write(dir.join(format!("{name}.png")), plot::to_png(&scene, 1.0)?)?)
}
