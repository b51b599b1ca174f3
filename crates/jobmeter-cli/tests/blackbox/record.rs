//! The run file: private, small, shown again as it was printed, and never in the way of the job.

use crate::help::{Room, is_root, not_here};
use jobmeter_model::Summary;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

#[test]
fn shown_again_it_is_the_same_summary() {
    let room = Room::new("show");
    let run = room.run(&["-i", "20ms"], &["sh", "-c", "sleep 0.2; exit 3"]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    let printed = serde_json::to_value(run.summary()).expect("JSON");
    let files = room.store_files();
    assert_eq!(files.len(), 1, "{files:?}");
    let mode = std::fs::metadata(&files[0]).expect("stat").permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    for what in ["last", files[0].to_str().expect("a UTF-8 path")] {
        let shown = room.finish(room.jobmeter(&["show", "-f", "json", what]));
        assert_eq!(shown.code, 0, "{}", shown.stderr);
        let shown: Summary = serde_json::from_slice(&shown.stdout).expect("JSON");
        assert_eq!(serde_json::to_value(shown).expect("JSON"), printed);
    }
}

#[test]
fn the_text_is_the_same_too() {
    let room = Room::new("show-text");
    let run = room.finish(room.jobmeter(&["run", "--", "sh", "-c", "sleep 0.1"]));
    let shown = room.finish(room.jobmeter(&["show", "last"]));
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    assert_eq!(String::from_utf8_lossy(&shown.stdout).trim(), run.stderr.trim());
}

#[test]
fn no_record_means_no_file() {
    let room = Room::new("no-record");
    assert_eq!(room.run(&["--no-record"], &["true"]).code, 0);
    assert!(room.store_files().is_empty());
    assert!(!room.path("store").exists(), "the store was made for nothing");
}

#[test]
fn a_named_record_is_written_there_and_not_over_another() {
    let room = Room::new("named");
    let file = room.file("mine.jobmeter");
    let run = room.run(&["--record", &file], &["true"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let before = std::fs::read(&file).expect("the record");
    assert!(!before.is_empty());
    let touched = room.file("touched");
    let run = room.finish(room.jobmeter(&["run", "--record", &file, "--", "touch", &touched]));
    assert_eq!(run.code, 125, "{}", run.stderr);
    assert!(!room.path("touched").exists());
    assert_eq!(std::fs::read(&file).expect("the record"), before, "the first record was changed");
}

#[test]
fn showing_what_is_no_record_is_a_clear_error() {
    let room = Room::new("no-such-record");
    std::fs::write(room.path("text"), "not a record\n").expect("write");
    std::fs::write(room.path("empty"), "").expect("write");
    for what in
        [room.file("missing"), room.file("text"), room.file("empty"), room.file(""), "last".to_owned()]
    {
        let run = room.finish(room.jobmeter(&["show", &what]));
        assert_eq!(run.code, 125, "{what}: {}", run.stderr);
        assert!(
            run.stderr.starts_with("jobmeter: ") && run.stderr.trim_end().lines().count() == 1,
            "{}",
            run.stderr
        );
    }
}

/// At steady state, so that header, columns and trailer do not count: the difference of two runs.
#[test]
fn a_tick_of_a_small_job_takes_at_most_a_hundred_bytes() {
    let room = Room::new("bytes");
    let mut sizes = Vec::new();
    for (name, ms) in [("short.jobmeter", "500"), ("long.jobmeter", "4500")] {
        let run = room.run_testkit(&["-i", "10ms", "--record", &room.file(name)], &["sleep", ms]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let bytes = std::fs::metadata(room.path(name)).expect("stat").len();
        sizes.push((bytes as f64, run.summary().run.ticks as f64));
    }
    let per_tick = (sizes[1].0 - sizes[0].0) / (sizes[1].1 - sizes[0].1);
    eprintln!("{per_tick:.1} bytes per tick: {sizes:?}");
    assert!(sizes[1].1 - sizes[0].1 > 200.0, "too few ticks to tell: {sizes:?}");
    assert!(per_tick <= 100.0, "{per_tick} bytes per tick");
}

fn warnings_about_the_record(stderr: &str) -> usize {
    stderr.lines().filter(|line| line.contains("record")).count()
}

#[test]
fn a_full_disk_does_not_touch_the_job() {
    let room = Room::new("full");
    let mount_point = room.path("disk");
    let Some(_disk) = SmallDisk::mount(&mount_point) else {
        return not_here("a small tmpfs needs root and the right to mount");
    };
    let record = room.file("disk/full.jobmeter");
    let script = "echo begin; sleep 2; echo end; exit 5";
    let run =
        room.finish(room.jobmeter(&["run", "-i", "1ms", "--record", &record, "--", "sh", "-c", script]));
    assert_eq!(run.code, 5, "{}", run.stderr);
    assert_eq!(run.stdout, b"begin\nend\n");
    assert!(run.stderr.lines().count() > 5, "no summary: {}", run.stderr);
    assert_eq!(warnings_about_the_record(&run.stderr), 1, "{}", run.stderr);
}

/// A tmpfs of 32 KiB, unmounted at the end.
struct SmallDisk<'a>(&'a Path);

impl SmallDisk<'_> {
    fn mount(path: &Path) -> Option<SmallDisk<'_>> {
        std::fs::create_dir(path).expect("make the mount point");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=32k", "tmpfs"]).arg(path);
        (is_root() && mount.output().is_ok_and(|output| output.status.success())).then_some(SmallDisk(path))
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).status();
    }
}

#[test]
fn a_store_that_cannot_be_made_does_not_touch_the_job() {
    let room = Room::new("no-store");
    std::fs::write(room.path("occupied"), "a file").expect("write");
    let mut command = room.jobmeter(&["run", "--", "sh", "-c", "echo fine; exit 4"]);
    let run = room.finish({
        command.env("JOBMETER_STORE", room.path("occupied/store"));
        command
    });
    assert_eq!(run.code, 4, "{}", run.stderr);
    assert_eq!(run.stdout, b"fine\n");
    assert!(run.stderr.lines().count() > 5, "no summary: {}", run.stderr);
    assert_eq!(warnings_about_the_record(&run.stderr), 1, "{}", run.stderr);
}

#[test]
fn a_store_that_vanishes_does_not_touch_the_job() {
    let room = Room::new("vanished");
    let script = format!("rm -r '{}'; sleep 0.3; echo fine; exit 4", room.file("store"));
    let run = room.finish(room.jobmeter(&["run", "-i", "10ms", "--", "sh", "-c", &script]));
    assert_eq!(run.code, 4, "{}", run.stderr);
    assert_eq!(run.stdout, b"fine\n");
    assert!(run.stderr.lines().count() > 5, "no summary: {}", run.stderr);
}
