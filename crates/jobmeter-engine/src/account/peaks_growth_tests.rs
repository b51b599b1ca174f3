//! Bounds by the times of page faults.

use super::*;
use crate::account::growth::{FaultTimes, Holder};
use crate::account::moments::UpperSource;

const MB: u64 = 1 << 20;
const FAULTS_PER_MB: u64 = 256;

/// A process of 60 MB that lived from `fork_ns` to `end_ns`, and when its memory was free.
fn grown(fork_ns: u64, end_ns: u64, until_ns: u64) -> (Ended, Holder) {
    let at_most = Some(Parts::of(60 * MB, 0));
    let ended = Ended { fork_ns, end_ns, ..Ended::at_unknown_times(at_most) };
    (ended, Holder { anon_bytes: 0, faults: 60 * FAULTS_PER_MB, until_ns })
}

/// The bound of processes that lived in an interval in which the machine grew by a MB at each of `grows_ns`.
fn upper_mb(lives: &[(Ended, Holder)], grows_ns: &[u64], all_are_listed: bool) -> Option<(u64, UpperSource)> {
    let mut times = FaultTimes::every(FAULTS_PER_MB, 0);
    times.ask(0, 0, 0);
    times.ask(0, 0, 0);
    grows_ns.iter().for_each(|t_ns| times.note(*t_ns));
    let timed = times.timed();
    let faults = times.ask(timed * FAULTS_PER_MB, timed, 0).unwrap_or_default();
    let (ended, holders) = lives.iter().copied().unzip();
    let interval = Interval {
        ended,
        ended_faults: Some(0),
        files_bytes: Some(5 * MB),
        growth: Some(Growth { faults, huge_before_bytes: 0, holders }),
        ..Interval::default()
    };
    let mut peaks = Peaks::default();
    peaks.take(&interval);
    peaks.take(&Interval { ended_faults: Some(0), ..Interval::default() });
    let known = AtTheEnd { largest_bytes: None, main_bytes: None, all_are_listed, faults_are_whole: true };
    peaks.upper(known).map(|bound| (bound.bytes / MB, bound.source))
}

#[test]
fn one_that_grows_when_the_other_is_gone() {
    // Both lived together for a moment, and by their marks had 60 MB each.
    let lives = [grown(0, 100, 100), grown(90, 300, 300)];
    let late: Vec<u64> = (10..70).chain(110..170).collect();
    assert_eq!(upper_mb(&lives, &late, true), Some((65, UpperSource::Growth)));
    assert_eq!(upper_mb(&lives, &late, false), Some((120, UpperSource::Faults)), "somebody may be missing");
    let early: Vec<u64> = (10..70).chain(40..100).collect();
    assert_eq!(upper_mb(&lives, &early, true), Some((120, UpperSource::Marks)), "and files are in the marks");
}

#[test]
fn what_a_copy_keeps_is_not_free() {
    // The first ended at 100, and counts until the copy of it ends that holds its memory.
    let lives = [grown(0, 200, 200), grown(90, 300, 300)];
    let late: Vec<u64> = (10..70).chain(110..170).collect();
    assert_eq!(upper_mb(&lives, &late, true), Some((120, UpperSource::Marks)));
    let lives = [lives[0], grown(90, 300, 300), grown(95, 300, 300)];
    assert_eq!(upper_mb(&lives, &late, true), Some((125, UpperSource::Growth)), "of three with 60 MB each");
}
