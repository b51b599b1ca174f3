//! What the command line says of itself: help held to the snapshots beside the tests, completions, the manual, and
//! the page about the summary. `JOBMETER_UPDATE_SNAPSHOTS=1` writes the snapshots anew.

use crate::help::{Room, Run};
use jobmeter_model::Summary;
use serde_json::Value;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

const SUBCOMMANDS: [&str; 5] = ["run", "attach", "show", "check", "mark"];

fn say(room: &Room, arguments: &[&str]) -> Run {
    let mut command = room.jobmeter(arguments);
    command.env("COLUMNS", "100");
    let run = room.finish(command);
    assert_eq!(run.code, 0, "{arguments:?}: {}", run.stderr);
    run
}

#[test]
fn help_is_as_the_snapshots_have_it() {
    let room = Room::new("help");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots");
    let update = std::env::var_os("JOBMETER_UPDATE_SNAPSHOTS").is_some();
    for name in ["run", "attach", "show"] {
        let text = String::from_utf8(say(&room, &[name, "--help"]).stdout).expect("UTF-8");
        let path = folder.join(format!("help-{name}.txt"));
        if update {
            std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&path, &text)).expect("write");
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            text == kept,
            "the help of {name} is not that of {}; look at it and run with JOBMETER_UPDATE_SNAPSHOTS=1:\n{text}",
            path.display()
        );
        assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
        assert!(text.contains("Examples:"), "{text}");
    }
}

#[test]
fn completions_know_the_subcommands_and_bash_can_read_them() {
    let room = Room::new("completions");
    for shell in ["bash", "zsh", "fish"] {
        let text = String::from_utf8(say(&room, &["completions", shell]).stdout).expect("UTF-8");
        for name in SUBCOMMANDS.into_iter().chain(["fail-on-budget", "timeline"]) {
            assert!(text.contains(name), "{shell}: no {name}");
        }
        if shell == "bash" {
            let mut bash = Command::new("bash").arg("-n").stdin(Stdio::piped()).spawn().expect("bash");
            bash.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("write");
            assert!(bash.wait().expect("wait").success(), "bash does not understand its completions");
        }
    }
    let wrong = room.finish(room.jobmeter(&["completions", "tcsh"]));
    assert_eq!(wrong.code, 125, "{}", wrong.stderr);
}

#[test]
fn the_manual_has_a_page_for_every_subcommand() {
    let room = Room::new("manual");
    let text = String::from_utf8(say(&room, &["man"]).stdout).expect("UTF-8");
    assert!(text.contains(".TH jobmeter 1"), "{text}");
    for name in SUBCOMMANDS {
        assert!(text.contains(&format!(".TH jobmeter-{name} 1")), "no page for {name}");
    }
    assert!(text.contains("fail\\-on\\-budget"), "no option of run");
}

#[test]
fn packages_get_each_page_of_the_manual_as_a_file() {
    let room = Room::new("manual-files");
    // The folder is made where it is missing.
    let folder = room.path("share/man1");
    say(&room, &["man", "--into", &room.file("share/man1")]);
    for name in SUBCOMMANDS {
        let page = folder.join(format!("jobmeter-{name}.1"));
        let text = std::fs::read_to_string(&page).unwrap_or_else(|error| panic!("{page:?}: {error}"));
        assert!(text.contains(&format!(".TH jobmeter-{name} 1")), "{page:?}");
    }
    let nowhere = room.finish(room.jobmeter(&["man", "--into", "/dev/null/man1"]));
    assert_eq!(nowhere.code, 125, "{}", nowhere.stderr);
}

#[test]
fn the_version_is_told_as_json() {
    let room = Room::new("version");
    for words in [["--version", "--json"], ["--json", "-V"]] {
        let answer: Value = serde_json::from_slice(&say(&room, &words).stdout).expect("JSON");
        assert_eq!(answer["version"], env!("CARGO_PKG_VERSION"));
        assert_eq!(answer["summary_schema_version"], jobmeter_model::summary::SCHEMA_VERSION);
        assert_eq!(answer["run_file_version"], jobmeter_record::RUN_FILE_VERSION);
        assert_eq!(answer["features"], serde_json::json!(["parquet", "png", "sqlite"]));
    }
    let text = say(&room, &["--version"]).stdout;
    assert_eq!(String::from_utf8_lossy(&text), format!("jobmeter {}\n", env!("CARGO_PKG_VERSION")));
    // A job's own words are the job's.
    let job = room.run(&[], &["echo", "--version", "--json"]);
    assert_eq!(job.code, 0, "{}", job.stderr);
}

/// The page shows a summary that reads as one, and leaves out no key that a run has.
#[test]
fn the_page_about_the_summary_is_true() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/summary.md");
    let page = std::fs::read_to_string(page).expect("docs/summary.md");
    let blocks = page.split("```json\n").skip(1).filter_map(|rest| rest.split("```").next());
    let blocks: Vec<&str> = blocks.collect();
    assert_eq!(blocks.len(), 2, "a figure and a whole summary");
    serde_json::from_str::<jobmeter_model::Figure>(blocks[0]).expect("a figure");
    let example: Summary = serde_json::from_str(blocks[1]).expect("a summary");
    assert_eq!(example.schema_version, jobmeter_model::summary::SCHEMA_VERSION);

    let room = Room::new("summary-page");
    let run = room.run(&["--name", "n", "--tag", "k=v"], &["sh", "-c", "exit 1"]);
    let fresh = serde_json::to_value(run.summary()).expect("JSON");
    let keys = |value: &Value| value.as_object().expect("an object").keys().cloned().collect::<Vec<_>>();
    let mut wanted = keys(&fresh);
    for part in ["run", "verdict", "limits", "overhead"] {
        wanted.extend(keys(&fresh[part]));
    }
    for key in wanted {
        assert!(page.contains(&format!("`{key}`")), "docs/summary.md does not mention {key}");
    }
}

#[test]
fn a_limit_or_a_name_of_nothing_is_refused_in_one_sentence() {
    let room = Room::new("nothing");
    let run = room.finish(room.jobmeter(&["prune"]));
    assert_eq!(run.code, 125);
    assert_eq!(run.stderr, "jobmeter: prune needs a limit; write --keep 100, or --older-than 30d, or both\n");
    for name in ["", " "] {
        let run = room.finish(room.jobmeter(&["run", "--name", name, "--", "touch", "ran"]));
        assert_eq!(run.code, 125, "{}", run.stderr);
        assert!(run.stderr.contains("a name holds at least one letter"), "{}", run.stderr);
    }
    assert!(!room.path("ran").exists() && room.store_files().is_empty());
}

#[test]
fn sets_are_named_where_they_can_be_given() {
    let room = Room::new("sets");
    for name in ["compare", "check"] {
        let text = String::from_utf8(say(&room, &[name, "--help"]).stdout).expect("UTF-8");
        assert!(text.contains("'base:*'"), "{text}");
    }
}
