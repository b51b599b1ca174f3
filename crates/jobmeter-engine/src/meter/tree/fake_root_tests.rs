//! The probes of processes on a folder laid out like `/proc`. The CPU clock is not a file: the pids are those of
//! processes that are there while the test runs, our own and that of our parent.

use super::*;
use crate::account::ended::LastReadings;
use crate::account::parts::Huge;
use crate::linux::proc::root::ProcRoot;
use std::fs;
use std::path::PathBuf;

struct FakeProc {
    folder: tempfile::TempDir,
}

/// `stat` of a process called `name`, with 2 threads, from the state to the 22nd field, and some that follow.
fn stat_line(pid: i32, name: &str, parent_pid: i32, start_ticks: u64) -> String {
    format!(
        "{pid} ({name}) S {parent_pid} 7 7 0 -1 4194304 150 30 3 1 10 4 8 9 20 0 2 0 {start_ticks} 98304 91 5\n"
    )
}

impl FakeProc {
    fn new() -> FakeProc {
        FakeProc { folder: tempfile::tempdir().expect("a folder") }
    }

    fn root(&self) -> ProcRoot {
        ProcRoot::at(self.folder.path()).expect("it is there")
    }

    fn of(&self, pid: i32) -> PathBuf {
        self.folder.path().join(pid.to_string())
    }

    fn put(&self, pid: i32, leaf: &str, text: &str) {
        let path = self.of(pid).join(leaf);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }

    /// A process of 100 resident pages, of which 40 are files.
    fn put_process(&self, pid: i32, name: &str, parent_pid: i32) {
        self.put(pid, "stat", &stat_line(pid, name, parent_pid, 5000));
        self.put(pid, "statm", "400 100 40 1 0 50 0\n");
        self.put(pid, &format!("task/{pid}/children"), "");
    }
}

fn own_pid() -> i32 {
    std::process::id() as i32
}

fn parent_pid() -> i32 {
    std::os::unix::process::parent_id() as i32
}

fn tree_of(fake: &FakeProc) -> Option<Tree> {
    let mut tree = Tree::under(fake.root(), None);
    tree.open_main(own_pid())?;
    Some(tree)
}

fn pids(tree: &Tree) -> Vec<i32> {
    tree.processes.iter().map(|process| process.id.pid).collect()
}

#[test]
fn a_name_may_look_like_the_fields_that_follow_it() {
    let fake = FakeProc::new();
    fake.put_process(own_pid(), "x) R 1 (y", 1);
    let tree = tree_of(&fake).expect("a process");
    let main = &tree.processes[0];
    assert_eq!((main.stat.name_text().as_str(), main.parent_pid), ("x) R 1 (y", 1));
    assert_eq!((main.id.start_ticks, main.stat.threads), (5000, 2));
    assert_eq!(main.rss_bytes, 100 * tree.scale.page_bytes);
    assert_eq!(main.rss_file_bytes, 40 * tree.scale.page_bytes);
}

#[test]
fn a_stat_that_is_empty_or_too_short_is_no_process() {
    for text in ["", "12", "12 (x) S 1 7 7 0 -1 4194304 150\n", "12 x S 1 7\n"] {
        let fake = FakeProc::new();
        fake.put_process(own_pid(), "x", 1);
        fake.put(own_pid(), "stat", text);
        assert!(tree_of(&fake).is_none(), "{text:?}");
    }
    assert!(tree_of(&FakeProc::new()).is_none(), "no such process");
}

#[test]
fn files_that_are_missing_leave_their_figures_unknown() {
    let fake = FakeProc::new();
    fake.put_process(own_pid(), "x", 1);
    let mut tree = tree_of(&fake).expect("a process");
    tree.complete(1);
    let main = &tree.processes[0];
    assert_eq!((main.io, main.swap_bytes, main.switches), (None, None, None));
    assert!(main.reading(tree.scale).own().gaps.chars, "the account knows that bytes are missing");
    let (main, buffer) = tree.get_mut(own_pid()).expect("there");
    assert_eq!(main.take_queue_wait_ns(), None);
    assert_eq!(main.read_rollup(buffer), None);
    assert_eq!(main.read_own_io(buffer), None);
}

#[test]
fn files_with_more_or_fewer_lines_than_we_know() {
    let fake = FakeProc::new();
    fake.put_process(own_pid(), "x", 1);
    fake.put(
        own_pid(),
        "io",
        "rchar: 5\nwchar: 6\nsyscr: 1\nsyscw: 1\nread_bytes: 7\nwrite_bytes: 8\nnew: 1\n",
    );
    fake.put(
        own_pid(),
        "status",
        "Name:\tx\nVmHWM:\t900 kB\nNews:\t1\nVmSwap:\t4 kB\nSigIgn:\t0000000000010000\n",
    );
    fake.put(own_pid(), "schedstat", "2048 700 3 9\n");
    fake.put(own_pid(), "smaps_rollup", "");
    let mut tree = tree_of(&fake).expect("a process");
    tree.complete(1);
    let main = &tree.processes[0];
    let io = main.io.expect("bytes");
    assert_eq!((io.read_chars_bytes, io.write_chars_bytes), (5, 6));
    assert_eq!((io.read_storage_bytes, io.write_storage_bytes), (7, 8));
    assert_eq!((main.peak_rss_bytes, main.swap_bytes), (900 * 1024, Some(4096)));
    assert!(main.ignores_children, "bit 16 of the mask is SIGCHLD");
    assert_eq!(main.switches, None, "the lines that tell them are missing");
    let (main, buffer) = tree.get_mut(own_pid()).expect("there");
    assert_eq!(main.take_queue_wait_ns(), Some(700));
    assert_eq!(main.take_queue_wait_ns(), Some(0), "each is taken once");
    assert_eq!(main.read_rollup(buffer), None, "an empty file says nothing");
}

/// Lays out a process whose first thread has ended, in `state`, with `faults` page faults.
fn lose_first_thread(fake: &FakeProc, state: &str, faults: u64) {
    let stat = stat_line(own_pid(), "x", 1, 5000).replace(" S ", &format!(" {state} "));
    fake.put(own_pid(), "stat", &stat.replace(" 150 30 ", &format!(" {faults} 30 ")));
    fake.put(own_pid(), "statm", "0 0 0 0 0 0 0\n");
    fake.put(own_pid(), "status", "Name:\tx\nThreads:\t2\n");
}

fn full_tick(tree: &mut Tree, now_ns: u64) {
    tree.processes.iter_mut().for_each(Process::expect_news);
    tree.refresh(now_ns, true, false, &mut Vec::new(), &mut || {});
}

/// A process with a mark, after its first full tick.
fn read_once() -> (FakeProc, Tree) {
    let fake = FakeProc::new();
    fake.put_process(own_pid(), "x", 1);
    fake.put(own_pid(), "status", "Name:\tx\nVmHWM:\t400 kB\n");
    let mut tree = tree_of(&fake).expect("a process");
    full_tick(&mut tree, 1);
    (fake, tree)
}

#[test]
fn memory_is_seen_by_another_thread_in_the_tick_that_misses_the_first() {
    for state in ["Z", "R"] {
        let (fake, mut tree) = read_once();
        let page_bytes = tree.scale.page_bytes;
        assert_eq!(tree.processes[0].living(1, None).map(|living| living.mark_bytes), Some(100 * page_bytes));
        lose_first_thread(&fake, state, 900);
        fake.put(own_pid(), "task/77/statm", "400 0 0 1 0 50 0\n");
        fake.put(own_pid(), "task/78/statm", "400 300 40 1 0 50 0\n");
        full_tick(&mut tree, 2);
        let main = &mut tree.processes[0];
        assert_eq!(main.rss_bytes, 300 * page_bytes, "a thread that is about to end shows none ({state})");
        let living = main.living(2, None).expect("its memory is known");
        assert_eq!(living.mark_bytes, u64::MAX, "the mark is of an earlier time ({state})");
        main.begin_interval();
        assert_eq!(main.anon_at_full_bytes(), Some(260 * page_bytes));
    }
}

/// Copies that had lost their first thread when they were found: all that they inherited counted as their own, 156 MB for 151.
#[test]
fn what_a_copy_may_have_inherited_is_what_it_has_when_its_memory_is_first_seen() {
    let fake = FakeProc::new();
    fake.put_process(own_pid(), "x", 1);
    lose_first_thread(&fake, "Z", 150);
    fake.put(own_pid(), "task/78/statm", "400 300 40 1 0 50 0\n");
    let mut tree = tree_of(&fake).expect("a process");
    let page_bytes = tree.scale.page_bytes;
    assert_eq!(tree.processes[0].anon_at_birth_bytes, 0, "nothing was seen of it");
    full_tick(&mut tree, 1);
    assert_eq!(tree.processes[0].anon_at_birth_bytes, 260 * page_bytes);
    fake.put(own_pid(), "task/78/statm", "400 350 40 1 0 50 0\n");
    full_tick(&mut tree, 2);
    assert_eq!(tree.processes[0].anon_at_birth_bytes, 260 * page_bytes, "the rest is its own");
}

#[test]
fn memory_that_a_full_tick_could_not_see_is_not_none() {
    let (fake, mut tree) = read_once();
    let page_bytes = tree.scale.page_bytes;
    tree.processes[0].begin_interval();
    lose_first_thread(&fake, "Z", 900);
    fake.put(own_pid(), "task/77/statm", "400 0 0 1 0 50 0\n");
    full_tick(&mut tree, 2);
    let main = &mut tree.processes[0];
    assert!(main.has_begun_to_hide_memory() && main.living(2, None).is_none());
    main.begin_interval();
    let last = main.last_readings(None, Some(1000), None, None);
    assert!(
        last.before_anon_bytes() >= (60 + 750) * page_bytes,
        "what it had, and a page for each fault: {last:?}"
    );
    assert_eq!(last.at_most(Huge::default()), None, "huge pages of the time before are in no count");
    let marked = last_with_mark(main, 500 * page_bytes);
    assert_eq!(marked.at_most(Huge::default()).map(|most| most.own_bytes), Some(500 * page_bytes));
    fake.put(own_pid(), "task/78/statm", "400 300 40 1 0 50 0\n");
    full_tick(&mut tree, 3);
    let main = &mut tree.processes[0];
    assert_eq!(main.rss_bytes, 300 * page_bytes);
    assert!(main.living(3, None).is_none(), "since the last full tick it may have had more");
    main.begin_interval();
    full_tick(&mut tree, 4);
    assert!(tree.processes[0].living(4, None).is_some());
}

fn last_with_mark(process: &Process, mark_bytes: u64) -> LastReadings {
    process.last_readings(Some(mark_bytes), Some(1000), None, None)
}

#[test]
fn a_process_that_vanishes_between_two_reads_is_gone() {
    let fake = FakeProc::new();
    fake.put_process(own_pid(), "x", 1);
    fake.put_process(parent_pid(), "y", own_pid());
    fake.put(own_pid(), &format!("task/{}/children", own_pid()), &format!("{} ", parent_pid()));
    let mut tree = tree_of(&fake).expect("a process");
    let mut born = Vec::new();
    tree.discover(1, 0, &mut born, &mut || {});
    assert_eq!((born.as_slice(), pids(&tree)), (&[parent_pid()][..], vec![own_pid(), parent_pid()]));
    fs::remove_dir_all(fake.of(parent_pid())).expect("ours");
    // A descriptor of a real process answers ESRCH then; one of a plain file does not.
    tree.processes.iter_mut().for_each(Process::close_files);
    let mut departed = Vec::new();
    tree.refresh(2, true, false, &mut departed, &mut || {});
    assert_eq!(departed, [parent_pid()]);
}

#[test]
fn a_pid_with_another_start_time_is_another_process() {
    let fake = FakeProc::new();
    fake.put_process(own_pid(), "x", 1);
    let mut tree = tree_of(&fake).expect("a process");
    tree.processes.iter_mut().for_each(Process::close_files);
    let (main, buffer) = tree.get_mut(own_pid()).expect("there");
    assert_eq!(main.read_stat(buffer), Presence::Here);
    fake.put(own_pid(), "stat", &stat_line(own_pid(), "x", 1, 5001));
    let (main, buffer) = tree.get_mut(own_pid()).expect("there");
    assert_eq!(main.read_stat(buffer), Presence::Gone);
}

#[test]
fn without_lists_of_children_they_are_found_by_their_parents() {
    let fake = FakeProc::new();
    fake.put_process(own_pid(), "x", 1);
    fake.put_process(parent_pid(), "y", own_pid());
    fs::remove_dir_all(fake.of(own_pid()).join("task")).expect("ours");
    // Somebody else's, one without a stat, and what is no process at all.
    fake.put(1, "stat", &stat_line(1, "init", 0, 1));
    fs::create_dir(fake.folder.path().join("77")).expect("made");
    fs::write(fake.folder.path().join("version"), "").expect("written");
    let mut tree = tree_of(&fake).expect("a process");
    let mut born = Vec::new();
    tree.discover(1, 0, &mut born, &mut || {});
    assert_eq!((born, pids(&tree)), (vec![parent_pid()], vec![own_pid(), parent_pid()]));
}

#[test]
fn children_of_other_threads_are_found_too() {
    let fake = FakeProc::new();
    fake.put_process(own_pid(), "x", 1);
    fake.put_process(parent_pid(), "y", own_pid());
    fake.put(own_pid(), "task/99/children", &format!("{} ", parent_pid()));
    let mut tree = tree_of(&fake).expect("a process");
    let mut born = Vec::new();
    tree.discover(10_000_000_000, 0, &mut born, &mut || {});
    assert_eq!(born, [parent_pid()]);
}

/// Its `stat` shows no waited-for child, then it waits for one, then its `io` is read, and before another look it is gone:
/// the bytes are those of the child.
#[test]
fn bytes_are_its_own_only_if_nobody_was_waited_for_by_then() {
    let fake = FakeProc::new();
    let alone = stat_line(own_pid(), "x", 1, 5000).replace(" 150 30 3 1 ", " 150 0 3 0 ");
    let io = |written: u64| {
        format!("rchar: 0\nwchar: 0\nsyscr: 0\nsyscw: 0\nread_bytes: 0\nwrite_bytes: {written}\n")
    };
    fake.put_process(own_pid(), "x", 1);
    fake.put(own_pid(), "stat", &alone);
    let mut tree = tree_of(&fake).expect("a process");
    let mut own_after = |written: u64, stat: &str| {
        fake.put(own_pid(), "io", &io(written));
        fake.put(own_pid(), "stat", stat);
        let (main, buffer) = tree.get_mut(own_pid()).expect("there");
        main.read_slow(1, buffer);
        main.own_io.map(|io| io.write_storage_bytes)
    };
    assert_eq!(own_after(4096, &alone), None, "no later look at `stat` yet");
    assert_eq!(own_after(8192, &alone), Some(4096));
    assert_eq!(own_after(12_288, &stat_line(own_pid(), "x", 1, 5000)), Some(4096), "it has waited");
    let mut tree = tree_of(&fake).expect("a process");
    fake.put(own_pid(), "stat", &alone.replacen(" S ", " Z ", 1).replace(" 20 0 2 0 ", " 20 0 1 0 "));
    let (main, buffer) = tree.get_mut(own_pid()).expect("there");
    main.read_slow(1, buffer);
    assert_eq!(main.own_io.map(|io| io.write_storage_bytes), Some(12_288), "a zombie waits for nobody");
}

/// A parent of 60 anonymous pages grows by 1,000 of them with 1,100 page faults before a child is found: 100 faults may have
/// changed pages that the child keeps.
#[test]
fn faults_that_made_a_parent_grow_changed_nothing_of_its_children() {
    let fake = FakeProc::new();
    let stat = |faults: u64| {
        stat_line(own_pid(), "x", 1, 5000).replace(" 150 30 3 1 ", &format!(" {faults} 0 0 0 "))
    };
    fake.put_process(own_pid(), "x", 1);
    fake.put(own_pid(), "stat", &stat(150));
    let mut tree = tree_of(&fake).expect("a process");
    let mut before = |faults: u64, statm: &str| {
        fake.put(own_pid(), "stat", &stat(faults));
        fake.put(own_pid(), "statm", statm);
        let scale = tree.scale;
        let (main, buffer) = tree.get_mut(own_pid()).expect("there");
        main.read_fast(scale, buffer);
        main.read_stat(buffer);
        main.read_children(1, buffer, &mut |_| {});
        main.faults_before_newborns()
    };
    before(150, "400 100 40 1 0 50 0\n");
    before(150, "400 100 40 1 0 50 0\n");
    assert_eq!(before(1250, "1400 1100 40 1 0 50 0\n"), 1150);
    assert_eq!(before(1300, "1400 1100 40 1 0 50 0\n"), 1250, "50 faults, and no page more");
}
