//! `jobmeter host`, `compare` and `check` as a user meets them: text, JSON, exit codes.

use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output};

/// No test may reach a real metadata service, so every call has a base on which nobody listens.
fn jobmeter(arguments: &[&str]) -> Output {
    with_metadata_base("http://127.0.0.1:1", arguments)
}

fn with_metadata_base(base: &str, arguments: &[&str]) -> Output {
    assert!(base.starts_with("http://127.0.0.1:"));
    Command::new(env!("CARGO_BIN_EXE_jobmeter"))
        .args(arguments)
        .env("JOBMETER_METADATA_BASE", base)
        .output()
        .expect("the binary runs")
}

fn text(output: &Output) -> String {
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn summary(id: usize, wall_ns: u64, rss_bytes: u64) -> Value {
    json!({
        "schema_version": 1,
        "run": {"id": format!("run-{id}"), "jobmeter_version": "0", "mode": "run", "pid": 1,
                "started_unix_ns": 1000 + id, "interval_ns": null, "expected_cores": 1.0,
                "system_cores": 1, "wall_ns": wall_ns},
        "verdict": {"kind": "exited", "exit_code": 0, "text": ""},
        "main": {}, "descendants": {}, "system": {},
        "combined": {
            "rss_bytes_max": {"value": rss_bytes, "quality": "sampled", "upper": rss_bytes * 2},
            "gpu_memory_bytes_max": {"value": null, "quality": "unavailable", "reason": "no <GPU> here"}},
        "overhead": {"cpu_ns": 0, "peak_rss_bytes": 0},
    })
}

fn write(folder: &Path, name: &str, value: &Value) -> String {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, value.to_string()).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Discovery belongs to `host --cloud`; a job never waits for it, because `run` does not even ask.
#[test]
fn a_run_asks_no_metadata_service() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let output = with_metadata_base(&base, &["run", "--no-record", "-q", "--", "true"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(listener.accept().is_err(), "somebody connected");
}

#[test]
fn host_describes_a_fake_machine_and_asks_its_cloud_only_when_told() {
    let root = tempfile::tempdir().unwrap();
    for (path, content) in [
        ("sys/class/dmi/id/sys_vendor", "DigitalOcean"),
        ("proc/meminfo", "MemTotal:       16777216 kB\nSwapTotal: 0 kB\n"),
        ("sys/devices/system/cpu/online", "0-3"),
        ("etc/os-release", "PRETTY_NAME=\"Test\u{1b}[31mOS\""),
    ] {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    let root = root.path().to_str().unwrap();

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let quiet: Value =
        serde_json::from_str(&text(&with_metadata_base(&base, &["host", "--json", "--root", root]))).unwrap();
    assert_eq!(quiet["cloud"]["vendor"], "digitalocean");
    assert_eq!(quiet["cloud"]["region"], Value::Null);
    assert_eq!(quiet["memory"]["total_bytes"], 16_777_216u64 * 1024);
    assert_eq!(quiet["cpu"]["vcpus"], 4);
    assert_eq!(quiet["cpu"]["sockets"], Value::Null);
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err(), "nobody may have connected");
    listener.set_nonblocking(false).unwrap();

    let service = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut seen = Vec::new();
        let mut buffer = [0; 1024];
        while !seen.windows(4).any(|window| window == b"\r\n\r\n") {
            let count = stream.read(&mut buffer).unwrap();
            seen.extend_from_slice(&buffer[..count]);
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnyc3").unwrap();
        String::from_utf8(seen).unwrap()
    });
    let told = text(&with_metadata_base(&base, &["host", "--cloud", "--root", root]));
    assert!(service.join().unwrap().starts_with("GET /metadata/v1/region HTTP/1.1\r\n"));
    assert!(told.contains("DigitalOcean, region nyc3"), "{told}");
    assert!(!told.contains('\u{1b}'), "{told:?}");
}

#[test]
fn host_refuses_a_root_that_is_none() {
    let output = jobmeter(&["host", "--root", "/nonexistent-root"]);
    assert_eq!(output.status.code(), Some(125));
    assert!(String::from_utf8(output.stderr).unwrap().starts_with("jobmeter: \"/nonexistent-root\" is not"));
}

#[test]
fn compare_takes_directories_as_sets_and_can_fail_a_build() {
    let folder = tempfile::tempdir().unwrap();
    for i in 0..12 {
        let wall_ns = 1_000_000_000 + i as u64 * 1_000_000;
        write(folder.path(), &format!("base/{i:02}.json"), &summary(2 * i, wall_ns, 1000));
        write(folder.path(), &format!("new/{i:02}.json"), &summary(2 * i + 1, wall_ns * 11 / 10, 1000));
    }
    let base = folder.path().join("base").to_str().unwrap().to_owned();
    let new = folder.path().join("new").to_str().unwrap().to_owned();

    let output = jobmeter(&["compare", &base, &new, "--fail-on-regression"]);
    assert_eq!(output.status.code(), Some(123));
    let table = text(&output);
    let wall = table.lines().find(|line| line.starts_with("Wall time")).unwrap();
    assert!(wall.contains("+10.0 %") && wall.ends_with("regression"), "{table}");

    let same = jobmeter(&["compare", &base, &base, "-f", "json", "--fail-on-regression"]);
    assert_eq!(same.status.code(), Some(0));
    let same: Value = serde_json::from_str(&text(&same)).unwrap();
    assert_eq!(same["groups"][0]["run_ids"].as_array().unwrap().len(), 12);
    for row in same["rows"].as_array().unwrap() {
        assert_eq!(row["contrasts"][0]["difference"], 0.0, "{row}");
    }
    let markdown = text(&jobmeter(&["compare", &base, &new, "-f", "markdown"]));
    assert!(markdown.contains("Regression: **Wall time**."), "{markdown}");
}

#[test]
fn compare_says_what_is_wrong_in_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let bad = folder.path().join("bad.json");
    std::fs::write(&bad, "{\"a\": 1}").unwrap();
    let empty = folder.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    for (wrong, part) in
        [(&bad, "not the JSON"), (&empty, "holds no"), (&folder.path().join("no.json"), "cannot read")]
    {
        let wrong = wrong.to_str().unwrap();
        let output = jobmeter(&["compare", wrong, wrong]);
        assert_eq!(output.status.code(), Some(125));
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains(part) && error.lines().count() == 1, "{error}");
    }
}

#[test]
fn check_has_an_exit_code_for_each_outcome() {
    let folder = tempfile::tempdir().unwrap();
    let run = write(folder.path(), "run.json", &summary(1, 60_000_000_000, 1 << 30));
    let cases: &[(&[&str], i32, &str)] = &[
        (&["--max-time", "1m", "--max-ram", "4GiB"], 0, "holds"),
        (&["--max-time", "59s"], 123, "EXCEEDED"),
        (&["--max-ram", "1.5GiB"], 0, "cannot exclude"),
        (&["--max-ram", "1.5GiB", "--strict"], 122, "cannot exclude"),
        (&["--max-gpu-ram", "1GiB"], 122, "UNKNOWN"),
        (&["--max-gpu-ram", "1GiB", "--max-time", "1s"], 123, "EXCEEDED"),
        (&["--max-processes", "4"], 122, "UNKNOWN"),
    ];
    for (budgets, code, part) in cases {
        let arguments: Vec<&str> = ["check", &run].iter().chain(*budgets).copied().collect();
        let output = jobmeter(&arguments);
        assert_eq!(output.status.code(), Some(*code), "{budgets:?}");
        let text = text(&output);
        assert!(text.contains(part), "{text}");
        // A line for each budget, and one that closes.
        assert_eq!(text.lines().count(), 1 + budgets.iter().filter(|word| word.starts_with("--max")).count());
    }
    assert_eq!(jobmeter(&["check", &run]).status.code(), Some(125), "nothing to check is no success");
    assert_eq!(jobmeter(&["check", &run, "--max-ram", "8 apples"]).status.code(), Some(125));
}

#[test]
fn check_against_a_baseline_and_for_machines() {
    let folder = tempfile::tempdir().unwrap();
    let base = write(folder.path(), "base.json", &json!([summary(1, 100, 1000), summary(2, 110, 1000)]));
    let run = write(folder.path(), "run.json", &summary(3, 120, 400));
    let arguments = |format| ["check", &run, "--baseline", &base, "--tolerance", "5%", "-f", format];

    let output = jobmeter(&arguments("junit"));
    assert_eq!(output.status.code(), Some(123));
    let xml = text(&output);
    let document = roxmltree::Document::parse(&xml).expect("well-formed XML");
    let cases: Vec<_> = document.descendants().filter(|node| node.has_tag_name("testcase")).collect();
    let names: Vec<_> = cases.iter().map(|case| case.attribute("name").unwrap()).collect();
    assert_eq!(names, ["time", "ram"]);
    assert_eq!(document.descendants().filter(|node| node.has_tag_name("failure")).count(), 1);

    let annotations = text(&jobmeter(&arguments("github")));
    assert!(annotations.starts_with("::error title=Wall time (run-3)::EXCEEDED: "), "{annotations}");
    let report: Value = serde_json::from_str(&text(&jobmeter(&arguments("json")))).unwrap();
    assert_eq!(report[0]["lines"][0]["outcome"], "exceeded");
    assert_eq!(report[0]["lines"][0]["origin"]["median"], 105.0);
}
