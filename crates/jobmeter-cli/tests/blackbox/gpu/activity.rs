//! Activity instead of "busy", the health of devices with the time of each trouble, and the driver's own accounts.

use super::rig::{MIB, Rig, device};
use crate::help::{Run, value};
use serde_json::{Value, json};

fn one(with: Value) -> Value {
    let mut gpu = device("GPU-0", json!([]), json!([]));
    for (key, value) in with.as_object().expect("an object") {
        gpu[key] = value.clone();
    }
    json!({"devices": [gpu]})
}

fn warnings<'a>(run: &'a Run, kind: &str) -> Vec<&'a str> {
    run.summary().warnings.iter().filter(|w| w.kind == kind).map(|w| w.text.as_str()).collect()
}

#[test]
fn activity_is_told_by_gpm_and_elsewhere_unavailable_with_the_reason() {
    let gpm = json!({"sm_util": 61.5, "sm_occupancy": 40.0, "any_tensor_util": 12.25, "dram_bw_util": 33.0,
        "fp64_util": 0.0, "fp32_util": 20.0, "fp16_util": 5.0, "pcie_rx_per_sec": 100.0, "pcie_tx_per_sec": 7.5,
        "nvlink_total_rx_per_sec": 1000.0, "nvlink_total_tx_per_sec": 2000.0});
    let rig = Rig::scripted("gpm", &one(json!({"gpm": gpm, "pcie_delay_ms": 20})));
    let run = rig.run(&[], "sleep 0.6");
    let figures = &run.summary().gpus[0].figures;
    for (key, expected) in [
        ("gpu_sm_active_ppm", 615_000.0),
        ("gpu_sm_occupancy_ppm", 400_000.0),
        ("gpu_tensor_ppm", 122_500.0),
        ("gpu_dram_ppm", 330_000.0),
        ("gpu_fp64_ppm", 0.0),
        ("gpu_fp32_ppm", 200_000.0),
        ("gpu_fp16_ppm", 50_000.0),
        ("gpu_pcie_receive_bytes_per_s", 100.0 * MIB as f64),
        ("gpu_pcie_transmit_bytes_per_s", 7.5 * MIB as f64),
        ("gpu_nvlink_receive_bytes_per_s", 1000.0 * MIB as f64),
        ("gpu_nvlink_transmit_bytes_per_s", 2000.0 * MIB as f64),
    ] {
        assert_eq!(value(figures, &format!("{key}_max")), expected, "{key}");
        assert!(figures[&format!("{key}_max")].reason.as_deref().is_some_and(|r| r.contains("GPM")), "{key}");
    }
    let rig = Rig::scripted("no-gpm", &one(json!({})));
    let run = rig.run(&[], "sleep 0.3");
    let figure = &run.summary().gpus[0].figures["gpu_sm_active_ppm_max"];
    assert_eq!(figure.value, None);
    assert!(figure.reason.as_deref().is_some_and(|reason| reason.contains("Hopper and newer")), "{figure:?}");
}

#[test]
fn xids_and_ecc_errors_are_warnings_with_their_time() {
    let with = |errors: u64| {
        let mut state =
            one(json!({"ecc": {"enabled": true, "corrected_volatile": 5, "uncorrected_volatile": 2 + errors,
            "corrected_aggregate": 9, "uncorrected_aggregate": 9},
            "events": [{"type": 8, "data": 79, "at_ms": 300}, {"type": 8, "data": 79, "at_ms": 350}]}));
        state["start_with"] = json!("main");
        state["devices"][0].clone()
    };
    let frames = json!([{"devices": [with(0)]}, {"devices": [with(3)]}]);
    let state = json!({"frames": frames, "frame_ms": 300, "start_with": "main"});
    let rig = Rig::scripted("xid", &state);
    let run = rig.run(&[], "echo $$ > main.pid; exec sleep 0.9");
    let xid = warnings(&run, "gpu_xid");
    assert_eq!(xid.len(), 1, "{xid:?}");
    assert!(xid[0].starts_with("GPU 0 (GPU-0) reported XID 79: the GPU has fallen off the bus ("), "{xid:?}");
    assert!(xid[0].ends_with("ms after the start)"), "{xid:?}");
    let ecc = warnings(&run, "gpu_ecc");
    assert!(ecc.len() == 1 && ecc[0].contains("had 3 uncorrectable memory errors"), "{ecc:?}");
    let figures = &run.summary().gpus[0].figures;
    assert_eq!(value(figures, "gpu_xid_events"), 2.0);
    assert_eq!(value(figures, "gpu_ecc_uncorrected_errors"), 3.0);
    assert_eq!(value(figures, "gpu_ecc_corrected_errors"), 0.0);
}

#[test]
fn clocks_that_heat_holds_down_are_a_warning_and_a_power_cap_is_none() {
    let rig = Rig::scripted("slowed", &one(json!({"throttle": 0x44})));
    let run = rig.run(&[], "sleep 1.6");
    let slowed = warnings(&run, "gpu_slowed");
    assert!(
        slowed.len() == 1 && slowed[0].contains("GPU 0 (GPU-0): clocks held down by heat (hardware) ("),
        "{slowed:?}"
    );
}

#[test]
fn accounting_mode_tells_a_peak_that_the_samples_missed() {
    let accounting = json!({"enabled": true, "processes": [
        {"pid": "main", "max_memory": 300 * MIB, "start_us": 5, "running": true},
        {"pid": 1, "max_memory": 900 * MIB, "start_us": 1, "running": true}]});
    let rig = Rig::scripted("accounting", &one(json!({"accounting": accounting})));
    let run = rig.run(&[], "echo $$ > main.pid; exec sleep 0.4");
    let gpu = &run.summary().gpus[0];
    assert_eq!(
        value(&gpu.figures, "combined_gpu_accounted_peak_bytes"),
        (300 * MIB) as f64,
        "a stranger's is not ours"
    );
    assert_eq!(value(&gpu.figures, "combined_gpu_memory_bytes_max"), (300 * MIB) as f64);
    assert_eq!(gpu.facts["used"], "yes", "no list has ever shown it");
}
