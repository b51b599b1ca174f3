//! The run file against everything that may happen to one: cuts, flips, full disks, old and new versions.

mod common;

use common::{SteadyJob, Story, Told, info, sample_events, summary};
use jobmeter_model::{Column, Metric, Scope, Sink};
use jobmeter_record::{Frame, RecordError, Run, SharedBuffer, Target, Writer, read_digest};
use proptest::prelude::*;
use std::os::unix::fs::PermissionsExt;

/// A short run with everything in it; returns its bytes and what was told.
fn small_run(finish: bool) -> (Vec<u8>, Story) {
    let buffer = SharedBuffer::default();
    let info = info("20261115T220212-1f3a9c");
    let mut writer = Writer::create(Target::Memory(buffer.clone()), &info).unwrap();
    let mut story = Story::default();
    let mut job = SteadyJob::new();
    for sink in [&mut writer as &mut dyn Sink, &mut story] {
        job.define_all(sink);
    }
    for (index, event) in sample_events().iter().enumerate() {
        for sink in [&mut writer as &mut dyn Sink, &mut story] {
            sink.event(event);
            sink.tick(job.t_ns, &job.values);
        }
        job.advance();
        if index == 3 {
            let late = Column::of(Scope::System, Metric::EnergyPackageUj);
            writer.define(&late);
            story.define(&late);
            job.columns.push(late);
            job.values.push(None);
        }
    }
    if finish {
        writer.finish(&summary(&info)).unwrap();
    }
    assert!(writer.error().is_none());
    (buffer.snapshot(), story)
}

fn read_back(bytes: Vec<u8>) -> (Story, Option<String>, bool) {
    let Ok(run) = Run::from_bytes(bytes) else {
        return (Story::default(), Some("refused".to_owned()), false);
    };
    let mut story = Story::default();
    let replayed = run.replay(&mut story);
    (story, replayed.damage.map(|damage| damage.to_string()), replayed.summary.is_some())
}

#[test]
fn a_run_comes_back_as_it_was_told() {
    let (bytes, story) = small_run(true);
    let run = Run::from_bytes(bytes).unwrap();
    assert_eq!(run.info(), &info("20261115T220212-1f3a9c"));
    assert!(run.is_finished());
    let mut read = Story::default();
    let replayed = run.replay(&mut read);
    assert_eq!(read, story);
    assert_eq!(replayed.damage, None);
    assert_eq!(replayed.ticks, 9);
    assert_eq!(replayed.events, 9);
    let expected = summary(run.info());
    assert_eq!(replayed.summary.as_deref(), Some(&expected));
    assert_eq!(run.summary(), Some(expected));
    let told = story.steps.iter().filter(|step| matches!(step, Told::Column(_))).count();
    assert_eq!(run.columns().len(), told);
}

#[test]
fn columns_are_the_same_with_and_without_trailer() {
    let whole = Run::from_bytes(small_run(true).0).unwrap();
    let cut = Run::from_bytes(small_run(false).0).unwrap();
    assert!(!cut.is_finished());
    assert_eq!(cut.summary(), None);
    assert_eq!(whole.columns(), cut.columns());
}

#[test]
fn a_cut_at_every_offset_leaves_a_prefix_and_never_a_panic() {
    let (bytes, story) = small_run(true);
    let mut longest = 0;
    for cut in 0..bytes.len() {
        let (read, damage, has_summary) = read_back(bytes[..cut].to_vec());
        assert!(story.steps.starts_with(&read.steps), "cut at {cut}");
        assert!(read.steps.len() >= longest, "a longer file told less, cut at {cut}");
        longest = read.steps.len();
        if cut < 12 {
            assert_eq!(damage.as_deref(), Some("refused"));
        }
        assert!(!has_summary || longest == story.steps.len());
    }
    assert_eq!(longest, story.steps.len());
}

#[test]
fn at_most_the_last_tick_is_lost_by_a_cut() {
    let (bytes, _) = small_run(false);
    let run = Run::from_bytes(bytes.clone()).unwrap();
    let mut ends = Vec::new();
    // The byte length after each tick: what a kill right after that tick's write leaves.
    for cut in 0..=bytes.len() {
        if let Ok(run) = Run::from_bytes(bytes[..cut].to_vec()) {
            let replayed = run.replay(&mut Story::default());
            if replayed.damage.is_none() && replayed.ticks as usize > ends.len() {
                ends.push(cut);
            }
        }
    }
    assert_eq!(ends.len() as u64, run.replay(&mut Story::default()).ticks);
    for pair in ends.windows(2) {
        for cut in pair[0]..pair[1] {
            let ticks = Run::from_bytes(bytes[..cut].to_vec()).unwrap().replay(&mut Story::default()).ticks;
            assert_eq!(ticks as usize, ends.iter().filter(|end| **end <= cut).count());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn flipped_bits_leave_a_prefix(flips in prop::collection::vec((any::<prop::sample::Index>(), 0u8..8), 1..6)) {
        let (mut bytes, story) = small_run(true);
        for (at, bit) in flips {
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
        }
        let (read, _, _) = read_back(bytes);
        prop_assert!(story.steps.starts_with(&read.steps));
    }

    #[test]
    fn any_bytes_after_a_valid_header_never_panic(tail in any::<Vec<u8>>(), keep in any::<prop::sample::Index>()) {
        let (mut bytes, _) = small_run(true);
        bytes.truncate(12 + keep.index(bytes.len() - 12));
        bytes.extend(tail);
        if let Ok(run) = Run::from_bytes(bytes) {
            run.replay(&mut Story::default());
            run.columns();
            run.summary();
        }
    }
}

#[test]
fn a_hostile_length_allocates_nothing_and_is_damage() {
    let (bytes, _) = small_run(false);
    for lie in [[0xff, 0xff, 0xff, 0x1f].as_slice(), &[0xff; 12], &[0]] {
        let mut bytes = bytes.clone();
        bytes.extend_from_slice(lie);
        let (_, damage, _) = read_back(bytes);
        assert!(damage.is_some());
    }
}

#[test]
fn what_is_no_run_file_is_refused_with_a_reason() {
    let cases: [(&[u8], &str); 4] = [
        (b"", "too short"),
        (b"JOBMET", "too short"),
        (b"#!/bin/sh\nexit 0\n", "does not begin with JOBMETER"),
        (b"JOBMETER\x02\0\0\0rest", "format version 2"),
    ];
    for (bytes, expected) in cases {
        let error = Run::from_bytes(bytes.to_vec()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let directory = tempfile::tempdir().unwrap();
    let error = Run::open(directory.path()).unwrap_err().to_string();
    assert!(error.contains("not a regular file"), "{error}");
    assert!(Run::open("/dev/zero".as_ref()).is_err());
    assert!(Run::open(&directory.path().join("absent")).unwrap_err().io_kind().is_some());
}

#[test]
fn files_are_private_and_never_overwritten_unasked() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.jobmeter");
    let info = info("x");
    let mut writer = Writer::create(Target::New(path.clone()), &info).unwrap();
    writer.flush();
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert!(matches!(Writer::create(Target::New(path.clone()), &info), Err(RecordError::Exists { .. })));
    let link = directory.path().join("link");
    std::os::unix::fs::symlink(directory.path().join("elsewhere"), &link).unwrap();
    assert!(matches!(Writer::create(Target::New(link.clone()), &info), Err(RecordError::Exists { .. })));
    let fifo = directory.path().join("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    for special in [fifo.as_path(), "/dev/null".as_ref()] {
        let error = Writer::create(Target::Replace(special.to_owned()), &info).unwrap_err().to_string();
        assert!(error.contains("not a regular file"), "{error}");
    }
    Writer::create(Target::Replace(link.clone()), &info).unwrap().flush();
    assert!(link.symlink_metadata().unwrap().is_symlink(), "the link was replaced, not its target");
    assert_eq!(Run::open(&link).unwrap().info(), &info);
    Writer::create(Target::Replace(path.clone()), &info).unwrap().flush();
    assert_eq!(Run::open(&path).unwrap().info(), &info);
}

#[test]
fn a_file_reads_as_memory_does_and_its_digest_is_at_hand() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.jobmeter");
    let (bytes, story) = small_run(true);
    std::fs::write(&path, &bytes).unwrap();
    let mut read = Story::default();
    assert_eq!(Run::open(&path).unwrap().replay(&mut read).damage, None);
    assert_eq!(read, story);
    let digest = read_digest(&path).unwrap();
    assert_eq!(digest.wall_ns, Some(10_000_000_000));
    assert_eq!(digest.peak_rss_bytes, Some(3 << 30));
    assert_eq!(digest.exit_code, Some(0));
    assert!(digest.is_finished());

    std::fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    let digest = read_digest(&path).unwrap();
    assert!(!digest.is_finished());
    assert_eq!(digest.command, ["python", "train.py"]);
    assert_eq!(digest.cpu_ns, None);
}

#[test]
fn a_digest_larger_than_the_tail_is_still_found() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.jobmeter");
    let mut info = info("x");
    info.command = vec!["x".repeat(100_000)];
    let mut writer = Writer::create(Target::New(path.clone()), &info).unwrap();
    writer.finish(&summary(&info)).unwrap();
    let digest = read_digest(&path).unwrap();
    assert_eq!(digest.command, info.command);
    assert!(digest.is_finished());
}

#[test]
fn frames_of_a_later_version_are_passed_over() {
    let (mut bytes, story) = small_run(false);
    // Kind 200, empty payload: length 1, kind, CRC-32 of the kind byte.
    let checksum = crc32fast::hash(&[200]).to_le_bytes();
    bytes.extend([1, 200].iter().chain(&checksum));
    let run = Run::from_bytes(bytes).unwrap();
    let mut frames = run.frames();
    let mut steps = 0;
    while frames.next().is_some() {
        steps += 1;
    }
    assert_eq!((steps, frames.unknown(), frames.damage()), (story.steps.len(), 1, None));
}

#[test]
fn a_steady_one_process_job_takes_at_most_100_bytes_per_tick() {
    let buffer = SharedBuffer::default();
    let mut writer = Writer::create(Target::Memory(buffer.clone()), &info("x")).unwrap();
    let mut job = SteadyJob::new();
    job.define_all(&mut writer);
    for _ in 0..100 {
        job.advance();
        writer.tick(job.t_ns, &job.values);
    }
    let warm = buffer.len();
    for _ in 0..10_000 {
        job.advance();
        writer.tick(job.t_ns, &job.values);
    }
    let per_tick = (buffer.len() - warm) as f64 / 10_000.0;
    assert!(per_tick <= 100.0, "{per_tick} bytes per tick over {} columns", job.columns.len());
}

#[test]
fn a_growing_run_can_be_read_from_memory_and_from_its_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.jobmeter");
    let mut writer = Writer::create(Target::New(path.clone()), &info("x")).unwrap();
    let mut job = SteadyJob::new();
    job.define_all(&mut writer);
    writer.tick(job.t_ns, &job.values);
    wait_for_file(&mut writer, &path);
    let run = Run::open(&path).unwrap();
    let mut frames = run.frames();
    let mut ticks = 0;
    while let Some(frame) = frames.next() {
        ticks += u32::from(matches!(frame, Frame::Tick { .. }));
    }
    job.advance();
    writer.tick(job.t_ns, &job.values);
    wait_for_file(&mut writer, &path);
    assert_eq!((ticks, run.replay(&mut Story::default()).ticks), (1, 2));
}

/// Until the last tick has arrived: the file is written beside us.
fn wait_for_file(writer: &mut Writer, path: &std::path::Path) {
    let began = std::time::Instant::now();
    let mut last = 0;
    while last == 0 || std::fs::metadata(path).unwrap().len() < last {
        assert!(began.elapsed().as_secs() < 60, "the file does not grow");
        std::thread::yield_now();
        // Handed over or not: after an empty flush nothing waits any more.
        writer.flush();
        last = if writer.has_pending() { 0 } else { writer.written_bytes() };
    }
}
