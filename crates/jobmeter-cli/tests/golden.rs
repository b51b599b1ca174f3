//! What the commands print about stored runs, byte by byte. The run files in `fixtures/runs` were written by an earlier
//! version and never change; a difference here is a change of what people and programs read.
//!
//! `UPDATE_GOLDEN=1 cargo nextest run -p jobmeter-cli --test golden` writes the files anew: look at the difference.

use std::path::{Path, PathBuf};
use std::process::Command;

const RUNS: [&str; 4] = ["plain", "phases", "cut-off", "attached"];

/// The name of the golden file, and the arguments behind `jobmeter`; `RUN` stands for the run file.
const OF_A_RUN: [(&str, &str); 20] = [
    ("show.first.txt", "show RUN"),
    ("show.first.iec.txt", "show RUN --units iec"),
    ("show.md", "show RUN -f markdown"),
    ("show.txt", "show RUN --full"),
    ("show.iec.txt", "show RUN --full --units iec"),
    ("show.json", "show RUN -f json"),
    ("processes.txt", "show RUN --processes --all"),
    ("process-tree.txt", "show RUN --processes"),
    ("processes.json", "show RUN --processes -f json"),
    ("phases.txt", "show RUN --phases"),
    ("phases.json", "show RUN --phases -f json"),
    ("timeline.txt", "show RUN --timeline"),
    ("samples.csv", "export RUN -f csv"),
    ("processes.csv", "export RUN -f csv --table processes"),
    ("phases.csv", "export RUN -f csv --table phases"),
    ("marks.jsonl", "export RUN -f jsonl --table marks"),
    ("mounts.csv", "export RUN -f csv --table mounts"),
    ("gpu-tracker.csv", "export RUN --layout gpu-tracker"),
    ("check.txt", "check RUN --max-ram 2MiB --max-time 10s --max-cpu-time 1h"),
    ("advise.txt", "advise RUN"),
];

const OF_TWO: [(&str, &str); 3] = [
    ("compare.txt", "compare plain phases"),
    ("compare.md", "compare plain phases -f markdown"),
    ("compare.json", "compare plain phases -f json"),
];

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

/// Our build, with an empty environment; or the one that `JOBMETER_GOLDEN_COMMAND` names, such as
/// `wine /tmp/jobmeter.exe`, with the environment that it needs.
fn program() -> Command {
    match std::env::var("JOBMETER_GOLDEN_COMMAND") {
        Ok(other) => {
            let mut words = other.split_whitespace();
            let mut program = Command::new(words.next().expect("JOBMETER_GOLDEN_COMMAND names a program"));
            program.args(words);
            program
        }
        Err(_) => {
            let mut program = Command::new(env!("CARGO_BIN_EXE_jobmeter"));
            program.env_clear();
            program
        }
    }
}

/// Standard output, then standard error, then the exit code, as one text. From inside the folder of the runs, so that
/// no path of this machine shows.
fn said(arguments: &[String]) -> String {
    let output = program()
        .args(arguments)
        .current_dir(fixtures().join("runs"))
        .env("TZ", "UTC")
        .env("JOBMETER_STORE", fixtures().join("no-store"))
        .env("XDG_CONFIG_HOME", fixtures().join("no-config"))
        .output()
        .expect("start jobmeter");
    let mut text = String::from_utf8(output.stdout).expect("UTF-8 output");
    if !output.stderr.is_empty() {
        text.push_str("--- standard error\n");
        text.push_str(&String::from_utf8(output.stderr).expect("UTF-8 messages"));
    }
    if output.status.code() != Some(0) {
        text.push_str(&format!("--- exit status {:?}\n", output.status.code()));
    }
    text
}

fn hold(name: &str, command: &str, words: &dyn Fn(&str) -> String, wrong: &mut Vec<String>) {
    let arguments: Vec<String> = command.split(' ').map(words).collect();
    let said = said(&arguments);
    let path = fixtures().join("golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("the folder of golden files");
        std::fs::write(&path, &said).expect("write the golden file");
        return;
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    if golden != said {
        let differing = golden.lines().zip(said.lines()).find(|(old, new)| old != new);
        wrong.push(format!("{name}: {differing:?} ({} and {} bytes)", golden.len(), said.len()));
    }
}

#[test]
fn what_is_said_of_stored_runs_stays_as_it_is() {
    let mut wrong = Vec::new();
    for run in RUNS {
        let file = format!("v1-{run}.jobmeter");
        for (name, command) in OF_A_RUN {
            let word = |word: &str| if word == "RUN" { file.clone() } else { word.to_owned() };
            hold(&format!("{run}/{name}"), command, &word, &mut wrong);
        }
    }
    for (name, command) in OF_TWO {
        let word = |word: &str| match RUNS.contains(&word) {
            true => format!("v1-{word}.jobmeter"),
            false => word.to_owned(),
        };
        hold(name, command, &word, &mut wrong);
    }
    assert!(wrong.is_empty(), "changed:\n{}", wrong.join("\n"));
}
