//! What became of the GPUs that a job could use: one line in the summary, on the page and in the advice.

use super::rig::{MIB, Rig, device};
use serde_json::{Value, json};

fn two(first: Value, samples: Value) -> Value {
    json!({"devices": [device("GPU-0", first, samples), device("GPU-1", json!([]), json!([]))]})
}

/// The text of the summary, the page and the advice of the run that the rig has recorded.
fn told(rig: &Rig) -> [String; 3] {
    let record = rig.room.file("run.jobmeter");
    let text = |words: &[&str]| {
        let run = rig.room.finish(rig.room.jobmeter(words));
        assert_eq!(run.code, 0, "{words:?}: {}", run.stderr);
        String::from_utf8_lossy(&run.stdout).into_owned()
    };
    let page = rig.room.file("page.html");
    let show = text(&["show", "--full", &record]);
    text(&["report", &record, "-o", &page, "--force"]);
    let page = std::fs::read_to_string(page).expect("a page");
    [show, page, text(&["advise", &record])]
}

#[test]
fn two_visible_and_one_used_is_ask_for_one_in_summary_page_and_advice() {
    let state = two(json!([{"pid": "main", "memory": 5 * MIB}]), json!([{"pid": "main", "sm": 50}]));
    let rig = Rig::scripted("verdict", &state);
    let run = rig.run(&[], "echo $$ > main.pid; sleep 0.5");
    for gpu in &run.summary().gpus {
        let watched = gpu.figures["gpu_watched_ns"].as_f64().expect("watched");
        let idle = gpu.figures["gpu_idle_ns"].as_f64().expect("known");
        let expected = if gpu.name == "GPU-1" { 1.0 } else { 0.0 };
        // Before the job has written its number, and in its first samples, it does not compute.
        assert!((idle / watched - expected).abs() < 0.5, "{}: {idle} of {watched} ns", gpu.name);
    }
    for text in told(&rig) {
        assert!(text.contains("2 GPUs were visible, 1 was used: ask for 1"), "{text}");
    }
}

#[test]
fn what_is_not_known_is_no_verdict() {
    // The driver lists the process without memory, and tells nobody's use.
    let mut state = two(json!([{"pid": "main"}]), json!([]));
    state["fail"] = json!({"nvmlDeviceGetComputeRunningProcesses_v3": 999,
        "nvmlDeviceGetProcessUtilization": 999, "nvmlDeviceGetUtilizationRates": 999});
    let rig = Rig::scripted("verdict-unknown", &state);
    let run = rig.run(&[], "echo $$ > main.pid; sleep 0.4");
    assert_eq!(run.summary().gpus[0].figures["gpu_idle_ns"].as_f64(), None);
    for text in told(&rig) {
        assert!(text.contains("whether the job used any is not known"), "{text}");
        assert!(
            !text.contains("never used") && !text.contains(": ask for") && !text.contains("wasted"),
            "{text}"
        );
    }
}

#[test]
fn gpus_are_shown_by_number_model_and_capacity_and_one_gpu_is_not_all() {
    let rig = Rig::scripted("verdict-page", &two(json!([]), json!([])));
    rig.run(&[], "sleep 0.4");
    let [text, page, _] = told(&rig);
    assert!(text.contains("GPU 0: Imaginary A100 (GPU-0)"), "{text}");
    assert!(page.contains("GPU 1 (Imaginary A100)"));
    assert!(!page.contains("memory_total_bytes:") && !page.contains("energy_method:"), "raw keys");
    let svg = rig.room.file("plot.svg");
    let run =
        rig.room.finish(rig.room.jobmeter(&["plot", &rig.room.file("run.jobmeter"), "-o", &svg, "--force"]));
    assert_eq!(run.code, 0, "{}", run.stderr);
    let svg = std::fs::read_to_string(svg).expect("a drawing");
    assert!(svg.contains("Memory of one GPU") && svg.contains("Memory of all GPUs"), "{svg}");
}
