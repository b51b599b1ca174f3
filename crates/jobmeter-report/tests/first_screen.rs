//! The first screen of eleven kinds of runs at three widths, with and without colour and UTF-8, held by golden files.
//! `UPDATE_GOLDEN=1 cargo nextest run -p jobmeter-report --test first_screen` writes them anew: look at the difference.

use jobmeter_model::summary::{EntityFigures, Limits, Overhead, RunInfo, SCHEMA_VERSION, Warning};
use jobmeter_model::verdict::{Circumstances, of_status, of_watch};
use jobmeter_model::{Figure, Figures, Metric, Mode, Number, Quality, Stat, Summary, Verdict, WarningKind};
use jobmeter_report::text::{Beside, Screen, Style, brief};
use std::collections::BTreeMap;
use std::path::Path;

const SIGKILL: i32 = 9;
const SIGSEGV: i32 = 11;
const DUMPED: i32 = 0x80;

fn summary(wall_ns: u64, verdict: Verdict) -> Summary {
    let mut combined = Figures::new();
    combined.set(Metric::CpuNs, Stat::Total, Figure::int(19_400_000_000, Quality::Exact));
    combined.set(Metric::CpuNs, Stat::RateMean, Figure::float(0.75, Quality::Exact));
    combined.set(Metric::CpuNs, Stat::RateMax, Figure::float(2.0, Quality::Sampled));
    combined.set(Metric::RssBytes, Stat::Max, Figure::int(770_000_000, Quality::Sampled));
    combined.set(Metric::ReadStorageBytes, Stat::Total, Figure::int(515_000_000, Quality::Exact));
    combined.set(Metric::WriteStorageBytes, Stat::Total, Figure::int(630_000_000, Quality::Exact));
    combined.set(Metric::Processes, Stat::Total, Figure::int(16, Quality::Exact));
    combined.set(Metric::Processes, Stat::Max, Figure::int(6, Quality::Sampled));
    combined.set(Metric::Threads, Stat::Max, Figure::int(24, Quality::Sampled));
    let mut system = Figures::new();
    system.set(Metric::MemoryTotalBytes, Stat::Max, Figure::int(25_300_000_000, Quality::Exact));
    Summary {
        schema_version: SCHEMA_VERSION,
        run: RunInfo {
            name: Some("train".to_owned()),
            command: vec!["./train.sh".to_owned(), "--epochs".to_owned(), "3".to_owned()],
            mode: Mode::Run,
            pid: 4312,
            expected_cores: 2.0,
            system_cores: 2,
            wall_ns: Some(wall_ns),
            ..RunInfo::default()
        },
        verdict,
        main: Figures::new(),
        containers: Default::default(),
        descendants: Figures::new(),
        combined,
        system,
        cores: Vec::new(),
        disks: Vec::new(),
        mounts: Vec::new(),
        networks: Vec::new(),
        gpus: Vec::new(),
        limits: Limits::default(),
        sources: Vec::new(),
        warnings: Vec::new(),
        overhead: Overhead::default(),
    }
}

fn ended(status: i32) -> Verdict {
    of_status(status, &Circumstances::default())
}

fn gpu(index: usize, used: &str) -> EntityFigures {
    let mut figures = Figures::new();
    figures.set(Metric::GpuBusyPpm, Stat::Mean, Figure::int(550_000, Quality::Sampled));
    figures.set(Metric::GpuMemoryBytes, Stat::Max, Figure::int(40_000_000_000, Quality::Sampled));
    figures.set(Metric::GpuMemoryTotalBytes, Stat::Max, Figure::int(86_000_000_000, Quality::Exact));
    figures.set(Metric::GpuPowerMw, Stat::Max, Figure::int(333_000, Quality::Sampled));
    let facts = [("index", index.to_string()), ("visible", "yes".to_owned()), ("used", used.to_owned())];
    let facts: BTreeMap<String, String> = facts.map(|(key, value)| (key.to_owned(), value)).into();
    EntityFigures { name: format!("GPU-{index}"), figures, facts }
}

fn cases() -> Vec<(&'static str, Summary)> {
    const LONG_NS: u64 = 25_900_000_000;
    let success = || summary(LONG_NS, ended(0));
    let mut failure = summary(7_300_000_000, ended(3 << 8));
    failure.run.name = None;
    let mut doubtful = success();
    let peak = Figure::int(770_000_000, Quality::Sampled);
    let upper = Some(Number::Int(1_630_000_000));
    doubtful.combined.set(Metric::RssBytes, Stat::Max, Figure { upper, ..peak });
    let text = "no record is kept: /var/lib/runs is full, and nothing could be removed from it to make room for this run";
    doubtful.warnings.push(Warning { kind: WarningKind::Record, text: text.to_owned() });
    let mut oom = summary(
        7_300_000_000,
        of_status(SIGKILL, &Circumstances { oom_kills: Some(1), ..Circumstances::default() }),
    );
    oom.limits.cgroup_memory_bytes = Some(8 << 30);
    let late = Circumstances { timed_out_after_ns: Some(10_000_000_000), ..Circumstances::default() };
    let timeout = summary(10_000_000_000, of_status(15, &late));
    let running = summary(LONG_NS, of_watch("running", "is running"));
    let crashed = summary(LONG_NS, of_watch("crashed", "the record ends"));
    let mut one_gpu = success();
    one_gpu.gpus = vec![gpu(0, "yes")];
    let mut many_gpus = success();
    many_gpus.gpus = (0..8).map(|index| gpu(index, if index < 6 { "yes" } else { "no" })).collect();
    let mut moment = summary(1_000_000, ended(0));
    moment.run.command = vec!["true".to_owned()];
    moment.run.name = None;
    // One look at the shell before it had read its libraries.
    let peak = Figure::int(258_000, Quality::Sampled);
    let upper = Some(Number::Int(2_260_000));
    moment.combined.set(Metric::RssBytes, Stat::Max, Figure { upper, ..peak });
    moment.combined.set(Metric::CpuNs, Stat::Total, Figure::int(912_000, Quality::Exact));
    let mut attached = summary(LONG_NS, of_watch("detached", "goes on"));
    attached.run.mode = Mode::Attach;
    attached.run.name = None;
    attached.run.command =
        vec!["/usr/bin/日本語/python3".to_owned(), "-c".to_owned(), "x\u{1b}[31m\n".repeat(40)];
    vec![
        ("success", success()),
        ("failure", failure),
        ("doubtful", doubtful),
        ("signal", summary(7_300_000_000, ended(SIGSEGV | DUMPED))),
        ("oom", oom),
        ("timeout", timeout),
        ("running", running),
        ("crashed-meter", crashed),
        ("gpu", one_gpu),
        ("many-gpus", many_gpus),
        ("one-millisecond", moment),
        ("attach", attached),
    ]
}

/// Columns of the terminal that a line takes, without what only sets colours.
fn columns(line: &str) -> usize {
    let mut shown = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        shown += before;
        rest = after.split_once('m').map_or("", |(_, text)| text);
    }
    unicode_width::UnicodeWidthStr::width((shown + rest).as_str())
}

#[test]
fn first_screens_are_as_they_were_and_fit() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/golden/first-screen");
    let is_update = std::env::var_os("UPDATE_GOLDEN").is_some();
    let mut wrong = Vec::new();
    for (case, summary) in cases() {
        let mut all = String::new();
        let screens = [(80, false), (60, false), (120, false), (80, true), (60, true), (120, true)];
        let screens = screens
            .into_iter()
            .flat_map(|(width, colored)| [(width, colored, true), (width, colored, false)]);
        for (width, colored, is_utf8) in screens {
            let style = Style { colored, ..Style::default() };
            let beside = Beside { run: Some("last"), ..Beside::default() };
            let text = brief(&summary, beside, Screen { width: Some(width), is_utf8 }, style);
            for line in text.lines() {
                assert!(columns(line) <= width, "{case}: {} columns of {width}: {line:?}", columns(line));
                assert!(is_utf8 || line.is_ascii(), "{case}: {line:?}");
            }
            let colors = if colored { ", colours" } else { "" };
            let signs = if is_utf8 { "" } else { ", ASCII" };
            all += &format!("== {width} columns{colors}{signs}\n{}\n", text.replace('\u{1b}', "\\e"));
        }
        let path = folder.join(format!("{case}.txt"));
        if is_update {
            std::fs::create_dir_all(&folder).expect("the folder of the golden files");
            std::fs::write(&path, all).expect("a golden file");
        } else if std::fs::read_to_string(&path).unwrap_or_default() != all {
            wrong.push(case);
        }
    }
    assert!(wrong.is_empty(), "the first screen changed: {wrong:?}; UPDATE_GOLDEN=1 shows the difference");
}

#[test]
fn the_full_summary_fits_every_width_with_and_without_colour() {
    for (name, summary) in cases() {
        for width in [60, 80, 120] {
            for colored in [false, true] {
                let style = Style { colored, ..Style::default() };
                let text = jobmeter_report::text::summary(&summary, style, Some(width));
                for line in text.lines() {
                    assert!(columns(line) <= width, "{name} at {width}: {line}");
                }
            }
        }
    }
}
