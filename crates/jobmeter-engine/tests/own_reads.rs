//! A program that measures itself: what the meter reads of the kernel is not the program's.

use jobmeter_engine::meter::Target;
use jobmeter_engine::run::session::{Session, SessionConfig};
use jobmeter_model::summary::{Limits, RunInfo};
use std::time::Duration;

#[test]
fn reads_of_the_meter_are_not_the_programs() {
    let config = SessionConfig {
        target: Target::Own,
        interval_ns: Some(2_000_000),
        sinks: Vec::new(),
        extras: Vec::new(),
        inbox: None,
    };
    let info = RunInfo { expected_cores: 1.0, system_cores: 1, ..RunInfo::default() };
    let session = Session::start(config, info, Limits::default()).expect("a session");
    let read = std::fs::read("/proc/self/status").expect("readable").len() as f64;
    std::thread::sleep(Duration::from_millis(300));
    let summary = session.stop().expect("this process").summary();
    let text = serde_json::to_value(&summary).expect("JSON");
    let said = text["main"]["read_chars_bytes"]["value"].as_f64().expect("known");
    assert!(summary.run.ticks > 20, "{} ticks", summary.run.ticks);
    // An event wakes the thread with 8 bytes; the test runner may say something meanwhile.
    assert!((said - read).abs() <= 512.0, "{said} bytes were read, where the program has read {read}");
}
