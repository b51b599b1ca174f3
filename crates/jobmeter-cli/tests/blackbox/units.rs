//! The units of the text: chosen by flag, by setting, each kind for itself; JSON keeps its own.

use crate::help::{Room, value};

/// What stands behind a label of the summary.
fn line<'a>(text: &'a str, label: &str) -> &'a str {
    let found = text.lines().find_map(|line| line.trim_start().strip_prefix(label));
    found.unwrap_or_else(|| panic!("no line {label} in:\n{text}")).trim()
}

fn shown(room: &Room, units: &[&str]) -> String {
    let run = room.finish(room.jobmeter(&[&["show", "last", "--full"], units].concat()));
    assert_eq!(run.code, 0, "{}", run.stderr);
    String::from_utf8(run.stdout).expect("UTF-8")
}

/// The number in front of a unit.
fn amount(text: &str, unit: &str) -> f64 {
    let (before, _) = text.split_once(&format!(" {unit}")).unwrap_or_else(|| panic!("no {unit}: {text}"));
    let word = before.rsplit(' ').next().unwrap_or_default().replace(',', "");
    word.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn the_text_speaks_in_the_units_that_are_asked_for() {
    let room = Room::new("units");
    let run = room.run(&["-i", "5ms"], &["sh", "-c", "sleep 0.2"]);
    let bytes = value(&run.summary().combined, "rss_bytes_max");
    let wall_ns = run.summary().run.wall_ns.expect("it ended") as f64;
    let usual = shown(&room, &[]);
    assert_eq!(usual, shown(&room, &["--units", "si"]));
    for (units, unit, size) in [
        ("si", "MB", 1e6),
        ("iec", "MiB", 1048576.0),
        ("ram=kB", "kB", 1e3),
        ("ram=GiB", "GiB", 1073741824.0),
        ("iec,ram=B", "B", 1.0),
    ] {
        let text = shown(&room, &["--units", units]);
        // Three digits, or two behind the point.
        let error = (amount(line(&text, "RAM"), unit) * size - bytes).abs();
        assert!(error <= bytes * 0.006 + size * 0.005, "{units}: {text} against {bytes}");
    }
    for (units, unit, size_ns) in [("time=ms", "ms", 1e6), ("time=s", "s", 1e9), ("time=min", "min", 60e9)] {
        let text = shown(&room, &["--units", units]);
        let error = (amount(line(&text, "time"), unit) * size_ns - wall_ns).abs();
        assert!(error <= wall_ns * 0.006 + size_ns * 0.005, "{units}: {text} against {wall_ns}");
        assert_eq!(line(&text, "RAM"), line(&usual, "RAM"), "only times change");
    }
    // The tables of `show` follow; JSON does not.
    assert!(shown(&room, &["--processes", "--units", "ram=KiB,time=ms"]).contains(" KiB"));
    assert_eq!(shown(&room, &["--json", "--units", "iec,time=h"]), shown(&room, &["--json"]));
}

#[test]
fn settings_choose_units_and_the_flag_wins() {
    let room = Room::new("units-settings");
    let text = |arguments: &[&str]| {
        let mut command = room.jobmeter(&[arguments, &["--", "sleep", "0.1"]].concat());
        command.env("JOBMETER_UNITS", "ram=KiB,time=s");
        let run = room.finish(command);
        assert_eq!(run.code, 0, "{}", run.stderr);
        run.stderr
    };
    let by_setting = text(&["run", "--full"]);
    assert!(line(&by_setting, "RAM").contains(" KiB") && line(&by_setting, "time").ends_with(" s"));
    let by_flag = text(&["run", "--full", "--units", "time=ms"]);
    assert!(!line(&by_flag, "RAM").contains("KiB") && line(&by_flag, "time").ends_with(" ms"));
    let wrong = room.finish(room.jobmeter(&["run", "--units", "ram=GiBs", "--", "true"]));
    assert_eq!(wrong.code, 125);
    assert!(
        wrong.stderr.contains("'GiBs' is not a unit of memory; write si, iec or one of B, kB"),
        "{}",
        wrong.stderr
    );
}
