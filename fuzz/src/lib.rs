//! What the fuzz targets do with their bytes. Kept apart from libFuzzer, so that the ordinary tests can do the same
//! on the pinned toolchain with inputs of their own.

use jobmeter_model::RunInfo;
use jobmeter_record::table::{PhaseBuilder, ProcessBuilder};
use jobmeter_record::{Run, SharedBuffer, Target, Writer, redact};

/// Any bytes as a run file: no panic, no runaway allocation. The input is tried as it is, and again as frames with
/// right checksums behind a valid header, so that the fuzzer gets past the envelope.
pub fn run_file(data: &[u8]) {
    read(data.to_vec());
    read(framed(data));
}

/// Any text as a command line: no panic, as many words as before, and nothing left to do for a second pass.
pub fn command_line(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let words: Vec<&str> = text.split('\0').collect();
    let once = redact::argv(&words);
    assert_eq!(once.len(), words.len());
    assert_eq!(redact::argv(&once), once);
    redact::text(&text);
}

fn read(bytes: Vec<u8>) {
    let Ok(run) = Run::from_bytes(bytes) else { return };
    run.replay(&mut ProcessBuilder::default());
    let mut phases = PhaseBuilder::new(drop);
    run.replay(&mut phases);
    phases.finish(None);
    run.columns();
    run.summary();
}

/// A valid header, then one frame per chunk: a length byte, a kind byte, the payload.
fn framed(data: &[u8]) -> Vec<u8> {
    let buffer = SharedBuffer::default();
    let Ok(mut writer) = Writer::create(Target::Memory(buffer.clone()), &RunInfo::default()) else {
        return Vec::new();
    };
    writer.flush();
    let mut bytes = buffer.snapshot();
    let mut rest = data;
    while let [len, kind, tail @ ..] = rest {
        let (payload, next) = tail.split_at(tail.len().min(usize::from(*len & 0x7e)));
        let body: Vec<u8> = std::iter::once(1 + kind % 9).chain(payload.iter().copied()).collect();
        bytes.push(body.len() as u8);
        bytes.extend_from_slice(&body);
        bytes.extend_from_slice(&crc32(&body).to_le_bytes());
        rest = next;
    }
    bytes
}

/// CRC-32 bit by bit: a second opinion on the library the reader uses.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes.iter().fold(!0u32, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
}
