//! Settings: flags before environment before the local file before the user's file; mistakes are one sentence
//! before the job starts, and the job's environment is its own.

use crate::help::{JOBMETER, Room, Run};
use std::path::Path;
use std::process::{Command, Stdio};

/// A room with a working directory and a configuration directory of its own.
struct Place {
    room: Room,
}

impl Place {
    fn new(name: &str) -> Place {
        let room = Room::new(name);
        std::fs::create_dir_all(room.path("cwd")).expect("make cwd");
        std::fs::create_dir_all(room.path("xdg/jobmeter")).expect("make xdg");
        Place { room }
    }

    fn local(&self, text: &str) -> &Place {
        std::fs::write(self.room.path("cwd/jobmeter.toml"), text).expect("write");
        self
    }

    fn user(&self, text: &str) -> &Place {
        std::fs::write(self.room.path("xdg/jobmeter/config.toml"), text).expect("write");
        self
    }

    fn run(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Run {
        let mut command = self.room.jobmeter(arguments);
        command.current_dir(self.room.path("cwd")).env("XDG_CONFIG_HOME", self.room.path("xdg"));
        command.envs(environment.iter().copied());
        self.room.finish(command)
    }

    /// The fixed interval that a run was taken with, in milliseconds; `None` is adaptive.
    fn interval_ms(&self, options: &[&str], environment: &[(&str, &str)]) -> Option<u64> {
        let mut arguments = vec!["run"];
        arguments.extend(options);
        let file = self.room.file("summary.json");
        arguments.extend(["-f", "json", "--force", "-o", &file, "--", "true"]);
        let run = self.run(&arguments, environment);
        assert_eq!(run.code, 0, "{}", run.stderr);
        run.summary().run.interval_ns.map(|ns| ns / 1_000_000)
    }
}

#[test]
fn the_nearer_source_wins() {
    let place = Place::new("config-order");
    assert_eq!(place.interval_ms(&[], &[]), None);
    place.user("interval = \"400ms\"\n");
    assert_eq!(place.interval_ms(&[], &[]), Some(400));
    place.local("interval = 0.3 # seconds\n");
    assert_eq!(place.interval_ms(&[], &[]), Some(300));
    assert_eq!(place.interval_ms(&[], &[("JOBMETER_INTERVAL", "200ms")]), Some(200));
    assert_eq!(place.interval_ms(&[], &[("JOBMETER_INTERVAL", "")]), Some(300), "empty is not set");
    assert_eq!(place.interval_ms(&["-i", "100ms"], &[("JOBMETER_INTERVAL", "200ms")]), Some(100));
}

#[test]
fn every_key_has_its_effect() {
    let place = Place::new("config-keys");
    place.user(
        "format = \"json\"\ncolor = \"never\"\nexpected_cores = 3\ncgroup = false\nredact = false\ngpu = false\n\
         grace = \"50ms\"\ncarbon_intensity = 230.5\nstore = \"runs\"\n",
    );
    let command = [
        "run",
        "--timeout",
        "100ms",
        "--",
        "sh",
        "-c",
        "trap '' TERM; sleep 60 & wait; wait",
        "x",
        "--password",
        "p4ss",
    ];
    let run = place.run(&command, &[]);
    assert_eq!(run.code, 124, "{}", run.stderr);
    // JOBMETER_STORE of the room is nearer than the file.
    assert_eq!(place.room.store_files().len(), 1);
    let summary: jobmeter_model::Summary = serde_json::from_str(&run.stderr).expect("JSON on standard error");
    assert_eq!(summary.run.expected_cores, 3.0);
    assert!(summary.run.command.iter().any(|word| word == "p4ss"), "{:?}", summary.run.command);
    assert!(!summary.sources.iter().any(|source| source.name == "cgroup" && source.used));
    assert!(summary.run.wall_ns.expect("wall time") < 8_000_000_000, "the usual grace of 10 s was taken");
    let shown = place.run(&["show", "last"], &[]);
    assert!(serde_json::from_slice::<jobmeter_model::Summary>(&shown.stdout).is_ok(), "show follows format");
    let shown = place.run(&["show", "last", "-f", "text"], &[]);
    assert!(String::from_utf8_lossy(&shown.stdout).contains("after"));
    let mut stored = place.room.jobmeter(&["run", "-q", "--", "true"]);
    stored.current_dir(place.room.path("cwd")).env_remove("JOBMETER_STORE");
    stored.env("XDG_CONFIG_HOME", place.room.path("xdg"));
    assert_eq!(place.room.finish(stored).code, 0);
    let count = |folder: &Path| std::fs::read_dir(folder).map_or(0, Iterator::count);
    assert!(count(&place.room.path("xdg/jobmeter/runs")) > 0, "the store of the file was not used");
    let mut listed = place.room.jobmeter(&["show", "last"]);
    listed.current_dir(place.room.path("cwd")).env_remove("JOBMETER_STORE");
    listed.env("XDG_CONFIG_HOME", place.room.path("xdg"));
    assert_eq!(place.room.finish(listed).code, 0, "show does not look into the store of the file");
    place.user("record = false\n");
    assert_eq!(place.run(&["run", "-q", "--", "true"], &[]).code, 0);
    assert_eq!(place.room.store_files().len(), 1, "a record was kept");
    let on = place.run(&["run", "-q", "--", "true"], &[("JOBMETER_RECORD", "true")]);
    assert_eq!((on.code, place.room.store_files().len()), (0, 2), "{}", on.stderr);
}

#[test]
fn mistakes_are_one_sentence_before_the_job_starts() {
    let place = Place::new("config-wrong");
    let touched = place.room.file("touched");
    let cases: &[(&str, &[&str])] = &[
        ("interval = ", &["jobmeter.toml, line 1"]),
        ("format = \"json\"\ninterval == 3\n", &["jobmeter.toml, line 2"]),
        ("interval = \"fast\"\n", &["interval", "'fast'", "250ms"]),
        ("interval = \"1us\"\n", &["interval", "1ms"]),
        ("intervall = \"1s\"\n", &["'intervall'", "interval, format, color", "carbon_intensity"]),
        ("[run]\ninterval = \"1s\"\n", &["'run'", "interval"]),
        ("interval = [1]\n", &["interval", "array"]),
        ("cgroup = \"perhaps\"\n", &["cgroup", "perhaps"]),
        ("color = \"red\"\n", &["color", "always"]),
        ("expected_cores = -1\n", &["expected_cores"]),
        ("\"\\u001b[31m\" = 1\n", &["\\u{1b}"]),
    ];
    for (text, words) in cases {
        place.local(text);
        let run = place.run(&["run", "--", "touch", &touched], &[]);
        assert_eq!(run.code, 125, "{text}: {}", run.stderr);
        assert!(
            run.stderr.starts_with("jobmeter: ") && run.stderr.lines().count() == 1,
            "{text}: {}",
            run.stderr
        );
        for word in *words {
            assert!(run.stderr.contains(word), "{text}: no {word} in {}", run.stderr);
        }
        assert!(!run.stderr.contains('\u{1b}'));
        assert!(!place.room.path("touched").exists(), "{text}: the job ran");
    }
    std::fs::remove_file(place.room.path("cwd/jobmeter.toml")).expect("remove");
    let run = place.run(&["run", "--", "touch", &touched], &[("JOBMETER_GPU", "maybe")]);
    assert_eq!(run.code, 125);
    assert!(run.stderr.contains("JOBMETER_GPU") && run.stderr.contains("maybe"), "{}", run.stderr);
}

#[test]
fn the_environment_of_the_job_is_as_it_was() {
    let place = Place::new("config-environment");
    place.user("interval = \"100ms\"\nstore = \"elsewhere\"\ncolor = \"never\"\n");
    let output = |words: &[&str]| {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).env_clear().current_dir(place.room.path("cwd")).stdin(Stdio::null());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("JOBMETER_GRACE", "1s");
        command.env("XDG_CONFIG_HOME", place.room.path("xdg"));
        let output = command.output().expect("start");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    assert_eq!(output(&[JOBMETER, "run", "-q", "--", "env"]), output(&["env"]));
}

#[test]
fn a_record_limit_below_the_least_is_one_sentence() {
    let place = Place::new("config-record-limit");
    let sentence = "1000KiB is too small for a record; the smallest limit is 1MiB";
    let run = place.run(&["run", "--record-limit", "1000KiB", "--", "true"], &[]);
    assert_eq!(run.code, 125, "{}", run.stderr);
    assert!(run.stderr.contains(sentence), "{}", run.stderr);
    let run = place.run(&["run", "--", "true"], &[("JOBMETER_RECORD_LIMIT", "1000KiB")]);
    assert_eq!(run.code, 125, "{}", run.stderr);
    assert_eq!(run.stderr.trim_end(), format!("jobmeter: JOBMETER_RECORD_LIMIT: {sentence}"));
    place.user("record_limit = \"1GiB\"\n");
    let run = place.run(&["run", "-q", "--", "true"], &[]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
}
