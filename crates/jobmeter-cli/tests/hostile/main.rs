//! Run files made to be expensive, given to every command that reads one. Whatever a file holds, the command ends
//! within bounds of processor time and memory, and says so where it did not read everything.
//!
//! The bounds that users are promised (2 s, 300 MB) are those of the release build and of files of 10 MB:
//! `JOBMETER_HOSTILE_BINARY=target/release/jobmeter JOBMETER_HOSTILE_BYTES=10000000 cargo nextest run --test hostile`
//! prints the worst of them. The plain test uses smaller files and a smaller limit, as debug builds are many times
//! slower.

mod files;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const MEMORY_MAX_BYTES: u64 = 300_000_000;
/// A fiftieth of the promise, with a fiftieth of the limit.
const SMALL_BYTES: usize = 200_000;
const SMALL_LIMIT: &str = "1280000";
/// The commands of the plain test: those that cost most.
const COSTLY: [&str; 6] =
    ["show views --json", "report", "compare", "export parquet all", "export sqlite", "ls"];

fn is_small() -> bool {
    std::env::var_os("JOBMETER_HOSTILE_BYTES").is_none()
}

fn binary() -> PathBuf {
    std::env::var_os("JOBMETER_HOSTILE_BINARY").map_or(env!("CARGO_BIN_EXE_jobmeter").into(), PathBuf::from)
}

fn size() -> usize {
    std::env::var("JOBMETER_HOSTILE_BYTES").ok().and_then(|text| text.parse().ok()).unwrap_or(SMALL_BYTES)
}

/// Of one process: user and system time; debug builds get more.
fn cpu_max() -> Duration {
    let is_release = std::env::var_os("JOBMETER_HOSTILE_BINARY").is_some();
    if is_release { Duration::from_secs(2) } else { Duration::from_secs(15) }
}

const COMMANDS: [(&str, &[&str]); 20] = [
    ("show", &["show", "FILE"]),
    ("show --json", &["show", "FILE", "--json"]),
    ("show views", &["show", "FILE", "--processes", "--phases", "--timeline"]),
    ("show views --json", &["show", "FILE", "--processes", "--phases", "--timeline", "--json"]),
    ("report", &["report", "FILE", "-o", "OUT.html"]),
    ("plot", &["plot", "FILE", "-o", "OUT.svg"]),
    ("plot png", &["plot", "FILE", "-o", "OUT.png"]),
    ("compare", &["compare", "FILE", "FILE"]),
    ("check", &["check", "FILE", "--max-ram", "1TB"]),
    ("advise", &["advise", "FILE"]),
    ("export csv", &["export", "FILE", "-f", "csv", "-o", "OUT.csv"]),
    ("export csv all", &["export", "FILE", "-f", "csv", "--table", "all", "-o", "OUT"]),
    ("export jsonl all", &["export", "FILE", "-f", "jsonl", "--table", "all", "-o", "OUT"]),
    ("export parquet all", &["export", "FILE", "-f", "parquet", "--table", "all", "-o", "OUT"]),
    ("export arrow all", &["export", "FILE", "-f", "arrow", "--table", "all", "-o", "OUT"]),
    ("export sqlite", &["export", "FILE", "-f", "sqlite", "-o", "OUT.sqlite"]),
    ("export gpu-tracker", &["export", "FILE", "--layout", "gpu-tracker", "-o", "OUT.csv"]),
    ("export resource-tracker", &["export", "FILE", "--layout", "resource-tracker", "-o", "OUT.csv"]),
    ("ls", &["ls"]),
    ("ls --json", &["ls", "--json"]),
];

#[derive(Debug, Clone, Copy, Default)]
struct Cost {
    cpu: Duration,
    peak_bytes: u64,
}

/// What a command costs by the kernel's account of it, as GNU time prints it.
fn run(room: &Path, arguments: &[&str], file: &Path) -> (Cost, Option<i32>, String) {
    let out = room.join("out");
    std::fs::create_dir(&out).expect("a folder");
    let words = arguments.iter().map(|word| match *word {
        "FILE" => file.to_owned(),
        word => match word.strip_prefix("OUT") {
            Some(ending) => out.join(format!("x{ending}")),
            None => PathBuf::from(word),
        },
    });
    let report = room.join("usage");
    let done = Command::new("/usr/bin/time")
        .args(["-f", "%U %S %M", "-o"])
        .arg(&report)
        .arg(binary())
        .args(words)
        .env("JOBMETER_STORE", room.join("store"))
        .envs(is_small().then_some(("JOBMETER_READ_LIMIT", SMALL_LIMIT)))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .output()
        .expect("/usr/bin/time (Debian package time)");
    std::fs::remove_dir_all(&out).expect("the folder");
    let text = std::fs::read_to_string(&report).expect("the usage");
    let mut figures = text
        .lines()
        .last()
        .expect("a line")
        .split(' ')
        .map(|figure| figure.parse::<f64>().expect("a number"));
    let mut next = || figures.next().expect("a figure");
    let cpu = Duration::from_secs_f64(next() + next());
    let cost = Cost { cpu, peak_bytes: next() as u64 * 1024 };
    (cost, done.status.code(), String::from_utf8_lossy(&done.stderr).into_owned())
}

#[test]
fn no_run_file_costs_more_than_its_bounds() {
    let room = tempfile::tempdir().expect("a folder");
    let store = room.path().join("store");
    std::fs::create_dir(&store).expect("the store");
    let mut faults = Vec::new();
    let (mut slowest, mut largest) = ((Cost::default(), String::new()), (Cost::default(), String::new()));
    let only = std::env::var("JOBMETER_HOSTILE_ONLY").unwrap_or_default();
    for (case, make) in files::CASES.iter().filter(|(case, _)| case.contains(&only)) {
        let file = store.join("20261115T220212-1f3a9c.jobmeter");
        std::fs::write(&file, make(size())).expect("the file");
        for (command, arguments) in
            COMMANDS.iter().filter(|(command, _)| !is_small() || COSTLY.contains(command))
        {
            let (cost, code, said) = run(room.path(), arguments, &file);
            let what = format!("{case}: {command}: {cost:?} {code:?}");
            if std::env::var_os("JOBMETER_HOSTILE_ONLY").is_some() {
                eprintln!("{what} {}", said.chars().take(200).collect::<String>());
            }
            let is_ended = code.is_some_and(|code| code != 101) && !said.contains("panicked");
            if !is_ended
                || cost.cpu > cpu_max()
                || cost.peak_bytes > MEMORY_MAX_BYTES
                || said.lines().count() > 3
            {
                faults.push(format!("{what}\n    {}", said.chars().take(300).collect::<String>()));
            }
            if cost.cpu > slowest.0.cpu {
                slowest = (cost, what.clone());
            }
            if cost.peak_bytes > largest.0.peak_bytes {
                largest = (cost, what);
            }
        }
    }
    eprintln!("slowest: {}\nlargest: {}", slowest.1, largest.1);
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}
