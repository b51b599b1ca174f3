//! Any text as a command line: no panic, and redacting is done after one pass.
#![no_main]

use jobmeter_record::redact;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let words: Vec<&str> = text.split('\0').collect();
    let once = redact::argv(&words);
    assert_eq!(once.len(), words.len());
    redact::text(&text);
});
