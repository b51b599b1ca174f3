//! The disk fills up, the directory vanishes: the writer falls silent and keeps its first error.

mod common;

use common::{SteadyJob, Story, info, summary};
use jobmeter_model::Sink;
use jobmeter_record::{Run, Target, Writer};
use std::path::Path;

/// Runs `body` in a forked child and fails if the child does. Limits set there stay there.
fn in_child(body: impl FnOnce()) {
    // SAFETY: the test binary's other threads do not exist in the child; it only runs `body` and leaves.
    match unsafe { libc::fork() } {
        0 => {
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).is_ok();
            // SAFETY: leaving without running the parent's exit handlers.
            unsafe { libc::_exit(i32::from(!done)) }
        }
        child => {
            let mut status = -1;
            // SAFETY: waits for the child made above, into a status we own.
            assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
            assert_eq!(status, 0, "the child failed or was killed");
        }
    }
}

fn write_until_error(path: &Path) -> u64 {
    let info = info("x");
    let mut writer = Writer::create(Target::New(path.to_owned()), &info).unwrap();
    let mut job = SteadyJob::new();
    job.define_all(&mut writer);
    let mut ticks = 0;
    for _ in 0..100_000 {
        job.advance();
        let before = writer.written_bytes();
        writer.tick(job.t_ns, &job.values);
        // Real ticks lie far apart: each is taken by itself.
        while writer.written_bytes() == before && writer.error().is_none() {
            std::thread::yield_now();
            writer.flush();
        }
        if writer.error().is_some() {
            break;
        }
        ticks += 1;
    }
    // Later calls do nothing.
    writer.tick(job.t_ns, &job.values);
    let error = writer.finish(&summary(&info)).unwrap_err().to_string();
    assert!(error.starts_with("cannot write "), "{error}");
    assert!(writer.finish(&summary(&info)).is_ok());
    ticks
}

#[test]
fn a_file_size_limit_silences_the_writer_instead_of_killing_us() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.jobmeter");
    in_child(|| {
        let limit = libc::rlimit { rlim_cur: 20_000, rlim_max: 20_000 };
        // SAFETY: sets this child's own limit from a struct we own.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &limit) }, 0);
        let ticks = write_until_error(&path);
        let replayed = Run::open(&path).unwrap().replay(&mut Story::default());
        // What was under way when the write failed is not in the file.
        assert!((10..=ticks).contains(&replayed.ticks), "{} of {ticks}", replayed.ticks);
        assert_eq!(replayed.damage, None);
    });
}

#[test]
fn a_full_disk_leaves_the_whole_prefix() {
    let directory = tempfile::tempdir().unwrap();
    // A tiny tmpfs needs privileges; without them the limit test above covers the same path.
    in_child(|| {
        let mounted = mount_tiny(directory.path());
        if !mounted {
            eprintln!("skipped: a tmpfs may not be mounted here");
            return;
        }
        let path = directory.path().join("a.jobmeter");
        let ticks = write_until_error(&path);
        let replayed = Run::open(&path).unwrap().replay(&mut Story::default());
        assert!((10..=ticks).contains(&replayed.ticks), "{} of {ticks}", replayed.ticks);
        assert_eq!(replayed.damage, None);
        // From here on not even a beginning fits: no empty file is left behind.
        let info = info("y");
        let path = directory.path().join("b.jobmeter");
        fill(&directory.path().join("fill"));
        let failed = match Writer::create(Target::New(path.clone()), &info) {
            Ok(mut writer) => writer.finish(&summary(&info)),
            Err(error) => Err(error),
        };
        assert!(failed.is_err_and(|error| error.to_string().contains("no space")), "the disk is full");
        assert!(!path.exists(), "an empty record was left behind");
    });
}

/// Writes until nothing fits any more.
fn fill(path: &Path) {
    use std::io::Write;
    let mut file = std::fs::File::create(path).unwrap();
    while file.write(&[0; 512]).is_ok_and(|count| count > 0) {}
}

/// A 64 KiB file system in a mount namespace of the calling process alone.
fn mount_tiny(at: &Path) -> bool {
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt;
    let target = CString::new(at.as_os_str().as_bytes()).unwrap();
    // SAFETY: constant and owned C strings; the new namespace belongs to this child only.
    unsafe {
        libc::unshare(libc::CLONE_NEWNS) == 0
            && libc::mount(
                c"none".as_ptr(),
                c"/".as_ptr(),
                std::ptr::null(),
                libc::MS_REC | libc::MS_PRIVATE,
                std::ptr::null(),
            ) == 0
            && libc::mount(
                c"none".as_ptr(),
                target.as_ptr(),
                c"tmpfs".as_ptr(),
                0,
                c"size=64k".as_ptr().cast(),
            ) == 0
    }
}

#[test]
fn a_vanished_directory_does_not_disturb_writing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("gone/a.jobmeter");
    std::fs::create_dir(directory.path().join("gone")).unwrap();
    let info = info("x");
    let mut writer = Writer::create(Target::New(path), &info).unwrap();
    std::fs::remove_dir_all(directory.path().join("gone")).unwrap();
    let mut job = SteadyJob::new();
    job.define_all(&mut writer);
    writer.tick(job.t_ns, &job.values);
    job.advance();
    writer.tick(job.t_ns, &job.values);
    writer.finish(&summary(&info)).unwrap();
    let missing = Target::New(directory.path().join("gone/b.jobmeter"));
    let error = Writer::create(missing, &info).unwrap_err().to_string();
    assert!(error.contains("cannot create") && error.contains("no such file"), "{error}");
}
