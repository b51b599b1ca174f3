#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| jobmeter_fuzz::run_file(data));
