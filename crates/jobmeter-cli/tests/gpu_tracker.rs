//! `jobmeter gpu-tracker` as its users call it: the examples of its tutorials with the numbers masked, every
//! option, the errors, the three formats, the tracking files while they grow, and sub-tracking.

use serde_json::{Value, json};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use tempfile::TempDir;

const DONE: &str = "Resource tracking complete. Process completed with status code: ";

/// The report, numbers masked, units of the first release's defaults.
const REPORT: &str = "\
Max RAM:
   Unit: gigabytes
   System capacity: N
   System: N
   Main:
      Total RSS: N
      Private RSS: N
      Shared RSS: N
   Descendants:
      Total RSS: N
      Private RSS: N
      Shared RSS: N
   Combined:
      Total RSS: N
      Private RSS: N
      Shared RSS: N
Max GPU RAM:
   Unit: gigabytes
   System capacity: N
   System: N
   Main: N
   Descendants: N
   Combined: N
CPU utilization:
   System core count: N
   Number of expected cores: N
   System:
      Max sum percent: N
      Max hardware percent: N
      Mean sum percent: N
      Mean hardware percent: N
   Main:
      Max sum percent: N
      Max hardware percent: N
      Mean sum percent: N
      Mean hardware percent: N
   Descendants:
      Max sum percent: N
      Max hardware percent: N
      Mean sum percent: N
      Mean hardware percent: N
   Combined:
      Max sum percent: N
      Max hardware percent: N
      Mean sum percent: N
      Mean hardware percent: N
   Main number of threads: N
   Descendants number of threads: N
   Combined number of threads: N
GPU utilization:
   System GPU count: N
   Number of expected GPUs: N
   GPU percentages:
      Max sum percent: N
      Max hardware percent: N
      Mean sum percent: N
      Mean hardware percent: N
Compute time:
   Unit: hours
   Time: N";

/// Keys of the JSON form in their order, two spaces of indentation masked as in the text.
const JSON_HEAD: &str = "{\n \"max_ram\": {\n  \"unit\": \"gigabytes\",\n  \"system_capacity\": N,\n  \"system\": N,\n  \
    \"main\": {\n   \"total_rss\": N,\n   \"private_rss\": N,\n   \"shared_rss\": N\n  },\n  \"descendants\": {\n";
const JSON_TAIL: &str = "  \"main_n_threads\": N,\n  \"descendants_n_threads\": N,\n  \"combined_n_threads\": N\n },\n \
    \"gpu_utilization\": {\n  \"system_gpu_count\": N,\n  \"n_expected_gpus\": N,\n  \"gpu_percentages\": {\n   \
    \"max_sum_percent\": N,\n   \"max_hardware_percent\": N,\n   \"mean_sum_percent\": N,\n   \
    \"mean_hardware_percent\": N\n  }\n },\n \"compute_time\": {\n  \"unit\": \"hours\",\n  \"time\": N\n }\n}";

const SCRIPT: &str =
    "echo said\npython3 -c 'import time; x = bytearray(20000000); time.sleep(0.5)'\nexit 0\n";

struct Place(TempDir);

impl Place {
    fn new() -> Place {
        let place = Place(tempfile::tempdir().expect("temporary folder"));
        place.write("example-script.sh", SCRIPT);
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("file");
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_jobmeter"));
        command.arg("gpu-tracker").args(words).current_dir(self.0.path());
        command.env_remove("CUDA_VISIBLE_DEVICES").env_remove("JOBMETER_NVML_PATH");
        // A record would land here.
        command.env("XDG_DATA_HOME", self.path("data")).env("HOME", self.path("home"));
        command
    }

    fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().expect("jobmeter starts")
    }

    /// Standard output of a call that succeeds.
    fn out(&self, words: &[&str]) -> String {
        let output = self.run(words);
        assert_eq!(output.status.code(), Some(0), "{words:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// Standard error of a call that fails with 1 and prints nothing.
    fn refused(&self, words: &[&str]) -> String {
        let output = self.run(words);
        assert_eq!(output.status.code(), Some(1), "{words:?}");
        assert_eq!(text(&output.stdout), "", "{words:?}");
        text(&output.stderr)
    }

    /// Python with our package, which must succeed.
    fn python(&self, program: &str) -> String {
        let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python");
        let output = Command::new("python3")
            .args(["-c", program])
            .current_dir(self.0.path())
            .env("PYTHONPATH", package)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .output()
            .expect("python3 starts");
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Every number behind `: ` becomes N; it must be one.
fn masked(text: &str) -> String {
    let mask = |line: &str| match line.rsplit_once(": ") {
        Some((key, value)) => {
            let number = value.trim_end_matches(',');
            let comma = &value[number.len()..];
            match number.parse::<f64>() {
                Ok(_) => format!("{key}: N{comma}"),
                Err(_) => line.to_owned(),
            }
        }
        None => line.to_owned(),
    };
    text.split('\n').map(mask).collect::<Vec<_>>().join("\n")
}

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
    // On the screen it is shown as Python shows bytes.
    let out = place.out(&["-e", "true", "-f", "pickle"]);
    assert!(out.contains("\nb'\\x80\\x02cjobmeter.compat.gpu_tracker.usage\\nResourceUsage\\n("), "{out}");
}

#[test]
fn the_status_is_reported_and_our_own_is_zero() {
    let place = Place::new();
    for (command, status) in [("sh -c 'exit 3'", "3"), ("sh -c 'kill -9 $$'", "-9"), ("false", "1")] {
        let out = place.out(&["-e", command]);
        assert!(out.starts_with(&format!("{DONE}{status}\n")), "{command}: {out}");
    }
}

#[test]
fn mistakes_are_told_before_the_command_starts() {
    let place = Place::new();
    place.write("there.csv", "old");
    place.write("bad.json", "{\"sleep\": 1}");
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

#[test]
fn the_csv_grows_while_the_command_runs() {
    let place = Place::new();
    // The command itself waits for two rows behind the three lines at the top.
    let job = "bash -c 'while [ \"$(wc -l < t.csv 2>/dev/null || echo 0)\" -lt 5 ]; do sleep 0.02; done'";
    place.out(&["-e", job, "--st=0.1", "--tf=t.csv", "--disable-logs", "--ru=bytes"]);
    let text = place.read("t.csv");
    let lines: Vec<&str> = text.split_terminator("\r\n").collect();
    assert_eq!(
        lines[0],
        "ram_unit,gpu_ram_unit,time_unit,ram_system_capacity,gpu_ram_system_capacity,system_core_count,\
         n_expected_cores,system_gpu_count,n_expected_gpus"
    );
    assert!(lines[1].starts_with("bytes,gigabytes,hours,"));
    assert!(lines[2].starts_with("main_ram,descendants_ram,combined_ram,system_ram,main_gpu_ram,"));
    assert!(lines[2].ends_with(",cpu_combined_hardware_utilization_percent,timestamp"));
    assert!(lines.len() >= 5);
    let mut before = 0.0;
    for line in &lines[3..] {
        let cells: Vec<f64> = line.split(',').map(|cell| cell.parse().expect("number")).collect();
        assert_eq!(cells.len(), 22);
        assert!(cells[0] > 1e5, "main lives in every row: {line}");
        assert!(cells[21] > before + 0.01, "time goes on: {line}");
        before = cells[21];
    }
    let mode = std::fs::metadata(place.path("t.csv")).expect("file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    // Overwriting starts anew.
    place.out(&["-e", "true", "--tf=t.csv", "--overwrite"]);
    assert!(place.read("t.csv").lines().count() < lines.len());
}

#[test]
fn the_database_grows_while_the_command_runs() {
    let place = Place::new();
    place.write(
        "job.py",
        "import sqlite3, time\n\
         def rows():\n    \
             try: return sqlite3.connect('file:t.sqlite?mode=ro', uri=True).execute('select count(*) from data').fetchone()[0]\n    \
             except sqlite3.OperationalError: return 0\n\
         while rows() < 2: time.sleep(0.02)\n",
    );
    place.out(&["-e", "python3 job.py", "--st=0.1", "--tf=t.sqlite", "--disable-logs"]);
    let shown = place.python(
        "import sqlite3; c = sqlite3.connect('t.sqlite')\n\
         print([r[0] for r in c.execute('select name from sqlite_master order by name')])\n\
         print(c.execute('select count(*) from static_data').fetchone()[0])\n\
         print(c.execute('select count(*) >= 2, min(main_ram) > 0, min(combined_n_threads) > 0 from data').fetchone())",
    );
    assert_eq!(shown, "['data', 'static_data']\n1\n(1, 1, 1)\n");
}

/// Builds the fake NVML once and gives its path.
fn library() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| {
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
        let status = Command::new(cargo)
            .args(["build", "--quiet", "-p", "jobmeter-fake-nvml"])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status()
            .expect("cargo runs");
        assert!(status.success(), "the fake NVML builds");
        let test = std::env::current_exe().expect("own path");
        test.ancestors().nth(3).expect("target folder").join("debug/libfake_nvml.so")
    })
}

fn device(uuid: &str, busy: u32, processes: Value) -> Value {
    json!({"name": "Imaginary A100", "uuid": uuid, "memory_total": 2_048_000_000u64, "memory_used": 631_000_000,
        "gpu_util": busy, "memory_util": 40, "power_mw": 250_000, "energy_mj": 1000, "temperature_c": 71,
        "sm_mhz": 1410, "memory_mhz": 1215, "compute": processes, "samples": []})
}

#[test]
fn gpus_equal_the_script() {
    let place = Place::new();
    let job = "echo $$ > main.pid; sleep 0.8 & echo $! > one.pid; wait";
    place.write("job.sh", job);
    let processes = json!([{"pid": "main", "memory": 100_000_000}, {"pid": "one", "memory": 177_000_000},
        {"pid": 1, "memory": 90_000_000}]);
    let state = json!({"devices": [device("GPU-0", 80, processes), device("GPU-1", 30, json!([]))]});
    place.write("state.json", &state.to_string());
    let run = |words: &[&str]| {
        // The script must not take the numbers of an earlier run's processes.
        for name in ["main.pid", "one.pid"] {
            drop(std::fs::remove_file(place.path(name)));
        }
        let mut command = place.command(&["-e", "sh job.sh", "--st=0.1", "--gru=megabytes"]);
        command.args(words).env("FAKE_NVML_STATE", place.path("state.json"));
        command.env("JOBMETER_NVML_PATH", library()).output().expect("starts")
    };
    let output = run(&["--tf=t.csv"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let out = text(&output.stdout);
    let expected = "Max GPU RAM:\n   Unit: megabytes\n   System capacity: 4096.0\n   System: 1262.0\n   \
        Main: 100.0\n   Descendants: 177.0\n   Combined: 277.0\n";
    assert!(out.contains(expected), "{out}");
    let counts = "   System GPU count: 2\n   Number of expected GPUs: 2\n   GPU percentages:\n      \
        Max sum percent: 110.0\n      Max hardware percent: 55.0\n";
    assert!(out.contains(counts), "{out}");
    assert!(place.read("t.csv").contains(",100.0,177.0,277.0,1262.0,110.0,55.0,1,1,2,"));
    // Chosen UUIDs narrow the utilization only.
    let out = text(&run(&["--guuids=GPU-1", "--gb=nvidia"]).stdout);
    assert!(out.contains("   System GPU count: 2\n   Number of expected GPUs: 1\n"), "{out}");
    assert!(out.contains("      Max sum percent: 30.0\n      Max hardware percent: 30.0\n"), "{out}");
    assert!(out.contains("   Main: 100.0\n   Descendants: 177.0\n"), "{out}");
    for (option, expected) in [
        ("--guuids=GPU-9", "GPU UUID of GPU-9 is not valid. Available UUIDs are: GPU-0, GPU-1"),
        (
            "--guuids=",
            "gpu_uuids is not None but the set is empty. Please provide a set of at least one GPU UUID.",
        ),
        ("--gb=amd", "No amd GPU was found; leave the GPU brand unset to take any."),
    ] {
        let output = run(&[option]);
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(text(&output.stderr), format!("ERROR:root:{expected}\n"));
    }
}

const SUB_HEADER: &str = "process_id,code_block_name,position,timestamp\n";

/// Two measurements at 10 and 11; `block` holds both, `main.py:10` is called twice and holds the first.
fn sub_tracking(place: &Place) {
    place.write(
        "one.csv",
        &format!(
            "{SUB_HEADER}1,main.py:10,0,9.5\n1,main.py:10,1,10.5\n1,main.py:10,0,10.6\n1,main.py:10,1,10.7\n"
        ),
    );
    place.write(
        "two.csv",
        &format!("{SUB_HEADER}2,\"a, block\",0,9.0\n2,\"a, block\",1,11.0\n2,idle,0,20.0\n2,idle,1,21.5\n"),
    );
    let names = "main_ram,descendants_ram,combined_ram,system_ram,main_gpu_ram,descendants_gpu_ram,combined_gpu_ram,\
        system_gpu_ram,gpu_sum_utilization_percent,gpu_hardware_utilization_percent,main_n_threads,\
        descendants_n_threads,combined_n_threads,cpu_system_sum_utilization_percent,\
        cpu_system_hardware_utilization_percent,cpu_main_sum_utilization_percent,cpu_main_hardware_utilization_percent,\
        cpu_descendants_sum_utilization_percent,cpu_descendants_hardware_utilization_percent,\
        cpu_combined_sum_utilization_percent,cpu_combined_hardware_utilization_percent,timestamp";
    let zeros = "0.0,0.0,0.0,0.0,0.0,0.0";
    place.write(
        "t.csv",
        &format!(
            "ram_unit,gpu_ram_unit,time_unit,ram_system_capacity,gpu_ram_system_capacity,system_core_count,\
             n_expected_cores,system_gpu_count,n_expected_gpus\r\ngigabytes,gigabytes,hours,25.274793984000002,0.0,2,2,0,0\r\n\
             {names}\r\n0.25,0.5,0.75,1.0,{zeros},1,2,3,50.0,25.0,10.0,5.0,0.0,0.0,10.0,5.0,10.0\r\n\
             0.5,0.5,1.0,1.5,{zeros},1,3,4,150.0,75.0,30.0,15.0,0.0,0.0,30.0,15.0,11.0\r\n"
        ),
    );
}

#[test]
fn sub_tracking_files_are_combined() {
    let place = Place::new();
    sub_tracking(&place);
    let joined = ["sub-track", "combine", "--stf=all.csv", "-p", "one.csv", "-p", "two.csv"];
    assert_eq!(place.out(&joined), "");
    let expected = place.read("one.csv") + place.read("two.csv").strip_prefix(SUB_HEADER).expect("header");
    assert_eq!(place.read("all.csv"), expected);
    assert_eq!(
        place.refused(&joined),
        "ERROR:root:Cannot create sub-tracking file all.csv. File already exists.\n"
    );
    // A single folder stands for its files.
    std::fs::create_dir(place.path("parts")).expect("folder");
    for name in ["one.csv", "two.csv"] {
        std::fs::copy(place.path(name), place.path(&format!("parts/{name}"))).expect("copy");
    }
    place.out(&["sub-track", "combine", "--stf", "again.csv", "-p", "parts"]);
    assert_eq!(place.read("again.csv"), expected);
    assert_eq!(
        place.refused(&["sub-track", "combine", "--stf=all.sqlite", "-p", "one.csv", "-p", "two.csv"]),
        "ERROR:root:File one.csv does not end with the same extension as all.sqlite. Must end in \".sqlite\".\n"
    );
    place.write("bad.csv", "a,b\n1,2\n");
    assert!(
        place
            .refused(&["sub-track", "combine", "--stf=x.csv", "-p", "bad.csv"])
            .contains("must begin with the header")
    );
}

#[test]
fn an_analysis_has_the_statistics_of_each_block() {
    let place = Place::new();
    sub_tracking(&place);
    place.out(&["sub-track", "combine", "--stf=all.csv", "-p", "one.csv", "-p", "two.csv"]);
    let analyze = ["sub-track", "analyze", "--tf=t.csv", "--stf=all.csv"];
    let out = place.out(&analyze);
    let overall = "Overall:\n\t                                              min   max  mean   std\n\
        \tmain_ram                                     0.25   0.5 0.375 0.125\n\
        \tdescendants_ram                               0.5   0.5   0.5   0.0\n";
    assert!(out.starts_with(overall), "{out}");
    let fixed = "Static Data:\n\t   ram_unit gpu_ram_unit time_unit ram_system_capacity gpu_ram_system_capacity \
        system_core_count n_expected_cores system_gpu_count n_expected_gpus\n\
        \t  gigabytes    gigabytes     hours         25.27479398                     0.0                 2                \
        2                0               0\nCode Block Results:\n";
    assert!(out.contains(fixed), "{out}");
    let block = "\tName:                main.py:10\n\tNum Timepoints:      1\n\tNum Calls:           2\n\
        \tNum Non Empty Calls: 1\n\tCompute Time:\n\t\t  min  max  mean  std  total\n\t\t  0.1  1.0  0.55 0.45    1.1\n";
    assert!(out.contains(block), "{out}");
    let idle = "\tResource Usage:\n\t\t                                              min  max  mean  std\n\
        \t\tmain_ram                                      NaN  NaN   NaN  NaN\n";
    assert!(out.contains(idle), "{out}");
    assert!(out.ends_with("NaN\n\n\n") || out.ends_with("0.0\n\n\n"), "{out}");
    let json = place.out(&[&analyze[..], &["-f", "json"]].concat());
    assert!(json.starts_with("{\n \"overall\": {\n  \"main_ram\": {\n   \"min\": 0.25,\n"), "{json}");
    let shown = place.python(&format!(
        "import json; d = json.loads({json:?}); b = d['code_block_results']; print([x['name'] for x in b])\n\
         print([(x['num_timepoints'], x['num_calls'], x['num_non_empty_calls'], x['compute_time']['total']) for x in b])"
    ));
    assert_eq!(
        shown,
        "['a, block', 'idle', 'main.py:10']\n[(2, 1, 1, 2.0), (0, 1, 0, 1.5), (1, 2, 1, 1.0999999999999996)]\n"
    );
    assert!(
        place
            .refused(&["sub-track", "analyze", "--tf=one.csv", "--stf=all.csv"])
            .contains("has no static data")
    );
    assert!(
        place
            .refused(&["sub-track", "analyze", "--tf=no.csv", "--stf=all.csv"])
            .contains("cannot read no.csv")
    );
    assert!(
        place
            .refused(&["sub-track", "analyze", "--tf=no.sqlite", "--stf=all.csv"])
            .contains("cannot read the table")
    );
}

#[test]
fn sessions_are_compared() {
    let place = Place::new();
    sub_tracking(&place);
    place.out(&["sub-track", "combine", "--stf=all.csv", "-p", "one.csv", "-p", "two.csv"]);
    place.out(&["sub-track", "analyze", "--tf=t.csv", "--stf=all.csv", "-f", "pickle", "-o", "a.pkl"]);
    // The second session is smaller, and its block moved by two lines.
    place.write("t2.csv", &place.read("t.csv").replace("\r\n0.25,", "\r\n0.125,"));
    place.write("all2.csv", &place.read("all.csv").replace("main.py:10", "main.py:12"));
    place.out(&["sub-track", "analyze", "--tf=t2.csv", "--stf=all2.csv", "-f", "pickle", "-o", "b.pkl"]);
    let output = place.run(&["sub-track", "compare", "-m", "A=a.pkl", "-m", "B=b.pkl", "--stat=min"]);
    assert_eq!(output.status.code(), Some(0));
    let warning = text(&output.stderr);
    assert!(
        warning.starts_with("WARNING:root:Code block name \"main.py:10\" of tracking session \"A\" matched"),
        "{warning}"
    );
    let out = text(&output.stdout);
    assert!(
        out.starts_with("Overall Resource Usage:\n\tMain Ram:\n\t\t     B    A\n\t\t 0.125 0.25\n"),
        "{out}"
    );
    assert!(out.contains("\t\tmain.py:10 -> main.py:12:\n\t\t\t     B    A\n\t\t\t 0.125 0.25\n"), "{out}");
    assert!(out.contains("Code Block Compute Time:\n\ta, block:\n\t\t   A   B\n\t\t 2.0 2.0\n"), "{out}");
    place.write("c.json", r#"{"file_path_map": {"Z": "a.pkl", "A": "a.pkl"}, "statistic": "max"}"#);
    let json = place.out(&["sub-track", "compare", "--cconfig=c.json", "-m", "M=a.pkl", "-f", "json"]);
    let head = "{\n \"overall_resource_usage\": {\n  \"main_ram\": {\n   \"Z\": 0.5,\n   \"A\": 0.5,\n   \"M\": 0.5\n  },\n";
    assert!(json.starts_with(head), "{json}");
    for (words, expected) in [
        (
            &[][..],
            "A mapping of tracking session name to file path must be provided either through the -m option or a config file.",
        ),
        (
            &["-m", "A=a.pkl", "--stat=foo"],
            "Invalid summary statistic 'foo'. Valid values are min max mean std.",
        ),
        (&["-m", "a.pkl"], "\"a.pkl\" is not a session; write <name>=<file-path>."),
        (&["-m", "A=t.csv"], "t.csv is not a results file of this program: "),
        (&["-m", "A=none.pkl"], "cannot read none.pkl: "),
    ] {
        let error = place.refused(&[&["sub-track", "compare"][..], words].concat());
        assert!(error.starts_with(&format!("ERROR:root:{expected}")), "{error}");
    }
}

#[test]
fn databases_are_combined_and_analyzed_as_the_csv_files_are() {
    let place = Place::new();
    sub_tracking(&place);
    place.out(&["sub-track", "combine", "--stf=all.csv", "-p", "one.csv", "-p", "two.csv"]);
    place.python(
        "import csv, sqlite3\n\
         def put(name, table, lines):\n    \
             c = sqlite3.connect(name); c.execute(f\"create table {table} ({', '.join(lines[0])})\")\n    \
             for r in lines[1:]:\n        \
                 r = [int(v) if v.isdigit() else float(v) if v.replace('.', '').isdigit() else v for v in r]\n        \
                 c.execute(f\"insert into {table} values ({', '.join('?' * len(r))})\", r)\n    \
             c.commit()\n\
         for n in ('one', 'two'): put(n + '.sqlite', 'data', list(csv.reader(open(n + '.csv'))))\n\
         t = list(csv.reader(open('t.csv'))); put('t.sqlite', 'static_data', t[:2]); put('t.sqlite', 'data', t[2:])",
    );
    place.out(&["sub-track", "combine", "--stf=all.sqlite", "-p", "one.sqlite", "-p", "two.sqlite"]);
    let of_csv = place.out(&["sub-track", "analyze", "--tf=t.csv", "--stf=all.csv", "-f", "json"]);
    let of_sqlite = place.out(&["sub-track", "analyze", "--tf=t.sqlite", "--stf=all.sqlite", "-f", "json"]);
    assert_eq!(of_sqlite, of_csv);
}

#[test]
fn a_pickle_of_the_python_package_is_compared_too() {
    let place = Place::new();
    sub_tracking(&place);
    place.out(&["sub-track", "analyze", "--tf=t.csv", "--stf=one.csv", "-f", "pickle", "-o", "a.pkl"]);
    // Python reads what we wrote through its own allow-list, and writes it again in each protocol.
    place.python(
        "import pickle, sys, types\n\
         import jobmeter.compat.gpu_tracker._results as r\n\
         found = r.load_results('a.pkl')\n\
         for n in (2, 3, 4, 5): pickle.dump(found, open(f'p{n}.pkl', 'wb'), protocol=n)",
    );
    for protocol in 2..=5 {
        let ours = place.out(&["sub-track", "compare", "-m", "A=a.pkl", "-f", "json"]);
        let theirs = place.out(&["sub-track", "compare", "-m", &format!("A=p{protocol}.pkl"), "-f", "json"]);
        assert_eq!(ours, theirs, "protocol {protocol}");
    }
}
