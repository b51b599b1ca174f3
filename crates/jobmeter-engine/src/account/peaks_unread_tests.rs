//! Processes that ended unread, by their page faults.

use super::tests::{MB, WHOLE, at, program, quiet, upper_mb};
use super::*;
use crate::account::moments::UpperSource;
use crate::account::windows::CountedAt;

#[test]
fn those_that_ended_unread_added_a_page_of_their_own_with_each_fault() {
    let interval = |files_bytes| Interval {
        ended: vec![at(0, u64::MAX, None)],
        ended_faults: Some(512),
        ended_before_bytes: 5 * MB,
        ended_before_anon_bytes: MB,
        files_bytes,
        ..Interval::default()
    };
    let mut peaks = Peaks::default();
    peaks.take(&interval(Some(10 * MB)));
    assert_eq!(upper_mb(&peaks, None), Some((2 + 1 + 10, UpperSource::FilesOnce)));
    peaks.take(&Interval { ended_faults: Some(256), ..quiet() });
    assert_eq!(upper_mb(&peaks, None), Some((14, UpperSource::FilesOnce)), "they may be of the same");
    let mut peaks = Peaks::default();
    peaks.take(&interval(None));
    assert_eq!(upper_mb(&peaks, None), Some((32 + 5, UpperSource::Faults)));
}

/// Two that did not live together, and faults of which nobody knows whose they are.
#[test]
fn faults_that_are_known_to_be_of_one_count_while_it_lived() {
    let unread = |fork_ns, end_ns, mb| Ended { unread_anon_bytes: mb * MB, ..at(fork_ns, end_ns, None) };
    let interval = |ended_faults| Interval {
        ended: vec![unread(0, 10, 4), unread(10, 20, 3), unread(15, 17, 2)],
        ended_faults: Some(ended_faults),
        counted_faults: 9 * 256,
        files_bytes: Some(10 * MB),
        ..Interval::default()
    };
    let mut peaks = Peaks::default();
    peaks.take(&interval(9 * 256 + 512));
    assert_eq!(upper_mb(&peaks, None), Some((10 + 5 + 2, UpperSource::FilesOnce)));
    // One was not waited for until now: its faults come to light after those that are known to be its own.
    let mut peaks = Peaks::default();
    peaks.take(&Interval { has_unwaited: true, ..interval(6 * 256) });
    assert_eq!(upper_mb(&peaks, None), None, "some may be missing");
    peaks.take(&Interval { ended_faults: Some(3 * 256 + 512), ..quiet() });
    assert_eq!(upper_mb(&peaks, None), Some((10 + 5 + 5, UpperSource::FilesOnce)));
}

/// A parent discards the accounts of its children: the machine's count of page faults includes theirs.
#[test]
fn where_nobody_waits_the_faults_of_the_machine_bound_what_ended_unread() {
    let interval = |machine_faults| Interval {
        ended: vec![Ended { unread_anon_bytes: 4 * MB, ..at(0, 10, None) }, at(0, 20, None)],
        machine_faults,
        counted_faults: 4 * 256,
        files_bytes: Some(10 * MB),
        ..Interval::default()
    };
    let mut peaks = Peaks::default();
    peaks.take(&interval(Some(7 * 256)));
    peaks.take(&quiet());
    let holed = AtTheEnd { faults_are_whole: false, ..WHOLE };
    let upper = |known| peaks.upper(known).map(|bound| bound.bytes / MB);
    assert_eq!(upper(holed), Some(10 + 4 + 3));
    assert_eq!(upper(AtTheEnd { all_are_listed: false, ..holed }), None, "others may have had memory before");
    let mut peaks = Peaks::default();
    peaks.take(&interval(None));
    assert_eq!(peaks.upper(holed), None);
}

/// A process became another program while a tick read the others: those that ended unread beside it were all taken for the largest.
#[test]
fn one_that_could_not_be_read_is_as_large_as_the_largest() {
    let mut peaks = Peaks::default();
    let unread = [at(0, 9, None), at(0, 9, None), at(0, 9, None)];
    let both = [Ended::as_the_largest(0), Ended::as_the_largest(5)];
    let ended = unread.into_iter().chain(both).collect();
    peaks.take(&Interval {
        ended,
        ended_faults: Some(256),
        files_bytes: Some(10 * MB),
        ..Interval::default()
    });
    peaks.take(&quiet());
    assert_eq!(upper_mb(&peaks, Some(60)), Some((2 * 60 + 1 + 10, UpperSource::FilesOnce)));
    assert_eq!(upper_mb(&peaks, None), None, "the largest is not known");
}

#[test]
fn huge_pages_that_were_given_out_before_a_birth_are_not_its_own() {
    let interval = |births_mb: u64, has_unlisted| Interval {
        ended: vec![at(5, 9, None)],
        huge: Huge { since_tick_bytes: 8 * MB, anon_since_start_bytes: 30 * MB },
        huge_since_births_bytes: Some(births_mb * MB),
        has_unlisted,
        ..quiet()
    };
    assert_eq!(interval(12, false).huge_once_bytes(), 12 * MB);
    assert_eq!(interval(12, true).huge_once_bytes(), 30 * MB, "others may be older");
    assert_eq!(
        interval(2, false).huge_once_bytes(),
        8 * MB,
        "others may have got them since the last full tick"
    );
}

#[test]
fn what_was_read_early_may_have_grown_while_the_rest_was_read() {
    let upper = |files_bytes, while_read| {
        let mut peaks = Peaks::default();
        let living = vec![program(1, 10), program(2, 20)];
        let living =
            living.into_iter().map(|process| Living { anon_before_bytes: process.anon_bytes, ..process });
        peaks.take(&Interval { living: living.collect(), while_read, files_bytes, ..quiet() });
        peaks.take(&quiet());
        upper_mb(&peaks, None).map(|(mb, _)| mb)
    };
    assert_eq!(upper(None, WhileRead::default()), Some(30));
    let grown = WhileRead { faults: 256, huge_bytes: 4 * MB, by_marks_bytes: None };
    assert_eq!(upper(None, grown), Some(30 + 16 + 4), "64 KiB each where it may be files");
    assert_eq!(upper(Some(0), grown), Some(30 + 1 + 4), "a page each where files are known");
    let marked = WhileRead { by_marks_bytes: Some(3 * MB), ..grown };
    assert_eq!(upper(None, marked), Some(30 + 3), "no mark is further above what was read");
}

/// Pairs of children whose accounts are discarded, one after the other: what the machine gave out to the first pair was free before the second
/// one began.
#[test]
fn what_the_machine_counted_around_their_lives_bounds_those_that_ended_unread() {
    let unread = |fork_ns, end_ns, at_most| Ended { grows_since_ns: fork_ns, ..at(fork_ns, end_ns, at_most) };
    let counted = |t_ns, mb: u64, huge_anon| CountedAt {
        began_ns: t_ns,
        t_ns,
        faults: mb * 256,
        huge_anon,
        huge_file: 0,
    };
    let readings = vec![counted(5, 0, 0), counted(25, 40, 10), counted(50, 100, 30)];
    let first = [unread(10, 20, None), unread(11, 19, None)];
    let second = [unread(30, 40, None), unread(31, 41, None)];
    let interval = || Interval {
        living: vec![program(1, 5)],
        ended: [first, second].concat(),
        machine_faults: Some(100 * 256),
        huge_since_births_bytes: Some(60 * MB),
        huge: Huge { since_tick_bytes: 60 * MB, anon_since_start_bytes: 60 * MB },
        files_bytes: Some(10 * MB),
        windows: Some(Windows {
            readings: readings.clone(),
            are_files_known: true,
            known_faults: 0,
            full_ns: None,
        }),
        ..Interval::default()
    };
    let of = |interval: Interval, known| {
        let mut peaks = Peaks::default();
        peaks.take(&interval);
        peaks.upper(known).map(|bound| (bound.bytes / MB, bound.source))
    };
    let holed = AtTheEnd { faults_are_whole: false, ..WHOLE };
    // The second pair: 60 MB by page faults and 40 MB of huge pages.
    assert_eq!(of(interval(), holed), Some((5 + 10 + 60 + 40, UpperSource::Window)));
    let none = Interval { windows: None, ..interval() };
    assert_eq!(of(none, holed).map(|(mb, _)| mb), Some(10 + 100 + 60), "all of the interval");
    assert_eq!(of(interval(), AtTheEnd { all_are_listed: false, ..holed }), None);
    // One that a tick has seen had what it had then, and can have grown since that tick.
    let seen = Ended { read_bytes: 7 * MB, grows_since_ns: 25, ..unread(20, 40, None) };
    let with_seen = Interval { ended: vec![seen], ..interval() };
    assert_eq!(of(with_seen, holed), Some((5 + 10 + 7 + 60 + 40, UpperSource::Window)));
    // A loose bound of one that no tick has seen is not added to the window that it lived in.
    let loose = unread(30, 40, Some(900));
    let with_loose = Interval { ended: vec![Ended { is_loose: true, ..loose }], ..interval() };
    assert_eq!(of(with_loose, holed), Some((5 + 10 + 60 + 40, UpperSource::Window)));
    // Where mapped files are not known, each fault may have mapped 64 KiB of one.
    let no_files =
        Windows { readings: readings.clone(), are_files_known: false, known_faults: 0, full_ns: None };
    let no_files = Interval { files_bytes: None, windows: Some(no_files), ..interval() };
    let wide_mb = 5 + 60 * 16 + 40;
    assert_eq!(of(no_files, holed), Some((wide_mb, UpperSource::WideWindow)));
    let wide = Bound { bytes: wide_mb * MB, source: UpperSource::WideWindow };
    assert!(wide.is_telling(wide_mb / 2 * MB) && !wide.is_telling(wide_mb / 4 * MB));
    assert!(Bound { source: UpperSource::Window, ..wide }.is_telling(MB));
    // Without a reading of the machine from before its birth nothing bounds it.
    let early = Interval { ended: vec![unread(4, 20, None)], machine_faults: None, ..interval() };
    assert_eq!(of(early, holed), None);
}

/// A shell that becomes the program that it was asked for: what it had mapped of files, all that do so have mapped together.
#[test]
fn what_programs_mapped_before_an_exec_counts_once_where_files_are_known() {
    let no_huge = Huge { since_tick_bytes: 0, anon_since_start_bytes: 0 };
    let before_exec = Some(BeforeExec { faults: 256, ..BeforeExec::default() });
    let execed = |pid| Living { before_exec, max_anon_bytes: 3 * MB, faults_since: 256, ..program(pid, 3) };
    let loose = |living: Living, are_files_known| {
        let ended = living.as_loose(no_huge, are_files_known);
        ended.and_then(|ended| ended.at_most).map(|most| most.alone_bytes() / MB)
    };
    assert_eq!((loose(execed(1), false), loose(execed(1), true)), (Some(3 + 15), None), "64 KiB a fault");
    let copy = before_exec.map(|before| BeforeExec { copy_ns: Some(1), ..before });
    assert_eq!(loose(Living { before_exec: copy, ..execed(1) }, false), None, "it maps no files");
    let upper = |files_mb: u64| {
        let mut peaks = Peaks::default();
        let living = vec![execed(1), execed(2)];
        peaks.take(&Interval { living, files_bytes: Some(files_mb * MB), ..quiet() });
        upper_mb(&peaks, None)
    };
    assert_eq!(upper(10), Some((3 + 3 + 10, UpperSource::Marks)));
    assert_eq!(upper(900), Some((3 + 3 + 30, UpperSource::Marks)));
}
