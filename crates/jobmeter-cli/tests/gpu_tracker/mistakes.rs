//! Mistakes are told before the command starts; warnings and settings.

use crate::place::{Place, text};

#[test]
fn mistakes_are_told_before_the_command_starts() {
    let place = Place::new();
    place.write("there.csv", "old");
    place.write("bad.json", "{\"sleep\": 1}");
    std::fs::create_dir(place.path("folder")).expect("a folder");
    std::os::unix::fs::symlink("no/where", place.path("dangling")).expect("a link");
    std::os::unix::fs::symlink("loop.csv", place.path("loop.csv")).expect("a link");
    let job = "touch started";
    for (options, expected) in [
        (
            &["--ru=foo"][..],
            "\"foo\" is not a valid RAM unit. Valid values are bytes, gigabytes, kilobytes, megabytes, terabytes",
        ),
        (
            &["--gru=foo"],
            "\"foo\" is not a valid GPU RAM unit. Valid values are bytes, gigabytes, kilobytes, megabytes, terabytes",
        ),
        (
            &["--tu", "weeks"],
            "\"weeks\" is not a valid time unit. Valid values are days, hours, minutes, seconds",
        ),
        (&["--st=0.05"], "Sleep time of 0.05 is invalid. Must be at least 0.1 seconds."),
        (&["--st=nan"], "Sleep time of nan is invalid. Must be at least 0.1 seconds."),
        (&["--st=abc"], "\"abc\" is not a number of seconds, such as 0.3."),
        (&["--nec=x"], "\"x\" is not a number of cores, such as 4."),
        (&["--nec=0"], "0 is not a valid number of expected cores. Must be at least 1."),
        (&["-f", "xml"], "\"xml\" is not a valid format. Valid values are \"json\", \"text\" or \"pickle\"."),
        (&["--gb=foo"], "\"foo\" is not a valid GPU brand. Supported values are \"nvidia\" and \"amd\"."),
        (
            &["--tf=x.foo"],
            "Invalid file name: \"x.foo\". Valid file extensions are \".csv\" and \".sqlite\".",
        ),
        (
            &["--tf=there.csv"],
            "File there.csv already exists. Set overwrite to True to overwrite the existing file.",
        ),
        (&["-o", "dangling"], "cannot write dangling: its folder does not exist; make it first"),
        (&["-o", "folder"], "cannot write folder: it is a folder; name a file in it"),
        (&["--tf=loop.csv", "--overwrite"], "cannot write loop.csv: too many levels of symbolic links"),
        (&["-o", "no/out.txt"], "cannot write no/out.txt: its folder does not exist; make it first"),
        (
            &["--tconfig=bad.json"],
            "bad.json must be a JSON object with arguments of the Tracker class: unknown field `sleep`",
        ),
        (&["--tconfig=none.json"], "cannot read none.json: No such file or directory"),
    ] {
        let words = [&["-e", job][..], options].concat();
        let error = place.refused(&words);
        assert!(error.starts_with(&format!("ERROR:root:{expected}")), "{words:?}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    assert!(!place.path("started").exists());
    assert_eq!(place.read("there.csv"), "old");
}

/// Links stay links, modes stay modes, and what cannot be written after the command is shown instead.
#[test]
fn results_and_tracking_files_are_replaced_in_their_place() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let place = Place::new();
    for (file, link) in
        [("result", "to-result"), ("track.csv", "to-track.csv"), ("track.sqlite", "to-track.sqlite")]
    {
        place.write(file, "old");
        std::fs::set_permissions(place.path(file), PermissionsExt::from_mode(0o640)).expect("chmod");
        symlink(file, place.path(link)).expect("a link");
    }
    for tracking in ["to-track.csv", "to-track.sqlite"] {
        place.out(&["-e", "sleep 0.3", "--st=0.1", "-o", "to-result", "--tf", tracking, "--overwrite"]);
    }
    for (file, link) in
        [("result", "to-result"), ("track.csv", "to-track.csv"), ("track.sqlite", "to-track.sqlite")]
    {
        assert!(place.path(link).symlink_metadata().expect("there").is_symlink(), "{link}");
        assert_eq!(place.path(file).metadata().expect("there").permissions().mode() & 0o777, 0o640, "{file}");
        assert_ne!(std::fs::read(place.path(file)).expect("there"), b"old", "{file}");
    }
    assert!(place.read("track.csv").lines().count() > 3, "{}", place.read("track.csv"));
    let lost = place.run(&["-e", "mkdir taken", "-o", "taken", "-f", "json"]);
    assert_eq!(lost.status.code(), Some(1));
    assert!(text(&lost.stderr).contains("it is a folder") && text(&lost.stderr).contains("\"max_ram\""));
    let mut left = std::fs::read_dir(place.path(".")).expect("list").flatten();
    assert!(left.all(|entry| !entry.file_name().to_string_lossy().contains(".part")));
}

#[test]
fn what_cannot_be_run_is_told() {
    let place = Place::new();
    assert_eq!(
        place.refused(&["-e", "no-such-command x"]),
        "ERROR:root:Command not found: \"no-such-command\"\n"
    );
    assert_eq!(place.refused(&["-e", ""]), "ERROR:root:Empty command provided.\n");
    assert!(
        place
            .refused(&["-e", "./example-script.sh"])
            .starts_with("ERROR:root:Cannot run \"./example-script.sh\"")
    );
    // A file that was there is not touched for a command that never ran.
    place.write("t.csv", "old");
    place.refused(&["-e", "no-such-command", "--tf=t.csv", "--overwrite"]);
    assert_eq!(place.read("t.csv"), "old");
}

#[test]
fn what_matches_no_usage_gets_the_usage() {
    let place = Place::new();
    for words in
        [&[][..], &["-e"], &["-x"], &["-e", "true", "more"], &["sub-track"], &["-e", "true", "--stf=x"]]
    {
        assert!(place.refused(words).contains("Usage:\n    gpu-tracker -h | --help\n"), "{words:?}");
    }
    assert!(place.refused(&["-e", "true", "--st"]).starts_with("--st requires argument\n"));
}

#[test]
fn warnings_are_logged_unless_disabled() {
    let place = Place::new();
    let nowhere = place.path("no-such.so");
    let run = |words: &[&str]| {
        let output = place.command(words).env("JOBMETER_NVML_PATH", &nowhere).output().expect("starts");
        text(&output.stderr)
    };
    assert!(run(&["-e", "true"]).starts_with("WARNING:root:"), "a missing GPU is worth a warning");
    assert_eq!(run(&["-e", "true", "--disable-logs"]), "");
}

#[test]
fn a_config_file_stands_behind_the_options() {
    let place = Place::new();
    place.write(
        "config.json",
        r#"{"sleep_time": 0.2, "ram_unit": "kilobytes", "time_unit": "minutes", "n_expected_cores": 3,
            "disable_logs": true, "tracking_file": "t.csv", "overwrite": true, "n_join_attempts": 7}"#,
    );
    let output = place.run(&["-e", "sleep 0.3", "--tconfig=config.json", "--tu=seconds"]);
    let out = text(&output.stdout);
    assert_eq!(text(&output.stderr), "");
    assert!(out.contains("Unit: kilobytes\n"), "{out}");
    assert!(out.contains("Unit: seconds\n") && !out.contains("minutes"), "{out}");
    assert!(out.contains("Number of expected cores: 3\n"), "{out}");
    assert!(place.read("t.csv").contains("kilobytes,gigabytes,seconds,"));
}
