//! A driver whose initialisation takes seconds holds up neither the start nor the end of the job.

use super::rig::{Rig, device};
use super::witness::Witness;
use serde_json::json;
use std::process::Command;

#[test]
fn a_driver_that_takes_two_seconds_to_start_delays_nothing() {
    let state =
        json!({"devices": [device("GPU-0", json!([]), json!([]))], "delay_ms": {"nvmlInit_v2": 2000}});
    let rig = Rig::scripted("slow-start", &state);
    let bare = || Command::new("true");
    Witness::new(&bare).adds_little("jobmeter run -- true", || {
        let mut command = rig.room.jobmeter(&["run", "--", "true"]);
        rig.point(&mut command);
        command
    });
}
