use super::super::record::{FileId, Mapping};
use super::*;

const MAIN: i32 = 10;

fn lives(is_of_tree: bool) -> Lives {
    let mut lives = Lives::new(is_of_tree);
    lives.begin(MAIN, Some(0), 1, named("main"), true);
    lives
}

fn named(text: &str) -> [u8; 16] {
    let mut name = [0; 16];
    name[..text.len()].copy_from_slice(text.as_bytes());
    name
}

fn fork(t_ns: u64, pid: i32, parent_pid: i32) -> Record {
    Record { t_ns, pid, tid: pid, what: What::Fork { parent_pid } }
}

fn thread(t_ns: u64, pid: i32, tid: i32) -> Record {
    Record { t_ns, pid, tid, what: What::Fork { parent_pid: pid } }
}

fn exec(t_ns: u64, pid: i32, name: &str) -> Record {
    Record { t_ns, pid, tid: pid, what: What::Named { name: named(name), by_exec: true } }
}

/// It becomes a program, by the ring of mappings: another one than that of names.
fn new_image(t_ns: u64, pid: i32) -> Record {
    Record { t_ns, pid, tid: pid, what: What::NewImage }
}

fn exit(t_ns: u64, pid: i32, tid: i32) -> Record {
    Record { t_ns, pid, tid, what: What::Exit }
}

fn changes(lives: &mut Lives, records: &[Record], members: &[i32]) -> Vec<Change> {
    records.iter().filter_map(|record| lives.take(record, |pid| members.contains(&pid))).collect()
}

#[test]
fn a_life_that_nobody_met() {
    let mut lives = lives(true);
    let told = changes(&mut lives, &[fork(5, 11, MAIN), exec(6, 11, "ls"), exit(90_000, 11, 11)], &[]);
    assert_eq!(told, [Change::UnsampledEnded { pid: 11 }]);
    let life = lives.remove(11).expect("it is kept until it is gone");
    assert_eq!((life.fork_ns, life.end_ns, life.parent_pid), (Some(5), Some(90_000), MAIN));
    assert_eq!(life.name, named("ls"));
    assert!(!lives.has_doubt);
    assert!(lives.get(MAIN).is_some_and(|main| main.has_forked));
}

#[test]
fn a_process_ends_with_its_last_thread() {
    let mut lives = lives(true);
    let born = [fork(1, 11, MAIN), thread(2, 11, 12), thread(3, 11, 13), exit(4, 11, 11), exit(5, 11, 12)];
    assert_eq!(changes(&mut lives, &born, &[]), []);
    let told = changes(&mut lives, &[exit(6, 11, 13)], &[]);
    assert_eq!(told, [Change::UnsampledEnded { pid: 11 }]);
    assert!(!lives.has_doubt);
}

#[test]
fn names_of_threads_are_not_names_of_processes() {
    let mut lives = lives(true);
    let of_thread = Record { tid: 99, ..exec(1, MAIN, "worker") };
    assert_eq!(changes(&mut lives, &[of_thread, exec(2, MAIN, "main")], &[]), []);
    let told = changes(&mut lives, &[exec(3, MAIN, "other")], &[]);
    assert_eq!(told, [Change::Renamed { pid: MAIN, name: named("other") }]);
}

#[test]
fn a_tick_that_was_first_waits_for_the_record() {
    let mut lives = lives(true);
    lives.begin(11, None, MAIN, named("main"), true);
    assert_eq!(changes(&mut lives, &[fork(5, 11, MAIN)], &[11]), []);
    assert_eq!(lives.get(11).and_then(|life| life.fork_ns), Some(5));
    assert_eq!(changes(&mut lives, &[exit(8, 11, 11)], &[11]), [Change::MemberEnded { pid: 11 }]);
    assert_eq!(lives.let_go(11, 9).and_then(|life| life.end_ns), Some(8));
    assert!(!lives.has_doubt);
}

#[test]
fn records_that_come_after_the_tree_let_go_mean_nothing() {
    let mut lives = lives(true);
    lives.begin(11, None, MAIN, named("main"), true);
    lives.let_go(11, 9);
    assert_eq!(changes(&mut lives, &[fork(5, 11, MAIN), exit(8, 11, 11)], &[]), []);
    assert!(!lives.has_doubt);
    lives.settle(10);
    changes(&mut lives, &[exit(12, 11, 11)], &[]);
    assert!(lives.has_doubt, "a stranger in the tree's own ring");
}

#[test]
fn strangers_are_nothing_to_us_when_all_cpus_are_watched() {
    let mut lives = lives(false);
    let strangers = [fork(1, 50, 49), exec(2, 50, "x"), thread(3, 50, 51), exit(4, 50, 50)];
    assert_eq!(changes(&mut lives, &strangers, &[]), []);
    assert!(!lives.has_doubt && lives.get(50).is_none());
}

#[test]
fn a_pid_that_comes_back() {
    let mut lives = lives(true);
    changes(&mut lives, &[fork(1, 11, MAIN)], &[]);
    lives.get_mut(11).expect("alive").is_recorded = true;
    let told = changes(&mut lives, &[exit(3, 11, 11), fork(7, 11, MAIN)], &[11]);
    let [Change::MemberEnded { pid: 11 }, Change::Replaced { pid: 11, before }] = told[..] else {
        panic!("{told:?}")
    };
    assert_eq!((before.fork_ns, before.end_ns, before.is_recorded), (Some(1), Some(3), true));
    assert!(!lives.has_doubt);
    changes(&mut lives, &[fork(9, 11, MAIN)], &[]);
    assert!(lives.has_doubt, "its end was missed");
}

#[test]
fn most_that_passed_together() {
    let mut lives = lives(true);
    let records = [
        fork(1, 11, MAIN),
        fork(2, 12, MAIN),
        exit(3, 11, 11),
        fork(4, 13, MAIN),
        fork(5, 14, MAIN),
        exit(6, 12, 12),
        exit(7, 13, 13),
        exit(8, 14, 14),
    ];
    changes(&mut lives, &records, &[]);
    assert_eq!(most_together(&lives.take_passed(9)), 3);
    assert_eq!(most_together(&lives.take_passed(10)), 0);
}

#[test]
fn members_that_left_and_those_not_met_yet_are_among_them() {
    let mut lives = lives(true);
    changes(&mut lives, &[fork(1, 11, MAIN)], &[]);
    lives.get_mut(11).expect("alive").is_recorded = true;
    changes(&mut lives, &[fork(2, 12, MAIN), exit(3, 12, 12), fork(4, 13, MAIN)], &[11]);
    assert_eq!(most_together(&lives.take_passed(5)), 1, "12, then 13: 11 was sampled, and it lives");
    let of = |lives: &Lives, pid| *lives.get(pid).expect("alive");
    let eleven = of(&lives, 11);
    lives.pass_member(11, &eleven, 4);
    assert_eq!(
        most_together(&lives.take_passed(20)),
        1,
        "13 is still unsampled; who ended before the last count is no more"
    );
    lives.get_mut(13).expect("alive").is_recorded = true;
    let thirteen = of(&lives, 13);
    lives.pass_member(11, &eleven, 22);
    lives.pass_member(13, &thirteen, 21);
    changes(&mut lives, &[fork(23, 14, MAIN), exit(24, 14, 14)], &[]);
    assert_eq!(most_together(&lives.take_passed(25)), 2, "14 began when the two had left");
}

#[test]
fn an_end_right_after_exec_is_a_loss_of_sight() {
    let records = [fork(1, 11, MAIN), exec(100_000, 11, "sudo"), exit(104_000, 11, 11)];
    for is_of_tree in [true, false] {
        let mut lives = lives(is_of_tree);
        changes(&mut lives, &records, &[]);
        assert_eq!(lives.has_doubt, is_of_tree);
    }
}

/// A job that ran already: its processes are listed with their threads, after the events were listened to.
#[test]
fn listed_processes_are_followed_from_the_middle_of_their_lives() {
    let listed = || {
        let mut lives = Lives::new(false);
        lives.begin_listed(MAIN, 1, named("main"), 1);
        lives.begin_listed(11, MAIN, named("worker"), 2);
        lives.doubt_strangers_until(100);
        lives
    };
    let mut lives = listed();
    // 11 was forked between the first event and the list; one of its two threads ends, then the other.
    let told = changes(&mut lives, &[fork(50, 11, MAIN), exit(150, 11, 12), exit(160, 11, 11)], &[MAIN, 11]);
    assert_eq!(told, [Change::MemberEnded { pid: 11 }]);
    assert_eq!(lives.get(11).map(|life| (life.fork_ns, life.end_ns)), Some((Some(50), Some(160))));
    assert_eq!(changes(&mut lives, &[exit(170, 99, 99)], &[]), [], "a stranger");
    assert!(!lives.has_doubt);
    // One that ended before the list was whole may have been the job's.
    let mut lives = listed();
    assert_eq!(changes(&mut lives, &[exit(90, 99, 99)], &[]), []);
    assert!(lives.has_doubt);
    // The pid of one that has ended is given to another process.
    let mut lives = listed();
    let told = changes(&mut lives, &[exit(150, MAIN, MAIN), fork(200, MAIN, 11)], &[MAIN, 11]);
    assert!(matches!(told[..], [Change::MemberEnded { pid: MAIN }, Change::Replaced { pid: MAIN, .. }]));
}

/// The files of a process are known from its exec on, and go with its end into the interval in which it ended.
#[test]
fn what_processes_map_is_followed_from_their_exec() {
    let map = |t_ns, pid, inode, to_bytes| {
        let file = FileId { device: (8, 1), inode };
        Record { t_ns, pid, tid: pid, what: What::Mapped(Mapping { file, from_bytes: 0, to_bytes }) }
    };
    let mut lives = lives(false);
    lives.files = Some(MappedFiles::new());
    changes(&mut lives, &[new_image(1, MAIN), map(2, MAIN, 5, 100), map(2, 999, 9, 1 << 40)], &[MAIN]);
    assert_eq!(lives.take_mapped_bytes(None), None, "what main had before its exec is not known");
    let child = [fork(3, 11, MAIN), new_image(4, 11), map(5, 11, 5, 100), map(6, 11, 6, 40)];
    changes(&mut lives, &child, &[MAIN]);
    assert_eq!(lives.take_mapped_bytes(None), Some(140));
    // Other sources tell of the same exec when some of the program is mapped already.
    let late = [exec(7, 11, "cc"), Record { what: What::Exec, ..exec(8, 11, "cc") }];
    changes(&mut lives, &late, &[MAIN]);
    assert_eq!(lives.take_mapped_bytes(None), Some(140));
    changes(&mut lives, &[exit(40_000, 11, 11)], &[MAIN]);
    assert_eq!(lives.take_mapped_bytes(None), Some(140), "it ended in this interval");
    assert_eq!(lives.take_mapped_bytes(None), Some(100));
    lives.let_go(MAIN, 60_000);
    changes(&mut lives, &[map(50_000, MAIN, 7, 3)], &[]);
    assert_eq!(lives.take_mapped_bytes(None), Some(103), "a late record of a process that is gone");
}

/// A tick may find a process before the record of its fork is read.
#[test]
fn a_process_without_a_record_of_its_fork_has_the_files_of_its_parent() {
    let mut lives = lives(false);
    lives.files = Some(MappedFiles::new());
    changes(&mut lives, &[new_image(1, MAIN)], &[MAIN]);
    lives.take_mapped_bytes(None);
    lives.begin(12, None, MAIN, named("sh"), true);
    assert_eq!(lives.take_mapped_bytes(None), Some(0));
    lives.begin(13, None, 1, named("sh"), true);
    assert_eq!(lives.take_mapped_bytes(None), None, "its parent is not known");
}
