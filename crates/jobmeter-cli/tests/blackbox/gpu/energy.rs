//! Energy: the driver's counter, integrated power, the CPU's counters by share of CPU time, and CO2 by an intensity that the
//! user gives.

use super::rig::{Rig, device, fixtures, lay};
use crate::help::{figure, value};
use jobmeter_model::Quality;
use serde_json::json;

#[test]
fn the_method_of_each_gpu_is_named() {
    let mut plain = device("GPU-1", json!([]), json!([]));
    plain.as_object_mut().expect("an object").remove("energy_mj");
    let state = json!({"devices": [device("GPU-0", json!([]), json!([])), plain]});
    let rig = Rig::scripted("method", &state);
    let run = rig.run(&[], "sleep 0.6");
    let gpus = &run.summary().gpus;
    assert_eq!(gpus[0].facts["energy_method"], "driver counter");
    assert_eq!(value(&gpus[0].figures, "gpu_energy_uj"), 0.0, "the counter stood still");
    assert_eq!(gpus[1].facts["energy_method"], "integrated power");
    // 250 W all the time, from the first sample to the last.
    let joules = value(&gpus[1].figures, "gpu_energy_uj") / 1e6;
    let wall_s = run.summary().run.wall_ns.expect("it ended") as f64 / 1e9;
    assert!(joules > 250.0 * 0.3 && joules <= 250.0 * wall_s, "{joules} J in {wall_s} s");
    assert!(run.summary().combined.by_key("co2_grams").is_none(), "nobody gave an intensity");
}

#[test]
fn cpu_energy_goes_by_share_of_cpu_time_and_says_that_it_is_an_estimate() {
    let rig = Rig::new("rapl");
    lay(&fixtures().join("powercap/sys"), &rig.root().join("sys"));
    // One socket wraps around at its range: 328,850 to the end and 171,150 after it; the other has 7.
    let script = "cd root/sys/class/powercap; sleep 0.2; echo 171150 > intel-rapl:0/energy_uj; \
        echo 1000007 > intel-rapl:1/energy_uj; echo 540 > intel-rapl:0:1/energy_uj; sleep 0.3";
    let run = rig.run(&["--carbon-intensity", "230"], script);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let summary = run.summary();
    let (package, dram) =
        (value(&summary.system, "energy_package_uj"), value(&summary.system, "energy_dram_uj"));
    assert_eq!((package, dram), (500_007.0, 40.0));
    let share = (value(&summary.combined, "cpu_ns") / value(&summary.system, "cpu_ns")).min(1.0);
    for (key, whole) in [("energy_package_uj", package), ("energy_dram_uj", dram)] {
        let part = figure(&summary.combined, key);
        assert_eq!(part.quality, Quality::Estimate);
        assert!((value(&summary.combined, key) - whole * share).abs() <= 1.0, "{part:?}");
    }
    let joules = value(&summary.combined, "energy_joules");
    assert!((joules - (package + dram) * share / 1e6).abs() < 1e-9, "{joules}");
    let grams = figure(&summary.combined, "co2_grams");
    assert_eq!(grams.quality, Quality::Estimate);
    assert!((value(&summary.combined, "co2_grams") - joules / 3.6e6 * 230.0).abs() < 1e-12);
    assert!(
        grams.reason.as_deref().is_some_and(|reason| reason.contains("230 g/kWh, as given")),
        "{grams:?}"
    );
}
