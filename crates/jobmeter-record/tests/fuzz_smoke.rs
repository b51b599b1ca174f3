//! The bodies of the fuzz targets with inputs that are the same every time: a real run file, bent in the ways that a
//! fuzzer bends one. `fuzz/` has the open-ended search.

mod common;
#[allow(unreachable_pub, reason = "a library of its own elsewhere")]
#[path = "../../../fuzz/src/lib.rs"]
mod targets;

use common::{SteadyJob, info, sample_events, summary};
use jobmeter_model::Sink;
use jobmeter_record::{SharedBuffer, Target, Writer};

const INPUTS: usize = 2_000;

/// Numbers that look random and are the same in every run (SplitMix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 1) as usize
    }

    fn below(&mut self, bound: usize) -> usize {
        self.next() % bound.max(1)
    }

    /// One to four changes: a bit, a byte, a large number, a piece moved, taken away or doubled.
    fn bend(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..=self.below(4) {
            if bytes.is_empty() {
                return;
            }
            let at = self.below(bytes.len());
            let end = (at + 1 + self.below(32)).min(bytes.len());
            match self.below(6) {
                0 => bytes[at] ^= 1 << self.below(8),
                1 => bytes[at] = self.next() as u8,
                2 => bytes[at..end].fill(0xff),
                3 => drop(bytes.drain(at..end)),
                4 => {
                    let piece = bytes[at..end].to_vec();
                    let to = self.below(bytes.len());
                    bytes.splice(to..to, piece);
                }
                _ => bytes.truncate(at),
            }
        }
    }
}

fn real_run() -> Vec<u8> {
    let buffer = SharedBuffer::default();
    let info = info("20261115T220212-1f3a9c");
    let mut writer = Writer::create(Target::Memory(buffer.clone()), &info).unwrap();
    let mut job = SteadyJob::new();
    job.define_all(&mut writer);
    for event in &sample_events() {
        writer.event(event);
        writer.tick(job.t_ns, &job.values);
        job.advance();
    }
    writer.finish(&summary(&info)).unwrap();
    buffer.snapshot()
}

#[test]
fn no_bent_run_file_panics() {
    let seed = real_run();
    let mut numbers = Numbers(1);
    targets::run_file(&seed);
    for _ in 0..INPUTS {
        let mut bytes = seed.clone();
        numbers.bend(&mut bytes);
        targets::run_file(&bytes);
    }
}

#[test]
fn no_bent_command_line_panics_or_needs_a_second_pass() {
    let seeds: [&[u8]; 4] = [
        b"curl\0--header\0Authorization: Bearer abc.def.ghi\0https://user:pass@127.0.0.1/?token=xyz",
        b"mysql\0-pSECRET\0--password=hunter2\0--token",
        b"env\0AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI\0PASSWORD='a b'\0sh\0-c\0export API_KEY=1; run --secret s",
        "python\0--ключ\0пароль=\u{202e}abc\0\u{fffd}".as_bytes(),
    ];
    let mut numbers = Numbers(2);
    for _ in 0..INPUTS {
        let mut bytes = seeds[numbers.below(seeds.len())].to_vec();
        numbers.bend(&mut bytes);
        targets::command_line(&bytes);
    }
}
