use super::super::family::living_at_most;
use super::super::moments::{MAX_MOMENTS, UpperSource};
use super::*;

pub(in crate::account) const MB: u64 = 1 << 20;
const NO_HUGE: Huge = Huge { since_tick_bytes: 0, anon_since_start_bytes: 0 };

/// A program that sat still at `rss_mb`, all of it anonymous.
pub(in crate::account) fn program(pid: i32, rss_mb: u64) -> Living {
    Living {
        pid,
        anon_bytes: rss_mb * MB,
        max_rss_bytes: rss_mb * MB,
        mark_bytes: rss_mb * MB,
        ..Living::default()
    }
}

pub(in crate::account) fn copy_of(parent_pid: i32, pid: i32, rss_mb: u64, faults: u64) -> Living {
    let anon_at_birth_bytes = rss_mb * MB;
    let changed_bytes = anon_by_faults_bytes(faults);
    Living { parent_pid, is_copy: true, anon_at_birth_bytes, changed_bytes, faults, ..program(pid, rss_mb) }
}

fn living_mb(living: &[Living]) -> u64 {
    living_at_most(living, &[], &[], NO_HUGE).alone_bytes() / MB
}

pub(super) fn at(fork_ns: u64, end_ns: u64, mb: Option<u64>) -> Ended {
    let at_most = mb.map(|mb| Parts::of(mb * MB, 0));
    Ended { fork_ns, end_ns, at_most, ..Ended::at_unknown_times(None) }
}

pub(in crate::account) fn quiet() -> Interval {
    Interval { ended_faults: Some(0), ..Interval::default() }
}

pub(super) const WHOLE: AtTheEnd =
    AtTheEnd { largest_bytes: None, main_bytes: None, all_are_listed: true, faults_are_whole: true };

pub(in crate::account) fn upper_mb(peaks: &Peaks, largest_mb: Option<u64>) -> Option<(u64, UpperSource)> {
    let bound = peaks.upper(AtTheEnd { largest_bytes: largest_mb.map(|mb| mb * MB), ..WHOLE })?;
    Some((bound.bytes / MB, bound.source))
}

#[test]
fn a_mark_of_another_time_does_not_count_now() {
    let once_large = Living { mark_bytes: 500 * MB, ..program(1, 20) };
    assert_eq!(living_mb(&[once_large, program(2, 30)]), 50);
    let active = Living { faults_since: 160, ..once_large };
    assert_eq!(living_mb(&[active]), 20 + 10, "160 faults of 64 KiB");
    let busy = Living { faults_since: 1 << 20, ..once_large };
    assert_eq!(living_mb(&[busy]), 500, "the mark is the end of it");
    let huge = Huge { since_tick_bytes: 6 * MB, anon_since_start_bytes: 0 };
    assert_eq!(living_at_most(&[once_large], &[], &[], huge).alone_bytes(), 26 * MB);
}

#[test]
fn a_copy_counts_with_what_it_changed() {
    assert_eq!(living_mb(&[program(1, 500), copy_of(1, 2, 500, 512), copy_of(1, 3, 500, 256)]), 503);
    let all = copy_of(1, 2, 500, 1 << 20);
    assert_eq!(living_mb(&[program(1, 500), all]), 1000, "it can have changed all");
    let huge = Huge { since_tick_bytes: 0, anon_since_start_bytes: 4 * MB };
    assert_eq!(
        living_at_most(&[program(1, 500), copy_of(1, 2, 500, 0)], &[], &[], huge).alone_bytes(),
        504 * MB
    );
    let grown = Living { mark_bytes: 530 * MB, faults_since: 1 << 20, ..copy_of(1, 2, 500, 256) };
    assert_eq!(living_mb(&[program(1, 500), grown]), 500 + 1 + 30, "beyond what ticks saw, by its mark");
}

/// As redis does, whose child writes a snapshot while it goes on.
#[test]
fn what_a_parent_changed_its_copies_keep_as_it_was() {
    let parent = |faults| Living { faults, ..program(1, 500) };
    let copy = |pid, at_birth| Living { parent_faults_at_birth: at_birth, ..copy_of(1, pid, 500, 0) };
    assert_eq!(living_mb(&[parent(1000), copy(2, 1000)]), 500);
    assert_eq!(living_mb(&[parent(1000 + 256), copy(2, 1000)]), 501);
    assert_eq!(living_mb(&[parent(1000 + 512), copy(2, 1000), copy(3, 1256)]), 502);
    assert_eq!(living_mb(&[parent(1 << 30), copy(2, 1000)]), 1000, "no more than it inherited");
}

#[test]
fn copies_of_main_keep_what_they_have_from_it_where_main_does_not_count() {
    let copy = Ended { inherited_bytes: 300 * MB, ..at(0, 9, Some(5)) };
    let main = Living { is_main: true, ..program(1, 320) };
    let interval = || Interval { living: vec![main], ended: vec![copy, copy], ..quiet() };
    let mut peaks = [Peaks::default(), Peaks::default()];
    peaks[0].take(&interval());
    peaks[1].take(&interval().without_main());
    assert_eq!(peaks.map(|peaks| upper_mb(&peaks, None).map(|(mb, _)| mb)), [Some(330), Some(310)]);
}

#[test]
fn what_a_parent_gave_up_counts_once_for_its_copies() {
    let copies = [copy_of(1, 2, 500, 0), copy_of(1, 3, 400, 0)];
    assert_eq!(living_mb(&[program(1, 100), copies[0], copies[1]]), 100 + 400);
    assert_eq!(living_mb(&copies), 500, "the parent is gone");
    let others = [copy_of(1, 2, 500, 0), copy_of(9, 3, 400, 0)];
    assert_eq!(living_mb(&others), 900, "copies of two parents");
}

#[test]
fn files_are_among_those_that_the_machine_maps() {
    let mapper = |pid| Living {
        min_file_bytes: 150 * MB,
        max_file_bytes: 150 * MB,
        anon_bytes: 20 * MB,
        ..program(pid, 170)
    };
    let living = [mapper(1), mapper(2), mapper(3)];
    assert_eq!(living_mb(&living), 510);
    assert_eq!(living_at_most(&living, &[], &[], NO_HUGE).together_bytes(Some(180 * MB), None), 240 * MB);
    assert_eq!(living_at_most(&living, &[], &[], NO_HUGE).together_bytes(Some(1000 * MB), None), 510 * MB);
}

#[test]
fn those_that_ended_count_while_they_lived_together() {
    let ended = [at(0, 10, Some(100)), at(10, 20, Some(50)), at(15, 30, Some(70)), at(40, 50, None)];
    let moments: Vec<_> =
        together(&ended, None, None).map(|alive| (alive.parts.own_bytes / MB, alive.unbounded)).collect();
    assert_eq!(moments, [(0, 0), (100, 0), (50, 0), (120, 0), (0, 1)]);
    let mut peaks = Peaks::default();
    peaks.take(&Interval { living: vec![program(1, 10)], ended: ended.to_vec(), ..quiet() });
    assert_eq!(upper_mb(&peaks, Some(90)), Some((130, UpperSource::Marks)));
    assert_eq!(
        upper_mb(&peaks, Some(200)),
        Some((130, UpperSource::Marks)),
        "by faults the last one held nothing"
    );
}

#[test]
fn one_without_a_mark_is_no_larger_than_the_largest_or_its_faults() {
    let interval = |ended_faults| Interval {
        living: vec![program(1, 10)],
        ended: vec![at(0, u64::MAX, None), at(0, u64::MAX, None)],
        ended_faults,
        ended_before_bytes: 5 * MB,
        ..Interval::default()
    };
    let upper = |ended_faults, largest_mb| {
        let mut peaks = Peaks::default();
        peaks.take(&interval(ended_faults));
        upper_mb(&peaks, largest_mb)
    };
    assert_eq!(upper(Some(320), Some(100)), Some((10 + 5 + 20, UpperSource::Faults)));
    assert_eq!(upper(Some(3200), Some(100)), Some((210, UpperSource::LargestMark)));
    assert_eq!(upper(None, Some(100)), Some((210, UpperSource::LargestMark)));
    assert_eq!(upper(Some(320), None), Some((35, UpperSource::Faults)));
    assert_eq!(upper(None, None), None, "nothing bounds them");
}

/// A process that exec'd since it was read has a bound by its page faults, whoever discards whose account.
#[test]
fn a_loose_bound_gives_way_to_the_largest_mark() {
    let mut peaks = Peaks::default();
    let loose = Ended { is_loose: true, ..at(0, u64::MAX, Some(300)) };
    let ended = vec![loose, Ended { fork_ns: 5, end_ns: 9, ..loose }];
    peaks.take(&Interval { living: vec![program(1, 10)], ended, ..Interval::default() });
    assert_eq!(upper_mb(&peaks, Some(40)), Some((10 + 2 * 40, UpperSource::LargestMark)));
    assert_eq!(upper_mb(&peaks, Some(400)), Some((10 + 600, UpperSource::Faults)));
    assert_eq!(upper_mb(&peaks, None), Some((10 + 600, UpperSource::Faults)));
}

#[test]
fn unlisted_processes_are_bounded_by_faults_alone() {
    let mut peaks = Peaks::default();
    let interval = |faults| Interval {
        living: vec![program(1, 10)],
        has_unlisted: true,
        ended_faults: faults,
        ..Interval::default()
    };
    peaks.take(&interval(Some(0)));
    assert_eq!(upper_mb(&peaks, None), Some((10, UpperSource::Marks)), "nobody ended");
    peaks.take(&interval(Some(160)));
    // Whoever ended in the second interval may have lived in the first.
    assert_eq!(upper_mb(&peaks, Some(1)), Some((20, UpperSource::Faults)));
    peaks.take(&interval(Some(160)));
    assert_eq!(upper_mb(&peaks, Some(1)), Some((30, UpperSource::Faults)));
    peaks.take(&interval(None));
    assert_eq!(upper_mb(&peaks, Some(1)), None, "a parent discards its children");
}

#[test]
fn huge_pages_count_only_where_somebody_faulted() {
    let huge = Huge { since_tick_bytes: 8 * MB, anon_since_start_bytes: 8 * MB };
    let with = |faults| {
        let mut peaks = Peaks::default();
        peaks.take(&Interval { has_unlisted: true, ended_faults: Some(faults), huge, ..Interval::default() });
        upper_mb(&peaks, None)
    };
    assert_eq!(with(0), Some((0, UpperSource::Marks)));
    assert_eq!(with(16), Some((9, UpperSource::Faults)));
}

#[test]
fn records_that_were_lost_leave_only_faults() {
    let mut peaks = Peaks::default();
    peaks.take(&Interval { living: vec![program(1, 10)], ended: vec![at(0, 5, Some(7))], ..quiet() });
    let lost = AtTheEnd { largest_bytes: Some(MB), all_are_listed: false, ..WHOLE };
    assert_eq!(peaks.upper(lost), Some(Bound { bytes: 17 * MB, source: UpperSource::Faults }));
    assert_eq!(peaks.upper(WHOLE), Some(Bound { bytes: 17 * MB, source: UpperSource::Marks }));
    let discarded = AtTheEnd { faults_are_whole: false, ..lost };
    assert_eq!(peaks.upper(discarded), None, "and faults are not all there either");
}

fn moment(certain_bytes: u64, unbounded: Option<u64>, by_faults_bytes: Option<u64>) -> Moment {
    let with_files = Amounts {
        certain_bytes,
        loose_bytes: 0,
        loose_main_bytes: 0,
        by_faults_bytes,
        by_machine_bytes: None,
    };
    Moment { loose: 0, unbounded, with_files, files_once: None, grown_bytes: None, by_window_bytes: None }
}

#[test]
fn many_moments_stay_few_and_the_bound_above_all() {
    let mut peaks = Peaks::default();
    for count in 0..1000u64 {
        peaks.by_marks.moments.note(moment(1_000_000 - count * 100, Some(count), None));
    }
    assert!(peaks.by_marks.moments.0.len() <= MAX_MOMENTS);
    for largest_bytes in [1, 100, 10_000] {
        let truth = (0..1000).map(|count| 1_000_000 - count * 100 + count * largest_bytes).max();
        assert!(
            peaks.upper(AtTheEnd { largest_bytes: Some(largest_bytes), ..WHOLE }).map(|bound| bound.bytes)
                >= truth
        );
    }
}

#[test]
fn a_moment_below_another_in_all_respects_is_dropped() {
    let mut peaks = Peaks::default();
    peaks.by_marks.moments.note(moment(10, Some(1), Some(5)));
    peaks.by_marks.moments.note(moment(9, Some(1), Some(5)));
    peaks.by_marks.moments.note(moment(11, Some(2), Some(4)));
    assert_eq!(peaks.by_marks.moments.0, [moment(10, Some(1), Some(5)), moment(11, Some(2), Some(4))]);
    peaks.by_marks.moments.note(moment(12, None, Some(6)));
    assert_eq!(peaks.by_marks.moments.0, [moment(12, None, Some(6))], "unknown is worst");
    peaks.by_marks.moments.note(moment(12, Some(9), None));
    assert_eq!(peaks.by_marks.moments.0.len(), 2);
    let with_files = Amounts {
        certain_bytes: 1,
        loose_bytes: 1,
        by_faults_bytes: Some(1),
        ..moment(1, None, None).with_files
    };
    peaks.by_marks.moments.note(Moment { loose: 1, with_files, ..moment(1, Some(1), Some(1)) });
    assert_eq!(peaks.by_marks.moments.0.len(), 3, "less in all but the loose one");
    assert_eq!(moment(3, None, Some(1)).worse_of(&moment(2, Some(1), Some(4))), moment(3, None, Some(4)));
}

#[test]
fn sources_have_words() {
    let all = [
        UpperSource::Marks,
        UpperSource::LargestMark,
        UpperSource::Faults,
        UpperSource::FilesOnce,
        UpperSource::Group,
    ];
    for (at, source) in all.iter().enumerate() {
        assert!(
            source.text().starts_with("by ") && all[..at].iter().all(|other| other.text() != source.text())
        );
    }
}

/// Its peak may have come before it mapped the file, or after it gave the mapping up.
#[test]
fn only_files_that_were_mapped_all_the_time_are_taken_off_the_peak() {
    let changed = Living { min_file_bytes: 0, max_file_bytes: 150 * MB, ..program(1, 170) };
    assert_eq!(living_at_most(&[changed], &[], &[], NO_HUGE).together_bytes(Some(10 * MB), None), 170 * MB);
}

#[test]
fn files_of_those_that_ended_are_among_the_mapped_ones_too() {
    let worker = Ended { at_most: Some(Parts::of(170 * MB, 150 * MB)), ..at(0, 9, None) };
    let mut peaks = Peaks::default();
    let interval = || Interval { ended: vec![worker; 4], living: vec![program(1, 10)], ..quiet() };
    peaks.take(&Interval { mapped_bytes: Some(160 * MB), ..interval() });
    assert_eq!(upper_mb(&peaks, None), Some((10 + 4 * 20 + 160, UpperSource::Marks)));
    assert_eq!(Parts::of(5, 9), Parts { own_bytes: 0, file_bytes: 5, around_bytes: 0, anon_bytes: 5 });
}

#[test]
fn without_a_fault_nobody_got_a_huge_page() {
    let huge = Huge { since_tick_bytes: 8 * MB, anon_since_start_bytes: 0 };
    let upper = |faults, largest_mb| {
        let mut peaks = Peaks::default();
        let ended = vec![at(0, u64::MAX, None)];
        peaks.take(&Interval { ended, ended_faults: Some(faults), huge, ..Interval::default() });
        upper_mb(&peaks, largest_mb)
    };
    assert_eq!(upper(0, None), Some((0, UpperSource::Faults)));
    assert_eq!(upper(16, None), Some((9, UpperSource::Faults)));
    assert_eq!(upper(16, Some(9)), Some((9, UpperSource::LargestMark)), "as good, and the simpler source");
}

/// A process that ended unread counts with its page faults, which its parent shows once it has waited for it: that may be
/// several full ticks later.
#[test]
fn faults_of_the_dead_come_when_they_are_waited_for() {
    let dead = Interval { ended: vec![at(5, 9, None)], has_unwaited: true, ..quiet() };
    let unwaited = Interval { has_unwaited: true, ..quiet() };
    let waited = Interval { ended_faults: Some(160), ..quiet() };
    let mut peaks = Peaks::default();
    for interval in [&dead, &unwaited, &unwaited] {
        peaks.take(interval);
    }
    assert_eq!(upper_mb(&peaks, None), None, "it was never waited for");
    assert_eq!(upper_mb(&peaks, Some(50)), Some((50, UpperSource::LargestMark)));
    peaks.take(&waited);
    assert_eq!(upper_mb(&peaks, None), Some((10, UpperSource::Faults)), "160 faults of 64 KiB");
    peaks.take(&waited);
    assert_eq!(upper_mb(&peaks, None), Some((10, UpperSource::Faults)), "those of others, later");
}

/// Nobody counted the huge pages that the machine gave out: one fault may have mapped anything.
#[test]
fn without_a_count_of_huge_pages_faults_bound_nothing() {
    let unknown =
        Interval { ended: vec![at(5, 9, None)], ended_faults: Some(3), huge: Huge::UNKNOWN, ..quiet() };
    let mut peaks = Peaks::default();
    peaks.take(&unknown);
    assert_eq!(upper_mb(&peaks, None), None);
    assert_eq!(upper_mb(&peaks, Some(50)), Some((50, UpperSource::LargestMark)));
}

/// Two workers with 150 MB of the same shared memory and 20 MB each of their own.
fn worker_with_files(pid: i32) -> Living {
    Living {
        max_anon_bytes: 20 * MB,
        anon_before_bytes: 20 * MB,
        min_file_bytes: 150 * MB,
        max_file_bytes: 150 * MB,
        anon_bytes: 20 * MB,
        ..program(pid, 170)
    }
}

#[test]
fn where_it_is_known_what_was_mapped_files_count_once() {
    let upper = |living: Vec<Living>, ended: Vec<Ended>, files_mb: Option<u64>| {
        let mut peaks = Peaks::default();
        let files_bytes = files_mb.map(|mb| mb * MB);
        peaks.take(&Interval { living, ended, files_bytes, ..quiet() });
        upper_mb(&peaks, None)
    };
    let two = || vec![worker_with_files(1), worker_with_files(2)];
    assert_eq!(upper(two(), vec![], None), Some((340, UpperSource::Marks)));
    assert_eq!(upper(two(), vec![], Some(151)), Some((40 + 151, UpperSource::FilesOnce)));
    assert_eq!(upper(two(), vec![], Some(9000)), Some((340, UpperSource::Marks)), "mapped, not touched");
    let busy = Living { faults_since: 256, ..worker_with_files(1) };
    assert_eq!(upper(vec![busy], vec![], Some(100)), Some((21 + 100, UpperSource::FilesOnce)));
    let grown = Living { anon_before_bytes: 3 * MB, ..busy };
    assert_eq!(upper(vec![grown], vec![], Some(100)), Some((20 + 100, UpperSource::FilesOnce)), "as seen");
    let fast = Living { faults_since: 20 * 256, ..grown };
    assert_eq!(upper(vec![fast], vec![], Some(100)), Some((23 + 100, UpperSource::FilesOnce)));
    let short = Ended { at_most: Some(Parts::of(30 * MB, 0).with_anon(2 * MB)), ..at(0, 9, None) };
    assert_eq!(upper(two(), vec![short; 10], Some(151)), Some((40 + 20 + 151, UpperSource::FilesOnce)));
    let loose = Ended { is_loose: true, ..short };
    assert_eq!(upper(two(), vec![loose; 2], Some(151)), Some((40 + 4 + 151, UpperSource::FilesOnce)));
}

#[test]
fn a_copy_has_changed_a_page_with_each_fault_at_most() {
    let copy = Living { max_file_bytes: 100 * MB, ..copy_of(1, 2, 500, 512) };
    assert_eq!(living_at_most(&[program(1, 500), copy], &[], &[], NO_HUGE).anon_bytes, 2 * MB);
    let parent = Living { max_anon_bytes: 500 * MB, faults: 256, ..program(1, 500) };
    assert_eq!(
        living_at_most(&[parent, copy], &[], &[], NO_HUGE).anon_bytes,
        503 * MB,
        "the parent changed a MiB too"
    );
}

#[test]
fn huge_pages_count_once_for_all() {
    let huge = Huge { since_tick_bytes: 8 * MB, anon_since_start_bytes: 30 * MB };
    let upper = |living: Vec<Living>, ended: Vec<Ended>| {
        let mut peaks = Peaks::default();
        peaks.take(&Interval { living, ended, huge, files_bytes: Some(150 * MB), ..quiet() });
        upper_mb(&peaks, None)
    };
    let two = || vec![worker_with_files(1), worker_with_files(2)];
    assert_eq!(upper(two(), vec![]), Some((40 + 150 + 8, UpperSource::FilesOnce)));
    let copy = Living { max_file_bytes: 150 * MB, ..copy_of(1, 3, 170, 0) };
    let with_copy = vec![worker_with_files(1), worker_with_files(2), copy];
    let changed_mb = 170 - 20;
    assert_eq!(
        upper(with_copy, vec![]),
        Some((40 + changed_mb + 150 + 30, UpperSource::FilesOnce)),
        "its own may be as old as it is"
    );
    let unread = at(0, 9, None);
    assert_eq!(upper(two(), vec![unread]), Some((40 + 150 + 30, UpperSource::FilesOnce)));
}

/// A large program that forks small ones: from its fork to its exec a child has all that its parent has.
#[test]
fn a_child_of_main_may_have_had_all_of_main_before_its_exec() {
    let main = Living { is_main: true, max_anon_bytes: 60 * MB, ..program(1, 65) };
    let upper = |ended: Vec<Ended>, has_unlisted, ended_faults| {
        let mut peaks = Peaks::default();
        let interval =
            Interval { living: vec![main, program(2, 7)], ended, has_unlisted, ended_faults, ..quiet() };
        peaks.take(&interval.without_main());
        upper_mb(&peaks, Some(0)).map(|(mb, _)| mb)
    };
    assert_eq!(upper(vec![], false, Some(0)), Some(7), "nobody was born");
    assert_eq!(upper(vec![at(3, 9, Some(5))], false, Some(0)), Some(60 + 5 + 7));
    assert_eq!(upper(vec![], true, Some(0)), Some(7));
    assert_eq!(upper(vec![], true, Some(16)), Some(60 + 7 + 1), "somebody may have come and gone");
}

#[test]
fn a_child_of_a_main_that_nothing_bounds_has_no_bound_either() {
    let upper = |born: Vec<Ended>| {
        let main = Ended { is_main: true, ..at(0, 9, None) };
        let interval = Interval { ended: [vec![main], born].concat(), ..quiet() };
        let mut peaks = Peaks::default();
        peaks.take(&Interval { ended_faults: None, ..interval.without_main() });
        (upper_mb(&peaks, None), upper_mb(&peaks, Some(50)).map(|(mb, _)| mb))
    };
    assert_eq!(upper(vec![]).0.map(|(mb, _)| mb), Some(0), "it had none");
    assert_eq!(upper(vec![at(3, 9, Some(5))]), (None, Some(5 + 50)));
}

/// A process whose first thread has ended shows no mark: its page faults bound it, or what was mapped.
#[test]
fn without_a_mark_faults_bound_the_living() {
    let living = Living { mark_bytes: u64::MAX, faults_since: 16, ..worker_with_files(1) };
    let upper = |huge, files_bytes| {
        let mut peaks = Peaks::default();
        peaks.take(&Interval { living: vec![living], huge, files_bytes, ..quiet() });
        upper_mb(&peaks, None)
    };
    assert_eq!(upper(NO_HUGE, None), Some((171, UpperSource::Marks)));
    assert_eq!(upper(NO_HUGE, Some(10 * MB)), Some((30, UpperSource::FilesOnce)));
    assert_eq!(upper(Huge::UNKNOWN, Some(10 * MB)), None, "one fault may have mapped anything");
    assert_eq!(living.as_loose(NO_HUGE, false), None, "a MiB above what was seen");
    let loose =
        Living { faults_since: 1600, ..living }.as_loose(NO_HUGE, false).and_then(|ended| ended.at_most);
    assert_eq!(loose.map(|most| (most.own_bytes / MB, most.anon_bytes / MB)), Some((270, 26)));
}

/// A daemon that its parent leaves behind has the memory of the parent, which counts until the next full tick.
#[test]
fn a_copy_of_a_parent_that_ended_shares_with_it() {
    let parent = |is_main| EndedParent { pid: 1, faults: 5000, is_main };
    let copy = Living { parent_faults_at_birth: 4744, ..copy_of(1, 2, 60, 512) };
    let upper = |is_main, with_main: bool| {
        let ended = Ended { is_main, ..at(0, u64::MAX, Some(60)) };
        let interval = Interval {
            living: vec![copy],
            ended: vec![ended],
            ended_parents: vec![parent(is_main)],
            ..quiet()
        };
        let mut peaks = Peaks::default();
        peaks.take(&if with_main { interval } else { interval.without_main() });
        upper_mb(&peaks, None).map(|(mb, _)| mb)
    };
    assert_eq!(upper(false, true), Some(60 + 2 + 1), "each has changed some since");
    assert_eq!(upper(true, true), Some(60 + 2 + 1));
    assert_eq!(upper(true, false), Some(60), "no more than it has, whoever has changed what");
}

/// First seen when it had grown already, most of what a copy has is not inherited.
#[test]
fn a_copy_has_no_more_than_is_in_memory() {
    assert_eq!(living_mb(&[copy_of(1, 2, 60, 15_000)]), 60);
    assert_eq!(living_mb(&[copy_of(1, 2, 60, 15_000), copy_of(1, 3, 60, 512)]), 58 + 2 + 60);
}

/// Main has become another program: what it held before is told by its faults, or by `wait` at the end.
#[test]
fn a_loose_main_is_bounded_by_what_wait_tells_of_it() {
    let main = Ended { is_main: true, is_loose: true, ..at(0, u64::MAX, Some(640)) };
    let mut peaks = Peaks::default();
    peaks.take(&Interval { living: vec![program(2, 30)], ended: vec![main], ..quiet() });
    let upper = |main_mb: Option<u64>| {
        let known = AtTheEnd { main_bytes: main_mb.map(|mb| mb * MB), ..WHOLE };
        peaks.upper(known).map(|bound| bound.bytes / MB)
    };
    assert_eq!((upper(None), upper(Some(45)), upper(Some(9000))), (Some(670), Some(75), Some(670)));
}
