//! The report: its place behind the command's output, its units, its formats, and the status.

use crate::place::{DONE, Place, REPORT, masked, text};
use serde_json::Value;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

/// Keys of the JSON form in their order, two spaces of indentation masked as in the text.
const JSON_HEAD: &str = "{\n \"max_ram\": {\n  \"unit\": \"gigabytes\",\n  \"system_capacity\": N,\n  \"system\": N,\n  \
    \"main\": {\n   \"total_rss\": N,\n   \"private_rss\": N,\n   \"shared_rss\": N\n  },\n  \"descendants\": {\n";
const JSON_TAIL: &str = "  \"main_n_threads\": N,\n  \"descendants_n_threads\": N,\n  \"combined_n_threads\": N\n },\n \
    \"gpu_utilization\": {\n  \"system_gpu_count\": N,\n  \"n_expected_gpus\": N,\n  \"gpu_percentages\": {\n   \
    \"max_sum_percent\": N,\n   \"max_hardware_percent\": N,\n   \"mean_sum_percent\": N,\n   \
    \"mean_hardware_percent\": N\n  }\n },\n \"compute_time\": {\n  \"unit\": \"hours\",\n  \"time\": N\n }\n}";

#[test]
fn help_and_version() {
    let place = Place::new();
    for option in ["-h", "--help"] {
        let help = place.out(&[option]);
        for word in
            ["--execute=<command>", "--tconfig=<config-file>", "sub-track compare", "    --disable-logs "]
        {
            assert!(help.contains(word), "{word} is missing:\n{help}");
        }
    }
    assert_eq!(place.out(&["-v"]), "5.0.1\n");
    assert_eq!(place.out(&["--version"]), "5.0.1\n");
}

#[test]
fn the_program_by_its_other_name() {
    let place = Place::new();
    symlink(env!("CARGO_BIN_EXE_jobmeter"), place.path("gpu-tracker")).expect("link");
    let output = Command::new(place.path("gpu-tracker")).arg("-v").output().expect("starts");
    assert_eq!(text(&output.stdout), "5.0.1\n");
    let output = Command::new(place.path("gpu-tracker"))
        .args(["-e", "true", "--disable-logs"])
        .output()
        .expect("starts");
    assert!(text(&output.stdout).starts_with(DONE));
}

#[test]
fn the_report_follows_the_output_of_the_command() {
    let place = Place::new();
    let out = place.out(&["-e", "bash example-script.sh", "--st=0.3"]);
    assert_eq!(masked(&out), format!("said\n{DONE}N\n{REPORT}\n"));
    assert!(out.contains("status code: 0\n"));
    let out = place.out(&["-e", "sleep 0.3"]);
    assert_eq!(masked(&out), format!("{DONE}N\n{REPORT}\n"));
    assert!(!place.path("data").exists() && !place.path("home").exists(), "a record was kept");
}

#[test]
fn units_are_chosen() {
    let place = Place::new();
    let words =
        ["-e", "bash example-script.sh", "--tu=seconds", "--gru=megabytes", "--ru=megabytes", "--st=0.2"];
    let out = place.out(&words);
    let expected = REPORT.replace("gigabytes", "megabytes").replace("hours", "seconds");
    assert_eq!(masked(&out), format!("said\n{DONE}N\n{expected}\n"));
    let seconds: f64 = out.rsplit_once("Time: ").expect("time").1.trim().parse().expect("number");
    assert!((0.5..60.0).contains(&seconds), "{seconds}");
    // The child holds 20 MB; bash alone far less.
    let json: Value = serde_json::from_str(
        place
            .out(&["-e", "bash example-script.sh", "--ru", "megabytes", "--st", "0.1", "-f", "json"])
            .split_once(DONE)
            .expect("done")
            .1
            .split_once('\n')
            .expect("line")
            .1,
    )
    .expect("JSON");
    let descendants = json["max_ram"]["descendants"]["total_rss"].as_f64().expect("number");
    let main = json["max_ram"]["main"]["total_rss"].as_f64().expect("number");
    assert!(descendants > 20.0 && main < 20.0, "{descendants} {main}");
}

#[test]
fn text_goes_to_a_file() {
    let place = Place::new();
    assert_eq!(
        place.out(&["-e", "bash example-script.sh", "-o", "out.txt", "--st=0.2"]),
        format!("said\n{DONE}0\n")
    );
    assert_eq!(masked(&place.read("out.txt")), REPORT);
    let mode = std::fs::metadata(place.path("out.txt")).expect("file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    // As the original, a second run replaces it.
    place.out(&["-e", "true", "--output=out.txt"]);
}

#[test]
fn a_closed_screen_does_not_cost_the_file() {
    let place = Place::new();
    let program = env!("CARGO_BIN_EXE_jobmeter");
    let line = format!("'{program}' gpu-tracker -e true -o out.txt --disable-logs > /dev/full");
    let output =
        Command::new("sh").args(["-c", &line]).current_dir(place.0.path()).output().expect("sh starts");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).starts_with("ERROR:root:cannot write to standard output: "));
    assert_eq!(masked(&place.read("out.txt")), REPORT);
}

#[test]
fn json_has_the_same_keys_and_layout() {
    let place = Place::new();
    let out = place.out(&["-e", "bash example-script.sh", "-f", "json", "--st=0.2"]);
    let json = masked(out.strip_prefix(&format!("said\n{DONE}0\n")).expect("job first"));
    assert!(json.starts_with(JSON_HEAD), "{json}");
    assert!(json.ends_with(&format!("{JSON_TAIL}\n")), "{json}");
    let out = place.out(&["-e", "bash example-script.sh", "-f", "json", "-o", "out.json", "--st=0.3"]);
    assert_eq!(out, format!("said\n{DONE}0\n"));
    assert_eq!(masked(&place.read("out.json")) + "\n", json);
    // Same numbers and keys as Python's encoder would write them.
    let again = place.python("import json; print(json.dumps(json.load(open('out.json')), indent=1), end='')");
    assert_eq!(again, place.read("out.json"));
}

#[test]
fn a_pickle_becomes_the_data_classes() {
    let place = Place::new();
    place.out(&["-e", "sleep 0.3", "-f", "pickle", "-o", "out.pkl", "--ru=bytes"]);
    let shown = place.python(
        "import pickle; u = pickle.load(open('out.pkl', 'rb')); r = u.max_ram\n\
         print(type(u).__name__, type(r.main).__name__, r.unit, r.descendants.total_rss)\n\
         print(type(u.cpu_utilization.system).__name__, u.cpu_utilization.main_n_threads, u.compute_time.unit)\n\
         print(r.main.total_rss > 1e5, type(u.gpu_utilization.gpu_percentages).__name__, u.max_gpu_ram.combined)",
    );
    assert_eq!(
        shown,
        "ResourceUsage RSSValues bytes 0.0\nProcessingUnitPercentages 1 hours\nTrue ProcessingUnitPercentages 0.0\n"
    );
    // On the screen it is shown as Python shows bytes: in double quotes where a number holds a single one.
    let out = place.out(&["-e", "true", "-f", "pickle"]);
    let begins = |quote: &str| {
        out.contains(&format!("\nb{quote}\\x80\\x02cjobmeter.compat.gpu_tracker.usage\\nResourceUsage\\n("))
    };
    assert!(begins("'") || begins("\""), "{out}");
}

#[test]
fn the_status_is_reported_and_our_own_is_zero() {
    let place = Place::new();
    for (command, status) in [("sh -c 'exit 3'", "3"), ("sh -c 'kill -9 $$'", "-9"), ("false", "1")] {
        let out = place.out(&["-e", command]);
        assert!(out.starts_with(&format!("{DONE}{status}\n")), "{command}: {out}");
    }
}
