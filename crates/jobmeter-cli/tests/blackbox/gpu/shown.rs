//! Where the figures of GPUs go: the text, the JSON, the run file and every export.

use super::rig::{FAMILY, MIB, Rig, device};
use serde_json::{Value, json};

fn output(rig: &Rig, arguments: &[&str]) -> String {
    let shown = rig.room.finish(rig.room.jobmeter(arguments));
    assert_eq!(shown.code, 0, "{arguments:?}: {}", shown.stderr);
    String::from_utf8(shown.stdout).expect("UTF-8")
}

#[test]
fn text_json_run_file_and_exports_have_them() {
    let list = json!([{"pid": "main", "memory": 100 * MIB}, {"pid": "one", "memory": 20 * MIB}]);
    let samples = json!([{"pid": "main", "sm": 30}, {"pid": "one", "sm": 12}]);
    let mut plain = device("GPU-1", json!([]), json!([]));
    plain["throttle"] = json!(1);
    let mut hot = device("GPU-0", list, samples);
    hot["throttle"] = json!(0x40 | 0x4);
    let rig = Rig::scripted("shown", &json!({"devices": [hot, plain]}));
    let run = rig.run(&["--carbon-intensity", "400"], FAMILY);
    let record = rig.room.file("run.jobmeter");
    // The run file gives the same summary that the run has printed.
    let again: Value = serde_json::from_str(&output(&rig, &["show", &record, "--json"])).expect("JSON");
    let printed = serde_json::to_value(run.summary()).expect("JSON");
    for key in ["gpus", "main", "descendants", "combined", "system", "sources"] {
        assert_eq!(again[key], printed[key], "{key}");
    }
    // Every figure of a device says where it came from.
    for gpu in &run.summary().gpus {
        for (key, figure) in gpu.figures.iter() {
            let reason = figure.reason.as_deref().unwrap_or_default();
            assert!(reason.to_lowercase().contains("nvml"), "{key}: {reason:?}");
        }
    }
    let text = output(&rig, &["show", "--full", &record, "--units", "gpu=MiB"]);
    for part in [
        // The means of the job hang on how soon its processes have written their numbers.
        "2 in all; job ",
        " % on average, 42 % at most (2",
        "machine 160 % on average, 160 % at most (80.0 % of the hardware); 1 of 2 visible GPUs were never used",
        "job peak 120 MiB, mean ",
        "machine peak 1,400 MiB of 2,000 MiB, mean 1,400 MiB",
        "Imaginary A100 (GPU-0); 80 % on average, 80 % at most; RAM peak 700 MiB of 1,000 MiB, mean 700 MiB; up to 250 W; \
         0.0 J by driver counter; up to 71 °C; slowed down ",
        "up to 71 °C\n",
        "GPUs draw up to 500 W; 0.00 g of CO2",
        " % on average, 30 % at most; GPU RAM peak 100 MiB, mean ",
        " % on average, 12 % at most; GPU RAM peak 20 MiB, mean ",
    ] {
        assert!(text.contains(part), "no '{part}' in:\n{text}");
    }
    let wanted = [
        "system_gpu_power_mw",
        "system_gpu_energy_uj",
        "system_gpu_temperature_mc",
        "system_gpu_busy_ppm",
        "system_gpu_throttle_bits",
        "combined_gpu_memory_bytes",
        "main_gpu_busy_ppm",
    ];
    let csv = output(&rig, &["export", &record, "-f", "csv", "-t", "gpus", "-o", "-"]);
    let jsonl = output(&rig, &["export", &record, "-f", "jsonl", "-t", "gpus", "-o", "-"]);
    let database = rig.room.file("run.sqlite");
    output(&rig, &["export", &record, "-o", &database]);
    for name in wanted {
        assert!(
            csv.lines().next().is_some_and(|head| head.split(',').any(|column| column == name)),
            "{name}: {csv}"
        );
        assert!(jsonl.contains(&format!("\"{name}\":")), "{name}");
    }
    let bytes = std::fs::read(&database).expect("a database");
    assert!(bytes.windows(19).any(|part| part == b"system_gpu_power_mw"), "a column of the table of GPUs");
    for format in ["parquet", "arrow"] {
        let folder = rig.room.file(format);
        output(&rig, &["export", &record, "-f", format, "-t", "all", "-o", &folder]);
        let file =
            std::fs::read(rig.room.path(&format!("{format}/gpus.{format}"))).expect("the table of GPUs");
        assert!(file.windows(25).any(|part| part == b"system_gpu_temperature_mc"), "{format}");
    }
}
