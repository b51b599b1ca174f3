//! `JOBMETER_STORE=s3://…`: the run is kept in the local store, the exit status is the job's, and where nothing was uploaded
//! one sentence says so. The uploads themselves are in tools/test_storage.py, which needs the feature and a server.

use crate::help::Room;

#[test]
fn a_run_is_kept_where_it_cannot_be_uploaded() {
    let room = Room::new("object-storage");
    let mut command = room.jobmeter(&["run", "-q", "--", "sh", "-c", "exit 6"]);
    command
        .current_dir(room.path("."))
        .env("JOBMETER_STORE", "s3://bucket/runs")
        .env("XDG_DATA_HOME", room.file("data"));
    // No credentials and no server: nothing is contacted.
    for name in ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"] {
        command.env_remove(name);
    }
    command.env("HOME", room.path("."));
    let run = room.finish(command);
    assert_eq!(run.code, 6, "{}", run.stderr);
    let [line] = run.stderr.lines().collect::<Vec<_>>()[..] else { panic!("one sentence: {}", run.stderr) };
    assert!(line.starts_with("jobmeter: warning: the run was not uploaded to s3://bucket/runs: "), "{line}");
    let kept: Vec<_> = std::fs::read_dir(room.file("data") + "/jobmeter").expect("the local store").collect();
    let [Ok(entry)] = &kept[..] else { panic!("one run: {kept:?}") };
    assert!(line.contains(&*entry.path().to_string_lossy()), "{line}");
    assert!(!room.path("s3:").exists(), "a folder of that name");
}
