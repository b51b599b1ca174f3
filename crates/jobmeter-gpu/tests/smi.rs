//! The `nvidia-smi` stand-in and the reading through NVML agree on the same state.

mod common;

use common::{PATIENCE, Rig, Sleeper, sample, testkit};
use serde_json::json;
use std::process::Command;

fn smi(rig: &Rig, arguments: &[&str]) -> String {
    let output = Command::new(testkit().join("nvidia-smi"))
        .args(arguments)
        .env("FAKE_NVML_STATE", rig.state_path())
        .output()
        .expect("the stand-in starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn the_stand_in_and_nvml_agree() {
    const MIB: u64 = 1 << 20;
    let rig = Rig::new("smi");
    let (one, two) = (Sleeper::new(), Sleeper::new());
    std::fs::write(rig.folder.join("main.pid"), one.pid().to_string()).unwrap();
    let devices: Vec<_> = (0..2u64)
        .map(|d| {
            json!({"name": "Imaginary H100", "uuid": format!("GPU-{d}"), "pci": format!("0000:0{d}:00.0"),
            "memory_total": 81_920 * MIB, "memory_used": (1000 + d) * MIB, "memory_reserved": 600 * MIB,
            "gpu_util": 37 + d, "memory_util": 11 + d, "power_mw": 310_250, "temperature_c": 61, "sm_mhz": 1755,
            "memory_mhz": 2619, "samples": [],
            "compute": [{"pid": "main", "memory": (200 + d) * MIB}, {"pid": two.pid(), "memory": 5 * MIB},
                {"pid": "not-yet", "memory": MIB}]})
        })
        .collect();
    rig.write(&json!({"driver_version": "555.42.02", "devices": devices}));
    let monitor = rig.monitor();
    monitor.set_processes(vec![one.member(true), two.member(false)]);
    let snapshot = sample(&monitor);
    monitor.stop(PATIENCE);

    let fields = "--query-gpu=index,name,uuid,driver_version,memory.total,memory.used,memory.free,utilization.gpu,\
        utilization.memory,power.draw,temperature.gpu,clocks.sm,clocks.mem";
    let text = smi(&rig, &[fields, "--format=csv,noheader,nounits"]);
    let by_nvml: Vec<String> = snapshot
        .devices
        .iter()
        .zip(&snapshot.readings)
        .map(|(device, r)| {
            let mib = |bytes: Option<u64>| bytes.unwrap() / MIB;
            format!(
                "{}, {}, {}, {}, {}, {}, {}, {}, {}, {:.2}, {}, {}, {}",
                device.index,
                device.name,
                device.uuid,
                device.driver_version.as_ref().unwrap(),
                mib(r.memory_total_bytes),
                mib(r.memory_used_bytes),
                mib(r.memory_free_bytes),
                r.busy_ppm.unwrap() / 10_000,
                r.memory_busy_ppm.unwrap() / 10_000,
                r.power_mw.unwrap() as f64 / 1000.0,
                r.temperature_mc.unwrap() / 1000,
                r.clock_sm_hz.unwrap() / 1_000_000,
                r.clock_memory_hz.unwrap() / 1_000_000
            )
        })
        .collect();
    assert_eq!(text.lines().collect::<Vec<_>>(), by_nvml);

    let text = smi(&rig, &["--query-compute-apps=gpu_uuid,pid,used_memory", "--format=csv,noheader,nounits"]);
    let mut by_nvml: Vec<String> = snapshot
        .clients
        .iter()
        .map(|client| {
            let uuid = &snapshot.devices[client.device].uuid;
            format!("{uuid}, {}, {}", client.owners[0].id.pid, client.memory_bytes.unwrap() / MIB)
        })
        .collect();
    let mut by_smi: Vec<&str> = text.lines().collect();
    by_nvml.sort();
    by_smi.sort_unstable();
    assert_eq!(by_smi, by_nvml);
    assert_eq!(by_smi.len(), 4, "an entry whose process has not started is not there");

    let head = smi(&rig, &["--query-gpu=memory.used,power.draw", "--format=csv"]);
    assert_eq!(head.lines().next(), Some("memory.used [MiB], power.draw [W]"));
    assert_eq!(head.lines().nth(1), Some("1000 MiB, 310.25 W"));
    let monitor = smi(&rig, &["pmon", "-c", "1"]);
    assert_eq!(monitor.lines().count(), 6, "{monitor}");
}
