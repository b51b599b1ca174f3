//! Where the summary goes and what it looks like.

use crate::help::{Room, value};
use jobmeter_model::Summary;
use std::os::unix::fs::PermissionsExt;

#[test]
fn an_existing_file_is_not_overwritten_and_the_job_not_started() {
    let room = Room::new("overwrite");
    let (out, touched) = (room.file("out"), room.file("touched"));
    std::fs::write(&out, "precious").expect("write");
    let run = room.finish(room.jobmeter(&["run", "-o", &out, "--", "touch", &touched]));
    assert_eq!(run.code, 125, "{}", run.stderr);
    assert!(run.stderr.contains("--force"), "the way out is not named: {}", run.stderr);
    assert_eq!(room.text("out"), "precious");
    assert!(!room.path("touched").exists(), "the job ran for nothing");

    let run = room.finish(room.jobmeter(&["run", "-o", &out, "--force", "--", "touch", &touched]));
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_ne!(room.text("out"), "precious");
    assert!(run.stderr.is_empty(), "the summary went to the file: {}", run.stderr);
    std::fs::remove_file(&out).expect("remove");
    let run = room.finish(room.jobmeter(&["run", "-o", &out, "--", "true"]));
    assert_eq!(run.code, 0, "{}", run.stderr);
    let mode = std::fs::metadata(&out).expect("stat").permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
}

#[test]
fn a_directory_that_is_missing_is_said_before_the_job_starts() {
    let room = Room::new("no-directory");
    let (out, touched) = (room.file("missing/out"), room.file("touched"));
    let run = room.finish(room.jobmeter(&["run", "-o", &out, "--", "touch", &touched]));
    assert_eq!(run.code, 125, "{}", run.stderr);
    assert!(!room.path("touched").exists());
}

#[test]
fn json_is_the_documented_schema_on_standard_error_too() {
    let room = Room::new("json");
    let run =
        room.finish(room.jobmeter(&[
            "run", "-f", "json", "--name", "n1", "--tag", "a=b", "--tag", "c=d=e", "--", "true",
        ]));
    let summary: Summary = serde_json::from_str(&run.stderr).expect("JSON on standard error");
    assert_eq!(summary.schema_version, jobmeter_model::summary::SCHEMA_VERSION);
    assert_eq!(summary.run.mode, "run");
    assert_eq!(summary.run.name.as_deref(), Some("n1"));
    assert_eq!(summary.run.tags["a"], "b");
    assert_eq!(summary.run.tags["c"], "d=e");
    assert_eq!(summary.run.command, ["true"]);
    assert!(summary.run.wall_ns.is_some_and(|wall_ns| wall_ns > 0));
    assert!(summary.overhead.cpu_ns > Some(0) && summary.overhead.peak_rss_bytes > Some(0));
    assert!(!summary.sources.is_empty());
}

#[test]
fn unknown_is_null_with_a_reason_and_never_nothing() {
    let room = Room::new("unknown");
    let run = room.run(&[], &["true"]);
    let summary = run.summary();
    for figures in [&summary.main, &summary.descendants, &summary.combined, &summary.system] {
        assert!(!figures.is_empty());
        for (key, figure) in figures.iter() {
            if figure.value.is_none() {
                assert!(figure.reason.as_ref().is_some_and(|reason| !reason.is_empty()), "{key}: {figure:?}");
            }
        }
    }
}

#[test]
fn expected_cores_divide_the_hardware_ratio() {
    let room = Room::new("cores");
    let burn = |cores: &str| {
        let run = room.run_testkit(&["-i", "50ms", "--expected-cores", cores], &["burn", "500"]);
        let summary = run.summary();
        let used = value(&summary.main, "cores_used_mean");
        let ratio = value(&summary.main, "hardware_ratio_mean");
        assert_eq!(summary.run.expected_cores, cores.parse::<f64>().expect("a number"));
        // Both are derived from the same total: only rounding separates them.
        assert!((used / summary.run.expected_cores - ratio).abs() < 0.002, "{used} cores, ratio {ratio}");
        used
    };
    assert!(burn("1") > 0.05);
    assert!(burn("4") > 0.05);
}

/// Colour only where a terminal is, or where it is asked for; `NO_COLOR` and `CLICOLOR_FORCE` are heard.
#[test]
fn colour_only_where_wanted() {
    let room = Room::new("colour");
    let escapes = |options: &[&str], variable: Option<&str>| {
        let mut arguments = vec!["run"];
        arguments.extend(options);
        arguments.extend(["--", "true"]);
        let mut command = room.jobmeter(&arguments);
        if let Some(name) = variable {
            command.env(name, "1");
        }
        let run = room.finish(command);
        assert_eq!(run.code, 0, "{}", run.stderr);
        run.stderr.contains('\u{1b}')
    };
    assert!(!escapes(&[], None));
    assert!(!escapes(&["--color", "never"], Some("CLICOLOR_FORCE")));
    assert!(escapes(&["--color", "always"], None));
    assert!(escapes(&["--color", "always"], Some("NO_COLOR")), "the flag is stronger than the environment");
    assert!(escapes(&[], Some("CLICOLOR_FORCE")));
}

#[test]
fn secrets_are_redacted_unless_asked_otherwise() {
    let room = Room::new("secrets");
    let command = [
        "sh",
        "-c",
        ":",
        "--password",
        "hunter2-xyz",
        "API_TOKEN=hunter2-xyz",
        "https://me:hunter2-xyz@host/x",
    ];
    let seen = |options: &[&str]| {
        let _ = std::fs::remove_dir_all(room.path("store"));
        let named = ["--name", "try password=hunter2-xyz", "--tag", "api_token=hunter2-xyz"];
        let run = room.run(&[options, &named].concat(), &command);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let records: Vec<u8> = room
            .store_files()
            .iter()
            .flat_map(|path| std::fs::read(path).expect("read the record"))
            .collect();
        assert!(!records.is_empty(), "nothing was recorded");
        let in_record = records.windows(11).any(|window| window == b"hunter2-xyz");
        (run.summary().run.command.concat().contains("hunter2-xyz"), in_record)
    };
    assert_eq!(seen(&[]), (false, false));
    assert!(seen(&["--no-redact"]).0);
}

#[test]
fn help_and_version_are_on_standard_output() {
    let room = Room::new("help");
    for arguments in [&["--help"][..], &["run", "--help"], &["attach", "--help"], &["--version"]] {
        let run = room.finish(room.jobmeter(arguments));
        assert_eq!(run.code, 0, "{arguments:?}: {}", run.stderr);
        assert!(!run.stdout.is_empty() && run.stderr.is_empty(), "{arguments:?}");
    }
    let help = room.finish(room.jobmeter(&["run", "--help"]));
    let help = String::from_utf8_lossy(&help.stdout).into_owned();
    assert!(help.to_lowercase().contains("example"), "no example in the help: {help}");
    for option in
        ["--interval", "--output", "--format", "--timeout", "--grace", "--wait-descendants", "--no-cgroup"]
    {
        assert!(help.contains(option), "{option} is not in the help");
    }
}

#[test]
fn completions_and_man_page_are_generated() {
    let room = Room::new("completions");
    for shell in ["bash", "zsh", "fish"] {
        let run = room.finish(room.jobmeter(&["completions", shell]));
        assert_eq!(run.code, 0, "{shell}: {}", run.stderr);
        assert!(String::from_utf8_lossy(&run.stdout).contains("wait-descendants"), "{shell}");
    }
}

/// Command lines that `run` understands without its parser, and some that it nearly does. `--color never` is always for
/// the parser.
#[test]
fn a_plain_command_line_means_what_the_parser_makes_of_it() {
    let room = Room::new("plain-lines");
    let seen = |first: &[&str], line: &str| {
        let _ = std::fs::remove_dir_all(room.path("store"));
        let words: Vec<&str> = first.iter().copied().chain(line.split_whitespace()).collect();
        let run = room.finish(room.jobmeter(&words));
        let is_mistake = run.code == 125;
        let first_line = run.stderr.lines().next().unwrap_or_default();
        let said = if is_mistake { first_line.to_owned() } else { run.stderr.is_empty().to_string() };
        (run.code, String::from_utf8_lossy(&run.stdout).into_owned(), said, room.store_files().len())
    };
    for (line, code, records) in [
        ("-- echo a", 0, 1),
        ("echo -q -- a", 0, 1),
        ("-q -- echo -q", 0, 1),
        ("--quiet echo a -q --no-record", 0, 1),
        ("--no-record -- sh -c exit -- 3", 0, 0),
        ("-q --no-record -- echo a", 0, 0),
        ("--no-record -q false", 1, 0),
        ("-- -q", 127, 0),
        ("-q -q echo a", 125, 0),
        ("-q", 125, 0),
        ("-q --", 125, 0),
        ("--no-record --record x -- echo a", 125, 0),
        ("-q -", 127, 0),
    ] {
        let plain = seen(&["run"], line);
        assert_eq!(plain, seen(&["run", "--color", "never"], line), "{line}");
        assert_eq!((plain.0, plain.3), (code, records), "{line}: {}", plain.2);
    }
}
