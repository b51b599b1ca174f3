//! Standard streams belong to the job.

use crate::help::{Room, code_of, testkit};
use std::io::{Read, Write};
use std::process::{Command, Stdio};

/// Reproducible bytes without pattern (xorshift), so that a lost or doubled block cannot go unseen.
struct Noise(u64);

impl Noise {
    fn fill(&mut self, buffer: &mut [u8]) {
        for chunk in buffer.chunks_mut(8) {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            chunk.copy_from_slice(&self.0.to_le_bytes()[..chunk.len()]);
        }
    }
}

#[test]
fn a_hundred_megabytes_pass_unchanged() {
    const BLOCK: usize = 1 << 16;
    const BLOCKS: usize = 100_000_000_usize.div_ceil(BLOCK);
    let room = Room::new("pipe");
    let mut command = room.jobmeter(&["run", "-q", "--"]);
    let mut child = command
        .arg(testkit())
        .arg("copy")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("start jobmeter");
    let mut input = child.stdin.take().expect("piped");
    let writer = std::thread::spawn(move || {
        let mut noise = Noise(0x1234_5678_9abc_def1);
        let mut block = vec![0; BLOCK];
        for _ in 0..BLOCKS {
            noise.fill(&mut block);
            input.write_all(&block).expect("the job reads everything");
        }
    });
    let mut output = child.stdout.take().expect("piped");
    let mut noise = Noise(0x1234_5678_9abc_def1);
    let (mut expected, mut found) = (vec![0; BLOCK], vec![0; BLOCK]);
    for index in 0..BLOCKS {
        noise.fill(&mut expected);
        output.read_exact(&mut found).unwrap_or_else(|error| panic!("block {index}: {error}"));
        assert!(expected == found, "block {index} differs");
    }
    assert_eq!(output.read(&mut found).expect("read the end"), 0, "there is more than was sent");
    writer.join().expect("the writer ends");
    assert_eq!(code_of(&mut child), 0);
}

#[test]
fn streams_stay_apart_and_the_summary_is_on_standard_error() {
    let room = Room::new("apart");
    let run = room.finish(room.jobmeter(&["run", "--", "sh", "-c", "echo out; echo err >&2"]));
    assert_eq!(run.stdout, b"out\n");
    assert!(run.stderr.starts_with("err\n"), "{}", run.stderr);
    assert!(run.stderr.lines().count() > 5, "no summary: {}", run.stderr);
}

#[test]
fn quiet_says_nothing_at_all() {
    let room = Room::new("quiet");
    let run = room.finish(room.jobmeter(&["run", "-q", "--", "sh", "-c", "echo out; echo err >&2"]));
    assert_eq!(run.stdout, b"out\n");
    assert_eq!(run.stderr, "err\n");
}

#[test]
fn a_reader_that_goes_away_ends_the_job_as_it_would_without_us() {
    let room = Room::new("sigpipe");
    let mut child = room.jobmeter(&["run", "-q", "--", "yes"]).stdout(Stdio::piped()).spawn().expect("start");
    let mut output = child.stdout.take().expect("piped");
    let mut first = [0; 2];
    output.read_exact(&mut first).expect("read");
    assert_eq!(&first, b"y\n");
    drop(output);
    assert_eq!(code_of(&mut child), 128 + libc::SIGPIPE);
}

/// Streams closed by the caller (`<&-`) stay closed: neither another file nor `/dev/null` in their place, since
/// a job that opens a file next gets the number that it expects.
#[test]
fn closed_streams_stay_closed() {
    let room = Room::new("closed");
    let list =
        "for n in 0 1 2; do if [ -e /proc/$$/fd/$n ]; then echo $n open; else echo $n closed; fi; done >";
    for closing in ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"] {
        let bare = room.file("bare");
        let metered = room.file("metered");
        let shell = |line: String| {
            let mut command = Command::new("sh");
            command.args(["-c", &line]).env("JOBMETER_STORE", room.path("store")).stdin(Stdio::null());
            let status = command.output().expect("start a shell").status;
            assert_eq!(status.code(), Some(0), "{line}");
        };
        shell(format!("exec sh -c '{list} {bare}' {closing}"));
        let jobmeter = crate::help::JOBMETER;
        shell(format!("exec {jobmeter} run -q -- sh -c '{list} {metered}' {closing}"));
        assert_eq!(room.text("metered"), room.text("bare"), "with {closing}");
    }
}

/// With standard error closed the summary has nowhere to go: the job still runs and its status is still ours.
#[test]
fn a_summary_that_cannot_be_printed_does_not_change_the_status() {
    let room = Room::new("stderr-full");
    let full =
        || Stdio::from(std::fs::OpenOptions::new().write(true).open("/dev/full").expect("open /dev/full"));
    let mut command = room.jobmeter(&["run", "--", "sh", "-c", "exit 3"]);
    assert_eq!(command.stderr(full()).status().expect("start").code(), Some(3));
    let mut command =
        room.jobmeter(&["run", "-f", "json", "-o", "/dev/full", "--force", "--", "sh", "-c", "exit 4"]);
    assert_eq!(command.output().expect("start").status.code(), Some(4));
}
