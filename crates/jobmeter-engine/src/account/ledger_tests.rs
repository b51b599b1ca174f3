use super::*;
use std::collections::BTreeMap;

const MS: u64 = 1_000_000;
const TICK_NS: u64 = 10 * MS;
const TOLERANCE_NS: u64 = 3 * TICK_NS;

fn reading(pid: i32, parent_pid: i32, cpu_ms: u64) -> ProcessReading {
    ProcessReading {
        pid,
        parent_pid,
        is_main: pid == 100,
        cpu_ns: cpu_ms * MS,
        user_ticks: 3,
        system_ticks: 1,
        io: Some(Io { read_chars_bytes: cpu_ms, write_storage_bytes: 2 * cpu_ms, ..Io::default() }),
        faults_minor: 10,
        faults_major: 1,
        switches: Some((5, 3)),
        ..ProcessReading::default()
    }
}

fn waited(user_ms: u64, system_ms: u64, faults_minor: u64) -> Waited {
    Waited { user_ns: user_ms * MS, system_ns: system_ms * MS, faults_minor, faults_major: 0 }
}

fn id(pid: i32, start_ticks: u64) -> ProcessId {
    ProcessId { pid, start_ticks }
}

fn parent(pid: i32, waited_before: Waited) -> Parent {
    Parent { id: id(pid, 0), ignores_children: false, waited_before }
}

/// Two ticks, after which a parent must show its exited children.
fn check(ledger: &mut Ledger, shown: Waited) {
    for _ in 0..CHECK_AFTER_TICKS {
        ledger.check_expectations(|_| Some(shown), TOLERANCE_NS);
    }
}

#[test]
fn a_process_counts_with_the_children_it_waited_for() {
    let mut process = reading(100, 1, 400);
    let alone = Ledger::default().combined([process].into_iter());
    assert_eq!((alone.cpu_ns, alone.system_ns, alone.faults_minor), (400 * MS, 100 * MS, 10));
    assert_eq!(alone.gaps, Gaps { switches: true, ..Gaps::default() });
    process.waited = Waited { faults_major: 4, ..waited(30, 20, 7) };
    let both = Ledger::default().combined([process].into_iter());
    assert_eq!((both.cpu_ns, both.system_ns), (450 * MS, 120 * MS));
    assert_eq!((both.faults_minor, both.faults_major), (17, 5));
    assert_eq!(both.gaps.rounded, 1);
}

#[test]
fn kernel_time_goes_by_the_proportion_of_ticks() {
    let split = |user_ticks, system_ticks| {
        ProcessReading { user_ticks, system_ticks, ..reading(7, 1, 100) }.system_ns()
    };
    assert_eq!((split(0, 0), split(1, 0), split(0, 1), split(3, 2)), (0, 0, 100 * MS, 40 * MS));
    let long = ProcessReading { cpu_ns: u64::MAX, user_ticks: 1, system_ticks: 1, ..reading(7, 1, 0) };
    assert_eq!(long.system_ns(), u64::MAX / 2, "centuries do not overflow");
}

#[test]
fn bytes_that_were_not_read_are_a_gap_and_no_nought() {
    let unread = ProcessReading { io: None, ..reading(100, 1, 5) };
    let gaps = unread.own().gaps;
    assert!(gaps.chars && gaps.storage);
    let refused = ProcessReading { io_is_refused: true, ..reading(100, 1, 5) };
    assert!(refused.own().gaps.chars && refused.own().gaps.storage);
    assert!(!reading(100, 1, 5).own().gaps.chars);
}

#[test]
fn main_is_told_apart_from_the_children_in_its_bytes() {
    let own_io = Some(Io { read_chars_bytes: 1, ..Io::default() });
    let mut main = reading(100, 1, 50);
    assert_eq!(Ledger::main_of(&main, own_io).io.read_chars_bytes, 50, "it has waited for nobody");
    main.waited = waited(20, 0, 3);
    let account = Ledger::main_of(&main, own_io);
    assert_eq!((account.io.read_chars_bytes, account.cpu_ns, account.faults_minor), (1, 50 * MS, 10));
    assert_eq!(Ledger::main_of(&main, None).io.read_chars_bytes, 50);
    let ledger = Ledger { main_final: Some(account), ..Ledger::default() };
    assert_eq!(ledger.main(None, None), Some(account));
    assert_eq!(ledger.main(Some(&reading(100, 1, 60)), None).map(|main| main.cpu_ns), Some(60 * MS));
    assert_eq!(Ledger::default().main(None, None), None);
}

fn usage() -> Usage {
    Usage {
        user_ns: 70 * MS,
        system_ns: 30 * MS,
        peak_rss_bytes: 4096,
        faults_minor: 11,
        faults_major: 12,
        read_storage_bytes: 512,
        write_storage_bytes: 1024,
        switches_voluntary: 13,
        switches_involuntary: 14,
    }
}

#[test]
fn who_is_reaped_is_known_by_its_usage_and_its_last_bytes() {
    let mut ledger = Ledger::default();
    ledger.settle_reaped(&usage(), Some(&reading(101, 1, 90)), None, None);
    let account = ledger.reaped;
    assert_eq!((account.cpu_ns, account.system_ns), (100 * MS, 30 * MS));
    assert_eq!((account.faults_minor, account.faults_major), (11, 12));
    assert_eq!((account.switches_voluntary, account.switches_involuntary), (13, 14));
    assert_eq!((account.io.read_chars_bytes, account.io.write_storage_bytes), (90, 180));
    assert_eq!(account.gaps, Gaps::default(), "nothing is missing");
    assert_eq!((ledger.main_final, ledger.peak_rss_reaped_bytes), (None, 4096));
    ledger.settle_reaped(&Usage { peak_rss_bytes: 1024, ..usage() }, None, None, None);
    assert_eq!(ledger.peak_rss_reaped_bytes, 4096, "the largest of all");
    assert_eq!(ledger.reaped.cpu_ns, 200 * MS);
}

#[test]
fn who_was_never_read_has_its_storage_in_its_usage_and_its_characters_nowhere() {
    let mut ledger = Ledger::default();
    ledger.settle_reaped(&usage(), None, None, None);
    let Account { io, gaps, .. } = ledger.reaped;
    assert_eq!((io.read_storage_bytes, io.write_storage_bytes, io.read_chars_bytes), (512, 1024, 0));
    assert_eq!(gaps, Gaps { chars: true, ..Gaps::default() });

    let mut ledger = Ledger::default();
    let zombie_io = Some(Io { read_chars_bytes: 9, ..Io::default() });
    ledger.settle_reaped(&usage(), None, zombie_io, None);
    assert_eq!((ledger.reaped.io.read_chars_bytes, ledger.reaped.gaps.chars), (9, false));

    let mut ledger = Ledger::default();
    let refused = ProcessReading { io_is_refused: true, ..reading(100, 1, 90) };
    ledger.settle_reaped(&usage(), Some(&refused), None, None);
    assert!(ledger.reaped.gaps.chars && !ledger.reaped.gaps.storage);
    assert_eq!(ledger.reaped.io.write_storage_bytes, 1024, "an old reading is not taken for the last");
}

#[test]
fn main_that_was_reaped_alone_is_the_whole_and_else_what_was_read_of_it() {
    let mut ledger = Ledger::default();
    ledger.settle_reaped(&usage(), Some(&reading(100, 1, 90)), None, None);
    assert_eq!(ledger.main_final, Some(ledger.reaped));
    assert!(!ledger.main_has_waited);

    let mut ledger = Ledger::default();
    let main = ProcessReading { waited: waited(10, 0, 5), ..reading(100, 1, 90) };
    let own_io = Some(Io { read_chars_bytes: 3, ..Io::default() });
    ledger.settle_reaped(&usage(), Some(&main), None, own_io);
    let own = ledger.main_final.expect("main ended");
    assert_eq!((own.cpu_ns, own.io.read_chars_bytes, own.switches_voluntary), (90 * MS, 3, 5));
    assert!(ledger.main_has_waited && own.gaps.switches);
}

#[test]
fn an_orphan_goes_up_or_is_lost() {
    let gone = reading(101, 7, 80);
    let mut ledger = Ledger::default();
    ledger.note_departure(&gone, None, Fate::PassedUp);
    assert_eq!((ledger.lost, ledger.has_hole), (Account::default(), false));
    ledger.note_departure(&gone, None, Fate::Lost);
    assert_eq!((ledger.lost.cpu_ns, ledger.has_hole), (80 * MS, true));
    let mut ledger = Ledger::default();
    ledger.note_departure(&reading(100, 1, 80), None, Fate::Lost);
    assert_eq!(
        (ledger.lost.cpu_ns, ledger.has_hole),
        (80 * MS, false),
        "main is the end of the run, not a hole"
    );
}

#[test]
fn a_parent_that_ignores_its_children_is_a_hole_at_once() {
    let ignoring = Parent { ignores_children: true, ..parent(100, Waited::default()) };
    let mut ledger = Ledger::default();
    ledger.note_departure(&reading(101, 100, 80), Some(&ignoring), Fate::PassedUp);
    assert_eq!((ledger.lost.cpu_ns, ledger.has_hole), (80 * MS, true));
    let mut ledger = Ledger::default();
    ledger.note_unread_departure(&ignoring);
    assert!(ledger.has_hole);
}

#[test]
fn a_parent_that_shows_its_children_is_no_hole() {
    let mut ledger = Ledger::default();
    ledger.note_departure(&reading(101, 100, 80), Some(&parent(100, waited(0, 0, 4))), Fate::PassedUp);
    check(&mut ledger, waited(60, 10, 14));
    assert!(!ledger.has_hole && ledger.lost == Account::default());
    assert!(ledger.expectations.is_empty(), "looked at once");
}

#[test]
fn a_parent_that_does_not_is_found_out() {
    let mut ledger = Ledger::default();
    ledger.note_departure(&reading(101, 100, 80), Some(&parent(100, waited(0, 0, 4))), Fate::PassedUp);
    ledger.check_expectations(|_| Some(waited(0, 0, 4)), TOLERANCE_NS);
    assert!(!ledger.has_hole, "its reading may be older than the end of the child");
    ledger.check_expectations(|_| Some(waited(0, 0, 4)), TOLERANCE_NS);
    assert!(ledger.has_hole);
    assert_eq!(ledger.lost.cpu_ns, 80 * MS);
}

#[test]
fn time_that_a_parent_shows_in_part_is_kept_in_part() {
    let mut ledger = Ledger::default();
    let before = waited(10, 10, 4);
    ledger.note_departure(&reading(101, 100, 200), Some(&parent(100, before)), Fate::PassedUp);
    check(&mut ledger, waited(60, 10, 400));
    assert_eq!((ledger.lost.cpu_ns, ledger.has_hole), (150 * MS, true));
    let mut ledger = Ledger::default();
    ledger.note_departure(&reading(101, 100, 200), Some(&parent(100, before)), Fate::PassedUp);
    check(&mut ledger, waited(180, 10, 400));
    assert_eq!((ledger.lost.cpu_ns, ledger.has_hole), (0, false), "30 ms are rounding");
}

#[test]
fn every_exited_child_brings_a_fault() {
    let mut ledger = Ledger::default();
    for _ in 0..3 {
        ledger.note_unread_departure(&parent(100, waited(0, 0, 4)));
    }
    check(&mut ledger, waited(0, 0, 7));
    assert!(!ledger.has_hole);
    for _ in 0..3 {
        ledger.note_unread_departure(&parent(100, waited(0, 0, 4)));
    }
    check(&mut ledger, waited(0, 0, 6));
    assert!(ledger.has_hole, "three went, two at most were waited for");
}

#[test]
fn a_child_that_has_faulted_proves_something_however_short_it_was() {
    let mut ledger = Ledger::default();
    ledger.note_departure(&reading(101, 100, 0), Some(&parent(100, waited(0, 0, 4))), Fate::PassedUp);
    check(&mut ledger, waited(0, 0, 4));
    assert!(ledger.has_hole);
}

#[test]
fn a_child_without_a_fault_proves_nothing() {
    let mut ledger = Ledger::default();
    let vforked = ProcessReading { faults_minor: 0, ..reading(101, 100, 0) };
    ledger.note_departure(&vforked, Some(&parent(100, waited(0, 0, 4))), Fate::PassedUp);
    check(&mut ledger, waited(0, 0, 4));
    assert!(!ledger.has_hole);
}

#[test]
fn a_parent_whose_children_end_all_the_time_is_looked_at_too() {
    let mut ledger = Ledger::default();
    for _ in 0..4 {
        ledger.note_unread_departure(&parent(100, waited(0, 0, 4)));
        ledger.check_expectations(|_| Some(waited(0, 0, 4)), TOLERANCE_NS);
    }
    assert!(ledger.has_hole);
    assert!(ledger.expectations.len() <= 2, "old ones are settled");
}

#[test]
fn each_parent_answers_for_its_own_children() {
    let mut ledger = Ledger::default();
    ledger.note_unread_departure(&parent(100, waited(0, 0, 4)));
    ledger.note_unread_departure(&parent(200, waited(0, 0, 9)));
    assert_eq!(ledger.expectations.len(), 2);
    for _ in 0..CHECK_AFTER_TICKS {
        let shown = |id: ProcessId| Some(if id.pid == 100 { waited(0, 0, 5) } else { waited(0, 0, 10) });
        ledger.check_expectations(shown, TOLERANCE_NS);
    }
    assert!(!ledger.has_hole);
    ledger.note_unread_departure(&parent(300, waited(0, 0, 9)));
    for _ in 0..CHECK_AFTER_TICKS {
        ledger.check_expectations(|_| None, TOLERANCE_NS);
    }
    assert!(!ledger.has_hole, "a parent that is gone cannot be asked");
}

#[test]
fn switches_of_exited_members_stay_until_their_parent_is_reaped() {
    let mut ledger = Ledger::default();
    let top = reading(100, 1, 0);
    let middle = reading(101, 100, 0);
    let switches = |ledger: &Ledger, living: &[ProcessReading]| {
        let account = ledger.combined(living.iter().copied());
        (account.switches_voluntary, account.switches_involuntary)
    };
    assert_eq!(switches(&ledger, &[top, middle, reading(102, 101, 0)]), (15, 9));
    ledger.note_departure(&reading(102, 101, 0), Some(&parent(101, Waited::default())), Fate::PassedUp);
    assert_eq!(switches(&ledger, &[top, middle]), (15, 9));
    ledger.note_departure(&middle, Some(&parent(100, Waited::default())), Fate::PassedUp);
    assert_eq!(switches(&ledger, &[top]), (15, 9), "they go up with their parent");
    ledger.settle_reaped(
        &Usage { switches_voluntary: 16, switches_involuntary: 7, ..usage() },
        Some(&top),
        None,
        None,
    );
    assert_eq!(switches(&ledger, &[]), (16, 7), "its usage has them all");
}

/// The number of its birth and what was read of it, by pid.
type Members = BTreeMap<i32, (u64, ProcessReading)>;

/// A kernel of a few rules: time is added to a parent when it waits, orphans go to us, pids are used again.
#[derive(Default)]
struct Kernel {
    processes: Members,
    births: u64,
    zombies: Vec<i32>,
    free_pids: Vec<i32>,
    next_pid: i32,
    truth_ns: u64,
    truth_faults: u64,
}

const US: i32 = 1;

impl Kernel {
    fn start() -> Kernel {
        let mut kernel = Kernel { next_pid: 101, ..Kernel::default() };
        kernel.processes.insert(100, (0, reading(100, US, 0)));
        kernel.truth_faults = 10;
        kernel
    }

    fn fork(&mut self, parent_pid: i32) {
        let pid = self.free_pids.pop().unwrap_or_else(|| {
            self.next_pid += 1;
            self.next_pid - 1
        });
        self.births += 1;
        self.processes.insert(pid, (self.births, reading(pid, parent_pid, 0)));
        self.truth_faults += 10;
    }

    fn burn(&mut self, pid: i32, ticks: u64) {
        let (_, process) = self.processes.get_mut(&pid).expect("it lives");
        process.cpu_ns += ticks * TICK_NS;
        process.user_ticks += ticks;
        self.truth_ns += ticks * TICK_NS;
    }

    /// It becomes a zombie; its children are ours now.
    fn exit(&mut self, pid: i32) {
        self.zombies.push(pid);
        for (_, process) in self.processes.values_mut() {
            if process.parent_pid == pid {
                process.parent_pid = US;
            }
        }
    }

    /// Its parent waits for it, or we do.
    fn reap(&mut self, pid: i32, ledger: &mut Ledger, members: &mut Members) {
        self.zombies.retain(|zombie| *zombie != pid);
        let (birth, gone) = self.processes.remove(&pid).expect("a zombie");
        self.free_pids.push(pid);
        let user_ns = gone.cpu_ns + gone.waited.cpu_ns();
        let faults_minor = gone.faults_minor + gone.waited.faults_minor;
        if gone.parent_pid == US {
            // A member by this pid may be another process that went unnoticed so far.
            let is_member = members.get(&pid).is_some_and(|(known, _)| *known == birth);
            let last = is_member.then(|| members.remove(&pid)).map(|_| gone);
            let usage = Usage { user_ns, faults_minor, ..Usage::default() };
            ledger.settle_reaped(&usage, last.as_ref(), gone.io, None);
        } else {
            let (_, parent) = self.processes.get_mut(&gone.parent_pid).expect("a living parent");
            parent.waited.user_ns += user_ns;
            parent.waited.faults_minor += faults_minor;
        }
    }

    /// All members are read, parents first; who is gone is noted.
    fn tick(&self, ledger: &mut Ledger, members: &mut Members) {
        let before = std::mem::replace(members, self.processes.clone());
        for (pid, (birth, old)) in &before {
            if members.get(pid).is_some_and(|(now, _)| now == birth) {
                continue;
            }
            let parent = before.get(&old.parent_pid).and_then(|(parent_birth, then)| {
                let (birth, now) = members.get(&old.parent_pid)?;
                let waited_before = then.waited;
                let parent =
                    Parent { id: id(now.pid, *parent_birth), ignores_children: false, waited_before };
                (birth == parent_birth).then_some(parent)
            });
            ledger.note_departure(old, parent.as_ref(), Fate::PassedUp);
        }
        let waited_of = |id: ProcessId| {
            let (_, now) = members.get(&id.pid).filter(|(birth, _)| *birth == id.start_ticks)?;
            Some(now.waited)
        };
        ledger.check_expectations(waited_of, TOLERANCE_NS);
    }
}

/// A fixed sequence of numbers below `limit`, different for each seed.
fn numbers(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move |limit| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % limit
    }
}

/// Runs a story of 200 steps and takes a tick after each step with a chance of one in `tick_every`. Nobody is
/// discarded, so that the whole must come out however often it was looked at.
fn total_of_story(seed: u64, tick_every: u64) -> (u64, u64, u64, u64, bool) {
    let (mut story, mut ticks) = (numbers(seed), numbers(seed ^ tick_every << 32));
    let mut kernel = Kernel::start();
    let (mut ledger, mut members) = (Ledger::default(), BTreeMap::new());
    kernel.tick(&mut ledger, &mut members);
    for _ in 0..200 {
        let living: Vec<i32> =
            kernel.processes.keys().copied().filter(|pid| !kernel.zombies.contains(pid)).collect();
        let pid = living[story(living.len() as u64) as usize];
        match story(6) {
            0 | 1 => kernel.fork(pid),
            2 | 3 => kernel.burn(pid, 1 + story(9)),
            4 if pid != 100 => kernel.exit(pid),
            _ => {
                if let Some(zombie) = kernel.zombies.first().copied() {
                    kernel.reap(zombie, &mut ledger, &mut members);
                }
            }
        }
        if ticks(tick_every) == 0 {
            kernel.tick(&mut ledger, &mut members);
        }
    }
    kernel.tick(&mut ledger, &mut members);
    let total = ledger.combined(members.values().map(|(_, reading)| *reading));
    (total.cpu_ns, total.faults_minor, kernel.truth_ns, kernel.truth_faults, ledger.has_hole)
}

#[test]
fn splitting_the_time_never_changes_a_total() {
    for seed in 1..200 {
        for tick_every in [1, 2, 7, 50, 1_000_000] {
            let (cpu_ns, faults, truth_ns, truth_faults, has_hole) = total_of_story(seed, tick_every);
            let what = format!("seed {seed}, a tick every {tick_every} steps");
            assert_eq!((cpu_ns, faults), (truth_ns, truth_faults), "{what}");
            assert!(!has_hole, "{what}: nobody was discarded");
        }
    }
}

/// SA_NOCLDWAIT shows nowhere: a parent that ends without having waited for a child that ended has discarded it.
#[test]
fn a_parent_that_ends_is_asked_for_its_children_at_once() {
    let settle = |shown: Waited| {
        let mut ledger = Ledger::default();
        ledger.note_departure(&reading(7, 100, 40), Some(&parent(100, Waited::default())), Fate::PassedUp);
        let main = ProcessReading { waited: shown, ..reading(100, 1, 5) };
        ledger.settle_reaped(&usage(), Some(&main), None, None);
        (ledger.has_hole, ledger.lost.cpu_ns)
    };
    assert_eq!(settle(waited(0, 0, 0)), (true, 40 * MS));
    assert_eq!(settle(waited(40, 0, 9)), (false, 0));
}

#[test]
fn a_child_that_is_told_of_after_its_parent_ended_was_discarded_if_that_never_waited() {
    let hole = |shown: Waited, parent_pid: i32| {
        let mut ledger = Ledger::default();
        let main = ProcessReading { waited: shown, ..reading(100, 1, 5) };
        ledger.settle_reaped(&usage(), Some(&main), None, None);
        ledger.note_unread_orphan(parent_pid, false);
        ledger.has_hole
    };
    assert!(hole(Waited::default(), 100));
    assert!(!hole(waited(0, 0, 5), 100), "it has waited for somebody");
    assert!(!hole(Waited::default(), 99), "nothing is known of another parent");
    let mut ledger = Ledger::default();
    ledger.note_unread_orphan(99, true);
    assert!(ledger.has_hole, "killed, perhaps with its PID namespace");
}
