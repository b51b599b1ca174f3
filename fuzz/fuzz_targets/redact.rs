#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| jobmeter_fuzz::command_line(data));
